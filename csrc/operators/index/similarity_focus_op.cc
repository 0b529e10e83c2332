#include <algorithm>
#include <cmath>
#include <numeric>

#include "op/op_registry.h"
#include "platform/interrupt.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct SimilarityFocusAttrs {
  int32_t axis = 1;
  std::vector<int32_t> indexes;
};

void DefineSimilarityFocus(OpDef& op) {
  op.Comment(
        "Out is 1 along `axis` where one of the matrices X[:, index] has a chosen element, else 0. "
        "Of a matrix the greatest element is chosen, then the greatest in the rows and columns "
        "that are left, and so on (He and Lin, 2016).")
      .Example(
          ">>> x = to_variable([[[[0.8, 0.1], [0.4, 0.5]], [[0.0, 0.0], [0.0, 0.0]]]])\n"
          ">>> F.similarity_focus(x, axis=1, indexes=[0]).tolist()[0][1]\n"
          "[[1.0, 0.0], [0.0, 1.0]]")
      .Input(kX, "X", "[batch, a, b, c]")
      .Output(kOut, "Out", "shape of X")
      .Attr(&SimilarityFocusAttrs::axis, "axis", "1, 2 or 3: what is left of it makes matrices",
            Between(1, 3))
      .Attr(&SimilarityFocusAttrs::indexes, "indexes", "which matrices", EachAtLeast(0))
      .ShareLoD(kX)
      .Shape([](InferContext& ctx) {
        const Dims& x = ctx.dims(kX);
        const auto& a = ctx.attrs<SimilarityFocusAttrs>();
        ENFORCE(x.rank() == 4, InvalidArgument, "X must have 4 axes, got shape ", x);
        ENFORCE(!a.indexes.empty(), InvalidArgument, "indexes must name a matrix along axis ",
                a.axis, " of X ", x, ", got none");
        for (int32_t i : a.indexes) {
          ENFORCE(x[a.axis] < 0 || i < x[a.axis], OutOfRange, "indexes must lie below the size ",
                  x[a.axis], " of axis ", a.axis, " of X ", x, ", got ", i);
        }
        ctx.SetOutput(kOut, x);
      })
      .NoGrad();
}

// Elements of a matrix, greatest first; of equal ones the first. A NaN is chosen last.
template <class T>
std::vector<int64_t> Descending(const std::vector<T>& values) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    if (std::isnan(values[i]) || std::isnan(values[j]))
      return !std::isnan(values[i]) && std::isnan(values[j]);
    return values[i] > values[j];
  });
  return order;
}

template <class T>
struct SimilarityFocusKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<SimilarityFocusAttrs>();
    const Tensor x = ctx.In(kX);  // a handler of a signal may write the variable
    int64_t strides[3], sizes[3], stride = 1;
    for (int i = 2; i >= 0; --i) {
      sizes[i] = x.dim(i + 1);
      strides[i] = stride;
      stride *= sizes[i];
    }
    int along = a.axis - 1, row = along == 0 ? 1 : 0, column = along == 2 ? 1 : 2;
    int64_t rows = sizes[row], columns = sizes[column], count = sizes[0] * sizes[1] * sizes[2];
    T* out = ctx.Out(kOut).mutable_data<T>();
    std::fill(out, out + x.numel(), T(0));
    std::vector<T> matrix(static_cast<size_t>(rows * columns));
    for (int64_t b = 0; b < x.dim(0); ++b) {
      const T* from = x.data<T>() + b * count;
      for (int32_t index : a.indexes) {
        CheckInterrupt();
        for (int64_t i = 0; i < rows * columns; ++i) {
          matrix[i] = from[index * strides[along] + i / columns * strides[row] +
                           i % columns * strides[column]];
        }
        std::vector<bool> row_taken(rows), column_taken(columns);
        for (int64_t i : Descending(matrix)) {
          int64_t r = i / columns, c = i % columns;
          if (row_taken[r] || column_taken[c]) continue;
          row_taken[r] = column_taken[c] = true;
          T* to = out + b * count + r * strides[row] + c * strides[column];
          for (int64_t k = 0; k < sizes[along]; ++k) to[k * strides[along]] = T(1);
        }
      }
    }
  }
};

REGISTER_OPERATOR(similarity_focus, DefineSimilarityFocus);
REGISTER_CPU_KERNEL(similarity_focus, SimilarityFocusKernel, float, double);

}  // namespace
}  // namespace dygraph
