#include "op/lod_rule.h"
#include "operators/create/diagonals.h"

namespace dygraph::diagonals {
namespace {

constexpr int kInput = 0, kOut = 0;

struct DiagonalAttrs {
  int32_t offset = 0, axis1 = 0, axis2 = 1;
};

Diagonals Find(const DiagonalAttrs& a, const Dims& x) {
  return Of(x, a.offset, a.axis1, a.axis2, "Input");
}

void DefineDiagonal(OpDef& op) {
  op.Comment(
        "Out = a diagonal of each matrix that axis1 (its rows) and axis2 (its columns) make, along "
        "a last axis.")
      .Example(
          ">>> x = to_variable([[1, 2, 3], [4, 5, 6]])\n"
          ">>> F.diagonal(x).tolist(), F.diagonal(x, offset=1).tolist()\n"
          "([1, 5], [2, 6])")
      .Input(kInput, "Input", "at least two axes")
      .Output(kOut, "Out", "Input's shape without the two axes, and the diagonal's size")
      .Attr(&DiagonalAttrs::offset, "offset", "0: the main one; above it positive")
      .Attr(&DiagonalAttrs::axis1, "axis1", "the rows' axis")
      .Attr(&DiagonalAttrs::axis2, "axis2", "the columns' axis")
      .ShareLoD(kInput)
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOut, Find(ctx.attrs<DiagonalAttrs>(), ctx.dims(kInput)).shape);
      })
      .Grad([](GradBuilder& g) {
        const DiagonalAttrs& a = g.attrs<DiagonalAttrs>();
        RecipeRef zero = g.Apply("fill_any_like", {g.InputShape(kInput)});
        g.Call("fill_diagonal_tensor", {zero, g.OutputGrad(kOut)}, {g.InputGrad(kInput)})
            .Attr("offset", int64_t{a.offset})
            .Attr("dim1", a.axis1)
            .Attr("dim2", a.axis2);
      });
}

template <class T>
struct DiagonalKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kInput);
    const Diagonals d = Find(ctx.attrs<DiagonalAttrs>(), x.dims());
    if (Numel(d.shape) == 0) return;
    kernels::CopyStrided(d.shape, x.data<T>() + d.first, d.strides, ctx.Out(kOut).mutable_data<T>(),
                         Strides(d.shape), sizeof(T));
  }
};

REGISTER_OPERATOR(diagonal, DefineDiagonal);
REGISTER_LOD_RULE(diagonal, [](const LoDCall& c) {
  const DiagonalAttrs& a = c.attrs<DiagonalAttrs>();
  return c.IsBehindFirst(a.axis1) && c.IsBehindFirst(a.axis2);
});
REGISTER_KERNELS(diagonal, DiagonalKernel, bool, uint8_t, int8_t, int16_t, int32_t, int64_t,
                 float16, bfloat16, float, double);

}  // namespace
}  // namespace dygraph::diagonals
