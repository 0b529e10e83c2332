#include "operators/host/merge_rows.h"
#include "operators/selected_rows.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

void InferVarType(InferContext& ctx) { selected_rows::SetLike(ctx, kX, kOut); }

void DefineMergeSelectedRows(OpDef& op) {
  op.Comment(
        "Out has each row number of X once, ascending; the values of repeated ones are added in "
        "the order they stand in X.")
      .Example(
          ">>> x = dygraph.selected_rows([2, 0, 2], 4, [[1.0], [2.0], [3.0]])\n"
          ">>> merged = F.merge_selected_rows(x)\n"
          ">>> merged.rows(), merged.rows_value().tolist()\n"
          "([0, 2], [[2.0], [4.0]])")
      .Input(kX, "X", "selected rows", kTakesRows)
      .Output(kOut, "Out", "selected rows of the height of X")
      .VarType(InferVarType)
      .NoGrad();
}

template <class T>
struct MergeSelectedRowsKernel {
  static void Compute(KernelContext& ctx) {
    ctx.OutValue(kOut).SetRows(selected_rows::Merge<T>(ctx.InRows(kX)));
  }
};

REGISTER_OPERATOR(merge_selected_rows, DefineMergeSelectedRows);
REGISTER_KERNELS(merge_selected_rows, MergeSelectedRowsKernel, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph
