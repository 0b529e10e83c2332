#include "operators/detection/priors.h"

namespace dygraph::priors {
namespace {

struct PriorBoxAttrs {
  std::vector<float> min_sizes, max_sizes, aspect_ratios{1.0f};
  std::vector<float> variances{0.1f, 0.1f, 0.2f, 0.2f};
  bool flip = false, clip = false;
  double step_w = 0, step_h = 0, offset = 0.5;
  bool min_max_aspect_ratios_order = false;
};

bool IsOne(double ratio) { return std::abs(ratio - 1) < 1e-6; }

// 1, the given ratios and, with flip, their inverses, each once.
std::vector<double> Ratios(const PriorBoxAttrs& a) {
  std::vector<double> ratios{1};
  for (double ratio : a.aspect_ratios) {
    auto same = [&](double r) { return std::abs(r - ratio) < 1e-6; };
    if (std::any_of(ratios.begin(), ratios.end(), same)) continue;
    ratios.push_back(ratio);
    if (a.flip) ratios.push_back(1 / ratio);
  }
  return ratios;
}

void InferShape(InferContext& ctx) {
  const auto& a = ctx.attrs<PriorBoxAttrs>();
  CheckMap(ctx.dims(kInput), "Input");
  CheckMap(ctx.dims(kImage), "Image");
  ENFORCE(!a.min_sizes.empty(), InvalidArgument, "min_sizes must hold a size, got none");
  ENFORCE(a.max_sizes.empty() || a.max_sizes.size() == a.min_sizes.size(), InvalidArgument,
          "max_sizes must hold a size for each of the ", a.min_sizes.size(),
          " of min_sizes, or none, got ", a.max_sizes.size());
  for (size_t i = 0; i < a.max_sizes.size(); ++i) {
    ENFORCE(a.max_sizes[i] > a.min_sizes[i], InvalidArgument,
            "each of max_sizes must be above its size in min_sizes, got ", a.max_sizes[i], " and ",
            a.min_sizes[i]);
  }
  SetOutputs(ctx, static_cast<int64_t>(Ratios(a).size() * a.min_sizes.size() + a.max_sizes.size()));
}

void DefinePriorBox(OpDef& op) {
  op.Comment(
        "The default boxes of SSD (Liu et al., 2016), as parts of Image: at each cell of Input, "
        "for each min size s a box of s * sqrt(ratio) by s / sqrt(ratio) for each ratio (1 and "
        "those of aspect_ratios, with flip also inverted), and with its max size m a square of "
        "sqrt(s * m). Centres are (column + offset) * step_w, (row + offset) * step_h.")
      .Example(
          ">>> map, image = to_variable(np.zeros((1, 8, 1, 2))), to_variable(np.zeros((1, 3, 4, "
          "8)))\n"
          ">>> boxes, variances = F.prior_box(map, image, min_sizes=[2.0])\n"
          ">>> boxes.tolist()\n"
          "[[[[0.125, 0.25, 0.375, 0.75]], [[0.625, 0.25, 0.875, 0.75]]]]")
      .Input(kInput, "Input", "feature map [N, C, H, W]; its size is read")
      .Input(kImage, "Image", "[N, C, height, width]; its size is read")
      .Output(kBoxes, "Boxes", "[H, W, boxes of a cell, 4]")
      .Output(kVariances, "Variances", "shape of Boxes: variances for each")
      .Attr(&PriorBoxAttrs::min_sizes, "min_sizes", "sizes in pixels", EachAboveZero())
      .Attr(&PriorBoxAttrs::max_sizes, "max_sizes", "one for each min size, or none",
            EachAboveZero())
      .Attr(&PriorBoxAttrs::aspect_ratios, "aspect_ratios", "width over height", EachAboveZero())
      .Attr(&PriorBoxAttrs::variances, "variances", "4 numbers", FourAboveZero())
      .Attr(&PriorBoxAttrs::flip, "flip", "also the inverse ratios")
      .Attr(&PriorBoxAttrs::clip, "clip", "cut boxes off at the borders of the image")
      .Attr(&PriorBoxAttrs::step_w, "step_w", "the width of a cell; 0: Image over Input",
            AtLeast(0))
      .Attr(&PriorBoxAttrs::step_h, "step_h", "the height of a cell; 0: Image over Input",
            AtLeast(0))
      .Attr(&PriorBoxAttrs::offset, "offset", "of centres, in cells")
      .Attr(&PriorBoxAttrs::min_max_aspect_ratios_order, "min_max_aspect_ratios_order",
            "at each cell the square of the max size is second, as in Caffe; else last")
      .Shape(InferShape)
      .NoGrad();
}

template <class T>
struct PriorBoxKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<PriorBoxAttrs>();
    const Tensor& image = ctx.In(kImage);
    const auto width = static_cast<double>(image.dim(3)),
               height = static_cast<double>(image.dim(2));
    const Cells cells(ctx.In(kInput), image, a.step_w, a.step_h);
    const std::vector<double> ratios = Ratios(a);
    Fill<T>(ctx, a.variances, [&](int64_t row, int64_t column, T* to) {
      const double x = (static_cast<double>(column) + a.offset) * cells.width;
      const double y = (static_cast<double>(row) + a.offset) * cells.height;
      T* begin = to;
      auto put = [&](double w, double h) { to = Put(x, y, w / 2, h / 2, width, height, to); };
      for (size_t s = 0; s < a.min_sizes.size(); ++s) {
        const double size = a.min_sizes[s];
        auto put_square = [&] {
          if (a.max_sizes.empty()) return;
          const double side = std::sqrt(size * a.max_sizes[s]);
          put(side, side);
        };
        if (a.min_max_aspect_ratios_order) {
          put(size, size);
          put_square();
        }
        for (double ratio : ratios) {
          if (a.min_max_aspect_ratios_order && IsOne(ratio)) continue;
          put(size * std::sqrt(ratio), size / std::sqrt(ratio));
        }
        if (!a.min_max_aspect_ratios_order) put_square();
      }
      if (a.clip) ClipToImage(begin, to);
    });
  }
};

REGISTER_OPERATOR(prior_box, DefinePriorBox);
REGISTER_KERNELS(prior_box, PriorBoxKernel, float, double);

}  // namespace
}  // namespace dygraph::priors
