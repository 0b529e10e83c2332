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
      return KeepChanges(from, n, &ctx.Out(kOut));
    const Groups groups =
        Consecutive(from, outer, n, inner, ctx.OutOrNull(kIndex), ctx.OutOrNull(kCounts));
    WriteFirst<T>(ctx, kOut, x, groups, axis);
    Write(ctx, kIndex, groups.index, a.dtype);
    Write(ctx, kCounts, groups.counts, a.dtype);
  }
};

REGISTER_OPERATOR(unique_consecutive, DefineUniqueConsecutive);
REGISTER_KERNELS(unique_consecutive, UniqueConsecutiveKernel, bool, int32_t, int64_t, float,
                 double);

}  // namespace
}  // namespace dygraph::groups
