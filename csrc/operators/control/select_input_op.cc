#include "op/gradient_call.h"
#include "operators/control/select.h"

namespace dygraph::select {
namespace {

constexpr int kX = 0, kMask = 1, kOut = 0;

void InferType(InferContext& ctx) {
  if (ctx.runtime()) return;
  const Value* first = nullptr;
  for (int i = 0; i < ctx.InputCount(kX); ++i) {
    const Value* v = ctx.call().in.at(kX, i);
    if (!v) continue;
    if (!first) {
      first = v;
      DescribeLike(ctx, *v, kOut, 0);
      continue;
    }
    ENFORCE(v->kind() == first->kind() && v->dtype() == first->dtype(), Type,
            "all X must be of one kind and type, got ", Name(first->kind()), " of ", first->dtype(),
            " and ", Name(v->kind()), " of ", v->dtype());
    if (!v->is_tensor()) continue;
    Value* out = ctx.call().out.at(kOut);
    Dims dims = out ? out->dims() : v->dims();
    ENFORCE(dims.size() == v->dims().size(), InvalidArgument,
            "all X must have as many axes, got shapes ", dims, " and ", v->dims());
    for (size_t k = 0; k < dims.size(); ++k) dims[k] = dims[k] == v->dims()[k] ? dims[k] : -1;
    ctx.SetOutput(kOut, dims, v->dtype());
  }
}

void DefineSelectInput(OpDef& op) {
  op.Comment("Out = X[Mask]: the value of the branch that was taken. They share storage.")
      .Example(
          ">>> x = [to_variable([1.0]), to_variable([2.0, 3.0])]\n"
          ">>> F.select_input(x, to_variable(np.array([1]))).tolist()\n"
          "[2.0, 3.0]")
      .Input(kX, "X",
             "one value for each branch; those of branches that were not taken may hold "
             "nothing",
             kDuplicable | kTakesArray | kMayBeUnwritten)
      .Input(kMask, "Mask", "one integer, the number of the branch", kOnHost)
      .Output(kOut, "Out", "what X[Mask] is")
      .VarType(InferType)
      .KernelDTypeOf(kMask)
      .MixedDTypes()
      .KernelAllocates()
      .MayShare(kX, kOut)
      .Grad(CallGradient);
}

template <class T>
struct SelectInputKernel {
  static void Compute(KernelContext& ctx) {
    const int64_t branch = BranchIn(ctx, kMask, ctx.InputCount(kX), "branch of X");
    const Value& chosen = ctx.InValue(kX, static_cast<int>(branch));
    ENFORCE(!chosen.empty(), PreconditionNotMet, "X[", branch,
            "] must hold a value, but the branch that writes it was not run");
    ctx.OutValue(kOut) = chosen;
  }
};

namespace grad {
constexpr int kX = 0, kMask = 1, kOutGrad = 2, kXGrad = 0;

void DefineSelectInputGrad(OpDef& op) {
  op.Comment("X@GRAD[Mask] = Out@GRAD; the others are zeros in the shapes of X.")
      .Input(kX, "X", "their shapes",
             kDuplicable | kDispensable | kTakesArray | kShapeOnly | kMayBeUnwritten)
      .Input(kMask, "Mask", "one integer, the number of the branch", kOnHost)
      .Input(kOutGrad, "Out@GRAD", "shape of Out", kTakesArray)
      .Output(kXGrad, "X@GRAD", "shapes of X", kDuplicable)
      .VarType([](InferContext& ctx) {
        for (int i = 0; !ctx.runtime() && i < ctx.InputCount(kX); ++i) {
          if (ctx.call().in.at(kX, i)) DescribeLike(ctx, ctx.value(kX, i), kXGrad, i);
        }
      })
      .OutputCount([](int, const Call& call) { return call.in.count(kX); })
      .KernelDTypeOf(kMask)
      .MixedDTypes()
      .KernelAllocates()
      .Grad([](GradBuilder& g) {
        g.Call("select_output_grad",
               {g.InputShape(kOutGrad), g.Input(kMask), g.OutputGrads(kXGrad)},
               {g.InputGrad(kOutGrad)});
      });
}

template <class T>
struct SelectInputGradKernel {
  static void Compute(KernelContext& ctx) {
    const int n = ctx.InputCount(kX);
    const int64_t branch = BranchIn(ctx, kMask, n, "branch of X");
    for (int i = 0; i < n; ++i) {
      if (!ctx.HasOutput(kXGrad, i) || !(i == branch || ctx.HasInput(kX, i))) continue;
      ctx.OutValue(kXGrad, i) =
          i == branch ? ctx.InValue(kOutGrad) : ZerosLike(ctx.InValue(kX, i), ctx.place());
    }
  }
};
}  // namespace grad

REGISTER_OPERATOR(select_input, DefineSelectInput);
REGISTER_KERNELS(select_input, SelectInputKernel, int32_t, int64_t);
REGISTER_OPERATOR(select_input_grad, grad::DefineSelectInputGrad);
REGISTER_KERNELS(select_input_grad, grad::SelectInputGradKernel, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::select
