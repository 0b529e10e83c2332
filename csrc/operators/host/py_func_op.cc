#include <algorithm>

#include "op/gradient_shapes.h"
#include "op/host_function.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct PyFuncAttrs {
  int64_t forward_callable_id = 0;
  int64_t backward_callable_id = 0;
  std::vector<int32_t> backward_skip;
};

bool SkipsBackward(const PyFuncAttrs& a, int place) {
  return std::find(a.backward_skip.begin(), a.backward_skip.end(), place) != a.backward_skip.end();
}

void DefinePyFunc(OpDef& op) {
  op.Comment(
        "Out = what a Python function makes of X. Programs hold a handle of the function, "
        "which means nothing in another process: static.layers.py_func writes this operator.")
      .Input(kX, "X", "any number of variables, of any types",
             kDuplicable | kDispensable | kTakesRows)
      .Output(kOut, "Out", "shapes and types are those their variables declare",
              kDuplicable | kDispensable)
      .Attr(&PyFuncAttrs::forward_callable_id, "forward_callable_id", "handle of the function",
            IsHostFunction())
      .Attr(&PyFuncAttrs::backward_callable_id, "backward_callable_id",
            "handle of the function for the gradient; -1: none, no gradient passes",
            IsHostFunction())
      .Attr(&PyFuncAttrs::backward_skip, "backward_skip",
            "places, in X and then Out, of what the function for the gradient is not given",
            EachAtLeast(0))
      .Shape([](InferContext&) {})
      .OutputCount([](int, const Call&) { return 1; })
      .KernelDType([](const Call&) { return DType::kFloat32; })
      .MixedDTypes()
      .KernelAllocates()
      .Grad([](GradBuilder& g) {
        const auto& a = g.attrs<PyFuncAttrs>();
        if (a.backward_callable_id < 0) return;
        RecipeSlot in, out;
        int n = g.InputCount(kX);
        for (int i = 0; i < n; ++i)
          in.push_back(SkipsBackward(a, i) ? g.InputShape(kX, i) : g.Input(kX, i));
        for (int i = 0; i < g.OutputCount(kOut); ++i)
          out.push_back(SkipsBackward(a, n + i) ? RecipeRef() : g.Output(kOut, i));
        g.Call("py_func_grad", {in, out, g.OutputGrads(kOut)}, {g.InputGrads(kX)}).SameAttrs();
      });
}

template <class>
struct PyFuncKernel {
  static void Compute(KernelContext& ctx) {
    GetHostFunction(ctx.attrs<PyFuncAttrs>().forward_callable_id)(ctx);
  }
};

namespace grad {
constexpr int kX = 0, kOut = 1, kOutGrad = 2, kXGrad = 0;

void DefinePyFuncGrad(OpDef& op) {
  op.Comment(
        "X@GRAD = what the Python function for the gradient makes of X, Out and Out@GRAD. It has "
        "no "
        "gradient itself: that of a Python function is unknown.")
      .Input(kX, "X", "inputs of py_func; their shapes alone where it skips them",
             kDuplicable | kDispensable | kTakesRows)
      .Input(kOut, "Out", "its results that it does not skip",
             kDuplicable | kDispensable | kTakesRows)
      .Input(kOutGrad, "Out@GRAD", "gradients of its results",
             kDuplicable | kDispensable | kTakesRows)
      .Output(kXGrad, "X@GRAD", "shapes of X", kDuplicable)
      .AttrsOf("py_func")
      .Shape([](InferContext& ctx) {
        for (int i = 0; i < ctx.InputCount(kX); ++i) {
          if (ctx.HasOutput(kXGrad, i))
            ctx.SetOutputAt(kXGrad, i, ctx.dims(kX, i), ctx.dtype(kX, i));
        }
      })
      .OutputCount([](int, const Call& call) { return call.in.count(kX); })
      .KernelDType([](const Call&) { return DType::kFloat32; })
      .MixedDTypes()
      .KernelAllocates();
}

template <class>
struct PyFuncGradKernel {
  static void Compute(KernelContext& ctx) {
    GetHostFunction(ctx.attrs<PyFuncAttrs>().backward_callable_id)(ctx);
  }
};
}  // namespace grad

REGISTER_GRADIENT_SHAPES(py_func, {"Out", ""});
REGISTER_OPERATOR(py_func, DefinePyFunc);
REGISTER_CPU_KERNEL(py_func, PyFuncKernel, float);
REGISTER_OPERATOR(py_func_grad, grad::DefinePyFuncGrad);
REGISTER_CPU_KERNEL(py_func_grad, grad::PyFuncGradKernel, float);

}  // namespace
}  // namespace dygraph
