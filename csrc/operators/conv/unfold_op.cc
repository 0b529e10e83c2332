#include "op/gradient_call.h"
#include "operators/conv/patches.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kY = 0;

struct UnfoldAttrs {
  std::vector<int32_t> kernel_sizes;
  std::vector<int32_t> strides = {1, 1};
  std::vector<int32_t> paddings = {0, 0, 0, 0};
  std::vector<int32_t> dilations = {1, 1};
};

patches::Geometry Describe(const Dims& x, const UnfoldAttrs& a) {
  return patches::Describe(x, "kernel_sizes", a.kernel_sizes, a.strides, a.paddings, a.dilations);
}

void InferShape(InferContext& ctx) {
  patches::Geometry g = Describe(ctx.dims(kX), ctx.attrs<UnfoldAttrs>());
  ctx.SetOutput(kY, {g.n, g.Taps(), g.Count()});
}

void DefineUnfold(OpDef& op) {
  op.Comment(
        "The windows of X as columns: Y[n, (c * kh + u) * kw + v, i * W' + j] = X[n, c, i * stride "
        "+ u * dilation - top, j * stride + v * dilation - left], 0 in the padding.")
      .Example(
          ">>> x = to_variable(np.arange(9.0).reshape(1, 1, 3, 3))\n"
          ">>> F.unfold(x, kernel_sizes=[2, 2]).numpy()\n"
          "array([[[0., 1., 3., 4.],\n"
          "        [1., 2., 4., 5.],\n"
          "        [3., 4., 6., 7.],\n"
          "        [4., 5., 7., 8.]]])")
      .Input(kX, "X", "[N, C, H, W]")
      .Output(kY, "Y", "[N, C * kernel height * kernel width, windows]")
      .Attr(&UnfoldAttrs::kernel_sizes, "kernel_sizes", "[height, width]", EachAtLeast(1))
      .Attr(&UnfoldAttrs::strides, "strides", "[height, width]", EachAtLeast(1))
      .Attr(&UnfoldAttrs::paddings, "paddings", "[top, left, bottom, right]", EachAtLeast(0))
      .Attr(&UnfoldAttrs::dilations, "dilations", "[height, width]", EachAtLeast(1))
      .ShareLoD(kX)
      .Shape(InferShape)
      .Grad(CallGradient);
}

template <class T>
struct UnfoldKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    patches::Geometry g = Describe(x.dims(), ctx.attrs<UnfoldAttrs>());
    kernels::Im2ColImages(x.data<T>(), g.Shape(), g.n, ctx.Out(kY).mutable_data<T>());
  }
};

namespace grad {
constexpr int kX = 0, kYGrad = 1, kXGrad = 0;

void DefineUnfoldGrad(OpDef& op) {
  op.Comment("X@GRAD: the windows of Y@GRAD added where they were cut out.")
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kYGrad, "Y@GRAD", "shape of Y")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("unfold")
      .KernelDTypeOf(kYGrad)
      .SameShape(kX, kXGrad)
      .Grad([](GradBuilder& g) {
        g.Call("unfold", {g.OutputGrad(kXGrad)}, {g.InputGrad(kYGrad)}).SameAttrs();
      });
}

template <class T>
struct UnfoldGradKernel {
  static void Compute(KernelContext& ctx) {
    patches::Geometry g = Describe(ctx.In(kX).dims(), ctx.attrs<UnfoldAttrs>());
    kernels::Col2ImImages(ctx.In(kYGrad).data<T>(), g.Shape(), g.n,
                          ctx.Out(kXGrad).mutable_data<T>());
  }
};
}  // namespace grad

REGISTER_OPERATOR(unfold, DefineUnfold);
REGISTER_KERNELS(unfold, UnfoldKernel, float, double);
REGISTER_OPERATOR(unfold_grad, grad::DefineUnfoldGrad);
REGISTER_KERNELS(unfold_grad, grad::UnfoldGradKernel, float, double);

}  // namespace
}  // namespace dygraph
