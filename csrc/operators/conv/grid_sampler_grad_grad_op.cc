#include "operators/conv/grid_second.h"
#include "operators/higher_gradient.h"

namespace dygraph::grid_sampling {
namespace {

namespace grad_grad {
constexpr int kOutputGrad = 2, kV = 3, kU = 4;
constexpr int kXResult = 0, kGridResult = 1, kOutputGradResult = 2;

void DefineGridSamplerGradGrad(OpDef& op);

struct GridSamplerThird {
  static constexpr uint32_t kServes = higher::Slots(kX, kGrid, kOutputGrad, kV, kU);
  static void Define(OpDef& op) { DefineGridSamplerGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) {
    return {{kX, kV, kXResult}, {kGrid, kU, kGridResult}};
  }
  static std::vector<higher::Result> Results(const KernelContext&) {
    return {{kOutputGrad, kOutputGradResult}};
  }
  static void Run(higher::Problem& p) {
    return p.ctx.In(kX).rank() == 5 ? Points<3>(p) : Points<2>(p);
  }
  template <int kAxes>
  static void Points(higher::Problem& p) {
    using higher::Scalar;
    Sampler<kAxes> s(p.ctx.In(kX).dims(), p.ctx.In(kGrid).dims(), p.ctx.attrs<GridSamplerAttrs>());
    for (int64_t point = 0; point < s.n * s.points; ++point) {
      const int64_t image = point / s.points;
      double place[kAxes];
      FixedArray<Scalar, kAxes> upper;  // weights of the pixels above, axis by axis
      for (int k = 0; k < kAxes; ++k) {
        Scalar g = p.Leaf(1, point * kAxes + k);
        place[k] = ValueOf(g);
        double at = 0, slope = 0;
        if (s.places.At(place[k], s.sizes[k], &at, &slope))
          upper[k] = (g - place[k]) * slope + (at - std::floor(at));
      }
      const Spot<kAxes> spot = s.At(place);
      for (int64_t c = image * s.channels; c < (image + 1) * s.channels; ++c) {
        Scalar sum = kernels::Constant(0);
        for (int k = 0; k < Spot<kAxes>::kCorners; ++k) {
          if (spot.corners[k].at < 0) continue;
          Scalar weight = kernels::Constant(1);
          for (int a = 0; a < kAxes && !s.places.nearest; ++a)
            weight = weight * (k >> a & 1 ? upper[a] : 1.0 - upper[a]);
          sum = sum + weight * p.Leaf(0, c * s.size() + spot.corners[k].at);
        }
        p.Set(0, c * s.points + point % s.points, sum);
      }
      p.Flush();
    }
  }
};

void DefineGridSamplerGradGrad(OpDef& op) {
  op.Comment(
        "The gradients of sum(X@GRAD * V) + sum(Grid@GRAD * U), the results of grid_sampler_grad, "
        "with respect to X, Grid and Output@GRAD.")
      .Input(kX, "X", "as of the forward call")
      .Input(kGrid, "Grid", "as of the forward call")
      .Input(kOutputGrad, "Output@GRAD", "shape of Output")
      .Input(kV, "X@GRAD@GRAD", "shape of X", kDispensable)
      .Input(kU, "Grid@GRAD@GRAD", "shape of Grid", kDispensable)
      .Output(kXResult, "X@GRAD", "shape of X")
      .Output(kGridResult, "Grid@GRAD", "shape of Grid")
      .Output(kOutputGradResult, "Output@GRAD@GRAD", "shape of Output")
      .AttrsOf("grid_sampler")
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOutputGradResult, OutDims(ctx.dims(kX), ctx.dims(kGrid)));
        ctx.SetOutput(kXResult, ctx.dims(kX));
        ctx.SetOutput(kGridResult, ctx.dims(kGrid));
      })
      .Grad(higher::Recipe<GridSamplerThird>);
}

template <class T>
struct GridSamplerGradGradKernel {
  static void Compute(KernelContext& ctx) {
    auto in = [&](int slot) {
      const Tensor* t = ctx.InOrNull(slot);
      return t ? t->data<T>() : nullptr;
    };
    auto out = [&](int slot) {
      Tensor* t = ctx.OutOrNull(slot);
      return t ? t->mutable_data<T>() : nullptr;
    };
    const SecondData<T> data = {in(kX), in(kGrid),     in(kOutputGrad),  in(kV),
                                in(kU), out(kXResult), out(kGridResult), out(kOutputGradResult)};
    WithSampler(ctx, [&](const auto& s) { SecondGradient(s, data); });
  }
};
}  // namespace grad_grad
using grad_grad::GridSamplerThird;

REGISTER_OPERATOR(grid_sampler_grad_grad, grad_grad::DefineGridSamplerGradGrad);
REGISTER_KERNELS(grid_sampler_grad_grad, grad_grad::GridSamplerGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(grid_sampler_grad_grad, GridSamplerThird);

}  // namespace
}  // namespace dygraph::grid_sampling
