#include <algorithm>
#include <cmath>

#include "kernels/parallel.h"
#include "operators/higher_gradient.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kGrid = 1, kOutput = 0;

void CheckInputs(const Dims& x, const Dims& grid) {
  ENFORCE(x.rank() == 4, InvalidArgument, "X must have 4 axes, NCHW, got shape ", x);
  ENFORCE(grid.rank() == 4 && (grid[3] == 2 || grid[3] < 0), InvalidArgument,
          "Grid must have shape [N, H', W', 2], got ", grid);
  ENFORCE(x[0] == grid[0] || !BothKnown(x[0], grid[0]), InvalidArgument,
          "X and Grid must have one number of images, got shapes ", x, " and ", grid);
}

Dims OutDims(const Dims& x, const Dims& grid) {
  CheckInputs(x, grid);
  return {x[0], x[1], grid[1], grid[2]};
}

void DefineGridSampler(OpDef& op) {
  op.Comment(
        "Output[n, :, i, j] is X[n] at the place Grid[n, i, j] = (x, y), -1 the middle of the "
        "first pixel, 1 that of the last: a weighted mean of the four pixels around, zeros outside "
        "(Jaderberg et al., 2015).")
      .Example(
          ">>> x = to_variable([[[[1.0, 2.0], [3.0, 4.0]]]])\n"
          ">>> grid = to_variable([[[[-1.0, -1.0], [0.0, 0.0], [1.0, 0.0]]]])\n"
          ">>> F.grid_sampler(x, grid).tolist()\n"
          "[[[[1.0, 2.5, 3.0]]]]")
      .Input(kX, "X", "[N, C, H, W]")
      .Input(kGrid, "Grid", "[N, H', W', 2], as affine_grid makes it")
      .Output(kOutput, "Output", "[N, C, H', W']")
      .Shape(
          [](InferContext& ctx) { ctx.SetOutput(kOutput, OutDims(ctx.dims(kX), ctx.dims(kGrid))); })
      .Grad([](GradBuilder& g) {
        g.Call("grid_sampler_grad", {g.Input(kX), g.Input(kGrid), g.OutputGrad(kOutput)},
               {g.InputGrad(kX), g.InputGrad(kGrid)});
      });
}

// The four pixels around a place, weights and their derivatives in the units of Grid.
struct Spot {
  struct Corner {
    int64_t at;  // in a channel; -1 outside
    double weight, dx, dy, dxy;
  } corners[4];
};

struct Sampler {
  int64_t n, channels, h, w, points;
  Sampler(const Dims& x, const Dims& grid)
      : n(x[0]), channels(x[1]), h(x[2]), w(x[3]), points(grid[1] * grid[2]) {}
  int64_t size() const { return h * w; }

  // A place that is not a number, or far outside, has no pixels.
  Spot At(double gx, double gy) const {
    Spot p;
    double sx = static_cast<double>(w - 1) / 2, sy = static_cast<double>(h - 1) / 2;
    double x = (gx + 1) * sx, y = (gy + 1) * sy;
    bool near = x > -1 && x < static_cast<double>(w) && y > -1 && y < static_cast<double>(h);
    double left = near ? std::floor(x) : 0, top = near ? std::floor(y) : 0;
    double fx = x - left, fy = y - top;
    for (int k = 0; k < 4; ++k) {
      int right = k & 1, below = k >> 1;
      int64_t j = static_cast<int64_t>(left) + right, i = static_cast<int64_t>(top) + below;
      bool inside = near && i >= 0 && i < h && j >= 0 && j < w;
      double wx = right ? fx : 1 - fx, wy = below ? fy : 1 - fy;
      double dx = right ? sx : -sx, dy = below ? sy : -sy;
      p.corners[k] = {inside ? i * w + j : -1, wx * wy, dx * wy, wx * dy, dx * dy};
    }
    return p;
  }

