#include "kernels/loops.h"
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
    if (a.is_test) {
      const T middle = low + range * T(0.5);
      return kernels::ForEachSimd<T>(in.numel(), [=] DYGRAPH_FN(int64_t i) {
        const T v = x[i], slope = v < T(0) ? middle : T(1);
        noise[i] = slope;
        out[i] = v * slope;
      });
    }
    random::Generator(ctx, 0).EachRaw<uint32_t>(
        in.numel(), [=] DYGRAPH_FN(int64_t i, uint32_t bits) {
          const T part = static_cast<T>(static_cast<int32_t>(bits >> 8)) * T(0x1p-24);
          const T v = x[i], slope = v < T(0) ? low + range * part : T(1);
          noise[i] = slope;
          out[i] = v * slope;
        });
  }
};

REGISTER_OPERATOR(rrelu, DefineRrelu);
REGISTER_KERNELS(rrelu, RreluKernel, float, double);

}  // namespace
}  // namespace dygraph
