#include "operators/detection/region_sums.h"
#include "operators/higher_gradient.h"

namespace dygraph::rois {
namespace {

struct PrroiPoolAttrs {
  double spatial_scale = 1.0;
  int32_t pooled_height = 1;
  int32_t pooled_width = 1;
};

constexpr int kCountsSlot = 2;

// The hat max(0, 1 - |t|) and its integral from below.
inline double Hat(double t) { return std::max(0.0, 1 - std::abs(t)); }
inline double Integral(double t) {
  t = std::clamp(t, -1.0, 1.0);
  return t <= 0 ? (t + 1) * (t + 1) / 2 : 1 - (1 - t) * (1 - t) / 2;
}
inline higher::Scalar Integral(higher::Scalar t) {
  const double v = kernels::ValueOf(t);
  if (v <= -1 || v >= 1) return kernels::Constant(v < 0 ? 0 : 1);
  if (v <= 0) return (t + 1.0) * (t + 1.0) * 0.5;
  return 1.0 - (1.0 - t) * (1.0 - t) * 0.5;
}

// The pixels under a bin from a to b, as far as there are any.
inline void PixelsUnder(double a, double b, int64_t pixels, int64_t* from, int64_t* to) {
  const double most = static_cast<double>(pixels);
  *from = static_cast<int64_t>(std::clamp(std::floor(a), 0.0, most));
  *to = static_cast<int64_t>(std::clamp(std::ceil(b) + 1, 0.0, most));
}

struct Precise {
  using Attrs = PrroiPoolAttrs;
  static constexpr const char* kType = "prroi_pool";
  static constexpr int kCounts = kCountsSlot, kOffsets = -1, kTop = 3;
  static constexpr bool kByPosition = false;
  static int64_t Channels(const Attrs&, int64_t planes) { return planes; }

  template <class T>
  static void Cut(const Attrs& a, const T* box, Cuts<T>* cuts) {
    CutAlong<-1>(a, box, cuts);
  }
  // The derivative of the weights with respect to number kSide of the box; -1: the weights.
  template <int kSide, class T>
  static void CutAlong(const Attrs& a, const T* box, Cuts<T>* cuts) {
    Means(a, box[1], box[3], cuts->bins_high, cuts->height,
          kSide == 1   ? 0
          : kSide == 3 ? 1
                       : -1,
          &cuts->rows);
    Means(a, box[0], box[2], cuts->bins_wide, cuts->width,
          kSide == 0   ? 0
          : kSide == 2 ? 1
                       : -1,
          &cuts->columns);
  }

