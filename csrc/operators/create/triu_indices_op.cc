#include "operators/create/triangle_indices.h"

namespace dygraph::triangle_indices {
namespace {

struct TriuIndicesAttrs {
  int32_t row = 0, col = 0, offset = 0;
  DType dtype = DType::kInt64;
};

void DefineTriuIndices(OpDef& op) {
  op.Comment("Out = the rows and the columns of the elements on and above a diagonal of a matrix.")
      .Example(
          ">>> F.triu_indices(row=2, col=2).tolist()\n"
          "[[0, 0, 1], [0, 1, 1]]")
      .Output(kOut, "out", "[2, number of elements]")
      .Attr(&TriuIndicesAttrs::row, "row", "rows of the matrix", AtLeast(0))
      .Attr(&TriuIndicesAttrs::col, "col", "columns of the matrix", AtLeast(0))
      .Attr(&TriuIndicesAttrs::offset, "offset", "0: the main diagonal; above it positive")
      .Attr(&TriuIndicesAttrs::dtype, "dtype", "int32 or int64")
      .Shape([](InferContext& ctx) {
        const TriuIndicesAttrs& a = ctx.attrs<TriuIndicesAttrs>();
        InferShape(ctx, false, a.row, a.col, a.offset, a.dtype);
      })
      .KernelDType(
          [](const Call& call) { return static_cast<const TriuIndicesAttrs*>(call.attrs)->dtype; })
      .NoGrad();
}

template <class T>
struct TriuIndicesKernel {
  static void Compute(KernelContext& ctx) {
    const TriuIndicesAttrs& a = ctx.attrs<TriuIndicesAttrs>();
    triangle_indices::Compute<T>(false, a.row, a.col, a.offset, &ctx.Out(kOut));
  }
};

REGISTER_OPERATOR(triu_indices, DefineTriuIndices);
REGISTER_KERNELS(triu_indices, TriuIndicesKernel, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::triangle_indices
