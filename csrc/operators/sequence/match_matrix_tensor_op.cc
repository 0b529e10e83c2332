#include "op/part_call.h"
#include "operators/sequence/sequence.h"

namespace dygraph::sequence {
namespace {

constexpr int kX = 0, kY = 1, kW = 2, kOut = 0, kTmp = 1;

struct MatchMatrixAttrs {
  int32_t dim_t = 1;
};

void InferShape(InferContext& ctx) {
  const int64_t channels = ctx.attrs<MatchMatrixAttrs>().dim_t;
  const Dims &x = ctx.dims(kX), &y = ctx.dims(kY), &w = ctx.dims(kW);
  ENFORCE(x.rank() == 2 && y.rank() == 2, InvalidArgument,
          "X and Y must have shapes [rows, D], got ", x, " and ", y);
  ENFORCE(w.rank() == 3 && (w[0] == x[1] || !BothKnown(w[0], x[1])) &&
              (w[1] == channels || w[1] < 0) && (w[2] == y[1] || !BothKnown(w[2], y[1])),
          InvalidArgument, "W must have shape [columns of X, dim_t, columns of Y], [", x[1], ", ",
          channels, ", ", y[1], "] here, got ", w);
  ctx.SetOutput(kTmp, {MulSizes(x[0], MulSizes(channels, y[1])), 1});
  if (!ctx.runtime()) return ctx.SetOutput(kOut, {-1, 1});
  const Offsets &of_x = LastLevel(ctx.value(kX).tensor(), "X"),
                &of_y = LastLevel(ctx.value(kY).tensor(), "Y");
  ENFORCE(of_x.size() == of_y.size(), InvalidArgument,
          "X and Y must have equally many sequences, got ", Count(of_x), " and ", Count(of_y));
  int64_t numbers = 0;
  for (int64_t s = 0; s < Count(of_x); ++s)
    numbers += channels * (of_x[s + 1] - of_x[s]) * (of_y[s + 1] - of_y[s]);
  ctx.SetOutput(kOut, {numbers, 1});
}

void DefineMatchMatrixTensor(OpDef& op) {
  op.Comment(
        "For each pair of sequences of X and Y and each t below dim_t: Out = X W[:, t, :] Y^T, "
        "[t, row of X, row of Y] as one column, how well each word of the one matches each word of "
        "the other (Wan et al., 2016).")
      .Example(
          ">>> x = to_variable([[1.0, 2.0]], lod=[[0, 1]])\n"
          ">>> y = to_variable([[1.0, 0.0], [0.0, 1.0]], lod=[[0, 2]])\n"
          ">>> w = to_variable([[[1.0, 0.0]], [[0.0, 10.0]]])\n"
          ">>> F.match_matrix_tensor(x, y, w)[0].tolist()\n"
          "[[1.0], [20.0]]")
      .Input(kX, "X", "[rows, Dx] with LoD")
      .Input(kY, "Y", "[rows, Dy] with LoD, as many sequences")
      .Input(kW, "W", "[Dx, dim_t, Dy]")
      .Output(kOut, "Out", "[numbers, 1], with the LoD of the pairs")
      .Output(kTmp, "Tmp", "X W, [rows * dim_t * Dy, 1]")
      .Attr(&MatchMatrixAttrs::dim_t, "dim_t", "how many matrices W has", AtLeast(1))
      .Shape(InferShape)
      .KernelAllocates()
      .Grad([](GradBuilder& g) {
        RecipeRef projected = g.Temp(), back = g.Temp();
        g.Call("mul", {g.Input(kX), g.Input(kW)}, {projected});
        g.Call("sequence_match_grad",
               {projected, g.Input(kY), g.InputShape(kX), g.InputShape(kY), g.OutputGrad(kOut)},
               {back, g.InputGrad(kY)});
        g.Call("mul_grad", {g.Input(kX), g.Input(kW), back}, {g.InputGrad(kX), g.InputGrad(kW)});
      });
}

template <class T>
struct MatchMatrixTensorKernel {
  static void Compute(KernelContext& ctx) {
    const Value &x = ctx.InValue(kX), &y = ctx.InValue(kY);
    Value projected;
    PartCall(ctx, "mul").In(x).In(ctx.InValue(kW)).Out(&projected).Run();
    PartCall(ctx, "sequence_match").In(projected).In(y).In(x).In(y).Out(&ctx.OutValue(kOut)).Run();
    if (Tensor* out = ctx.OutOrNull(kTmp)) out->ShareData(projected.tensor());
  }
};

REGISTER_OPERATOR(match_matrix_tensor, DefineMatchMatrixTensor);
REGISTER_KERNELS(match_matrix_tensor, MatchMatrixTensorKernel, float, double);

}  // namespace
}  // namespace dygraph::sequence
