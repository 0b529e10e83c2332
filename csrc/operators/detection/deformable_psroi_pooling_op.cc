#include "kernels/parallel.h"
#include "operators/detection/rois.h"
#include "operators/higher_gradient.h"

namespace dygraph::rois {
namespace {

constexpr int kInput = 0, kROIs = 1, kTrans = 2, kTopCount = 0, kOutput = 1;

struct DeformablePsroiPoolingAttrs {
  bool no_trans = false;
  double spatial_scale = 1.0;
  int32_t output_dim = 1;
  std::vector<int32_t> group_size = {1, 1};
  int32_t pooled_height = 1;
  int32_t pooled_width = 1;
  std::vector<int32_t> part_size = {1, 1};
  int32_t sample_per_part = 1;
  double trans_std = 0.1;
};

Dims OutDims(InferContext& ctx) {
  const auto& a = ctx.attrs<DeformablePsroiPoolingAttrs>();
  const Dims &x = ctx.dims(kInput), &rois = ctx.dims(kROIs), &t = ctx.dims(kTrans);
  CheckShapes(x, rois);
  ENFORCE(a.group_size.size() == 2, InvalidArgument, "group_size must be 2 numbers, got ",
          a.group_size.size());
  ENFORCE(a.part_size.size() == 2, InvalidArgument, "part_size must be 2 numbers, got ",
          a.part_size.size());
  const int64_t needed = int64_t{a.output_dim} * a.group_size[0] * a.group_size[1];
  ENFORCE(x[1] == needed || x[1] < 0, InvalidArgument, "Input must have ", needed,
          " channels, output_dim times both numbers of group_size, got shape ", x);
  bool fits = t.rank() == 4 && (t[1] < 0 || (t[1] >= 2 && t[1] % 2 == 0));
  fits = fits && (t[0] == rois[0] || !BothKnown(t[0], rois[0]));
  fits = fits && (t[2] == a.part_size[0] || t[2] < 0) && (t[3] == a.part_size[1] || t[3] < 0);
  ENFORCE(a.no_trans || fits, InvalidArgument, "Trans must be [regions, 2 * classes, ",
          a.part_size[0], ", ", a.part_size[1], "] for ROIs ", rois, ", got shape ", t);
  ENFORCE(a.no_trans || t[1] < 0 || a.output_dim % (t[1] / 2) == 0, InvalidArgument,
          "Trans must have a number of classes that divides output_dim ", a.output_dim,
          ", got shape ", t);
  for (int slot : {kROIs, kTrans}) {
    ENFORCE(ctx.dtype(slot) == ctx.dtype(kInput), Type, ctx.call().op->inputs[slot].name,
            " must be of the type of Input, ", ctx.dtype(kInput), ", got ", ctx.dtype(slot),
            ". Convert with astype()");
  }
  return {rois[0], a.output_dim, a.pooled_height, a.pooled_width};
}

void DefineDeformablePsroiPooling(OpDef& op) {
  op.Comment(
        "psroi_pool whose bins are moved by Trans times trans_std, in parts of the region (Dai et "
        "al., Deformable convolutional networks, 2017). A bin is the mean of sample_per_part x "
        "sample_per_part samples, each a weighted mean of four pixels; those outside do not count. "
        "TopCount is how many did.")
      .Example(
          ">>> x = to_variable(np.arange(16.0).reshape(1, 1, 4, 4))\n"
          ">>> rois = to_variable(np.array([[0.0, 0.0, 2.0, 2.0]]), lod=[[0, 1]])\n"
          ">>> count, out = F.deformable_psroi_pooling(\n"
          "...     x, rois, dygraph.zeros([1, 2, 1, 1], \"float64\"), sample_per_part=2)\n"
          ">>> out.tolist(), count.tolist()\n"
          "([[[[2.5]]]], [[[[4.0]]]])")
      .Input(kInput, "Input", "[N, output_dim * group_size[0] * group_size[1], H, W]")
      .Input(kROIs, "ROIs",
             "[regions, 4], corners (x1, y1, x2, y2) that are rounded to pixels; a level of detail "
             "says which image each lies in")
      .Input(kTrans, "Trans",
             "[regions, 2 * classes, part_size[0], part_size[1]]: how far bins move across and "
             "down")
      .Output(kTopCount, "TopCount", "shape of Output")
      .Output(kOutput, "Output", "[regions, output_dim, pooled_height, pooled_width]")
      .Attr(&DeformablePsroiPoolingAttrs::no_trans, "no_trans", "Trans is not read")
      .Attr(&DeformablePsroiPoolingAttrs::spatial_scale, "spatial_scale",
            "pixels of Input for a unit of ROIs", Scale())
      .Attr(&DeformablePsroiPoolingAttrs::output_dim, "output_dim", "channels of Output",
            AtLeast(1))
      .Attr(&DeformablePsroiPoolingAttrs::group_size, "group_size",
            "rows and columns of groups of bins, each with planes of its own", EachAtLeast(1))
      .Attr(&DeformablePsroiPoolingAttrs::pooled_height, "pooled_height", "rows of bins",
            AtLeast(1))
      .Attr(&DeformablePsroiPoolingAttrs::pooled_width, "pooled_width", "columns of bins",
            AtLeast(1))
      .Attr(&DeformablePsroiPoolingAttrs::part_size, "part_size", "rows and columns of Trans",
            EachAtLeast(1))
      .Attr(&DeformablePsroiPoolingAttrs::sample_per_part, "sample_per_part",
            "samples along each axis of a bin", Between(1, kMostSamples))
      .Attr(&DeformablePsroiPoolingAttrs::trans_std, "trans_std", "what Trans is multiplied by")
      .Shape([](InferContext& ctx) {
        const Dims out = OutDims(ctx);
        ctx.SetOutput(kTopCount, out);
        ctx.SetOutput(kOutput, out);
      })
      .ShareLoD(kROIs)
      .Grad(CallGradient);
}

// A sample: the pixels around it, their weights and changes as it moves.
template <class T>
struct Sample {
  int64_t at[4];
  T weight[4], across[4], down[4];
};

template <class T>
struct Pooling {
  const DeformablePsroiPoolingAttrs& a;
  Dims x;
  int64_t regions, classes, per_class, bins;
  std::vector<int64_t> images;
  const T *boxes, *trans;

