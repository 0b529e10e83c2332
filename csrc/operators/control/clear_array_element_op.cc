#include "operators/control/array.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kI = 1, kOut = 0;

void DefineClearArrayElement(OpDef& op) {
  op.Comment(
        "Out = the array X, in which element I holds nothing: what a write of that element "
        "leaves of the gradient of what was there before.")
      .Example(
          ">>> i = to_variable(np.array([0]))\n"
          ">>> a = F.write_to_array(to_variable([1.0]), i)\n"
          ">>> F.read_from_array(F.clear_array_element(a, i), i, to_variable([5.0])).tolist()\n"
          "[0.0]")
      .Input(kX, "X", "the array", kTakesArray)
      .Input(kI, "I", "one integer of at least 0", kOnHost)
      .Output(kOut, "Out", "the array without the element")
      .VarType([](InferContext& ctx) {
        if (ctx.runtime()) return;
        const Tensor& element = array::Described(ctx, kX);
        array::Describe(ctx, kOut, element.dims(), element.dtype());
      })
      .KernelDType(array::TypeOf<kX>)
      .MixedDTypes()
      .KernelAllocates()
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        g.Call("clear_array_element", {g.OutputGrad(kOut), g.Input(kI)}, {g.InputGrad(kX)});
      });
}

template <class T>
struct ClearArrayElementKernel {
  static void Compute(KernelContext& ctx) {
    const size_t n = array::ArrayIn(ctx.call(), kX).items.size();
    const int64_t i = array::NumberIn(ctx, kI);
    ENFORCE(i >= 0, OutOfRange, "I must be at least 0, got ", i);
    Value& out = ctx.OutValue(kOut);
    out = ctx.InValue(kX);
    if (static_cast<size_t>(i) < n) out.MutableArray().items[i] = Tensor();
  }
};

REGISTER_OPERATOR(clear_array_element, DefineClearArrayElement);
REGISTER_MOVING_KERNEL(clear_array_element, ClearArrayElementKernel);

}  // namespace
}  // namespace dygraph