  // Calls body(image, point, place) with the points of an image on one thread.
  template <class T, class Body>
  void ForPoints(const T* grid, const Body& body) const {
    kernels::ParallelRows(n, points * (channels * 4 + 10), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t p = 0; p < points; ++p) {
          const T* g = grid + (i * points + p) * 2;
          body(i, p, At(static_cast<double>(g[0]), static_cast<double>(g[1])));
        }
      }
    });
  }
};

template <class T>
struct GridSamplerKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &grid = ctx.In(kGrid);
    Sampler s(x.dims(), grid.dims());
    const T* from = x.data<T>();
    T* to = ctx.Out(kOutput).mutable_data<T>();
    s.ForPoints(grid.data<T>(), [=](int64_t n, int64_t p, const Spot& spot) {
      for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c) {
        double sum = 0;
        for (const Spot::Corner& k : spot.corners) {
          if (k.at >= 0) sum += k.weight * static_cast<double>(from[c * s.size() + k.at]);
        }
        to[c * s.points + p] = static_cast<T>(sum);
      }
    });
  }
};

namespace grad {
constexpr int kX = 0, kGrid = 1, kOutputGrad = 2, kXGrad = 0, kGridGrad = 1;

void DefineGridSamplerGrad(OpDef& op) {
  op.Comment(
        "X@GRAD: each Output@GRAD goes to the pixels it was made of, by their weights. Grid@GRAD: "
        "the sum over channels of Output@GRAD times the slope of X.")
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
      .Grad([](GradBuilder& g) {
        g.Call("grid_sampler_grad_grad",
               {g.Input(kX), g.Input(kGrid), g.Input(kOutputGrad), g.OutputGrad(kXGrad),
                g.OutputGrad(kGridGrad)},
               {g.InputGrad(kX), g.InputGrad(kGrid), g.InputGrad(kOutputGrad)});
      });
}

template <class T>
struct GridSamplerGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &grid = ctx.In(kGrid);
    Sampler s(x.dims(), grid.dims());
    const T *from = x.data<T>(), *top = ctx.In(kOutputGrad).data<T>();
    Tensor *x_out = ctx.OutOrNull(kXGrad), *grid_out = ctx.OutOrNull(kGridGrad);
    T* dx = x_out ? x_out->mutable_data<T>() : nullptr;
    T* dgrid = grid_out ? grid_out->mutable_data<T>() : nullptr;
    if (dx) std::fill_n(dx, x.numel(), T(0));
    s.ForPoints(grid.data<T>(), [=](int64_t n, int64_t p, const Spot& spot) {
      double gx = 0, gy = 0;
      for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c) {
        double g = static_cast<double>(top[c * s.points + p]);
        for (const Spot::Corner& k : spot.corners) {
          if (k.at < 0) continue;
          int64_t at = c * s.size() + k.at;
          if (dx) dx[at] += static_cast<T>(g * k.weight);
          gx += g * k.dx * static_cast<double>(from[at]);
          gy += g * k.dy * static_cast<double>(from[at]);
        }
      }
      if (!dgrid) return;
      dgrid[(n * s.points + p) * 2] = static_cast<T>(gx);
      dgrid[(n * s.points + p) * 2 + 1] = static_cast<T>(gy);
    });
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kX = 0, kGrid = 1, kOutputGrad = 2, kV = 3, kU = 4;
constexpr int kXResult = 0, kGridResult = 1, kOutputGradResult = 2;

void DefineGridSamplerGradGrad(OpDef& op);

