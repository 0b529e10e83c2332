#include "operators/linalg/factor_loops.h"

// determinant and slogdeterminant.
namespace dygraph::linalg {
namespace {

constexpr int kInput = 0, kOut = 0;

void DefineDeterminant(OpDef& op) {
  op.Comment("Out = the determinant of each matrix. That of an empty one is 1.")
      .Example(">>> F.determinant(to_variable([[1.0, 2.0], [3.0, 4.0]])).item()\n-2.0")
      .Input(kInput, "Input", "[..., n, n]")
      .Output(kOut, "Out", "[...]")
      .Shape(
          [](InferContext& ctx) { ctx.SetOutput(kOut, SquareOf(ctx.dims(kInput), "Input").batch); })
      // Giles (2008), 2.2.4: Out@GRAD Out Input^-T; a singular matrix raises
      .Grad([](GradBuilder& g) {
        Formula f(g);
        RecipeRef factor = f.Mul(g.OutputGrad(kOut), g.Output(kOut));
        RecipeRef inverse = f.T(g.Apply("inverse", {g.Input(kInput)}));
        g.Call("elementwise_mul", {inverse, f.Unsqueeze(factor, {-1, -1})}, {g.InputGrad(kInput)});
      });
}

void DefineSlogdeterminant(OpDef& op) {
  op.Comment(
        "Out[0] = the sign of the determinant of each matrix, Out[1] = the logarithm of its "
        "absolute value. A singular matrix has 0 and -infinity.")
      .Example(
          ">>> F.slogdeterminant(to_variable([[0.0, 1.0], [1.0, 0.0]])).tolist()\n"
          "[-1.0, 0.0]")
      .Input(kInput, "Input", "[..., n, n]")
      .Output(kOut, "Out", "[2, ...]")
      .Shape([](InferContext& ctx) {
        Dims out{2};
        const Dims batch = SquareOf(ctx.dims(kInput), "Input").batch;
        out.Append(batch.begin(), batch.end());
        ctx.SetOutput(kOut, out);
      })
      // of the logarithm: Out@GRAD[1] Input^-T; the sign is a step
      .Grad([](GradBuilder& g) {
        Formula f(g);
        RecipeRef logarithm = g.Temp();
        g.Call("slice", {g.OutputGrad(kOut)}, {logarithm})
            .Attr("axes", std::vector<int32_t>{0})
            .Attr("starts", std::vector<int32_t>{1})
            .Attr("ends", std::vector<int32_t>{2})
            .Attr("decrease_axis", std::vector<int32_t>{0});
        RecipeRef inverse = f.T(g.Apply("inverse", {g.Input(kInput)}));
        g.Call("elementwise_mul", {inverse, f.Unsqueeze(logarithm, {-1, -1})},
               {g.InputGrad(kInput)});
      });
}

template <class T>
struct DeterminantKernel {
  static void Compute(KernelContext& ctx) {
    const Stack s = SquareOf(ctx.In(kInput).dims(), "Input");
    T* to = ctx.Out(kOut).mutable_data<T>();
    Determinants(s, ctx.In(kInput).data<T>(), to);
  }
};

template <class T>
struct SlogdeterminantKernel {
  static void Compute(KernelContext& ctx) {
    const Stack s = SquareOf(ctx.In(kInput).dims(), "Input");
    T *sign = ctx.Out(kOut).mutable_data<T>(), *logarithm = sign + s.count;
    LogDeterminants(s, ctx.In(kInput).data<T>(), sign, logarithm);
  }
};

REGISTER_OPERATOR(determinant, DefineDeterminant);
REGISTER_KERNELS(determinant, DeterminantKernel, float, double);
REGISTER_OPERATOR(slogdeterminant, DefineSlogdeterminant);
REGISTER_KERNELS(slogdeterminant, SlogdeterminantKernel, float, double);

}  // namespace
}  // namespace dygraph::linalg
