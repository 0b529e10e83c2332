#include "operators/create/triangle_indices.h"

namespace dygraph::triangle_indices {
namespace {

struct TrilIndicesAttrs {
  int32_t rows = 0, cols = 0, offset = 0;
  DType dtype = DType::kInt64;
};

void DefineTrilIndices(OpDef& op) {
  op.Comment("Out = the rows and the columns of the elements on and below a diagonal of a matrix.")
      .Example(
          ">>> F.tril_indices(rows=2, cols=2).tolist()\n"
          "[[0, 1, 1], [0, 0, 1]]")
      .Output(kOut, "out", "[2, number of elements]")
      .Attr(&TrilIndicesAttrs::rows, "rows", "rows of the matrix", AtLeast(0))
      .Attr(&TrilIndicesAttrs::cols, "cols", "columns of the matrix", AtLeast(0))
      .Attr(&TrilIndicesAttrs::offset, "offset", "0: the main diagonal; above it positive")
      .Attr(&TrilIndicesAttrs::dtype, "dtype", "int32 or int64")
      .Shape([](InferContext& ctx) {
        const TrilIndicesAttrs& a = ctx.attrs<TrilIndicesAttrs>();
        InferShape(ctx, true, a.rows, a.cols, a.offset, a.dtype);
      })
      .KernelDType(
          [](const Call& call) { return static_cast<const TrilIndicesAttrs*>(call.attrs)->dtype; })
      .NoGrad();
}

template <class T>
struct TrilIndicesKernel {
  static void Compute(KernelContext& ctx) {
    const TrilIndicesAttrs& a = ctx.attrs<TrilIndicesAttrs>();
    triangle_indices::Compute<T>(true, a.rows, a.cols, a.offset, &ctx.Out(kOut));
  }
};

REGISTER_OPERATOR(tril_indices, DefineTrilIndices);
REGISTER_KERNELS(tril_indices, TrilIndicesKernel, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::triangle_indices
