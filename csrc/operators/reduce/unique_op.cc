#include "operators/reduce/groups.h"

// unique and unique_with_counts.
namespace dygraph::groups {
namespace {

constexpr int kX = 0, kOut = 0, kIndex = 1;
// Of unique_with_counts; of unique.
constexpr int kCount = 2, kIndices = 2, kCounts = 3;

struct CountAttrs {
  DType dtype = DType::kInt64;
};
struct UniqueAttrs {
  DType dtype = DType::kInt64;
  bool is_sorted = false;
  std::vector<int32_t> axis;
  bool return_index = false, return_inverse = false, return_counts = false;
};

// The axis whose slices are compared; -1: all elements are.
int AxisOf(const UniqueAttrs& a, const Dims& x) {
  ENFORCE(a.axis.size() <= 1, InvalidArgument, "axis must be one axis or none, got ",
          a.axis.size());
  ENFORCE(a.is_sorted || (a.axis.empty() && x.rank() <= 1), InvalidArgument,
          "X must have one axis, got shape ", x,
          ". With is_sorted=True it may have any shape, and an axis be named");
  return a.axis.empty() ? -1 : NormalizeAxis(a.axis[0], x.rank());
}

void InferUnique(InferContext& ctx) {
  const UniqueAttrs& a = ctx.attrs<UniqueAttrs>();
  const Dims& x = ctx.dims(kX);
  CheckNumbers(a.dtype);
  const int axis = AxisOf(a, x);
  Dims out{-1}, found{ctx.runtime() ? 0 : -1};  // the kernel says how many there are
  if (axis >= 0) out = x;
  out[std::max(axis, 0)] = found[0];
  ctx.SetOutput(kOut, out);
  const int64_t given = axis >= 0 ? x[axis] : x.HasUnknown() ? -1 : Numel(x);
  ctx.SetOutput(kIndex, {given}, a.dtype);
  ctx.SetOutput(kIndices, found, a.dtype);
  ctx.SetOutput(kCounts, found, a.dtype);
}

void InferWithCounts(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  DType dtype = ctx.attrs<CountAttrs>().dtype;
  ENFORCE(x.rank() == 1, InvalidArgument, "X must have one axis, got shape ", x);
  CheckNumbers(dtype);
  Dims found{ctx.runtime() ? 0 : -1};
  ctx.SetOutput(kOut, found);
  ctx.SetOutput(kIndex, x, dtype);
  ctx.SetOutput(kCount, found, dtype);
}

void DefineUnique(OpDef& op) {
  op.Comment(
        "Out = the different elements of X in order of their first appearance, or sorted with "
        "is_sorted, then also the different slices along an axis; X = Out[Index]. NaNs count as "
        "one element, the greatest. Indices = where each is first, Counts = how often it is there.")
      .Example(
          ">>> x = to_variable([3, 1, 3])\n"
          ">>> [v.tolist() for v in F.unique(x)]\n"
          "[[3, 1], [0, 1, 0]]\n"
          ">>> [v.tolist() for v in F.unique(x, is_sorted=True)]\n"
          "[[1, 3], [1, 0, 1]]")
      .Input(kX, "X", "one axis; any shape with is_sorted")
      .Output(kOut, "Out", "the different elements of X")
      .Output(kIndex, "Index", "for each element or slice of X where in Out it stands")
      .Output(kIndices, "Indices", "for each of Out where in X it is first", kExtra)
      .Output(kCounts, "Counts", "for each of Out how often it is in X", kExtra)
      .Attr(&UniqueAttrs::dtype, "dtype", "of Index, Indices and Counts: int32 or int64")
      .Attr(&UniqueAttrs::is_sorted, "is_sorted", "sort Out; slices by their first elements")
      .Attr(&UniqueAttrs::axis, "axis", "with is_sorted: compare slices along this axis")
      .Attr(&UniqueAttrs::return_index, "return_index",
            "of programs; outputs are asked for by name")
      .Attr(&UniqueAttrs::return_inverse, "return_inverse", "of programs, likewise")
      .Attr(&UniqueAttrs::return_counts, "return_counts", "of programs, likewise")
      .Shape(InferUnique)
      .KernelAllocates()
      .NoGrad();
}
void DefineUniqueWithCounts(OpDef& op) {
  op.Comment(
        "Out = the different elements of X in order of their first appearance, Count = how "
        "often each is there; X = Out[Index]. NaNs count as one element.")
      .Example(
          ">>> out, index, count = F.unique_with_counts(to_variable([5, 2, 5, 9]))\n"
          ">>> out.tolist(), index.tolist(), count.tolist()\n"
          "([5, 2, 9], [0, 1, 0, 2], [2, 1, 1])")
      .Input(kX, "X", "one axis")
      .Output(kOut, "Out", "the different elements of X, in order of their first appearance")
      .Output(kIndex, "Index", "shape of X: where in Out each element stands")
      .Output(kCount, "Count", "shape of Out")
      .Attr(&CountAttrs::dtype, "dtype", "of Index and Count: int32 or int64")
      .Shape(InferWithCounts)
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct UniqueKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const UniqueAttrs& a = ctx.attrs<UniqueAttrs>();
    RequireWidth(a.dtype, x.numel());
    const int axis = AxisOf(a, x.dims());
    Groups groups;
    if (!a.is_sorted) {
      groups = ByAppearance(x.data<T>(), x.numel());
    } else if (axis < 0) {
      groups = SortedElements(x.data<T>(), x.numel());
    } else {
      groups = SortedSlices(x.data<T>(), Numel(x.dims(), 0, axis), x.dim(axis),
                            Numel(x.dims(), axis + 1, x.rank()));
    }
    WriteFirst<T>(ctx, kOut, x, groups, axis);
    Write(ctx, kIndex, groups.index, a.dtype);
    Write(ctx, kIndices, groups.first, a.dtype);
    Write(ctx, kCounts, groups.counts, a.dtype);
  }
};

template <class T>
struct UniqueWithCountsKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    DType dtype = ctx.attrs<CountAttrs>().dtype;
    RequireWidth(dtype, x.numel());
    Groups groups = ByAppearance(x.data<T>(), x.numel());
    WriteFirst<T>(ctx, kOut, x, groups, -1);
    Write(ctx, kIndex, groups.index, dtype);
    Write(ctx, kCount, groups.counts, dtype);
  }
};

REGISTER_OPERATOR(unique, DefineUnique);
REGISTER_KERNELS(unique, UniqueKernel, int32_t, int64_t, float, double);
REGISTER_OPERATOR(unique_with_counts, DefineUniqueWithCounts);
REGISTER_KERNELS(unique_with_counts, UniqueWithCountsKernel, int32_t, int64_t, float, double);

}  // namespace
}  // namespace dygraph::groups
