#include "kernels/table.h"
#include "operators/detection/argmax_loops.h"
#include "operators/detection/box_pairs.h"
#include "operators/detection/rois.h"

namespace dygraph::rois {
namespace {

constexpr int kX = 0, kROIs = 1, kCounts = 2, kOffsets = 3, kOut = 0, kArgmax = 1;

struct RoiPoolAttrs {
  double spatial_scale = 1.0;
  int32_t pooled_height = 1;
  int32_t pooled_width = 1;
};

void CheckCall(const InferContext& ctx) {
  CheckShapes(ctx.dims(kX), ctx.dims(kROIs));
  CheckTypes(ctx, kX, kROIs);
}

Dims OutDims(const InferContext& ctx) {
  const auto& a = ctx.attrs<RoiPoolAttrs>();
  return {ctx.dims(kROIs)[0], ctx.dims(kX)[1], a.pooled_height, a.pooled_width};
}

void DefineRoiPool(OpDef& op) {
  op.Comment(
        "Regions of images as grids of one size (Girshick, Fast R-CNN, 2015). The corners are "
        "rounded to pixels, both belong to the region; it is cut into pooled_height x pooled_width "
        "bins, and Out is the greatest pixel of each, 0 where it has none. Argmax is the position "
        "of that pixel in its plane, -1 where there is none.")
      .Example(
          ">>> x = to_variable(np.arange(16.0).reshape(1, 1, 4, 4))\n"
          ">>> rois = to_variable(np.array([[0.0, 0.0, 3.0, 2.0]]), lod=[[0, 1]])\n"
          ">>> F.roi_pool(x, rois, pooled_height=1, pooled_width=2).tolist()\n"
          "[[[[9.0, 11.0]]]]")
      .Input(kX, "X", "[N, C, H, W]")
      .Input(kROIs, "ROIs",
             "[regions, 4], corners (x1, y1, x2, y2); a level of detail says which image each lies "
             "in",
             kOnHost)
      .Input(kCounts, "RoisNum",
             "[N] integers, how many regions each image has, in place of the level of detail",
             kDispensable | kOnHost)
      .Input(kOffsets, "RoisLod", "[N + 1] integers, its offsets as a tensor",
             kDispensable | kOnHost)
      .Output(kOut, "Out", "[regions, C, pooled_height, pooled_width]")
      .Output(kArgmax, "Argmax", "int64, shape of Out", kIntermediate)
      .Attr(&RoiPoolAttrs::spatial_scale, "spatial_scale", "pixels of X for a unit of ROIs",
            Scale())
      .Attr(&RoiPoolAttrs::pooled_height, "pooled_height", "rows of bins", AtLeast(1))
      .Attr(&RoiPoolAttrs::pooled_width, "pooled_width", "columns of bins", AtLeast(1))
      .MixedDTypes()
      .KernelDTypeOf(kX)
      .Shape([](InferContext& ctx) {
        CheckCall(ctx);
        ctx.SetOutput(kOut, OutDims(ctx));
        ctx.SetOutput(kArgmax, OutDims(ctx), DType::kInt64);
      })
      .ShareLoD(kROIs)
      .Grad(CallGradient);
}

struct Window {
  int64_t y0, y1, x0, x1;
};

// The pixels of bin (i, j).
template <class T>
Window WindowOf(const RoiPoolAttrs& a, const T* box, const Dims& x, int64_t i, int64_t j) {
  auto along = [&](T low, T high, int64_t bin, int64_t bins, int64_t pixels, int64_t* from,
                   int64_t* to) {
    const T scale = static_cast<T>(a.spatial_scale);
    const auto first = static_cast<int64_t>(std::round(low * scale));
    const auto last = static_cast<int64_t>(std::round(high * scale));
    const T step = static_cast<T>(std::max<int64_t>(last - first + 1, 1)) / static_cast<T>(bins);
    auto pixel = [&](T at) {
      return std::clamp<int64_t>(static_cast<int64_t>(at) + first, 0, pixels);
    };
    *from = pixel(std::floor(static_cast<T>(bin) * step));
    *to = pixel(std::ceil(static_cast<T>(bin + 1) * step));
  };
  Window w;
  along(box[1], box[3], i, a.pooled_height, x[2], &w.y0, &w.y1);
  along(box[0], box[2], j, a.pooled_width, x[3], &w.x0, &w.x1);
  return w;
}

template <class T>
struct RoiPoolKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<RoiPoolAttrs>();
    const Tensor &x = ctx.In(kX), &rois = ctx.In(kROIs);
    const std::vector<int64_t> images = Images(ctx, kROIs, kCounts, kOffsets, x.dim(0));
    CheckBoxes<T>(rois, a.spatial_scale);
    const int64_t channels = x.dim(1), width = x.dim(3), plane = x.dim(2) * width;
    const int64_t bins = int64_t{a.pooled_height} * a.pooled_width;
    const T *from = x.data<T>(), *box = rois.data<T>();
    T* out = ctx.Out(kOut).mutable_data<T>();
    Tensor* argmax = ctx.OutOrNull(kArgmax);
    int64_t* where = argmax ? argmax->mutable_data<int64_t>() : nullptr;
    std::vector<Window> windows;  // of each bin
    for (int64_t k = 0; k < rois.dim(0) * bins; ++k) {
      const int64_t bin = k % bins;
      windows.push_back(
          WindowOf(a, box + k / bins * 4, x.dims(), bin / a.pooled_width, bin % a.pooled_width));
    }
    kernels::Table<Window> window_table(windows);
    kernels::Table<int64_t> image_table(images);
    const Window* window = window_table.data();
    const int64_t* image = image_table.data();
    boxes::ForEachPair(
        rois.dim(0) * bins, channels,
        [=] DYGRAPH_FN(int64_t k, int64_t c) {
          const int64_t r = k / bins, bin = k % bins;
          const Window w = window[k];
          const T* values = from + (image[r] * channels + c) * plane;
          int64_t best = -1;
          for (int64_t y = w.y0; y < w.y1; ++y) {
            for (int64_t at = y * width + w.x0; at < y * width + w.x1; ++at) {
              // The first of equals; a NaN is the greatest.
              if (best < 0 || values[at] > values[best] ||
                  (values[at] != values[at] && values[best] == values[best]))
                best = at;
            }
          }
          const int64_t to = (r * channels + c) * bins + bin;
          out[to] = best < 0 ? T(0) : values[best];
          if (where) where[to] = best;
        },
        plane / (4 * std::max<int64_t>(bins, 1)) + 8);
  }
};