struct GridSamplerThird {
  static constexpr const char* kSecond = "grid_sampler_grad_grad";
  static constexpr int kInputs = 5, kResults = 3;
  static constexpr bool kHasAttrs = false;
  static constexpr uint32_t kServes = higher::Slots(kX, kGrid, kOutputGrad, kV, kU);
  static void Define(OpDef& op) { DefineGridSamplerGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) {
    return {{kX, kV, kXResult}, {kGrid, kU, kGridResult}};
  }
  static std::vector<higher::Result> Results(const KernelContext&) {
    return {{kOutputGrad, kOutputGradResult}};
  }
  static void Run(higher::Problem& p) {
    using higher::Scalar;
    Sampler s(p.ctx.In(kX).dims(), p.ctx.In(kGrid).dims());
    for (int64_t point = 0; point < s.n * s.points; ++point) {
      const int64_t image = point / s.points;
      // the pixel at the upper left, and how far the place lies from it
      Scalar x = (p.Leaf(1, 2 * point) + 1) * (static_cast<double>(s.w - 1) / 2),
             y = (p.Leaf(1, 2 * point + 1) + 1) * (static_cast<double>(s.h - 1) / 2);
      Spot spot = s.At(2 * ValueOf(x) / static_cast<double>(std::max<int64_t>(s.w - 1, 1)) - 1,
                       2 * ValueOf(y) / static_cast<double>(std::max<int64_t>(s.h - 1, 1)) - 1);
      Scalar fx = x - std::floor(ValueOf(x)), fy = y - std::floor(ValueOf(y));
      for (int64_t c = image * s.channels; c < (image + 1) * s.channels; ++c) {
        Scalar sum = kernels::Constant(0);
        for (int k = 0; k < 4; ++k) {
          if (spot.corners[k].at < 0) continue;
          Scalar weight = (k & 1 ? fx : 1.0 - fx) * (k >> 1 ? fy : 1.0 - fy);
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
    const Tensor &x = ctx.In(kX), &grid = ctx.In(kGrid);
    Sampler s(x.dims(), grid.dims());
    const T *from = x.data<T>(), *top = ctx.In(kOutputGrad).data<T>();
    auto in = [&](int slot) {
      const Tensor* t = ctx.InOrNull(slot);
      return t ? t->data<T>() : nullptr;
    };
    auto out = [&](int slot) {
      Tensor* t = ctx.OutOrNull(slot);
      return t ? t->mutable_data<T>() : nullptr;
    };
    const T *v = in(kV), *u = in(kU);
    T *to_x = out(kXResult), *to_grid = out(kGridResult), *to_g = out(kOutputGradResult);
    if (to_x) std::fill_n(to_x, x.numel(), T(0));
    s.ForPoints(grid.data<T>(), [=](int64_t n, int64_t p, const Spot& spot) {
      int64_t point = (n * s.points + p) * 2;
      double ux = u ? static_cast<double>(u[point]) : 0,
             uy = u ? static_cast<double>(u[point + 1]) : 0;
      double gx = 0, gy = 0;
      for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c) {
        double g = static_cast<double>(top[c * s.points + p]), sum = 0;
        for (const Spot::Corner& k : spot.corners) {
          if (k.at < 0) continue;
          int64_t at = c * s.size() + k.at;
          double value = static_cast<double>(from[at]);
          double along = ux * k.dx + uy * k.dy, vk = v ? static_cast<double>(v[at]) : 0;
          sum += k.weight * vk + along * value;
          if (to_x) to_x[at] += static_cast<T>(g * along);
          gx += g * (k.dx * vk + uy * k.dxy * value);
          gy += g * (k.dy * vk + ux * k.dxy * value);
        }
        if (to_g) to_g[c * s.points + p] = static_cast<T>(sum);
      }
      if (!to_grid) return;
      to_grid[point] = static_cast<T>(gx);
      to_grid[point + 1] = static_cast<T>(gy);
    });
  }
};
}  // namespace grad_grad
using grad_grad::GridSamplerThird;

REGISTER_OPERATOR(grid_sampler, DefineGridSampler);
REGISTER_CPU_KERNEL(grid_sampler, GridSamplerKernel, float, double);
REGISTER_OPERATOR(grid_sampler_grad, grad::DefineGridSamplerGrad);
REGISTER_CPU_KERNEL(grid_sampler_grad, grad::GridSamplerGradKernel, float, double);
REGISTER_OPERATOR(grid_sampler_grad_grad, grad_grad::DefineGridSamplerGradGrad);
REGISTER_CPU_KERNEL(grid_sampler_grad_grad, grad_grad::GridSamplerGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(grid_sampler_grad_grad, GridSamplerThird);

}  // namespace
}  // namespace dygraph
