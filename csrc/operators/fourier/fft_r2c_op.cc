#include <algorithm>

#include "kernels/elementwise.h"
#include "operators/fourier/transforms.h"
#include "tensor/scratch.h"

namespace dygraph::fourier {
namespace {

struct FftR2CAttrs : FftAttrs {
  bool onesided = true;
};

std::vector<int> CheckedAxes(const FftR2CAttrs& a, const Dims& dims) {
  ENFORCE(!a.axes.empty(), InvalidArgument, "axes must name an axis, got none");
  std::vector<int> axes = AxesOf(a, dims);
  CheckSizes(dims, axes);
  return axes;
}

double ScaleFor(const FftR2CAttrs& a, const Dims& dims, const std::vector<int>& axes) {
  double numbers = 1;
  for (int axis : axes) numbers *= static_cast<double>(dims[axis]);
  return ScaleOf(a, numbers);
}

void DefineFftR2C(OpDef& op) {
  op.Comment(
        "The Fourier transform of real numbers along axes. Onesided: of the last axis named only "
        "the first n / 2 + 1 results, whose conjugates the others are.")
      .Example(
          ">>> F.fft_r2c(to_variable([1.0, 2.0, 3.0, 4.0]), axes=[0]).tolist()\n"
          "[(10+0j), (-2+2j), (-2+0j)]");
  DefineFft<FftR2CAttrs>(op, "any shape", "shape of X; onesided: with half of the last axis named")
      .Attr(&FftR2CAttrs::onesided, "onesided", "give the half without conjugates")
      .Shape([](InferContext& ctx) {
        const auto& a = ctx.attrs<FftR2CAttrs>();
        const Dims& x = ctx.dims(kX);
        const int axis = CheckedAxes(a, x).back();
        ENFORCE(!IsComplex(ctx.dtype(kX)), Type, "X must be float32 or float64, got ",
                ctx.dtype(kX), ". fft_c2c transforms complex numbers");
        ctx.SetOutput(kOut, a.onesided ? Halved(x, axis) : x, ComplexOf(ctx.dtype(kX)));
      })
      .Grad([](GradBuilder& g) {
        g.Call("fft_r2c_grad", {g.InputShape(kX), g.OutputGrad(kOut)}, {g.InputGrad(kX)})
            .SameAttrs();
      });
}

template <class T>
struct FftR2CKernel {
  static void Compute(KernelContext& ctx) {
    using C = std::complex<T>;
    const auto& a = ctx.attrs<FftR2CAttrs>();
    const Tensor& x = ctx.In(kX);
    const std::vector<int> axes = CheckedAxes(a, x.dims());
    const double scale = ScaleFor(a, x.dims(), axes);
    C* y = ctx.Out(kOut).mutable_data<C>();
    if (a.onesided) return RealToHalf<T>(x.data<T>(), y, x.dims(), axes, a.forward, scale, false);
    kernels::Map(x.data<T>(), y, x.numel(), [](T v) { return C(v); });
    Along<T>(y, y, x.dims(), axes, a.forward, scale);
  }
};

namespace grad {
constexpr int kX = 0, kOutGrad = 1, kXGrad = 0;

void DefineFftR2CGrad(OpDef& op) {
  op.Comment(
        "X@GRAD = the real part of the transform of Out@GRAD in the other direction, with the same "
        "scale; numbers that Out has not count as 0.")
      .Input(kX, "X", "its shape and type", kShapeOnly)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("fft_r2c")
      .SameShape(kX, kXGrad)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("fft_r2c", {g.OutputGrad(kXGrad)}, {g.InputGrad(kOutGrad)}).SameAttrs();
      });
}

template <class T>
struct FftR2CGradKernel {
  static void Compute(KernelContext& ctx) {
    using C = std::complex<T>;
    const auto& a = ctx.attrs<FftR2CAttrs>();
    const Tensor& g = ctx.In(kOutGrad);
    Tensor& out = ctx.Out(kXGrad);
    const std::vector<int> axes = CheckedAxes(a, out.dims());
    const double scale = ScaleFor(a, out.dims(), axes);
    T* y = out.mutable_data<T>();
    if (a.onesided) {  // numbers that stand for two are counted twice by the way back
      return HalfToReal<T>(g.data<C>(), y, out.dims(), axes, !a.forward, scale, true);
    }
    Tensor full(g.dims(), g.dtype(), g.place());
    Along<T>(g.data<C>(), full.mutable_data<C>(), g.dims(), axes, !a.forward, scale);
    kernels::Map(static_cast<const C*>(full.data<C>()), y, g.numel(), [](C v) { return v.real(); });
  }
};
}  // namespace grad

REGISTER_OPERATOR(fft_r2c, DefineFftR2C);
REGISTER_LOD_RULE(fft_r2c, KeepsRows);
REGISTER_CPU_KERNEL(fft_r2c, FftR2CKernel, float, double);
REGISTER_OPERATOR(fft_r2c_grad, grad::DefineFftR2CGrad);
REGISTER_CPU_KERNEL(fft_r2c_grad, grad::FftR2CGradKernel, float, double);

}  // namespace
}  // namespace dygraph::fourier
