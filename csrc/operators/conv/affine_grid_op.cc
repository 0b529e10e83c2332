#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/arguments.h"
#include "operators/conv/affine_points.h"

namespace dygraph {
namespace {

constexpr int kTheta = 0, kOutputShape = 1, kOutput = 0;

struct AffineGridAttrs {
  std::vector<int32_t> output_shape;
  bool align_corners = true;
};

// The sizes [N, C, H, W] or [N, C, D, H, W] a call asks for; not known while a program is built
// where they are a tensor.
Dims Sizes(InferContext& ctx) {
  IntList list =
      ReadIntList(ctx.call(), kOutputShape, -1, ctx.attrs<AffineGridAttrs>().output_shape);
  size_t rank = list.values.size();
  ENFORCE(rank == 4 || rank == 5, InvalidArgument,
          "the shape of the images must be [N, C, H, W] or [N, C, D, H, W], got ", rank, " sizes");
  if (!list.known) return Dims(rank, -1);
  for (size_t i = 0; i < rank; ++i) {
    if (i == 1) continue;
    ENFORCE(list.values[i] >= (i == 0 ? 0 : 1) || list.values[i] == -1, InvalidArgument,
            "the shape of the images must be [N, C, H, W] or [N, C, D, H, W] with positive sizes "
            "in space, got ",
            Dims(list.values));
    ENFORCE(!ctx.runtime() || list.values[i] >= 0, InvalidArgument,
            "the shape of the images must be known when the operator runs, got ",
            Dims(list.values));
  }
  return Dims(list.values);
}

void InferShape(InferContext& ctx) {
  const Dims& theta = ctx.dims(kTheta);
  Dims sizes = Sizes(ctx);
  int axes = sizes.rank() - 2;
  ENFORCE(theta.rank() == 3 && (theta[1] == axes || theta[1] < 0) &&
              (theta[2] == axes + 1 || theta[2] < 0),
          InvalidArgument, "Theta must have shape [N, ", axes, ", ", axes + 1, "] for images of ",
          axes + 2, " axes, got ", theta);
  ENFORCE(sizes[0] == theta[0] || !BothKnown(sizes[0], theta[0]), InvalidArgument,
          "the images must be as many as Theta ", theta, " has matrices, got ", sizes[0]);
  Dims out = {sizes[0] < 0 ? theta[0] : sizes[0]};
  out.Append(sizes.begin() + 2, sizes.end());
  out.push_back(axes);
  ctx.SetOutput(kOutput, out, ctx.dtype(kTheta));
}

void DefineAffineGrid(OpDef& op) {
  op.Comment(
        "Output[n, i, j] = Theta[n] * (x_j, y_i, 1), x_j from -1 to 1 in W even steps, y_i in H: "
        "the places at which grid_sampler reads an image turned, moved or stretched by Theta "
        "(Jaderberg et al., 2015). With one step x or y is 0. Without align_corners -1 and 1 are "
        "the borders of the image, and the places the middles of W even parts, (2 j + 1) / W - 1. "
        "For volumes Output[n, k, i, j] = Theta[n] * (x_j, y_i, z_k, 1).")
      .Example(
          ">>> mirror = to_variable([[[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])\n"
          ">>> F.affine_grid(mirror, output_shape=[1, 1, 2, 2]).tolist()\n"
          "[[[[1.0, -1.0], [-1.0, -1.0]], [[1.0, 1.0], [-1.0, 1.0]]]]\n"
          ">>> F.affine_grid(mirror, output_shape=[1, 1, 1, 2], align_corners=False).tolist()\n"
          "[[[[0.5, 0.0], [-0.5, 0.0]]]]")
      .Input(kTheta, "Theta", "[N, 2, 3], or [N, 3, 4] for volumes")
      .Input(kOutputShape, "OutputShape", "[4] or [5], in place of output_shape",
             kDispensable | kOnHost)
      .Output(kOutput, "Output", "[N, H, W, 2] or [N, D, H, W, 3]")
      .Attr(&AffineGridAttrs::output_shape, "output_shape",
            "[N, C, H, W] of the images or [N, C, D, H, W] of the volumes")
      .Attr(&AffineGridAttrs::align_corners, "align_corners",
            "-1 and 1 are the middles of the outermost pixels, not the borders")
      .MixedDTypes()
      .ShareLoD(kTheta)
      .Shape(InferShape)
      .Grad(CallGradient);
}

template <class T>
struct AffineGridKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kOutput);
    affine::Grid(ctx.In(kTheta).data<T>(), out.dims(), ctx.attrs<AffineGridAttrs>().align_corners,
                 out.mutable_data<T>());
  }
};

namespace grad {
constexpr int kOutputShape = 0, kOutputGrad = 1, kThetaGrad = 0;

void DefineAffineGridGrad(OpDef& op) {
  op.Comment("Theta@GRAD[n] = sum over i, j of Output@GRAD[n, i, j] times (x_j, y_i, 1).")
      .Input(kOutputShape, "OutputShape", "as of the forward call", kDispensable | kOnHost)
      .Input(kOutputGrad, "Output@GRAD", "[N, H, W, 2] or [N, D, H, W, 3]")
      .Output(kThetaGrad, "Theta@GRAD", "[N, 2, 3] or [N, 3, 4]")
      .AttrsOf("affine_grid")
      .KernelDTypeOf(kOutputGrad)
      .MixedDTypes()
      .Shape([](InferContext& ctx) {
        const Dims& g = ctx.dims(kOutputGrad);
        int axes = g.rank() - 2;
        ENFORCE((axes == 2 || axes == 3) && (g.back() == axes || g.back() < 0), InvalidArgument,
                "Output@GRAD must have shape [N, H, W, 2] or [N, D, H, W, 3], got ", g);
        ctx.SetOutput(kThetaGrad, {g[0], axes, axes + 1});
      })
      .Grad([](GradBuilder& g) {  // linear: the operator itself
        g.Call("affine_grid", {g.OutputGrad(kThetaGrad), g.Input(kOutputShape)},
               {g.InputGrad(kOutputGrad)})
            .SameAttrs();
      });
}

template <class T>
struct AffineGridGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& g = ctx.In(kOutputGrad);
    affine::GridBackward(g.data<T>(), g.dims(), ctx.attrs<AffineGridAttrs>().align_corners,
                         ctx.Out(kThetaGrad).mutable_data<T>());
  }
};
}  // namespace grad

REGISTER_OPERATOR(affine_grid, DefineAffineGrid);
REGISTER_LOD_RULE(affine_grid, RowsOfFirstAxis);
REGISTER_KERNELS(affine_grid, AffineGridKernel, float, double);
REGISTER_OPERATOR(affine_grid_grad, grad::DefineAffineGridGrad);
REGISTER_KERNELS(affine_grid_grad, grad::AffineGridGradKernel, float, double);

}  // namespace
}  // namespace dygraph
