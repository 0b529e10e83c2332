#include "operators/shape/rearrange.h"

namespace dygraph {
namespace {

struct PixelUnshuffleAttrs {
  int32_t downscale_factor = 1;
  std::string data_format = "NCHW";
};

struct PixelUnshuffle {
  static constexpr const char *kName = "pixel_unshuffle",
                              *kHelp =
                                  "[N, C, H, W], or [N, H, W, C] with data_format NHWC; H and W "
                                  "multiples of downscale_factor";
  using Attrs = PixelUnshuffleAttrs;
  static rearrange::Plan Describe(const Dims& x, const Attrs& a) {
    int64_t r = a.downscale_factor;
    int last = a.data_format == "NHWC";
    ENFORCE(x.rank() == 4, InvalidArgument, "X must have 4 axes, ", a.data_format, ", got shape ",
            x);
    int64_t h = rearrange::Divide(x[2 - last], r, "the height");
    int64_t w = rearrange::Divide(x[3 - last], r, "the width");
    int64_t c = x[last ? 3 : 1], more = MulSizes(c, r * r);
    if (last) return {{x[0], h, r, w, r, c}, {0, 1, 3, 5, 2, 4}, {x[0], h, w, more}};
    return {{x[0], c, h, r, w, r}, {0, 1, 3, 5, 2, 4}, {x[0], more, h, w}};
  }
};

void DefinePixelUnshuffle(OpDef& op) {
  op.Comment(
        "Out[n, (c * r + i) * r + j, h, w] = X[n, c, h * r + i, w * r + j], r the "
        "downscale_factor: pixels become channels, the inverse of pixel_shuffle.")
      .Example(
          ">>> x = to_variable([[[[1.0, 2.0], [3.0, 4.0]]]])\n"
          ">>> F.pixel_unshuffle(x, downscale_factor=2).tolist()\n"
          "[[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]]");
  rearrange::Define<PixelUnshuffle>(op);
  op.Attr(&PixelUnshuffleAttrs::downscale_factor, "downscale_factor",
          "what height and width are divided by", AtLeast(1))
      .Attr(&PixelUnshuffleAttrs::data_format, "data_format",
            "NCHW or NHWC: where the channels stand", OneOf({"NCHW", "NHWC"}));
}

template <class T>
using PixelUnshuffleKernel = rearrange::Forward<PixelUnshuffle>::Kernel<T>;
template <class T>
using PixelUnshuffleGradKernel = rearrange::grad::Backward<PixelUnshuffle>::Kernel<T>;

REGISTER_OPERATOR(pixel_unshuffle, DefinePixelUnshuffle);
REGISTER_KERNELS(pixel_unshuffle, PixelUnshuffleKernel, float, double, int32_t, int64_t);
REGISTER_OPERATOR(pixel_unshuffle_grad, rearrange::grad::Define<PixelUnshuffle>);
REGISTER_KERNELS(pixel_unshuffle_grad, PixelUnshuffleGradKernel, float, double);

}  // namespace
}  // namespace dygraph
