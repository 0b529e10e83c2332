#include "kernels/loops.h"
#include "operators/clear.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct FillDiagonalAttrs {
  double value = 0;
  int32_t offset = 0;
  bool wrap = false;
};

void InferShape(InferContext& ctx) {
  const FillDiagonalAttrs& a = ctx.attrs<FillDiagonalAttrs>();
  const Dims& x = ctx.dims(kX);
  ENFORCE(x.rank() >= 2, InvalidArgument, "X must have at least two axes, got shape ", x);
  for (int i = 1; x.rank() > 2 && i < x.rank(); ++i) {
    ENFORCE(x[i] == x[0] || !BothKnown(x[i], x[0]), InvalidArgument,
            "X of more than two axes must have one size along all, got shape ", x);
  }
  ENFORCE(x.rank() == 2 || a.offset == 0, InvalidArgument,
          "offset must be 0 for X of more than two axes, got ", a.offset);
  ctx.SetOutput(kOut, x);
}

void DefineFillDiagonal(OpDef& op) {
  op.Comment(
        "Out = X with value on a diagonal: where all numbers of an element are equal or, in the "
        "square of a tall matrix's first rows, the column lies offset right of the row. With wrap "
        "it comes again in the next square, one row below.")
      .Example(
          ">>> F.fill_diagonal(dygraph.zeros(2, 3), value=5.0, offset=1).tolist()\n"
          "[[0.0, 5.0, 0.0], [0.0, 0.0, 5.0]]")
      .Input(kX, "X", "a matrix, or more axes of one size")
      .Output(kOut, "Out", "shape of X")
      .Attr(&FillDiagonalAttrs::value, "value", "the number to write")
      .Attr(&FillDiagonalAttrs::offset, "offset", "0: the main one; above it positive")
      .Attr(&FillDiagonalAttrs::wrap, "wrap", "go on below the end of a tall matrix")
      .ShareLoD(kX)
      .Shape(InferShape)
      .Grad([](GradBuilder& g) {
        const FillDiagonalAttrs& a = g.attrs<FillDiagonalAttrs>();
        g.Call("fill_diagonal", {g.OutputGrad(kOut)}, {g.InputGrad(kX)})
            .Attr("offset", a.offset)
            .Attr("wrap", a.wrap);
      });
}

template <class T>
struct FillDiagonalKernel {
  static void Compute(KernelContext& ctx) {
    const FillDiagonalAttrs& a = ctx.attrs<FillDiagonalAttrs>();
    const Tensor& x = ctx.In(kX);
    Tensor& out = ctx.Out(kOut);
    if (x.numel() == 0) return;
    T* to = out.mutable_data<T>();
    CopyAll(ctx, x, &out);
    const T value = static_cast<T>(NumberFor<T>(a.value));
    if (x.rank() > 2) {
      int64_t step = 0;
      for (int64_t stride : Strides(x.dims())) step += stride;
      return kernels::ForEach(x.dim(0), [=] DYGRAPH_FN(int64_t i) { to[i * step] = value; });
    }
    const int64_t rows = x.dim(0), columns = x.dim(1), height = a.wrap ? columns + 1 : rows;
    const int64_t offset = a.offset;
    kernels::ForEach(rows, [=] DYGRAPH_FN(int64_t r) {
      const int64_t in_square = r % height, column = in_square + offset;
      if (in_square < columns && column >= 0 && column < columns) to[r * columns + column] = value;
    });
  }
};

REGISTER_OPERATOR(fill_diagonal, DefineFillDiagonal);
REGISTER_KERNELS(fill_diagonal, FillDiagonalKernel, int32_t, int64_t, float, double);

}  // namespace
}  // namespace dygraph