namespace grad {
constexpr int kArgmax = 4, kTop = 5, kXGrad = 0;

// What Argmax says, for images of the shape x.
Taken TakenIn(const KernelContext& ctx, const Dims& x, const std::vector<int64_t>& images) {
  const Tensor& argmax = ctx.In(kArgmax);
  return {argmax.data<int64_t>(), images, x[1], argmax.dim(2) * argmax.dim(3), x[2] * x[3]};
}

// Argmax must be of the regions and the channels of X.
void CheckArgmaxShape(const InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &rois = ctx.dims(kROIs), &argmax = ctx.dims(kArgmax);
  CheckShapes(x, rois);
  auto fits = [](int64_t a, int64_t b) { return a == b || !BothKnown(a, b); };
  ENFORCE(argmax.rank() == 4 && fits(argmax[0], rois[0]) && fits(argmax[1], x[1]), InvalidArgument,
          "Argmax must be [regions, C, bins, bins] for X ", x, " and ROIs ", rois, ", got shape ",
          argmax);
}

OpDef& AddInputs(OpDef& op, int x_flags) {
  return op.Input(kX, "X", "as of the forward call", x_flags)
      .Input(kROIs, "ROIs", "as of the forward call", kOnHost)
      .Input(kCounts, "RoisNum", "as of the forward call", kDispensable | kOnHost)
      .Input(kOffsets, "RoisLod", "as of the forward call", kDispensable | kOnHost)
      .Input(kArgmax, "Argmax", "as of the forward call")
      .Input(kTop, "Out@GRAD", "shape of Out");
}

void DefineRoiPoolGrad(OpDef& op) {
  op.Comment("X@GRAD: each Out@GRAD goes to the pixel that Argmax names.");
  AddInputs(op, kShapeOnly)
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("roi_pool")
      .MixedDTypes()
      .KernelDTypeOf(kTop)
      .Shape([](InferContext& ctx) {
        CheckArgmaxShape(ctx);
        ctx.SetOutput(kXGrad, ctx.dims(kX), ctx.dtype(kTop));
      })
      .Grad([](GradBuilder& g) {
        g.Call("roi_pool_grad_grad",
               {g.OutputGrad(kXGrad), g.Input(kROIs), g.Input(kCounts), g.Input(kOffsets),
                g.Input(kArgmax)},
               {g.InputGrad(kTop)});
      });
}

template <class T>
struct RoiPoolGradKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kXGrad);
    const std::vector<int64_t> images = Images(ctx, kROIs, kCounts, kOffsets, out.dim(0));
    SpreadTaken(TakenIn(ctx, out.dims(), images), ctx.In(kTop).data<T>(), out.mutable_data<T>(),
                out.numel());
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kArgmax = grad::kArgmax, kResult = 0;

