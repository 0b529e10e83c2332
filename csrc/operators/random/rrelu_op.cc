#include "operators/random/random.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0, kNoise = 1;

struct RreluAttrs {
  bool is_test = false;
  double lower = 1.0 / 8;
  double upper = 1.0 / 3;
};

void DefineRrelu(OpDef& op) {
  op.Comment(
        "Out = X where X >= 0, else X * Noise, Noise drawn uniformly from [lower, upper] for each "
        "element; with is_test their middle (Xu et al., 2015).")
      .Example(
          ">>> F.rrelu(to_variable([-1.0, 2.0]), is_test=True, lower=0.25, upper=0.75).tolist()\n"
          "[-0.5, 2.0]")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X")
      .Output(kNoise, "Noise", "shape of X: the slopes, 1 where X >= 0", kIntermediate)
      .Attr(&RreluAttrs::is_test, "is_test", "the slope (lower + upper) / 2 below 0")
      .Attr(&RreluAttrs::lower, "lower", "the least slope, in [0, 1]", Between(0, 1))
      .Attr(&RreluAttrs::upper, "upper", "the greatest slope, from lower to 1", Between(0, 1))
      .Shape([](InferContext& ctx) {
        const auto& a = ctx.attrs<RreluAttrs>();
        ENFORCE(a.lower <= a.upper, InvalidArgument, "lower must be at most upper, got ", a.lower,
                " and ", a.upper);
        ctx.SetOutput(kOut, ctx.dims(kX));
        ctx.SetOutput(kNoise, ctx.dims(kX));
      })
      .KeepsLayout()
      .ShareLoD(kX)
      .Random()
      .Grad([](GradBuilder& g) {  // linear in X beside 0
        g.Call("elementwise_mul", {g.OutputGrad(kOut), g.Output(kNoise)}, {g.InputGrad(kX)});
      });
}

template <class T>
struct RreluKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<RreluAttrs>();
    const Tensor& in = ctx.In(kX);
    const T* x = in.data<T>();
    T *out = ctx.Out(kOut).mutable_data<T>(), *noise = ctx.Out(kNoise).mutable_data<T>();
    const T low = static_cast<T>(a.lower), range = static_cast<T>(a.upper) - low;
    // slopes low + range * part(i) of the elements from `first` on
    auto scale = [=](int64_t first, int64_t count, auto part) {
      kernels::Simd([=] {
        DYGRAPH_IVDEP
        for (int64_t i = 0; i < count; ++i) {
          T v = x[first + i], slope = v < T(0) ? low + range * part(i) : T(1);
          noise[first + i] = slope;
          out[first + i] = v * slope;
        }
      });
    };
    const bool draws = !a.is_test;
    kernels::Philox generator = random::Generator(ctx, 0);
    constexpr int64_t kBlock = 2048;
    const int64_t n = in.numel();
    kernels::ParallelRows((n + kBlock - 1) / kBlock, kBlock * 8, [=](int64_t begin, int64_t end) {
      uint32_t bits[kBlock];
      const uint32_t* drawn = bits;
      for (int64_t b = begin; b < end; ++b) {
        int64_t first = b * kBlock, count = std::min(kBlock, n - first);
        if (!draws) {
          scale(first, count, [](int64_t) { return T(0.5); });
          continue;
        }
        generator.Raw(bits, count, first);
        scale(first, count, [drawn](int64_t i) {
          return static_cast<T>(static_cast<int32_t>(drawn[i] >> 8)) * T(0x1p-24);
        });
      }
    });
  }
};

REGISTER_OPERATOR(rrelu, DefineRrelu);
REGISTER_CPU_KERNEL(rrelu, RreluKernel, float, double);

}  // namespace
}  // namespace dygraph
