#include "operators/detection/priors.h"

namespace dygraph::priors {
namespace {

constexpr int kAnchors = 0;

struct AnchorGeneratorAttrs {
  std::vector<float> anchor_sizes, aspect_ratios, variances{0.1f, 0.1f, 0.2f, 0.2f}, stride;
  double offset = 0.5;
};

void DefineAnchorGenerator(OpDef& op) {
  op.Comment(
        "The anchors of Faster R-CNN (Ren et al., 2015) in pixels: at each cell of Input one for "
        "each ratio and size, the sizes of a ratio one after another. A ratio r has the base "
        "w = round(sqrt(stride_w * stride_h / r)), h = round(w * r), which is scaled by "
        "size / stride; an anchor reaches (scaled - 1) / 2 to each side of "
        "column * stride_w + offset * (stride_w - 1), and likewise in rows.")
      .Example(
          ">>> map = to_variable(np.zeros((1, 8, 1, 2)))\n"
          ">>> anchors, _ = F.anchor_generator(\n"
          "...     map, anchor_sizes=[32.0], aspect_ratios=[1.0], stride=[16.0, 16.0])\n"
          ">>> anchors.tolist()\n"
          "[[[[-8.0, -8.0, 23.0, 23.0]], [[8.0, -8.0, 39.0, 23.0]]]]")
      .Input(kInput, "Input", "feature map [N, C, H, W]; its size is read")
      .Output(kAnchors, "Anchors", "[H, W, ratios * sizes, 4]")
      .Output(kVariances, "Variances", "shape of Anchors: variances for each")
      .Attr(&AnchorGeneratorAttrs::anchor_sizes, "anchor_sizes", "in pixels", EachAboveZero())
      .Attr(&AnchorGeneratorAttrs::aspect_ratios, "aspect_ratios", "height over width",
            EachAboveZero())
      .Attr(&AnchorGeneratorAttrs::variances, "variances", "4 numbers", FourAboveZero())
      .Attr(&AnchorGeneratorAttrs::stride, "stride", "the width and height of a cell in pixels",
            EachAboveZero())
      .Attr(&AnchorGeneratorAttrs::offset, "offset", "of centres, in cells")
      .Shape([](InferContext& ctx) {
        const auto& a = ctx.attrs<AnchorGeneratorAttrs>();
        CheckMap(ctx.dims(kInput), "Input");
        ENFORCE(!a.anchor_sizes.empty() && !a.aspect_ratios.empty(), InvalidArgument,
                "anchor_sizes and aspect_ratios must hold numbers, got ", a.anchor_sizes.size(),
                " and ", a.aspect_ratios.size());
        ENFORCE(a.stride.size() == 2, InvalidArgument,
                "stride must hold a width and a height, got ", a.stride.size(), " numbers");
        SetOutputs(ctx, static_cast<int64_t>(a.anchor_sizes.size() * a.aspect_ratios.size()));
      })
      .NoGrad();
}

template <class T>
struct AnchorGeneratorKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<AnchorGeneratorAttrs>();
    const double stride_w = a.stride[0], stride_h = a.stride[1];
    Fill<T>(ctx, a.variances, [&](int64_t row, int64_t column, T* to) {
      const double x = static_cast<double>(column) * stride_w + a.offset * (stride_w - 1);
      const double y = static_cast<double>(row) * stride_h + a.offset * (stride_h - 1);
      for (double ratio : a.aspect_ratios) {
        const double w = std::round(std::sqrt(stride_w * stride_h / ratio));
        const double h = std::round(w * ratio);
        for (double size : a.anchor_sizes)
          to = Put(x, y, (size / stride_w * w - 1) / 2, (size / stride_h * h - 1) / 2, 1, 1, to);
      }
    });
  }
};

REGISTER_OPERATOR(anchor_generator, DefineAnchorGenerator);
REGISTER_KERNELS(anchor_generator, AnchorGeneratorKernel, float, double);

}  // namespace
}  // namespace dygraph::priors