 private:
  // side: 0 the derivative along the start of the region, 1 along its end.
  template <class T>
  static void Means(const Attrs& attrs, T low, T high, int64_t bins, int64_t pixels, int side,
                    Axis<T>* axis) {
    const double scale = NumberFor<T>(attrs.spatial_scale),
                 start = static_cast<double>(low) * scale;
    const double bin = (static_cast<double>(high) * scale - start) / static_cast<double>(bins);
    for (int64_t i = 0; i < bins; ++i) {
      const double a = start + bin * static_cast<double>(i), b = a + bin;
      int64_t from, to;
      PixelsUnder(a, b, pixels, &from, &to);
      for (int64_t p = from; p < to && bin > 0; ++p) {
        const auto y = static_cast<double>(p);
        double w = (Integral(b - y) - Integral(a - y)) / bin;
        if (side >= 0) {
          const double n = static_cast<double>(bins), k = static_cast<double>(i);
          const double along_a = side ? k / n : 1 - k / n;
          const double along_b = side ? (k + 1) / n : 1 - (k + 1) / n;
          w = ((w - Hat(a - y)) * along_a + (Hat(b - y) - w) * along_b) / bin * scale;
        }
        axis->Add(p, static_cast<T>(w));
      }
      axis->EndBin();
    }
  }
};

template <int kSide>
struct Along : Precise {
  template <class T>
  static void Cut(const Attrs& a, const T* box, Cuts<T>* cuts) {
    CutAlong<kSide>(a, box, cuts);
  }
};

void DefinePrroiPool(OpDef& op) {
  op.Comment(
        "Regions of images as grids of one size (Jiang et al., Acquisition of localization "
        "confidence, 2018). A bin is the integral over it of X between its pixels, which is "
        "bilinear and 0 outside the image, divided by its area; 0 where it has no area.")
      .Example(
          ">>> x = to_variable(np.arange(16.0).reshape(1, 1, 4, 4))\n"
          ">>> rois = to_variable(np.array([[0.0, 0.0, 2.0, 2.0]]), lod=[[0, 1]])\n"
          ">>> F.prroi_pool(x, rois, pooled_height=2, pooled_width=2).tolist()\n"
          "[[[[2.5, 3.5], [6.5, 7.5]]]]")
      .Input(kX, "X", "[N, C, H, W]")
      .Input(kROIs, "ROIs",
             "[regions, 4], corners (x1, y1, x2, y2); a level of detail says which image each lies "
             "in",
             kOnHost)
      .Input(kCountsSlot, "BatchRoINums",
             "[N] integers, how many regions each image has, in "
             "place of the level of detail",
             kDispensable | kOnHost)
      .Output(kOut, "Out", "[regions, C, pooled_height, pooled_width]")
      .Attr(&PrroiPoolAttrs::spatial_scale, "spatial_scale", "pixels of X for a unit of ROIs",
            Scale())
      .Attr(&PrroiPoolAttrs::pooled_height, "pooled_height", "rows of bins", AtLeast(1))
      .Attr(&PrroiPoolAttrs::pooled_width, "pooled_width", "columns of bins", AtLeast(1))
      .MixedDTypes()
      .KernelDTypeOf(kX)
      .Shape([](InferContext& ctx) {
        CheckTypes(ctx, kX, kROIs);
        InferShape<Precise>(ctx);
      })
      .ShareLoD(kROIs)
      .Grad(CallGradient);
}

namespace grad {
constexpr int kTop = Precise::kTop, kXGrad = 0, kROIsGrad = 1;

void DefinePrroiPoolGrad(OpDef& op) {
  op.Comment(
        "X@GRAD: each Out@GRAD goes to the pixels it was made of, by their weights. ROIs@GRAD: the "
        "sum of Out@GRAD times the change of the bins as a corner moves.")
      .Input(kX, "X", "as of the forward call")
      .Input(kROIs, "ROIs", "as of the forward call", kOnHost)
      .Input(kCountsSlot, "BatchRoINums", "as of the forward call", kDispensable | kOnHost)
      .Input(kTop, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kROIsGrad, "ROIs@GRAD", "shape of ROIs")
      .AttrsOf("prroi_pool")
      .MixedDTypes()
      .KernelDTypeOf(kX)
      .Shape([](InferContext& ctx) {
        CheckShapes(ctx.dims(kX), ctx.dims(kROIs));
        ctx.SetOutput(kXGrad, ctx.dims(kX));
        ctx.SetOutput(kROIsGrad, ctx.dims(kROIs));
      })
      .Grad(CallGradient);
}

template <class T>
struct PrroiPoolGradKernel {
  template <int kSide>
  static void GiveSide(KernelContext& ctx, const T* top, T* to) {
    const Cuts<T> cuts = CutsOf<Along<kSide>, T>(ctx);
    const int64_t size = cuts.channels * cuts.bins_high * cuts.bins_wide;
    Scratch change = ctx.Workspace(static_cast<size_t>(size * cuts.regions()) * sizeof(T));
    RegionLoops<T>(cuts).Pool(ctx.In(kX).data<T>(), change.as<T>());
    RegionDots(change.as<T>(), top, cuts.regions(), size, to + kSide, 4);
  }
  static void Compute(KernelContext& ctx) {
    const T* top = ctx.In(kTop).data<T>();
    if (Tensor* dx = ctx.OutOrNull(kXGrad)) {
      const Cuts<T> cuts = CutsOf<Precise, T>(ctx);
      RegionLoops<T>(cuts).Spread(top, dx->mutable_data<T>(), dx->numel());
    }
    if (Tensor* rois = ctx.OutOrNull(kROIsGrad)) {
      T* to = rois->mutable_data<T>();
      GiveSide<0>(ctx, top, to);
      GiveSide<1>(ctx, top, to);
      GiveSide<2>(ctx, top, to);
      GiveSide<3>(ctx, top, to);
    }
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kV = 4, kU = 5, kXResult = 0, kROIsResult = 1, kTopResult = 2;

void DefinePrroiPoolGradGrad(OpDef& op);

struct PrroiThird {
  static constexpr uint32_t kServes = higher::Slots(kX, kROIs, grad::kTop, kV, kU);
  static void Define(OpDef& op) { DefinePrroiPoolGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) {
    return {{kX, kV, kXResult}, {kROIs, kU, kROIsResult}};
  }
  static std::vector<higher::Result> Results(const KernelContext&) {
    return {{grad::kTop, kTopResult}};
  }

  struct Share {
    int64_t pixel;
    higher::Scalar weight;
  };
  static std::vector<Share> Weights(higher::Scalar low, higher::Scalar high, int64_t i,
                                    int64_t bins, int64_t pixels) {
    std::vector<Share> list;
    higher::Scalar bin = (high - low) * (1.0 / static_cast<double>(bins));
    if (!(kernels::ValueOf(bin) > 0)) return list;
    higher::Scalar a = low + bin * static_cast<double>(i), b = a + bin;
    int64_t from, to;
    PixelsUnder(kernels::ValueOf(a), kernels::ValueOf(b), pixels, &from, &to);
    for (int64_t p = from; p < to; ++p) {
      const auto y = static_cast<double>(p);
      list.push_back({p, (Integral(b - y) - Integral(a - y)) / bin});
    }
    return list;
  }
  static void Run(higher::Problem& p) {
    const auto& a = p.ctx.attrs<PrroiPoolAttrs>();
    const Dims& x = p.ctx.In(kX).dims();
    const double scale = NumberFor(p.ctx.In(kX).dtype(), a.spatial_scale);
    const std::vector<int64_t> images = Images(p.ctx, kROIs, kCountsSlot, -1, x[0]);
    const int64_t high = a.pooled_height, wide = a.pooled_width;
    for (int64_t r = 0; r < static_cast<int64_t>(images.size()); ++r) {
      for (int64_t k = 0; k < high * wide; ++k) {
        higher::Scalar side[4];
        for (int s = 0; s < 4; ++s) side[s] = p.Leaf(1, r * 4 + s) * scale;
        const std::vector<Share> rows = Weights(side[1], side[3], k / wide, high, x[2]);
        const std::vector<Share> columns = Weights(side[0], side[2], k % wide, wide, x[3]);
        for (int64_t c = 0; c < x[1]; ++c) {
          const int64_t plane = (images[r] * x[1] + c) * x[2] * x[3];
          higher::Scalar sum = kernels::Constant(0);
          for (const Share& row : rows) {
            for (const Share& column : columns) {
              sum = sum +
                    row.weight * column.weight * p.Leaf(0, plane + row.pixel * x[3] + column.pixel);
            }
          }
          p.Set(0, (r * x[1] + c) * high * wide + k, sum);
        }
        p.Flush();
      }
    }
  }
};

void DefinePrroiPoolGradGrad(OpDef& op) {
  op.Comment(
        "The gradients of sum(X@GRAD * V) + sum(ROIs@GRAD * U), the results of prroi_pool_grad, "
        "with respect to X, ROIs and Out@GRAD.")
      .Input(kX, "X", "as of the forward call")
      .Input(kROIs, "ROIs", "as of the forward call")
      .Input(kCountsSlot, "BatchRoINums", "as of the forward call", kDispensable)
      .Input(grad::kTop, "Out@GRAD", "shape of Out")
      .Input(kV, "X@GRAD@GRAD", "shape of X", kDispensable)
      .Input(kU, "ROIs@GRAD@GRAD", "shape of ROIs", kDispensable)
      .Output(kXResult, "X@GRAD", "shape of X")
      .Output(kROIsResult, "ROIs@GRAD", "shape of ROIs")
      .Output(kTopResult, "Out@GRAD@GRAD", "shape of Out")
      .AttrsOf("prroi_pool")
      .MixedDTypes()
      .KernelDTypeOf(kX)
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kXResult, ctx.dims(kX));
        ctx.SetOutput(kROIsResult, ctx.dims(kROIs));
        ctx.SetOutput(kTopResult, ctx.dims(grad::kTop));
      })
      .Grad(higher::Recipe<PrroiThird>);
}

template <class T>
using PrroiPoolGradGradKernel = higher::SecondKernel<PrroiThird, T>;
}  // namespace grad_grad
using grad_grad::PrroiThird;

template <class T>
using PrroiPoolKernel = PoolKernel<Precise, T>;

REGISTER_OPERATOR(prroi_pool, DefinePrroiPool);
REGISTER_LOD_RULE(prroi_pool, RowsOfFirstAxis);
REGISTER_KERNELS(prroi_pool, PrroiPoolKernel, float, double);
REGISTER_OPERATOR(prroi_pool_grad, grad::DefinePrroiPoolGrad);
REGISTER_KERNELS(prroi_pool_grad, grad::PrroiPoolGradKernel, float, double);
REGISTER_OPERATOR(prroi_pool_grad_grad, grad_grad::DefinePrroiPoolGradGrad);
REGISTER_CPU_KERNEL(prroi_pool_grad_grad, grad_grad::PrroiPoolGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(prroi_pool_grad_grad, PrroiThird);

}  // namespace
}  // namespace dygraph::rois
