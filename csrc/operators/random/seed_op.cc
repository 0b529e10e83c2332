#include "operators/random/random.h"

namespace dygraph::random {
namespace {

constexpr int kSeedOut = 0;

struct SeedAttrs {
  int32_t seed = 0;
};

void DefineSeed(OpDef& op) {
  op.Comment("Out = the attribute seed, or a number other than 0 that is drawn where that is 0.")
      .Example(
          ">>> F.seed(seed=7).tolist()\n"
          "[7]")
      .Output(kSeedOut, "Out", "[1], int32")
      .Attr(&SeedAttrs::seed, "seed", "0: draw one")
      .Shape([](InferContext& ctx) { ctx.SetOutput(kSeedOut, {1}, DType::kInt32); })
      .KernelDType([](const Call&) { return DType::kInt32; })
      .Random()
      .NoGrad();
}

template <class T>
struct SeedKernel {
  static void Compute(KernelContext& ctx) {
    int32_t seed = ctx.attrs<SeedAttrs>().seed;
    if (seed == 0) {
      uint32_t bits;
      Generator(ctx, 0).Raw(&bits, 1);
      seed = static_cast<int32_t>(bits % 2147483647u) + 1;
    }
    ctx.Out(kSeedOut).mutable_data<T>()[0] = seed;
  }
};

REGISTER_OPERATOR(seed, DefineSeed);
REGISTER_CPU_KERNEL(seed, SeedKernel, int32_t);

}  // namespace
}  // namespace dygraph::random
