#include "op/lod_rule.h"
#include "operators/conv/patches.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kY = 0;

struct FoldAttrs {
  std::vector<int32_t> output_sizes;
  std::vector<int32_t> kernel_sizes;
  std::vector<int32_t> strides = {1, 1};
  std::vector<int32_t> paddings = {0, 0, 0, 0};
  std::vector<int32_t> dilations = {1, 1};
};

// The geometry of unfold for Y, [N, C, H, W].
patches::Geometry Describe(const Dims& x, const FoldAttrs& a) {
  ENFORCE(x.rank() == 3, InvalidArgument,
          "X must have 3 axes, [N, C * kernel height * kernel width, windows], got shape ", x);
  window::CheckCount("output_sizes", a.output_sizes, 2);
  window::CheckCount("kernel_sizes", a.kernel_sizes, 2);
  int64_t taps = int64_t{a.kernel_sizes[0]} * a.kernel_sizes[1];
  ENFORCE(x[1] < 0 || x[1] % taps == 0, InvalidArgument,
          "the second axis of X must be a multiple of the kernel's ", taps, " elements, got shape ",
          x);
  Dims y{x[0], x[1] < 0 ? -1 : x[1] / taps, a.output_sizes[0], a.output_sizes[1]};
  patches::Geometry g =
      patches::Describe(y, "kernel_sizes", a.kernel_sizes, a.strides, a.paddings, a.dilations);
  ENFORCE(x[2] < 0 || x[2] == g.Count(), InvalidArgument, "the last axis of X must hold the ",
          g.Count(), " windows of output_sizes, got shape ", x);
  return g;
}

void DefineFold(OpDef& op) {
  op.Comment(
        "The columns of X, windows of images as unfold gives them, added where they lie: Y[n, c, i "
        "* stride + u * dilation - top, j * stride + v * dilation - left] += X[n, (c * kh + u) * "
        "kw + v, i * W' + j].")
      .Example(
          ">>> x = to_variable(np.ones((1, 2, 2)))\n"
          ">>> F.fold(x, output_sizes=[1, 3], kernel_sizes=[1, 2]).tolist()\n"
          "[[[[1.0, 2.0, 1.0]]]]")
      .Input(kX, "X", "[N, C * kernel height * kernel width, windows]")
      .Output(kY, "Y", "[N, C, height, width]")
      .Attr(&FoldAttrs::output_sizes, "output_sizes", "[height, width] of Y", EachAtLeast(1))
      .Attr(&FoldAttrs::kernel_sizes, "kernel_sizes", "[height, width]", EachAtLeast(1))
      .Attr(&FoldAttrs::strides, "strides", "[height, width]", EachAtLeast(1))
      .Attr(&FoldAttrs::paddings, "paddings", "[top, left, bottom, right]", EachAtLeast(0))
      .Attr(&FoldAttrs::dilations, "dilations", "[height, width]", EachAtLeast(1))
      .ShareLoD(kX)
      .Shape([](InferContext& ctx) {
        patches::Geometry g = Describe(ctx.dims(kX), ctx.attrs<FoldAttrs>());
        ctx.SetOutput(kY, {g.n, g.c, g.h.size, g.w.size});
      })
      .Grad([](GradBuilder& g) {  // the transpose of a linear map
        const FoldAttrs& a = g.attrs<FoldAttrs>();
        g.Call("unfold", {g.OutputGrad(kY)}, {g.InputGrad(kX)})
            .Attr("kernel_sizes", a.kernel_sizes)
            .Attr("strides", a.strides)
            .Attr("paddings", a.paddings)
            .Attr("dilations", a.dilations);
      });
}

template <class T>
struct FoldKernel {
  static void Compute(KernelContext& ctx) {
    patches::Geometry g = Describe(ctx.In(kX).dims(), ctx.attrs<FoldAttrs>());
    kernels::Col2ImImages(ctx.In(kX).data<T>(), g.Shape(), g.n, ctx.Out(kY).mutable_data<T>());
  }
};

REGISTER_OPERATOR(fold, DefineFold);
REGISTER_LOD_RULE(fold, [](const LoDCall&) { return true; });  // an axis more, behind the rows
REGISTER_KERNELS(fold, FoldKernel, float, double);

}  // namespace
}  // namespace dygraph
