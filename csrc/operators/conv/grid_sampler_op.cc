#include <algorithm>
#include <cmath>

#include "kernels/parallel.h"
#include "op/gradient_call.h"
#include "operators/higher_gradient.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kGrid = 1, kOutput = 0;

struct GridSamplerAttrs {
  std::string mode = "bilinear";
  std::string padding_mode = "zeros";
  bool align_corners = true;
};

void CheckInputs(const Dims& x, const Dims& grid) {
  int axes = x.rank() - 2;
  ENFORCE(axes == 2 || axes == 3, InvalidArgument, "X must have 4 axes, NCHW, or 5, NCDHW, got ",
          "shape ", x);
  ENFORCE(grid.rank() == x.rank() && (grid.back() == axes || grid.back() < 0), InvalidArgument,
          "Grid must have shape ", axes == 2 ? "[N, H', W', 2]" : "[N, D', H', W', 3]", " for X ",
          x, ", got ", grid);
  ENFORCE(x[0] == grid[0] || !BothKnown(x[0], grid[0]), InvalidArgument,
          "X and Grid must have one number of images, got shapes ", x, " and ", grid);
}

Dims OutDims(const Dims& x, const Dims& grid) {
  CheckInputs(x, grid);
  Dims out = {x[0], x[1]};
  out.Append(grid.begin() + 1, grid.end() - 1);
  return out;
}

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

// How a number of Grid becomes a place along an axis.
struct Places {
  bool nearest, border, reflection, corners;
  explicit Places(const GridSamplerAttrs& a)
      : nearest(a.mode == "nearest"),
        border(a.padding_mode == "border"),
        reflection(a.padding_mode == "reflection"),
        corners(a.align_corners) {}

  // The place in pixels and its derivative; a place that is not a number, or far outside, has none.
  bool At(double g, int64_t size, double* at, double* slope) const {
    double n = static_cast<double>(size), last = n - 1;
    *slope = (corners ? last : n) / 2;
    double x = corners ? (g + 1) * *slope : ((g + 1) * n - 1) / 2;
    if (reflection) x = Mirrored(x, n, slope);
    if ((border || reflection) && (x < 0 || x > last)) {
      x = x < 0 ? 0 : last;
      *slope = 0;
    }
    *at = x;
    return x > -1 && x < n;
  }

 private:
  double Mirrored(double x, double n, double* slope) const {
    double first = corners ? 0 : -0.5, span = corners ? n - 1 : n, from = x - first;
    if (span == 0) return first;
    double rest = std::fmod(std::abs(from), 2 * span);
    if ((from < 0) != (rest > span)) *slope = -*slope;
    return first + (rest > span ? 2 * span - rest : rest);
  }
};

// The pixels around a place, weights and their derivatives in the units of Grid: x first.
template <int kAxes>
struct Spot {
  static constexpr int kCorners = 1 << kAxes;
  struct Corner {
    int64_t at = -1;  // in a channel; -1 outside
    double weight = 0, d[kAxes] = {}, dd[kAxes][kAxes] = {};  // dd: no two axes alike
  } corners[kCorners];
};

template <int kAxes>
struct Sampler {
  int64_t n, channels, sizes[kAxes], points = 1;  // sizes: of x, y, z
  Places places;
  Sampler(const Dims& x, const Dims& grid, const GridSamplerAttrs& a)
      : n(x[0]), channels(x[1]), places(a) {
    for (int k = 0; k < kAxes; ++k) {
      sizes[k] = x[kAxes + 1 - k];
      points *= grid[1 + k];
    }
  }
  int64_t size() const {
    int64_t product = 1;
    for (int64_t s : sizes) product *= s;
    return product;
  }

  template <class T>
  Spot<kAxes> At(const T* g) const {
    Spot<kAxes> p;
    double at[kAxes], slopes[kAxes];
    for (int k = 0; k < kAxes; ++k) {
      if (!places.At(static_cast<double>(g[k]), sizes[k], &at[k], &slopes[k])) return p;
    }
    if (places.nearest) {
      int64_t pixel = 0;
      for (int k = kAxes - 1; k >= 0; --k) {
        double i = std::round(at[k]);
        if (i < 0 || i >= static_cast<double>(sizes[k])) return p;
        pixel = pixel * sizes[k] + static_cast<int64_t>(i);
      }
      p.corners[0].at = pixel;
      p.corners[0].weight = 1;
      return p;
    }
    for (int c = 0; c < Spot<kAxes>::kCorners; ++c) {
      typename Spot<kAxes>::Corner& corner = p.corners[c];
      double w[kAxes], dw[kAxes];
      int64_t pixel = 0;
      bool inside = true;
      for (int k = kAxes - 1; k >= 0; --k) {
        int upper = c >> k & 1;
        double low = std::floor(at[k]), fraction = at[k] - low;
        int64_t i = static_cast<int64_t>(low) + upper;
        w[k] = upper ? fraction : 1 - fraction;
        dw[k] = upper ? slopes[k] : -slopes[k];
        inside = inside && i >= 0 && i < sizes[k];
        pixel = pixel * sizes[k] + i;
      }
      if (!inside) continue;
      corner.at = pixel;
      // The product of the weights, those of axes a and b (-1: none) being derivatives.
      auto product = [&](int a, int b) {
        double value = 1;
        for (int k = 0; k < kAxes; ++k) value *= k == a || k == b ? dw[k] : w[k];
        return value;
      };
      corner.weight = product(-1, -1);
      for (int a = 0; a < kAxes; ++a) {
        corner.d[a] = product(a, -1);
        for (int b = 0; b < kAxes; ++b) corner.dd[a][b] = a == b ? 0 : product(a, b);
      }
    }
    return p;
  }

