#include "operators/control/array.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

void DefineLodArrayLength(OpDef& op) {
  op.Comment(
        "Out = [the number of elements of the array X]: 0 where nothing has been written to it.")
      .Example(
          ">>> a = F.write_to_array(to_variable([1.0]), to_variable(np.array([2])))\n"
          ">>> F.lod_array_length(a).tolist()\n"
          "[3]")
      .Input(kX, "X", "the array", kTakesArray | kMayBeUnwritten)
      .Output(kOut, "Out", "[1], int64")
      .Shape([](InferContext& ctx) { ctx.SetOutput(kOut, {1}, DType::kInt64); })
      .KernelDType(array::TypeOf<kX>)
      .MixedDTypes()
      .NoGrad();
}

template <class T>
struct LodArrayLengthKernel {
  static void Compute(KernelContext& ctx) {
    const bool written = !ctx.InValue(kX).empty();  // else no block that writes it has run
    const int64_t length =
        written ? static_cast<int64_t>(array::ArrayIn(ctx.call(), kX).items.size()) : 0;
    ctx.device().CopyFromHost(ctx.Out(kOut).mutable_data<int64_t>(), &length, sizeof length);
  }
};

REGISTER_OPERATOR(lod_array_length, DefineLodArrayLength);
REGISTER_MOVING_KERNEL(lod_array_length, LodArrayLengthKernel);

}  // namespace
}  // namespace dygraph
