#include "op/gradient_call.h"
#include "operators/control/select.h"

namespace dygraph::select {
namespace {

constexpr int kX = 0, kMask = 1, kOut = 0;

void DefineSelectOutput(OpDef& op) {
  op.Comment(
        "Out[Mask] = X: the value for the branch that is taken. The others hold nothing. Two "
        "branches, unless a program or run_op names more outputs.")
      .Example(
          ">>> out = F.select_output(to_variable([1.0]), to_variable(np.array([1])))\n"
          ">>> out[1].tolist()\n"
          "[1.0]")
      .Input(kX, "X", "any value", kTakesArray)
      .Input(kMask, "Mask", "one integer, the number of the branch", kOnHost)
      .Output(kOut, "Out", "one for each branch", kDuplicable)
      .VarType([](InferContext& ctx) {
        for (int i = 0; !ctx.runtime() && i < ctx.OutputCount(kOut); ++i)
          DescribeLike(ctx, ctx.value(kX), kOut, i);
      })
      .OutputCount([](int, const Call&) { return 2; })
      .KernelDTypeOf(kMask)
      .MixedDTypes()
      .KernelAllocates()
      .MayShare(kX, kOut)
      .Grad(CallGradient);
}

template <class T>
struct SelectOutputKernel {
  static void Compute(KernelContext& ctx) {
    const int branch =
        static_cast<int>(BranchIn(ctx, kMask, ctx.OutputCount(kOut), "branch of Out"));
    for (int i = 0; i < ctx.OutputCount(kOut); ++i) {
      if (ctx.HasOutput(kOut, i)) ctx.OutValue(kOut, i) = i == branch ? ctx.InValue(kX) : Value();
    }
  }
};

namespace grad {
constexpr int kX = 0, kMask = 1, kOutGrad = 2, kXGrad = 0;

void DefineSelectOutputGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD[Mask], zeros where that is left out.")
      .Input(kX, "X", "its shape", kTakesArray | kShapeOnly)
      .Input(kMask, "Mask", "one integer, the number of the branch", kOnHost)
      .Input(kOutGrad, "Out@GRAD", "shape of X",
             kDuplicable | kDispensable | kTakesArray | kMayBeUnwritten)
      .Output(kXGrad, "X@GRAD", "shape of X")
      .VarType([](InferContext& ctx) {
        if (!ctx.runtime()) DescribeLike(ctx, ctx.value(kX), kXGrad, 0);
      })
      .KernelDTypeOf(kMask)
      .MixedDTypes()
      .KernelAllocates()
      .Grad([](GradBuilder& g) {
        g.Call("select_input_grad", {g.InputShapes(kOutGrad), g.Input(kMask), g.OutputGrad(kXGrad)},
               {g.InputGrads(kOutGrad)});
      });
}

template <class T>
struct SelectOutputGradKernel {
  static void Compute(KernelContext& ctx) {
    const int n = ctx.InputCount(kOutGrad);
    const int64_t branch = BranchIn(ctx, kMask, n, "branch of Out@GRAD");
    const Value* chosen = ctx.call().in.at(kOutGrad, static_cast<int>(branch));
    ctx.OutValue(kXGrad) =
        chosen && !chosen->empty() ? *chosen : ZerosLike(ctx.InValue(kX), ctx.place());
  }
};
}  // namespace grad

REGISTER_OPERATOR(select_output, DefineSelectOutput);
REGISTER_KERNELS(select_output, SelectOutputKernel, int32_t, int64_t);
REGISTER_OPERATOR(select_output_grad, grad::DefineSelectOutputGrad);
REGISTER_KERNELS(select_output_grad, grad::SelectOutputGradKernel, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::select
