#include "operators/detection/region_sums.h"

namespace dygraph::rois {
namespace {

struct RoiAlignAttrs {
  double spatial_scale = 1.0;
  int32_t pooled_height = 1;
  int32_t pooled_width = 1;
  int32_t sampling_ratio = -1;
  bool aligned = false;
};

struct Align {
  using Attrs = RoiAlignAttrs;
  static constexpr const char* kType = "roi_align";
  static constexpr int kCounts = 2, kOffsets = 3, kTop = 4;
  static constexpr bool kByPosition = false;
  static int64_t Channels(const Attrs&, int64_t planes) { return planes; }

  template <class T>
  static void Cut(const Attrs& a, const T* box, Cuts<T>* cuts) {
    Samples(a, box[1], box[3], cuts->bins_high, cuts->height, &cuts->rows);
    Samples(a, box[0], box[2], cuts->bins_wide, cuts->width, &cuts->columns);
  }

 private:
  // The mean of samples in each bin: each a weighted mean of the pixels around it.
  template <class T>
  static void Samples(const Attrs& a, T low, T high, int64_t bins, int64_t pixels, Axis<T>* axis) {
    const T scale = static_cast<T>(a.spatial_scale), half = a.aligned ? T(0.5) : T(0);
    const T start = low * scale - half;
    T size = high * scale - half - start;
    if (!a.aligned) size = std::max(size, T(1));
    const T bin = size / static_cast<T>(bins);
    const T count = a.sampling_ratio > 0 ? static_cast<T>(a.sampling_ratio) : std::ceil(bin);
    const T step = bin / count, end = static_cast<T>(pixels);
    for (int64_t i = 0; i < bins; ++i) {
      const T first = start + static_cast<T>(i) * bin;
      T from = 0, to = pixels ? count : T(0);
      if (step > T(0)) {  // those that may lie on the image
        from = std::max(from, std::floor((T(-1) - first) / step) - T(2));
        to = std::min(to, std::ceil((end - first) / step) + T(2));
      }
      const auto stop = static_cast<int64_t>(to);  // a float above 2^24 would not count
      for (auto k = static_cast<int64_t>(from); k < stop; ++k) {
        T at = first + (static_cast<T>(k) + T(0.5)) * step;
        if (!(at >= T(-1) && at <= end)) continue;
        at = std::max(at, T(0));
        const auto pixel = static_cast<int64_t>(at);
        if (pixel >= pixels - 1) {
          axis->Add(pixels - 1, T(1) / count);
          continue;
        }
        const T above = at - static_cast<T>(pixel);
        axis->Add(pixel, (T(1) - above) / count);
        axis->Add(pixel + 1, above / count);
      }
      axis->EndBin();
    }
  }
};

void DefineRoiAlign(OpDef& op) {
  op.Comment(
        "Regions of images as grids of one size (He et al., Mask R-CNN, 2017). Each region is cut "
        "into pooled_height x pooled_width bins; a bin is the mean of samples at even distances, "
        "each a weighted mean of the four pixels around it.")
      .Example(
          ">>> x = to_variable(np.arange(16.0).reshape(1, 1, 4, 4))\n"
          ">>> rois = to_variable(np.array([[0.0, 0.0, 2.0, 2.0]]), lod=[[0, 1]])\n"
          ">>> F.roi_align(x, rois, pooled_height=2, pooled_width=2).tolist()\n"
          "[[[[2.5, 3.5], [6.5, 7.5]]]]")
      .Input(kX, "X", "[N, C, H, W]")
      .Input(
          kROIs, "ROIs",
          "[regions, 4], corners (x1, y1, x2, y2) of the images before they were scaled; a level "
          "of detail says which image each lies in",
          kOnHost)
      .Input(Align::kCounts, "RoisNum",
             "[N] integers, how many regions each image has, in place "
             "of the level of detail",
             kDispensable | kOnHost)
      .Input(Align::kOffsets, "RoisLod", "[N + 1] integers, its offsets as a tensor",
             kDispensable | kOnHost)
      .Output(kOut, "Out", "[regions, C, pooled_height, pooled_width]")
      .Attr(&RoiAlignAttrs::spatial_scale, "spatial_scale", "pixels of X for a unit of ROIs",
            Scale())
      .Attr(&RoiAlignAttrs::pooled_height, "pooled_height", "rows of bins", AtLeast(1))
      .Attr(&RoiAlignAttrs::pooled_width, "pooled_width", "columns of bins", AtLeast(1))
      .Attr(
          &RoiAlignAttrs::sampling_ratio, "sampling_ratio",
          "samples along each axis of a bin; 0 or less: as many as the bin has pixels, rounded up",
          Between(std::numeric_limits<int32_t>::min(), kMostSamples))
      .Attr(&RoiAlignAttrs::aligned, "aligned",
            "pixels have their middles at halves, and no region is widened to a pixel")
      .MixedDTypes()
      .KernelDTypeOf(kX)
      .Shape([](InferContext& ctx) {
        CheckTypes(ctx, kX, kROIs);
        InferShape<Align>(ctx);
      })
      .ShareLoD(kROIs)
      .Grad(CallGradient);
}

template <class T>
using RoiAlignKernel = PoolKernel<Align, T>;
template <class T>
using RoiAlignGradKernel = SpreadKernel<Align, T>;

REGISTER_OPERATOR(roi_align, DefineRoiAlign);
REGISTER_LOD_RULE(roi_align, RowsOfFirstAxis);
REGISTER_KERNELS(roi_align, RoiAlignKernel, float, double);
REGISTER_OPERATOR(roi_align_grad, DefineSpread<Align>);
REGISTER_KERNELS(roi_align_grad, RoiAlignGradKernel, float, double);

}  // namespace
}  // namespace dygraph::rois
