#include "operators/detection/region_sums.h"

namespace dygraph::rois {
namespace {

struct PsroiPoolAttrs {
  int32_t output_channels = 1;
  double spatial_scale = 1.0;
  int32_t pooled_height = 1;
  int32_t pooled_width = 1;
};

struct ByPosition {
  using Attrs = PsroiPoolAttrs;
  static constexpr const char* kType = "psroi_pool";
  static constexpr int kCounts = 2, kOffsets = -1, kTop = 3;
  static constexpr bool kByPosition = true;
  static int64_t Channels(const Attrs& a, int64_t planes) {
    const int64_t needed = int64_t{a.output_channels} * a.pooled_height * a.pooled_width;
    ENFORCE(planes == needed || planes < 0, InvalidArgument, "X must have ", needed,
            " channels, output_channels * pooled_height * pooled_width, got ", planes);
    return a.output_channels;
  }
  template <class T>
  static void Cut(const Attrs& a, const T* box, Cuts<T>* cuts) {
    Means(a, box[1], box[3], cuts->bins_high, cuts->height, &cuts->rows);
    Means(a, box[0], box[2], cuts->bins_wide, cuts->width, &cuts->columns);
  }

 private:
  template <class T>
  static void Means(const Attrs& a, T low, T high, int64_t bins, int64_t pixels, Axis<T>* axis) {
    const T scale = static_cast<T>(a.spatial_scale), start = std::round(low) * scale;
    const T size = std::max((std::round(high) + T(1)) * scale - start, T(0.1));
    const T bin = size / static_cast<T>(bins), most = static_cast<T>(pixels);
    auto pixel = [=](T at) { return static_cast<int64_t>(std::clamp(at, T(0), most)); };
    for (int64_t i = 0; i < bins; ++i) {
      const int64_t from = pixel(std::floor(bin * static_cast<T>(i) + start));
      const int64_t to = pixel(std::ceil(bin * static_cast<T>(i + 1) + start));
      for (int64_t p = from; p < to; ++p) axis->Add(p, T(1) / static_cast<T>(to - from));
      axis->EndBin();
    }
  }
};

void DefinePsroiPool(OpDef& op) {
  op.Comment(
        "Regions of position-sensitive score maps (Dai et al., R-FCN, 2016). Each region is cut "
        "into pooled_height x pooled_width bins; bin (i, j) of channel c is the mean of the pixels "
        "under it in plane (c * pooled_height + i) * pooled_width + j of X, 0 where it has none.")
      .Example(
          ">>> x = to_variable(np.arange(16.0).reshape(1, 4, 2, 2))\n"
          ">>> rois = to_variable(np.array([[0.0, 0.0, 1.0, 1.0]]), lod=[[0, 1]])\n"
          ">>> F.psroi_pool(x, rois, pooled_height=2, pooled_width=2).tolist()\n"
          "[[[[0.0, 5.0], [10.0, 15.0]]]]")
      .Input(kX, "X", "[N, output_channels * pooled_height * pooled_width, H, W]")
      .Input(kROIs, "ROIs",
             "[regions, 4], corners (x1, y1, x2, y2) that are rounded to pixels; a level of detail "
             "says which image each lies in",
             kOnHost)
      .Input(ByPosition::kCounts, "RoisNum",
             "[N] integers, how many regions each image has, in "
             "place of the level of detail",
             kDispensable | kOnHost)
      .Output(kOut, "Out", "[regions, output_channels, pooled_height, pooled_width]")
      .Attr(&PsroiPoolAttrs::output_channels, "output_channels", "channels of Out", AtLeast(1))
      .Attr(&PsroiPoolAttrs::spatial_scale, "spatial_scale", "pixels of X for a unit of ROIs",
            Scale())
      .Attr(&PsroiPoolAttrs::pooled_height, "pooled_height", "rows of bins", AtLeast(1))
      .Attr(&PsroiPoolAttrs::pooled_width, "pooled_width", "columns of bins", AtLeast(1))
      .MixedDTypes()
      .KernelDTypeOf(kX)
      .Shape([](InferContext& ctx) {
        CheckTypes(ctx, kX, kROIs);
        InferShape<ByPosition>(ctx);
      })
      .ShareLoD(kROIs)
      .Grad(CallGradient);
}

template <class T>
using PsroiPoolKernel = PoolKernel<ByPosition, T>;
template <class T>
using PsroiPoolGradKernel = SpreadKernel<ByPosition, T>;

REGISTER_OPERATOR(psroi_pool, DefinePsroiPool);
REGISTER_LOD_RULE(psroi_pool, RowsOfFirstAxis);
REGISTER_KERNELS(psroi_pool, PsroiPoolKernel, float, double);
REGISTER_OPERATOR(psroi_pool_grad, DefineSpread<ByPosition>);
REGISTER_KERNELS(psroi_pool_grad, PsroiPoolGradKernel, float, double);

}  // namespace
}  // namespace dygraph::rois
