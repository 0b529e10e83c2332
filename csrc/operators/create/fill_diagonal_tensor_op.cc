#include "operators/clear.h"
#include "operators/create/diagonals.h"

namespace dygraph::diagonals {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0;

struct FillDiagonalTensorAttrs {
  int64_t offset = 0;
  int32_t dim1 = 0, dim2 = 1;
};

Diagonals Find(const FillDiagonalTensorAttrs& a, const Dims& x) {
  return Of(x, a.offset, a.dim1, a.dim2, "X");
}

void InferShape(InferContext& ctx) {
  const Dims& y = ctx.dims(kY);
  const Dims wanted = Find(ctx.attrs<FillDiagonalTensorAttrs>(), ctx.dims(kX)).shape;
  bool fits = y.rank() == wanted.rank();
  for (int i = 0; fits && i < y.rank(); ++i)
    fits = y[i] == wanted[i] || !BothKnown(y[i], wanted[i]);
  ENFORCE(fits, InvalidArgument, "Y must have the shape of the diagonals, ", wanted, ", got ", y);
  ctx.SetOutput(kOut, ctx.dims(kX));
}

void DefineFillDiagonalTensor(OpDef& op) {
  op.Comment(
        "Out = X with Y on a diagonal of each matrix that dim1 (its rows) and dim2 (its columns) "
        "make.")
      .Example(
          ">>> x, y = to_variable([[1, 2], [3, 4]]), to_variable([8, 9])\n"
          ">>> F.fill_diagonal_tensor(x, y).tolist()\n"
          "[[8, 2], [3, 9]]")
      .Input(kX, "X", "at least two axes")
      .Input(kY, "Y", "X's shape without the two axes, and the diagonal's size")
      .Output(kOut, "Out", "shape of X")
      .Attr(&FillDiagonalTensorAttrs::offset, "offset", "0: the main one; above it positive")
      .Attr(&FillDiagonalTensorAttrs::dim1, "dim1", "the rows' axis")
      .Attr(&FillDiagonalTensorAttrs::dim2, "dim2", "the columns' axis")
      .ShareLoD(kX)
      .Shape(InferShape)
      .Grad([](GradBuilder& g) {
        const FillDiagonalTensorAttrs& a = g.attrs<FillDiagonalTensorAttrs>();
        RecipeRef incoming = g.OutputGrad(kOut);
        RecipeRef zero = g.Apply("fill_any_like", {g.InputShape(kY)});
        g.Call("fill_diagonal_tensor", {incoming, zero}, {g.InputGrad(kX)}).SameAttrs();
        g.Call("diagonal", {incoming}, {g.InputGrad(kY)})
            .Attr("offset", static_cast<int32_t>(a.offset))
            .Attr("axis1", a.dim1)
            .Attr("axis2", a.dim2);
      });
}

template <class T>
struct FillDiagonalTensorKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const Diagonals d = Find(ctx.attrs<FillDiagonalTensorAttrs>(), x.dims());
    Tensor& out = ctx.Out(kOut);
    CopyAll(ctx, x, &out);
    if (Numel(d.shape) == 0) return;
    kernels::CopyStrided(d.shape, ctx.In(kY).data<T>(), Strides(d.shape),
                         out.mutable_data<T>() + d.first, d.strides, sizeof(T));
  }
};

REGISTER_OPERATOR(fill_diagonal_tensor, DefineFillDiagonalTensor);
REGISTER_KERNELS(fill_diagonal_tensor, FillDiagonalTensorKernel, bool, uint8_t, int8_t, int16_t,
                 int32_t, int64_t, float16, bfloat16, float, double);

}  // namespace
}  // namespace dygraph::diagonals
