#include "operators/fourier/transforms.h"

namespace dygraph::fourier {
namespace {

void DefineFftC2C(OpDef& op) {
  op.Comment("The Fourier transform of complex numbers along axes, in either direction.")
      .Example(
          ">>> F.fft_c2c(to_variable([1 + 0j, 2 + 0j, 3 + 0j, 4 + 0j]), axes=[0]).tolist()\n"
          "[(10+0j), (-2+2j), (-2+0j), (-2-2j)]");
  DefineFft<FftAttrs>(op, "any shape, complex", "shape of X")
      .Shape([](InferContext& ctx) {
        CheckSizes(ctx.dims(kX), AxesOf(ctx.attrs<FftAttrs>(), ctx.dims(kX)));
        ctx.SetOutput(kOut, ctx.dims(kX));
      })
      .InPlace(kX, kOut)
      .Grad([](GradBuilder& g) {  // the other direction; the same scale has the other name
        g.Call("fft_c2c", {g.OutputGrad(kOut)}, {g.InputGrad(kX)})
            .AttrsFrom([](const void* forward, void* backward) {
              const auto& from = *static_cast<const FftAttrs*>(forward);
              auto& to = *static_cast<FftAttrs*>(backward);
              to = from;
              to.forward = !from.forward;
              if (from.normalization == "backward") to.normalization = "forward";
              if (from.normalization == "forward") to.normalization = "backward";
            });
      });
}

template <class C>
struct FftC2CKernel {
  static void Compute(KernelContext& ctx) {
    using T = typename C::value_type;
    const FftAttrs& a = ctx.attrs<FftAttrs>();
    const Tensor& x = ctx.In(kX);
    const std::vector<int> axes = AxesOf(a, x.dims());
    double numbers = 1;
    for (int axis : axes) numbers *= static_cast<double>(x.dim(axis));
    Along<T>(x.data<C>(), ctx.Out(kOut).mutable_data<C>(), x.dims(), axes, a.forward,
             ScaleOf(a, numbers));
  }
};

REGISTER_OPERATOR(fft_c2c, DefineFftC2C);
REGISTER_LOD_RULE(fft_c2c, KeepsRows);
REGISTER_CPU_KERNEL(fft_c2c, FftC2CKernel, complex64, complex128);

}  // namespace
}  // namespace dygraph::fourier