  // Calls body(image, point, place) with the points of an image on one thread.
  template <class T, class Body>
  void ForPoints(const T* grid, const Body& body) const {
    int64_t work = points * (channels * Spot<kAxes>::kCorners + 10);
    kernels::ParallelRows(n, work, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t p = 0; p < points; ++p) body(i, p, At(grid + (i * points + p) * kAxes));
      }
    });
  }
};

// Calls run(sampler) with the sampler of the call.
template <class Run>
void WithSampler(KernelContext& ctx, const Run& run) {
  const Dims &x = ctx.In(kX).dims(), &grid = ctx.In(kGrid).dims();
  const GridSamplerAttrs& a = ctx.attrs<GridSamplerAttrs>();
  if (x.rank() == 4) return run(Sampler<2>(x, grid, a));
  run(Sampler<3>(x, grid, a));
}

template <class T>
struct GridSamplerKernel {
  static void Compute(KernelContext& ctx) {
    const T *from = ctx.In(kX).data<T>(), *grid = ctx.In(kGrid).data<T>();
    T* to = ctx.Out(kOutput).mutable_data<T>();
    WithSampler(ctx, [=](const auto& s) {
      int64_t size = s.size();
      s.ForPoints(grid, [=, &s](int64_t n, int64_t p, const auto& spot) {
        for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c) {
          double sum = 0;
          for (const auto& k : spot.corners) {
            if (k.at >= 0) sum += k.weight * static_cast<double>(from[c * size + k.at]);
          }
          to[c * s.points + p] = static_cast<T>(sum);
        }
      });
    });
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
  template <int kAxes>
  static void Run(const Sampler<kAxes>& s, const T* from, const T* grid, const T* top, T* dx,
                  T* dgrid) {
    int64_t size = s.size();
    s.ForPoints(grid, [=, &s](int64_t n, int64_t p, const Spot<kAxes>& spot) {
      double along[kAxes] = {};
      for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c) {
        double g = static_cast<double>(top[c * s.points + p]);
        for (const auto& k : spot.corners) {
          if (k.at < 0) continue;
          int64_t at = c * size + k.at;
          if (dx) dx[at] += static_cast<T>(g * k.weight);
          double value = g * static_cast<double>(from[at]);
          for (int a = 0; a < kAxes; ++a) along[a] += k.d[a] * value;
        }
      }
      if (!dgrid) return;
      for (int a = 0; a < kAxes; ++a)
        dgrid[(n * s.points + p) * kAxes + a] = static_cast<T>(along[a]);
    });
  }
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &grid = ctx.In(kGrid), &top = ctx.In(kOutputGrad);
    Tensor *x_out = ctx.OutOrNull(kXGrad), *grid_out = ctx.OutOrNull(kGridGrad);
    T* dx = x_out ? x_out->mutable_data<T>() : nullptr;
    T* dgrid = grid_out ? grid_out->mutable_data<T>() : nullptr;
    if (dx) std::fill_n(dx, x.numel(), T(0));
    WithSampler(ctx, [&](const auto& s) {
      Run(s, x.data<T>(), grid.data<T>(), top.data<T>(), dx, dgrid);
    });
  }
};
}  // namespace grad

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
    Sampler<kAxes> s(p.ctx.In(kX).dims(), p.ctx.In(kGrid).dims(),
                     p.ctx.attrs<GridSamplerAttrs>());
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
  struct Data {
    const T *x, *grid, *top, *v, *u;
    T *to_x, *to_grid, *to_top;
  };
  template <int kAxes>
  static void Run(const Sampler<kAxes>& s, const Data& t) {
    int64_t size = s.size();
    s.ForPoints(t.grid, [=, &s](int64_t n, int64_t p, const Spot<kAxes>& spot) {
      int64_t point = (n * s.points + p) * kAxes;
      double u[kAxes] = {}, result[kAxes] = {};
      for (int a = 0; t.u && a < kAxes; ++a) u[a] = static_cast<double>(t.u[point + a]);
      for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c) {
        double g = static_cast<double>(t.top[c * s.points + p]), sum = 0;
        for (const auto& k : spot.corners) {
          if (k.at < 0) continue;
          int64_t at = c * size + k.at;
          double value = static_cast<double>(t.x[at]), along = 0;
          double v = t.v ? static_cast<double>(t.v[at]) : 0;
          for (int a = 0; a < kAxes; ++a) {
            along += u[a] * k.d[a];
            double across = 0;
            for (int b = 0; b < kAxes; ++b) across += u[b] * k.dd[a][b];
            result[a] += g * (k.d[a] * v + across * value);
          }
          sum += k.weight * v + along * value;
          if (t.to_x) t.to_x[at] += static_cast<T>(g * along);
        }
        if (t.to_top) t.to_top[c * s.points + p] = static_cast<T>(sum);
      }
      for (int a = 0; t.to_grid && a < kAxes; ++a)
        t.to_grid[point + a] = static_cast<T>(result[a]);
    });
  }
  static void Compute(KernelContext& ctx) {
    auto in = [&](int slot) {
      const Tensor* t = ctx.InOrNull(slot);
      return t ? t->data<T>() : nullptr;
    };
    auto out = [&](int slot) {
      Tensor* t = ctx.OutOrNull(slot);
      return t ? t->mutable_data<T>() : nullptr;
    };
    Data data = {in(kX),        in(kGrid),     in(kOutputGrad),  in(kV), in(kU),
                 out(kXResult), out(kGridResult), out(kOutputGradResult)};
    if (data.to_x) std::fill_n(data.to_x, ctx.In(kX).numel(), T(0));
    WithSampler(ctx, [&](const auto& s) { Run(s, data); });
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
