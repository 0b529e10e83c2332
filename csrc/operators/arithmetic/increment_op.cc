#include "kernels/cast.h"
#include "kernels/elementwise.h"
#include "kernels/integer.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct IncrementAttrs {
  double step = 1.0;
};

void InferShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  ENFORCE(x.HasUnknown() || Numel(x) == 1, InvalidArgument, "X must have one element, got shape ",
          x);
  ctx.SetOutput(kOut, x);
}

void DefineIncrement(OpDef& op) {
  op.Comment("Out = X + step, of one element. A step is cut to a whole number for integers.")
      .Example(
          ">>> F.increment(to_variable([3.0]), step=2.0).tolist()\n"
          "[5.0]")
      .Input(kX, "X", "one element")
      .Output(kOut, "Out", "shape of X")
      .Attr(&IncrementAttrs::step, "step", "the summand")
      .Shape(InferShape)
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .Grad([](GradBuilder& g) { g.Call("scale", {g.OutputGrad(kOut)}, {g.InputGrad(kX)}); });
}

template <class T>
struct IncrementKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    T step = kernels::Convert<T>(NumberFor<T>(ctx.attrs<IncrementAttrs>().step));
    kernels::MapPlain(x.data<T>(), ctx.Out(kOut).mutable_data<T>(), x.numel(),
                      [step] DYGRAPH_FN(T v) { return kernels::Plus(v, step); });
  }
};

REGISTER_OPERATOR(increment, DefineIncrement);
REGISTER_KERNELS(increment, IncrementKernel, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph
