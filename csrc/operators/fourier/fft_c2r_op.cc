#include "operators/fourier/transforms.h"

namespace dygraph::fourier {
namespace {

struct FftC2RAttrs : FftAttrs {
  int64_t last_dim_size = 0;
};

// The shape of Out.
Dims OutDims(const FftC2RAttrs& a, const Dims& x) {
  ENFORCE(!a.axes.empty(), InvalidArgument, "axes must name an axis, got none");
  const std::vector<int> axes = AxesOf(a, x);
  CheckSizes(x, axes);
  const int64_t half = x[axes.back()];
  Dims out = x;
  int64_t& n = out[axes.back()];
  n = a.last_dim_size > 0 ? a.last_dim_size : half < 0 ? -1 : 2 * (half - 1);
  ENFORCE(n != 0, InvalidArgument,
          "the last axis named must give at least 1 number, got X of shape ", x,
          ". Pass last_dim_size=1");
  ENFORCE(n < 0 || half < 0 || half == n / 2 + 1, InvalidArgument,
          "the last axis named must have last_dim_size / 2 + 1 = ", n / 2 + 1,
          " elements, got shape ", x);
  return out;
}

double ScaleFor(const FftC2RAttrs& a, const Dims& out, const std::vector<int>& axes) {
  double numbers = 1;
  for (int axis : axes) numbers *= static_cast<double>(out[axis]);
  return ScaleOf(a, numbers);
}

void DefineFftC2R(OpDef& op) {
  op.Comment(
        "The Fourier transform to real numbers along axes, from the half of the last axis named "
        "whose conjugates the other numbers are. Imaginary parts of numbers that are their own "
        "conjugates count as 0.")
      .Example(
          ">>> x = to_variable([10 + 0j, -2 + 2j, -2 + 0j])\n"
          ">>> F.fft_c2r(x, axes=[0], forward=False).tolist()\n"
          "[1.0, 2.0, 3.0, 4.0]");
  DefineFft<FftC2RAttrs>(op, "any shape, complex", "shape of X with last_dim_size numbers")
      .Attr(&FftC2RAttrs::last_dim_size, "last_dim_size",
            "how many numbers the last axis named gets; 0: 2 (elements of X - 1)", AtLeast(0))
      .Shape([](InferContext& ctx) {
        ENFORCE(IsComplex(ctx.dtype(kX)) || ctx.dtype(kX) == DType::kUnset, Type,
                "X must be complex64 or complex128, got ", ctx.dtype(kX));
        ctx.SetOutput(kOut, OutDims(ctx.attrs<FftC2RAttrs>(), ctx.dims(kX)), RealOf(ctx.dtype(kX)));
      })
      .Grad([](GradBuilder& g) {
        g.Call("fft_c2r_grad", {g.InputShape(kX), g.OutputGrad(kOut)}, {g.InputGrad(kX)})
            .SameAttrs();
      });
}

template <class C>
struct FftC2RKernel {
  static void Compute(KernelContext& ctx) {
    using T = typename C::value_type;
    const auto& a = ctx.attrs<FftC2RAttrs>();
    const Tensor& x = ctx.In(kX);
    Tensor& out = ctx.Out(kOut);
    const std::vector<int> axes = AxesOf(a, x.dims());
    HalfToReal<T>(x.data<C>(), out.mutable_data<T>(), out.dims(), axes, a.forward,
                  ScaleFor(a, out.dims(), axes), false);
  }
};

namespace grad {
constexpr int kX = 0, kOutGrad = 1, kXGrad = 0;

void DefineFftC2RGrad(OpDef& op) {
  op.Comment(
        "X@GRAD = the half of the transform of Out@GRAD in the other direction, with the same "
        "scale; twice where a number of X stands for two.")
      .Input(kX, "X", "its shape and type", kShapeOnly)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("fft_c2r")
      .SameShape(kX, kXGrad)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("fft_c2r", {g.OutputGrad(kXGrad)}, {g.InputGrad(kOutGrad)}).SameAttrs();
      });
}

template <class C>
struct FftC2RGradKernel {
  static void Compute(KernelContext& ctx) {
    using T = typename C::value_type;
    const auto& a = ctx.attrs<FftC2RAttrs>();
    const Tensor& g = ctx.In(kOutGrad);
    const std::vector<int> axes = AxesOf(a, g.dims());
    RealToHalf<T>(g.data<T>(), ctx.Out(kXGrad).mutable_data<C>(), g.dims(), axes, !a.forward,
                  ScaleFor(a, g.dims(), axes), true);
  }
};
}  // namespace grad

REGISTER_OPERATOR(fft_c2r, DefineFftC2R);
REGISTER_LOD_RULE(fft_c2r, KeepsRows);
REGISTER_CPU_KERNEL(fft_c2r, FftC2RKernel, complex64, complex128);
REGISTER_OPERATOR(fft_c2r_grad, grad::DefineFftC2RGrad);
REGISTER_CPU_KERNEL(fft_c2r_grad, grad::FftC2RGradKernel, complex64, complex128);

}  // namespace
}  // namespace dygraph::fourier