void DefineRoiPoolGradGrad(OpDef& op) {
  op.Comment("The pixels of V that Argmax names, 0 for bins without one.")
      .Input(kX, "X@GRAD@GRAD", "V, shape of X")
      .Input(kROIs, "ROIs", "as of the forward call", kOnHost)
      .Input(kCounts, "RoisNum", "as of the forward call", kDispensable | kOnHost)
      .Input(kOffsets, "RoisLod", "as of the forward call", kDispensable | kOnHost)
      .Input(kArgmax, "Argmax", "as of the forward call")
      .Output(kResult, "Out@GRAD@GRAD", "shape of Out")
      .MixedDTypes()
      .KernelDTypeOf(kX)
      .Shape([](InferContext& ctx) {
        grad::CheckArgmaxShape(ctx);
        ctx.SetOutput(kResult, ctx.dims(kArgmax), ctx.dtype(kX));
      })
      .Grad([](GradBuilder& g) {
        g.Call("roi_pool_grad",
               {g.InputShape(kX), g.Input(kROIs), g.Input(kCounts), g.Input(kOffsets),
                g.Input(kArgmax), g.OutputGrad(kResult)},
               {g.InputGrad(kX)});
      });
}

template <class T>
struct RoiPoolGradGradKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kResult);
    const Tensor& v = ctx.In(kX);
    const std::vector<int64_t> images = Images(ctx, kROIs, kCounts, kOffsets, v.dim(0));
    PickTaken(grad::TakenIn(ctx, v.dims(), images), v.data<T>(), out.mutable_data<T>());
  }
};
}  // namespace grad_grad

REGISTER_OPERATOR(roi_pool, DefineRoiPool);
REGISTER_LOD_RULE(roi_pool, RowsOfFirstAxis);
REGISTER_KERNELS(roi_pool, RoiPoolKernel, float, double);
REGISTER_OPERATOR(roi_pool_grad, grad::DefineRoiPoolGrad);
REGISTER_KERNELS(roi_pool_grad, grad::RoiPoolGradKernel, float, double);
REGISTER_OPERATOR(roi_pool_grad_grad, grad_grad::DefineRoiPoolGradGrad);
REGISTER_KERNELS(roi_pool_grad_grad, grad_grad::RoiPoolGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph::rois
