#include "operators/arguments.h"

namespace dygraph {
namespace {

constexpr int kTheta = 0, kOutputShape = 1, kOutput = 0;

struct AffineGridAttrs {
  std::vector<int32_t> output_shape;
};

// The sizes [N, C, H, W] a call asks for; not known while a program is built where they are a
// tensor.
Dims Sizes(InferContext& ctx, int tensor_slot) {
  IntList list =
      ReadIntList(ctx.call(), tensor_slot, -1, ctx.attrs<AffineGridAttrs>().output_shape);
  ENFORCE(list.values.size() == 4, InvalidArgument,
          "the shape of the images must be [N, C, H, W], got ", list.values.size(), " sizes");
  if (!list.known) return {-1, -1, -1, -1};
  for (int i : {0, 2, 3}) {
    ENFORCE(list.values[i] >= (i == 0 ? 0 : 1) || list.values[i] == -1, InvalidArgument,
            "the shape of the images must be [N, C, H, W] with positive height and width, got ",
            Dims(list.values));
    ENFORCE(!ctx.runtime() || list.values[i] >= 0, InvalidArgument,
            "the shape of the images must be known when the operator runs, got ",
            Dims(list.values));
  }
  return Dims(list.values);
}

void DefineAffineGrid(OpDef& op) {
  op.Comment(
        "Output[n, i, j] = Theta[n] * (x_j, y_i, 1), x_j from -1 to 1 in W even steps, y_i in H: "
        "the places at which grid_sampler reads an image turned, moved or stretched by Theta "
        "(Jaderberg et al., 2015). With one step x or y is 0.")
      .Example(
          ">>> mirror = to_variable([[[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])\n"
          ">>> F.affine_grid(mirror, output_shape=[1, 1, 2, 2]).tolist()\n"
          "[[[[1.0, -1.0], [-1.0, -1.0]], [[1.0, 1.0], [-1.0, 1.0]]]]")
      .Input(kTheta, "Theta", "[N, 2, 3]")
      .Input(kOutputShape, "OutputShape", "[4], in place of output_shape", kDispensable)
      .Output(kOutput, "Output", "[N, H, W, 2]")
      .Attr(&AffineGridAttrs::output_shape, "output_shape", "[N, C, H, W] of the images")
      .MixedDTypes()
      .Shape([](InferContext& ctx) {
        const Dims& theta = ctx.dims(kTheta);
        ENFORCE(
            theta.rank() == 3 && (theta[1] == 2 || theta[1] < 0) && (theta[2] == 3 || theta[2] < 0),
            InvalidArgument, "Theta must have shape [N, 2, 3], got ", theta);
        Dims sizes = Sizes(ctx, kOutputShape);
        ENFORCE(sizes[0] == theta[0] || !BothKnown(sizes[0], theta[0]), InvalidArgument,
                "the images must be as many as Theta ", theta, " has matrices, got ", sizes[0]);
        ctx.SetOutput(kOutput, {sizes[0] < 0 ? theta[0] : sizes[0], sizes[2], sizes[3], 2},
                      ctx.dtype(kTheta));
      })
      .Grad([](GradBuilder& g) {
        g.Call("affine_grid_grad", {g.Input(kOutputShape), g.OutputGrad(kOutput)},
               {g.InputGrad(kTheta)})
            .SameAttrs();
      });
}

double At(int64_t i, int64_t n) {
  return n == 1 ? 0.0 : -1.0 + 2.0 * static_cast<double>(i) / static_cast<double>(n - 1);
}

template <class T>
struct AffineGridKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kOutput);
    const Dims& d = out.dims();
    const T* theta = ctx.In(kTheta).data<T>();
    T* to = out.mutable_data<T>();
    for (int64_t n = 0; n < d[0]; ++n, theta += 6) {
      for (int64_t i = 0; i < d[1]; ++i) {
        for (int64_t j = 0; j < d[2]; ++j) {
          T x = static_cast<T>(At(j, d[2])), y = static_cast<T>(At(i, d[1]));
          *to++ = theta[0] * x + theta[1] * y + theta[2];
          *to++ = theta[3] * x + theta[4] * y + theta[5];
        }
      }
    }
  }
};

namespace grad {
constexpr int kOutputShape = 0, kOutputGrad = 1, kThetaGrad = 0;

void DefineAffineGridGrad(OpDef& op) {
  op.Comment("Theta@GRAD[n] = sum over i, j of Output@GRAD[n, i, j] times (x_j, y_i, 1).")
      .Input(kOutputShape, "OutputShape", "as of the forward call", kDispensable)
      .Input(kOutputGrad, "Output@GRAD", "[N, H, W, 2]")
      .Output(kThetaGrad, "Theta@GRAD", "[N, 2, 3]")
      .AttrsOf("affine_grid")
      .KernelDTypeOf(kOutputGrad)
      .MixedDTypes()
      .Shape([](InferContext& ctx) {
        const Dims& g = ctx.dims(kOutputGrad);
        ENFORCE(g.rank() == 4 && (g[3] == 2 || g[3] < 0), InvalidArgument,
                "Output@GRAD must have shape [N, H, W, 2], got ", g);
        ctx.SetOutput(kThetaGrad, {g[0], 2, 3});
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
    const Dims& d = g.dims();
    const T* from = g.data<T>();
    T* to = ctx.Out(kThetaGrad).mutable_data<T>();
    for (int64_t n = 0; n < d[0]; ++n) {
      double sums[6] = {0, 0, 0, 0, 0, 0};
      for (int64_t i = 0; i < d[1]; ++i) {
        for (int64_t j = 0; j < d[2]; ++j, from += 2) {
          for (int k = 0; k < 2; ++k) {
            double v = static_cast<double>(from[k]);
            sums[3 * k] += v * At(j, d[2]);
            sums[3 * k + 1] += v * At(i, d[1]);
            sums[3 * k + 2] += v;
          }
        }
      }
      for (double sum : sums) *to++ = static_cast<T>(sum);
    }
  }
};
}  // namespace grad

REGISTER_OPERATOR(affine_grid, DefineAffineGrid);
REGISTER_CPU_KERNEL(affine_grid, AffineGridKernel, float, double);
REGISTER_OPERATOR(affine_grid_grad, grad::DefineAffineGridGrad);
REGISTER_CPU_KERNEL(affine_grid_grad, grad::AffineGridGradKernel, float, double);

}  // namespace
}  // namespace dygraph
