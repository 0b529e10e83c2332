#include "operators/control/array.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kI = 1, kOut = 0, kRest = 1;

void DefineReadFromArray(OpDef& op) {
  op.Comment("Out = X[I], an element of an array.")
      .Input(kX, "X", "the array", kTakesArray)
      .Input(kI, "I", "one integer in [0, length)")
      .Output(kOut, "Out", "shape of the element")
      .Output(kRest, "Rest", "X itself, if the element is to be taken out of it; where there is "
                             "none, Out then gets nothing",
              kExtra | kUpdated)
      .VarType([](InferContext& ctx) {
        if (ctx.runtime()) return;
        const TensorArray& x = ctx.value(kX).array();
        if (!x.items.empty()) ctx.SetOutput(kOut, x.items[0].dims(), x.items[0].dtype());
      })
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .KernelAllocates()
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        g.Call("write_to_array", {g.OutputGrad(kOut), g.Input(kI)}, {g.InputGrad(kX)});
      });
}

template <class T>
struct ReadFromArrayKernel {
  static void Compute(KernelContext& ctx) {
    const TensorArray& x = ctx.InValue(kX).array();
    const int64_t i = array::NumberIn(ctx, kI), n = static_cast<int64_t>(x.items.size());
    if (ctx.HasOutput(kRest)) {
      if (i < 0 || i >= n || !x.items[i].has_data()) return;
      ctx.OutValue(kOut) = Value(x.items[i]);
      ctx.OutValue(kRest).MutableArray().items.at(i) = Tensor();
      return;
    }
    ENFORCE(i >= 0 && i < n, OutOfRange, "I must be in [0, ", n, "), got ", i);
    ENFORCE(x.items[i].has_data(), PreconditionNotMet,
            "the element must have been written, but nothing has been written to element ", i,
            " of ", n);
    ctx.OutValue(kOut) = Value(x.items[i]);
  }
};

REGISTER_OPERATOR(read_from_array, DefineReadFromArray);
REGISTER_CPU_KERNEL(read_from_array, ReadFromArrayKernel, bool, uint8_t, int8_t, int16_t, int32_t,
                    int64_t, float16, bfloat16, float, double);

}  // namespace
}  // namespace dygraph
