#include "operators/selected_rows.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

void InferShape(InferContext& ctx) {
  const SelectedRows& x = selected_rows::RowsOf(ctx, kX);
  Dims dims = x.value().dims();
  if (!ctx.runtime()) dims[0] = -1;  // how many rows there are only a run knows
  ctx.SetOutput(kOut, dims, x.value().dtype());
}

void DefineGetTensorFromSelectedRows(OpDef& op) {
  op.Comment(
        "Out is the values of X, one row for each of its row numbers. It is not the tensor X "
        "stands for, which has rows of zeros as well.")
      .Example(
          ">>> rows = dygraph.selected_rows([1, 3], 4, [[5.0], [6.0]])\n"
          ">>> F.get_tensor_from_selected_rows(rows).tolist(), rows.to_dense().tolist()\n"
          "([[5.0], [6.0]], [[0.0], [5.0], [0.0], [6.0]])")
      .Input(kX, "X", "selected rows", kTakesRows)
      .Output(kOut, "Out", "[number of rows, the other sizes of X]")
      .Shape(InferShape)
      .KernelAllocates()
      .MayShare(kX, kOut)
      .NoGrad();
}

template <class T>
struct GetTensorFromSelectedRowsKernel {
  static void Compute(KernelContext& ctx) { ctx.Out(kOut).ShareData(ctx.InRows(kX).value()); }
};

REGISTER_OPERATOR(get_tensor_from_selected_rows, DefineGetTensorFromSelectedRows);
REGISTER_KERNELS(get_tensor_from_selected_rows, GetTensorFromSelectedRowsKernel, float, double,
                    int32_t, int64_t);

}  // namespace
}  // namespace dygraph
