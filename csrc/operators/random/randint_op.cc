#include "operators/random/random.h"

namespace dygraph::random {
namespace {

struct RandintAttrs {
  std::vector<int64_t> shape;
  int32_t low = 0;
  int32_t high = 0;
  DType dtype = DType::kInt64;
  int32_t seed = 0;
};

void DefineRandint(OpDef& op) {
  AddSlots(op.Comment("Out is drawn from the integers low, low + 1, ..., high - 1, all alike."))
      .Attr(&RandintAttrs::shape, "shape", "sizes of Out")
      .Attr(&RandintAttrs::low, "low", "the least number")
      .Attr(&RandintAttrs::high, "high", "the number after the greatest one")
      .Attr(&RandintAttrs::dtype, "dtype", "int32 or int64")
      .Attr(&RandintAttrs::seed, "seed",
            "0: the generator's; others give the same numbers at each call")
      .Shape([](InferContext& ctx) {
        const RandintAttrs& a = ctx.attrs<RandintAttrs>();
        ENFORCE(a.low < a.high, InvalidArgument, "low must be less than high, got ", a.low, " and ",
                a.high);
        InferShape<RandintAttrs>(ctx);
      })
      .KernelDType(KernelDType<RandintAttrs>)
      .MixedDTypes()
      .Random()
      .NoGrad();
}

template <class T>
struct RandintKernel {
  static void Compute(KernelContext& ctx) {
    const RandintAttrs& a = ctx.attrs<RandintAttrs>();
    Tensor& out = ctx.Out(kOut);
    T* to = out.mutable_data<T>();
    uint64_t count = static_cast<uint64_t>(int64_t{a.high} - a.low);
    int64_t low = a.low;
    kernels::Philox generator = Generator(ctx, a.seed);
    // of 2^64 equally likely numbers, the share of each result differs by less than one
    generator.EachRaw<uint64_t>(out.numel(), [=] DYGRAPH_FN(int64_t i, uint64_t bits) {
      const uint64_t scaled = static_cast<uint64_t>((static_cast<__uint128_t>(bits) * count) >> 64);
      to[i] = static_cast<T>(low + static_cast<int64_t>(scaled));
    });
  }
};

REGISTER_OPERATOR(randint, DefineRandint);
REGISTER_KERNELS(randint, RandintKernel, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::random
