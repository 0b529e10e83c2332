#include "operators/detection/priors.h"

namespace dygraph::priors {
namespace {

struct DensityPriorBoxAttrs {
  std::vector<float> variances{0.1f, 0.1f, 0.2f, 0.2f};
  bool clip = false, flatten_to_2d = false;
  double step_w = 0, step_h = 0, offset = 0.5;
  std::vector<float> fixed_sizes, fixed_ratios;
  std::vector<int32_t> densities;
};

void InferShape(InferContext& ctx) {
  const auto& a = ctx.attrs<DensityPriorBoxAttrs>();
  CheckMap(ctx.dims(kInput), "Input");
  CheckMap(ctx.dims(kImage), "Image");
  ENFORCE(a.densities.size() == a.fixed_sizes.size(), InvalidArgument,
          "densities must hold a number for each of the ", a.fixed_sizes.size(),
          " of fixed_sizes, got ", a.densities.size());
  int64_t count = 0;
  for (int64_t density : a.densities) {
    ENFORCE(density <= 1 << 15, InvalidArgument, "densities must be at most ", 1 << 15, ", got ",
            density);
    count += density * density;
  }
  SetOutputs(ctx, count * static_cast<int64_t>(a.fixed_ratios.size()), a.flatten_to_2d);
}

void DefineDensityPriorBox(OpDef& op) {
  op.Comment(
        "The default boxes of FaceBoxes (Zhang et al., 2017), as parts of Image and cut off at its "
        "borders: around each cell of Input, for each size s with density d and each ratio, d by d "
        "boxes of s * sqrt(ratio) by s / sqrt(ratio), whose centres are spread evenly over the "
        "cell.")
      .Example(
          ">>> map, image = to_variable(np.zeros((1, 8, 1, 1))), to_variable(np.zeros((1, 3, 8, "
          "8)))\n"
          ">>> boxes, _ = F.density_prior_box(\n"
          "...     map, image, fixed_sizes=[2.0], fixed_ratios=[1.0], densities=[2], "
          "flatten_to_2d=True)\n"
          ">>> boxes.tolist()[:2]\n"
          "[[0.125, 0.125, 0.375, 0.375], [0.625, 0.125, 0.875, 0.375]]")
      .Input(kInput, "Input", "feature map [N, C, H, W]; its size is read")
      .Input(kImage, "Image", "[N, C, height, width]; its size is read")
      .Output(kBoxes, "Boxes", "[H, W, boxes of a cell, 4], or [all boxes, 4]")
      .Output(kVariances, "Variances", "shape of Boxes: variances for each")
      .Attr(&DensityPriorBoxAttrs::variances, "variances", "4 numbers", FourAboveZero())
      .Attr(&DensityPriorBoxAttrs::clip, "clip", "accepted as in Fluid; boxes are always cut off")
      .Attr(&DensityPriorBoxAttrs::flatten_to_2d, "flatten_to_2d", "give [all boxes, 4]")
      .Attr(&DensityPriorBoxAttrs::step_w, "step_w", "the width of a cell; 0: Image over Input",
            AtLeast(0))
      .Attr(&DensityPriorBoxAttrs::step_h, "step_h", "the height of a cell; 0: Image over Input",
            AtLeast(0))
      .Attr(&DensityPriorBoxAttrs::offset, "offset", "of centres, in cells")
      .Attr(&DensityPriorBoxAttrs::fixed_sizes, "fixed_sizes", "sizes in pixels", EachAboveZero())
      .Attr(&DensityPriorBoxAttrs::fixed_ratios, "fixed_ratios", "width over height",
            EachAboveZero())
      .Attr(&DensityPriorBoxAttrs::densities, "densities", "one for each size", EachAtLeast(1))
      .Shape(InferShape)
      .NoGrad();
}

template <class T>
struct DensityPriorBoxKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<DensityPriorBoxAttrs>();
    const Tensor& image = ctx.In(kImage);
    const auto width = static_cast<double>(image.dim(3)),
               height = static_cast<double>(image.dim(2));
    const Cells cells(ctx.In(kInput), image, a.step_w, a.step_h);
    const double mean = (cells.width + cells.height) / 2;  // infinite for a map without cells
    const auto step = static_cast<int64_t>(mean < 1e9 ? mean : 1e9);  // as Fluid rounds
    Fill<T>(ctx, a.variances, [&](int64_t row, int64_t column, T* to) {
      const double x = (static_cast<double>(column) + a.offset) * cells.width;
      const double y = (static_cast<double>(row) + a.offset) * cells.height;
      T* begin = to;
      for (size_t s = 0; s < a.fixed_sizes.size(); ++s) {
        const int64_t density = a.densities[s], shift = step / density;
        for (double ratio : a.fixed_ratios) {
          const double w = a.fixed_sizes[s] * std::sqrt(ratio) / 2;
          const double h = a.fixed_sizes[s] / std::sqrt(ratio) / 2;
          const double first = static_cast<double>(shift - step) / 2;
          for (int64_t i = 0; i < density * density; ++i) {
            to = Put(x + first + static_cast<double>(i % density * shift),
                     y + first + static_cast<double>(i / density * shift), w, h, width, height, to);
          }
        }
      }
      ClipToImage(begin, to);
    });
  }
};

REGISTER_OPERATOR(density_prior_box, DefineDensityPriorBox);
REGISTER_KERNELS(density_prior_box, DensityPriorBoxKernel, float, double);

}  // namespace
}  // namespace dygraph::priors
