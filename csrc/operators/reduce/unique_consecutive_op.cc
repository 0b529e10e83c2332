#include "operators/reduce/groups.h"

namespace dygraph::groups {
namespace {

constexpr int kX = 0, kOut = 0, kIndex = 1, kCounts = 2;

struct UniqueConsecutiveAttrs {
  bool return_inverse = false, return_counts = false;
  std::vector<int32_t> axis;
  DType dtype = DType::kInt64;
};

// The axis whose slices are compared; -1: all elements are.
int AxisOf(const UniqueConsecutiveAttrs& a, const Dims& x) {
  ENFORCE(a.axis.size() <= 1, InvalidArgument, "axis must be one axis or none, got ",
          a.axis.size());
  return a.axis.empty() || x.empty() ? -1 : NormalizeAxis(a.axis[0], x.rank());
}

void InferShape(InferContext& ctx) {
  const UniqueConsecutiveAttrs& a = ctx.attrs<UniqueConsecutiveAttrs>();
  const Dims& x = ctx.dims(kX);
  CheckNumbers(a.dtype);
  const int axis = AxisOf(a, x);
  const int64_t found = ctx.runtime() ? 0 : -1;  // the kernel says how many there are
  Dims out{found};
  if (axis >= 0) out = x;
  out[std::max(axis, 0)] = found;
  ctx.SetOutput(kOut, out);
  const int64_t given = axis >= 0 ? x[axis] : x.HasUnknown() ? -1 : Numel(x);
  ctx.SetOutput(kIndex, {given}, a.dtype);
  ctx.SetOutput(kCounts, {found}, a.dtype);
}

void DefineUniqueConsecutive(OpDef& op) {
  op.Comment(
        "Out = the elements of X, or its slices along an axis, without those that equal the one "
        "before; X = Out[Index]. A NaN equals a NaN.")
      .Example(">>> F.unique_consecutive(to_variable([5, 5, 2, 5])).tolist()\n[5, 2, 5]")
      .Input(kX, "X", "any shape; without an axis its elements are taken in order")
      .Output(kOut, "Out", "what is left of X")
      .Output(kIndex, "Index", "for each element or slice of X where in Out it stands", kExtra)
      .Output(kCounts, "Counts", "for each of Out how many equal ones stood together", kExtra)
      .Attr(&UniqueConsecutiveAttrs::return_inverse, "return_inverse",
            "of programs; outputs are asked for by name")
      .Attr(&UniqueConsecutiveAttrs::return_counts, "return_counts", "of programs, likewise")
      .Attr(&UniqueConsecutiveAttrs::axis, "axis", "compare slices along this axis")
      .Attr(&UniqueConsecutiveAttrs::dtype, "dtype", "of Index and Counts: int32 or int64")
      .Shape(InferShape)
      .KernelAllocates()
      .NoGrad();
}

template <class T>
bool Same(T a, T b) {
  return a == b || (a != a && b != b);
}

// Of single elements, where neither Index nor Counts is asked for.
template <class T>
void Keep(const T* x, int64_t n, const KernelContext& ctx, Tensor* out) {
  Scratch room(CPUPlace(), static_cast<size_t>(n) * sizeof(T));
  T* to = room.as<T>();
  int64_t count = 0;
  InPieces(n, sorting::kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {  // what is not new is written over
      to[count] = x[i];
      count += i == 0 || !Same(x[i - 1], x[i]);
    }
  });
  out->Allocate({count}, out->dtype(), ctx.place());
  std::copy_n(to, count, out->mutable_data<T>());
}

template <class T>
struct UniqueConsecutiveKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const UniqueConsecutiveAttrs& a = ctx.attrs<UniqueConsecutiveAttrs>();
    RequireWidth(a.dtype, x.numel());
    const int axis = AxisOf(a, x.dims());
    int64_t outer = 1, n = x.numel(), inner = 1;
    if (axis >= 0) {
      outer = Numel(x.dims(), 0, axis), n = x.dim(axis);
      inner = Numel(x.dims(), axis + 1, x.rank());
    }
    const T* from = x.data<T>();
    if ((axis < 0 || x.rank() == 1) && !ctx.OutOrNull(kIndex) && !ctx.OutOrNull(kCounts))
      return Keep(from, n, ctx, &ctx.Out(kOut));
    auto same = [=](int64_t i) {  // as slice i - 1
      for (int64_t o = 0; o < outer; ++o) {
        const T* at = from + (o * n + i) * inner;
        for (int64_t k = 0; k < inner; ++k) {
          if (!Same(at[k - inner], at[k])) return false;
        }
      }
      return true;
    };
    Groups groups;
    groups.first.resize(n);
    int64_t count = 0;
    InPieces(n, sorting::kPiece, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        groups.first[count] = i;
        count += i == 0 || !same(i);
      }
    });
    groups.first.resize(count);
    WriteFirst<T>(ctx, kOut, x, groups, axis);
    if (ctx.OutOrNull(kIndex)) {
      for (int64_t g = 0; g < count; ++g)
        groups.index.resize(g + 1 < count ? groups.first[g + 1] : n, g);
      Write(ctx, kIndex, groups.index, a.dtype);
    }
    if (ctx.OutOrNull(kCounts)) {
      for (int64_t g = 0; g < count; ++g)
        groups.counts.push_back((g + 1 < count ? groups.first[g + 1] : n) - groups.first[g]);
      Write(ctx, kCounts, groups.counts, a.dtype);
    }
  }
};

REGISTER_OPERATOR(unique_consecutive, DefineUniqueConsecutive);
REGISTER_CPU_KERNEL(unique_consecutive, UniqueConsecutiveKernel, bool, int32_t, int64_t, float,
                    double);

}  // namespace
}  // namespace dygraph::groups