  explicit Pooling(const KernelContext& ctx)
      : a(ctx.attrs<DeformablePsroiPoolingAttrs>()), x(ctx.In(kInput).dims()) {
    const Tensor& rois = ctx.In(kROIs);
    regions = rois.dim(0);
    images = Images(ctx, kROIs, -1, -1, x[0]);
    CheckBoxes<T>(rois, a.spatial_scale);
    boxes = rois.data<T>();
    trans = a.no_trans ? nullptr : ctx.In(kTrans).data<T>();
    classes = a.no_trans ? 1 : ctx.In(kTrans).dim(1) / 2;
    per_class = a.output_dim / classes;
    bins = int64_t{a.pooled_height} * a.pooled_width;
  }
  // How far a bin moves across; the number for down is part_size[0] * part_size[1] behind.
  int64_t TransAt(int64_t r, int64_t c, int64_t i, int64_t j) const {
    const int64_t row = i * a.part_size[0] / a.pooled_height;
    const int64_t column = j * a.part_size[1] / a.pooled_width;
    return ((r * classes + c / per_class) * 2 * a.part_size[0] + row) * a.part_size[1] + column;
  }
  int64_t part() const { return int64_t{a.part_size[0]} * a.part_size[1]; }
  int64_t PlaneOf(int64_t r, int64_t c, int64_t i, int64_t j) const {
    const int64_t gh =
        std::min<int64_t>(i * a.group_size[0] / a.pooled_height, a.group_size[0] - 1);
    const int64_t gw = std::min<int64_t>(j * a.group_size[1] / a.pooled_width, a.group_size[1] - 1);
    const int64_t plane = (c * a.group_size[0] + gh) * a.group_size[1] + gw;
    return (images[r] * x[1] + plane) * x[2] * x[3];
  }
  struct Frame {
    T start_x, start_y, width, height;
  };
  Frame FrameOf(int64_t r) const {
    const T *b = boxes + r * 4, scale = static_cast<T>(a.spatial_scale);
    Frame f;
    f.start_x = std::round(b[0]) * scale - T(0.5);
    f.start_y = std::round(b[1]) * scale - T(0.5);
    f.width = std::max((std::round(b[2]) + T(1)) * scale - T(0.5) - f.start_x, T(0.1));
    f.height = std::max((std::round(b[3]) + T(1)) * scale - T(0.5) - f.start_y, T(0.1));
    return f;
  }
  // Calls f(sample) for those of a bin on the image; returns how many.
  template <class F>
  int64_t ForSamples(int64_t r, int64_t c, int64_t i, int64_t j, const F& f) const {
    const Frame frame = FrameOf(r);
    const T bin_w = frame.width / static_cast<T>(a.pooled_width);
    const T bin_h = frame.height / static_cast<T>(a.pooled_height);
    const T samples = static_cast<T>(a.sample_per_part);
    T left = static_cast<T>(j) * bin_w + frame.start_x,
      up = static_cast<T>(i) * bin_h + frame.start_y;
    if (trans) {
      const T* t = trans + TransAt(r, c, i, j);
      left += t[0] * static_cast<T>(a.trans_std) * frame.width;
      up += t[part()] * static_cast<T>(a.trans_std) * frame.height;
    }
    const T wide = static_cast<T>(x[3]), high = static_cast<T>(x[2]);
    int64_t count = 0;
    for (int32_t k = 0; k < a.sample_per_part; ++k) {
      const T y = up + static_cast<T>(k) * (bin_h / samples);
      for (int32_t l = 0; l < a.sample_per_part; ++l) {
        const T at_x = left + static_cast<T>(l) * (bin_w / samples);
        if (!(at_x >= T(-0.5) && at_x <= wide - T(0.5) && y >= T(-0.5) && y <= high - T(0.5)))
          continue;
        f(SampleAt(at_x, y));
        ++count;
      }
    }
    return count;
  }
  Sample<T> SampleAt(T px, T py) const {
    auto along = [](T v, int64_t size, int64_t* low, int64_t* high) {
      v = std::min(std::max(v, T(0)), static_cast<T>(size - 1));
      *low = static_cast<int64_t>(std::floor(v)), *high = static_cast<int64_t>(std::ceil(v));
      return v - static_cast<T>(*low);
    };
    int64_t x0, x1, y0, y1;
    const T right = along(px, x[3], &x0, &x1), down = along(py, x[2], &y0, &y1);
    Sample<T> s;
    for (int c = 0; c < 4; ++c) {
      s.at[c] = (c / 2 ? y1 : y0) * x[3] + (c % 2 ? x1 : x0);
      const T wx = c % 2 ? right : T(1) - right, wy = c / 2 ? down : T(1) - down;
      s.weight[c] = wx * wy;
      s.across[c] = x0 == x1 ? T(0) : c % 2 ? wy : -wy;
      s.down[c] = y0 == y1 ? T(0) : c / 2 ? wx : -wx;
    }
    return s;
  }
  int64_t cost() const { return bins * a.sample_per_part * a.sample_per_part * 20; }
};

template <class T>
struct DeformablePsroiPoolingKernel {
  static void Compute(KernelContext& ctx) {
    const Pooling<T> q(ctx);
    const T* x = ctx.In(kInput).data<T>();
    Tensor *counts = ctx.OutOrNull(kTopCount), *result = ctx.OutOrNull(kOutput);
    T* count = counts ? counts->mutable_data<T>() : nullptr;
    T* out = result ? result->mutable_data<T>() : nullptr;
    kernels::ParallelRows(q.regions * q.a.output_dim, q.cost(), [&](int64_t first, int64_t last) {
      for (int64_t k = first * q.bins; k < last * q.bins; ++k) {
        const int64_t row = k / q.bins, r = row / q.a.output_dim, c = row % q.a.output_dim;
        const int64_t i = k % q.bins / q.a.pooled_width, j = k % q.a.pooled_width;
        const T* plane = x + q.PlaneOf(r, c, i, j);
        T sum = 0;
        const int64_t n = q.ForSamples(r, c, i, j, [&](const Sample<T>& s) {
          for (int p = 0; p < 4; ++p) sum += s.weight[p] * plane[s.at[p]];
        });
        if (out) out[k] = n ? sum / static_cast<T>(n) : T(0);
        if (count) count[k] = static_cast<T>(n);
      }
    });
  }
};

namespace grad {
constexpr int kTop = 3, kInputGrad = 0, kTransGrad = 1;

void DefineDeformablePsroiPoolingGrad(OpDef& op) {
  op.Comment(
        "Input@GRAD: each Output@GRAD goes to the pixels it was made of, by their weights. "
        "Trans@GRAD: the sum of Output@GRAD times the slopes of Input, for each part.")
      .Input(kInput, "Input", "as of the forward call")
      .Input(kROIs, "ROIs", "as of the forward call")
      .Input(kTrans, "Trans", "as of the forward call")
      .Input(kTop, "Output@GRAD", "shape of Output")
      .Output(kInputGrad, "Input@GRAD", "shape of Input")
      .Output(kTransGrad, "Trans@GRAD", "shape of Trans")
      .AttrsOf("deformable_psroi_pooling")
      .Shape([](InferContext& ctx) {
        OutDims(ctx);
        ctx.SetOutput(kInputGrad, ctx.dims(kInput));
        ctx.SetOutput(kTransGrad, ctx.dims(kTrans));
      })
      .Grad(CallGradient);
}

template <class T>
struct DeformablePsroiPoolingGradKernel {
  static void Compute(KernelContext& ctx) {
    const Pooling<T> q(ctx);
    const T *x = ctx.In(kInput).data<T>(), *top = ctx.In(kTop).data<T>();
    auto cleared = [&](int slot) {
      Tensor* t = ctx.OutOrNull(slot);
      T* data = t ? t->mutable_data<T>() : nullptr;
      if (t) std::fill_n(data, t->numel(), T(0));
      return data;
    };
    T *dx = cleared(kInputGrad), *dtrans = cleared(kTransGrad);
    if (!q.trans) dtrans = nullptr;
    // Channels of one class share a part of Trans.
    kernels::ParallelRows(
        q.classes, q.per_class * q.regions * q.cost(), [&](int64_t first, int64_t last) {
          for (int64_t c = first * q.per_class; c < last * q.per_class; ++c) {
            for (int64_t k = 0; k < q.regions * q.bins; ++k) {
              const int64_t r = k / q.bins, i = k % q.bins / q.a.pooled_width;
              const int64_t j = k % q.a.pooled_width, plane = q.PlaneOf(r, c, i, j);
              const int64_t n = q.ForSamples(r, c, i, j, [](const Sample<T>&) {});
              if (n == 0) continue;
              const T g = top[(r * q.a.output_dim + c) * q.bins + k % q.bins] / static_cast<T>(n);
              T across = 0, down = 0;
              q.ForSamples(r, c, i, j, [&](const Sample<T>& s) {
                for (int p = 0; p < 4; ++p) {
                  const int64_t at = plane + s.at[p];
                  if (dx) dx[at] += s.weight[p] * g;
                  across += s.across[p] * x[at], down += s.down[p] * x[at];
                }
              });
              if (!dtrans) continue;
              const auto frame = q.FrameOf(r);
              T* to = dtrans + q.TransAt(r, c, i, j);
              to[0] += across * g * static_cast<T>(q.a.trans_std) * frame.width;
              to[q.part()] += down * g * static_cast<T>(q.a.trans_std) * frame.height;
            }
          }
        });
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kTop = 3, kV = 4, kU = 5, kInputResult = 0, kTransResult = 1, kTopResult = 2;

void DefineDeformablePsroiPoolingGradGrad(OpDef& op);

struct DeformablePsroiThird {
  static constexpr uint32_t kServes = higher::Slots(kInput, kTrans, kTop, kV, kU);
  static void Define(OpDef& op) { DefineDeformablePsroiPoolingGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) {
    return {{kInput, kV, kInputResult}, {kTrans, kU, kTransResult}};
  }
  static std::vector<higher::Result> Results(const KernelContext&) { return {{kTop, kTopResult}}; }
  static void Run(higher::Problem& p) {
    return p.ctx.In(kInput).dtype() == DType::kFloat64 ? RunFor<double>(p) : RunFor<float>(p);
  }
  template <class T>
  static void RunFor(higher::Problem& p) {
    const Pooling<T> q(p.ctx);
    for (int64_t k = 0; k < q.regions * q.a.output_dim * q.bins; ++k) {
      const int64_t row = k / q.bins, r = row / q.a.output_dim, c = row % q.a.output_dim;
      const int64_t i = k % q.bins / q.a.pooled_width, j = k % q.a.pooled_width;
      const int64_t plane = q.PlaneOf(r, c, i, j), at = q.TransAt(r, c, i, j);
      const auto frame = q.FrameOf(r);
      // How far the bin is from where it is now: 0, with derivatives.
      higher::Scalar right = kernels::Constant(0), down = kernels::Constant(0);
      if (q.trans) {
        auto moved = [&](int64_t from, T size) {
          higher::Scalar t = p.Leaf(1, from);
          return (t - kernels::ValueOf(t)) *
                 (NumberFor<T>(q.a.trans_std) * static_cast<double>(size));
        };
        right = moved(at, frame.width), down = moved(at + q.part(), frame.height);
      }
      higher::Scalar sum = kernels::Constant(0);
      const int64_t n = q.ForSamples(r, c, i, j, [&](const Sample<T>& s) {
        for (int corner = 0; corner < 4; ++corner) {
          auto weight = [](double value, double slope, higher::Scalar by) {
            return by * slope + value;
          };
          // The weight is a product of one along each axis.
          const bool moves_x = s.at[0] != s.at[1], moves_y = s.at[0] != s.at[2];
          const double part_x = static_cast<double>(s.weight[1]) + static_cast<double>(s.weight[3]);
          const double part_y = static_cast<double>(s.weight[2]) + static_cast<double>(s.weight[3]);
          const double sx = moves_x ? (corner % 2 ? 1 : -1) : 0;
          const double sy = moves_y ? (corner / 2 ? 1 : -1) : 0;
          sum = sum + weight(corner % 2 ? part_x : 1 - part_x, sx, right) *
                          weight(corner / 2 ? part_y : 1 - part_y, sy, down) *
                          p.Leaf(0, plane + s.at[corner]);
        }
      });
      p.Set(0, k, n ? sum * (1.0 / static_cast<double>(n)) : sum);
      p.Flush();
    }
  }
};

void DefineDeformablePsroiPoolingGradGrad(OpDef& op) {
  op.Comment(
        "The gradients of sum(Input@GRAD * V) + sum(Trans@GRAD * U), the results of "
        "deformable_psroi_pooling_grad, with respect to Input, Trans and Output@GRAD.")
      .Input(kInput, "Input", "as of the forward call")
      .Input(kROIs, "ROIs", "as of the forward call")
      .Input(kTrans, "Trans", "as of the forward call")
      .Input(kTop, "Output@GRAD", "shape of Output")
      .Input(kV, "Input@GRAD@GRAD", "shape of Input", kDispensable)
      .Input(kU, "Trans@GRAD@GRAD", "shape of Trans", kDispensable)
      .Output(kInputResult, "Input@GRAD", "shape of Input")
      .Output(kTransResult, "Trans@GRAD", "shape of Trans")
      .Output(kTopResult, "Output@GRAD@GRAD", "shape of Output")
      .AttrsOf("deformable_psroi_pooling")
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kTopResult, OutDims(ctx));
        ctx.SetOutput(kInputResult, ctx.dims(kInput));
        ctx.SetOutput(kTransResult, ctx.dims(kTrans));
      })
      .Grad(higher::Recipe<DeformablePsroiThird>);
}

template <class T>
using DeformablePsroiPoolingGradGradKernel = higher::SecondKernel<DeformablePsroiThird, T>;
}  // namespace grad_grad
using grad_grad::DeformablePsroiThird;

REGISTER_OPERATOR(deformable_psroi_pooling, DefineDeformablePsroiPooling);
REGISTER_LOD_RULE(deformable_psroi_pooling, RowsOfFirstAxis);
REGISTER_CPU_KERNEL(deformable_psroi_pooling, DeformablePsroiPoolingKernel, float, double);
REGISTER_OPERATOR(deformable_psroi_pooling_grad, grad::DefineDeformablePsroiPoolingGrad);
REGISTER_CPU_KERNEL(deformable_psroi_pooling_grad, grad::DeformablePsroiPoolingGradKernel, float,
                    double);
REGISTER_OPERATOR(deformable_psroi_pooling_grad_grad,
                  grad_grad::DefineDeformablePsroiPoolingGradGrad);
REGISTER_CPU_KERNEL(deformable_psroi_pooling_grad_grad,
                    grad_grad::DeformablePsroiPoolingGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(deformable_psroi_pooling_grad_grad, DeformablePsroiThird);

}  // namespace
}  // namespace dygraph::rois
