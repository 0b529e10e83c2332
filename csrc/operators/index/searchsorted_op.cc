#include "kernels/loops.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kSorted = 0, kValues = 1, kOut = 0;

struct SearchsortedAttrs {
  bool out_int32 = false;
  bool right = false;
};

void InferShape(InferContext& ctx) {
  const Dims &sorted = ctx.dims(kSorted), &values = ctx.dims(kValues);
  ENFORCE(!sorted.empty(), InvalidArgument, "SortedSequence must have an axis, got shape []");
  bool fits = sorted.rank() == 1 || sorted.rank() == values.rank();
  for (int i = 0; fits && i + 1 < sorted.rank(); ++i)
    fits = sorted[i] == values[i] || !BothKnown(sorted[i], values[i]);
  ENFORCE(fits, InvalidArgument,
          "SortedSequence must have one axis, or the sizes of Values but along the last axis, got ",
          sorted, " and Values ", values);
  const bool small = ctx.attrs<SearchsortedAttrs>().out_int32;
  ctx.SetOutput(kOut, values, small ? DType::kInt32 : DType::kInt64);
}

void DefineSearchsorted(OpDef& op) {
  op.Comment(
        "Out = where each of Values would stand in SortedSequence, which ascends along its last "
        "axis: before the first element that is not less, with right before the first that is "
        "greater. A NaN counts as the greatest.")
      .Example(
          ">>> edges = to_variable([1.0, 3.0, 5.0])\n"
          ">>> F.searchsorted(edges, to_variable([3.0, 4.0])).tolist()\n"
          "[1, 2]\n"
          ">>> F.searchsorted(edges, to_variable([3.0, 4.0]), right=True).tolist()\n"
          "[2, 2]")
      .Input(kSorted, "SortedSequence", "[n], or [..., n]")
      .Input(kValues, "Values", "any shape; [..., m] where SortedSequence has several axes")
      .Output(kOut, "Out", "shape of Values, int64")
      .Attr(&SearchsortedAttrs::out_int32, "out_int32", "Out is of int32")
      .Attr(&SearchsortedAttrs::right, "right", "behind equal elements, not before them")
      .ShareLoD(kValues)
      .Shape(InferShape)
      .NoGrad();
}

// The number of leading elements of a row for which stays(element) is true. Each step halves what
// is left without a branch on the data.
template <class T, class Stays>
DYGRAPH_INLINE int64_t CountLeading(const T* row, int64_t n, Stays stays) {
  const T* from = row;
  while (n > 1) {
    const int64_t half = n / 2;
    from += half & -static_cast<int64_t>(stays(from[half - 1]));
    n -= half;
  }
  return from - row + (n == 1 && stays(*from));
}

// A NaN in the row is less than or equal to no number: it stays behind all.
template <class T>
DYGRAPH_INLINE int64_t Place(const T* row, int64_t n, T value, bool right) {
  if (value != value) return right ? n : CountLeading(row, n, [](T e) { return e == e; });
  return right ? CountLeading(row, n, [=](T e) { return e <= value; })
               : CountLeading(row, n, [=](T e) { return e < value; });
}

// to[i] = the place of v[i] in its row of n elements, all `width` values of a row searching the
// same one; `shared`: all search the first.
template <class T, class I>
void Search(const T* rows, const T* v, int64_t n, int64_t width, int64_t count, bool shared,
            bool right, I* to) {
  constexpr int64_t kCost = 64;
  kernels::ForEach(
      count,
      [=] DYGRAPH_FN(int64_t i) {
        to[i] = static_cast<I>(Place(rows + (shared ? 0 : i / width * n), n, v[i], right));
      },
      kCost);
}

template <class T>
struct SearchsortedKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &sorted = ctx.In(kSorted), &values = ctx.In(kValues);
    const int64_t n = sorted.dim(sorted.rank() - 1);
    const bool shared = sorted.rank() == 1, right = ctx.attrs<SearchsortedAttrs>().right;
    const int64_t width =
        values.rank() == 0 ? 1 : std::max<int64_t>(values.dim(values.rank() - 1), 1);
    const T *rows = sorted.data<T>(), *v = values.data<T>();
    Tensor& out = ctx.Out(kOut);
    if (out.dtype() == DType::kInt64)
      return Search(rows, v, n, width, values.numel(), shared, right, out.mutable_data<int64_t>());
    ENFORCE(n <= INT32_MAX, OutOfRange, "a row of ", n,
            " elements needs out_int32=False, got out_int32=True");
    Search(rows, v, n, width, values.numel(), shared, right, out.mutable_data<int32_t>());
  }
};

REGISTER_OPERATOR(searchsorted, DefineSearchsorted);
REGISTER_KERNELS(searchsorted, SearchsortedKernel, int32_t, int64_t, float, double);

}  // namespace
}  // namespace dygraph
