#include <algorithm>
#include <vector>

#include "operators/random/random.h"
#include "platform/interrupt.h"

namespace dygraph::random {
namespace {

constexpr int kPermOut = 0;

struct RandpermAttrs {
  int32_t n = -1;
  DType dtype = DType::kInt64;
  int32_t seed = 0;
};

void DefineRandperm(OpDef& op) {
  op.Comment("Out = the integers 0 to n - 1 in an order drawn from all orders alike.")
      .Output(kPermOut, "Out", "[n]")
      .Attr(&RandpermAttrs::n, "n", "how many")
      .Attr(&RandpermAttrs::dtype, "dtype", "int32, int64, float32 or float64")
      .Attr(&RandpermAttrs::seed, "seed",
            "0: the generator's; others give the same order at each call")
      .Shape([](InferContext& ctx) {
        const RandpermAttrs& a = ctx.attrs<RandpermAttrs>();
        ENFORCE(a.n >= 0, InvalidArgument, "the attribute n must be given, at least 0, got ", a.n);
        ctx.SetOutput(kPermOut, {a.n}, a.dtype);
      })
      .KernelDType(KernelDType<RandpermAttrs>)
      .Random()
      .NoGrad();
}

template <class T>
struct RandpermKernel {
  static void Compute(KernelContext& ctx) {
    const RandpermAttrs& a = ctx.attrs<RandpermAttrs>();
    Tensor& out = ctx.Out(kPermOut);
    int64_t n = out.numel();
    Scratch drawn = ctx.Workspace(static_cast<size_t>(n) * sizeof(uint64_t));
    uint64_t* bits = drawn.as<uint64_t>();
    Generator(ctx, a.seed).Raw(bits, n);
    T* to = out.mutable_data<T>();
    InPieces(n, 1 << 18, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = static_cast<T>(i);
    });
    for (int64_t i = n - 1; i > 0; --i) {  // Fisher and Yates
      if (i % (1 << 18) == 0) CheckInterrupt();
      __uint128_t scaled = static_cast<__uint128_t>(bits[i]) * static_cast<uint64_t>(i + 1);
      std::swap(to[i], to[static_cast<int64_t>(scaled >> 64)]);
    }
  }
};

REGISTER_OPERATOR(randperm, DefineRandperm);
REGISTER_CPU_KERNEL(randperm, RandpermKernel, int32_t, int64_t, float, double);

}  // namespace
}  // namespace dygraph::random
