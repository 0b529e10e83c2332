#include "op/gradient_call.h"
#include "operators/conv/grid_points.h"

namespace dygraph::grid_sampling {
namespace {

void DefineGridSampler(OpDef& op) {
  op.Comment(
        "Output[n, :, i, j] is X[n] at the place Grid[n, i, j] = (x, y), -1 the middle of the "
        "first pixel, 1 that of the last: a weighted mean of the four pixels around, or the "
        "nearest one, halves away from 0 (Jaderberg et al., 2015). Without align_corners -1 and 1 "
        "are the borders of the image. Outside are zeros, or the place moves to the nearest in the "
        "image (border), or is mirrored at -1 and 1 until it lies there (reflection). Volumes have "
        "places (x, y, z) and eight neighbours.")
      .Example(
          ">>> x = to_variable([[[[1.0, 2.0], [3.0, 4.0]]]])\n"
          ">>> grid = to_variable([[[[-1.0, -1.0], [0.0, 0.0], [1.0, 0.0]]]])\n"
          ">>> F.grid_sampler(x, grid).tolist()\n"
          "[[[[1.0, 2.5, 3.0]]]]\n"
          ">>> F.grid_sampler(x, grid, align_corners=False).tolist()  # -1 is a border\n"
          "[[[[0.25, 2.5, 1.5]]]]\n"
          ">>> outside = to_variable([[[[-3.0, 0.0], [9.0, 9.0]]]])\n"
          ">>> F.grid_sampler(x, outside, padding_mode=\"border\").tolist()\n"
          "[[[[2.0, 4.0]]]]")
      .Input(kX, "X", "[N, C, H, W] or [N, C, D, H, W]")
      .Input(kGrid, "Grid", "[N, H', W', 2] or [N, D', H', W', 3], as affine_grid makes it")
      .Output(kOutput, "Output", "[N, C, H', W'] or [N, C, D', H', W']")
      .Attr(&GridSamplerAttrs::mode, "mode", "a mean of the neighbours, or the nearest",
            OneOf({"bilinear", "nearest"}))
      .Attr(&GridSamplerAttrs::padding_mode, "padding_mode", "what lies outside the image",
            OneOf({"zeros", "border", "reflection"}))
      .Attr(&GridSamplerAttrs::align_corners, "align_corners",
            "-1 and 1 are the middles of the outermost pixels, not the borders")
      .Shape(
          [](InferContext& ctx) { ctx.SetOutput(kOutput, OutDims(ctx.dims(kX), ctx.dims(kGrid))); })
      .ShareLoD(kX)
      .Grad(CallGradient);
}

template <class T>
struct GridSamplerKernel {
  static void Compute(KernelContext& ctx) {
    const T *from = ctx.In(kX).data<T>(), *grid = ctx.In(kGrid).data<T>();
    T* to = ctx.Out(kOutput).mutable_data<T>();
    WithSampler(ctx, [=](const auto& s) { Sample(s, from, grid, to); });
  }
};

namespace grad {
constexpr int kOutputGrad = 2, kXGrad = 0, kGridGrad = 1;

void DefineGridSamplerGrad(OpDef& op) {
  op.Comment(
        "X@GRAD: each Output@GRAD goes to the pixels it was made of, by their weights. Grid@GRAD: "
        "the sum over channels of Output@GRAD times the slope of X, 0 where the mode is nearest "
        "and where a place outside was moved to the border.")
      .Input(kX, "X", "as of the forward call")
      .Input(kGrid, "Grid", "as of the forward call")
      .Input(kOutputGrad, "Output@GRAD", "shape of Output")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kGridGrad, "Grid@GRAD", "shape of Grid")
      .AttrsOf("grid_sampler")
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx.dims(kX), ctx.dims(kGrid));
        ctx.SetOutput(kXGrad, ctx.dims(kX));
        ctx.SetOutput(kGridGrad, ctx.dims(kGrid));
      })
      .Grad(CallGradient);
}

template <class T>
struct GridSamplerGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &grid = ctx.In(kGrid), &top = ctx.In(kOutputGrad);
    Tensor *x_out = ctx.OutOrNull(kXGrad), *grid_out = ctx.OutOrNull(kGridGrad);
    T* dx = x_out ? x_out->mutable_data<T>() : nullptr;
    T* dgrid = grid_out ? grid_out->mutable_data<T>() : nullptr;
    WithSampler(ctx, [&](const auto& s) {
      SampleBackward(s, x.data<T>(), grid.data<T>(), top.data<T>(), dx, dgrid);
    });
  }
};
}  // namespace grad

REGISTER_OPERATOR(grid_sampler, DefineGridSampler);
REGISTER_KERNELS(grid_sampler, GridSamplerKernel, float, double);
REGISTER_OPERATOR(grid_sampler_grad, grad::DefineGridSamplerGrad);
REGISTER_KERNELS(grid_sampler_grad, grad::GridSamplerGradKernel, float, double);

}  // namespace
}  // namespace dygraph::grid_sampling
