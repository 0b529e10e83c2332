#include "operators/shape/rearrange.h"

namespace dygraph {
namespace {

struct PixelShuffleAttrs {
  int32_t upscale_factor = 1;
  std::string data_format = "NCHW";
};

struct PixelShuffle {
  static constexpr const char *kName = "pixel_shuffle",
                              *kHelp =
                                  "[N, C, H, W], or [N, H, W, C] with data_format NHWC; C "
                                  "a multiple of upscale_factor^2";
  using Attrs = PixelShuffleAttrs;
  static rearrange::Plan Describe(const Dims& x, const Attrs& a) {
    int64_t r = a.upscale_factor;
    bool last = a.data_format == "NHWC";
    ENFORCE(x.rank() == 4, InvalidArgument, "X must have 4 axes, ", a.data_format, ", got shape ",
            x);
    int64_t c = rearrange::Divide(x[last ? 3 : 1], r * r, "the number of channels");
    if (last) {
      return {{x[0], x[1], x[2], c, r, r},
              {0, 1, 4, 2, 5, 3},
              {x[0], MulSizes(x[1], r), MulSizes(x[2], r), c}};
    }
    return {{x[0], c, r, r, x[2], x[3]},
            {0, 1, 4, 2, 5, 3},
            {x[0], c, MulSizes(x[2], r), MulSizes(x[3], r)}};
  }
};

void DefinePixelShuffle(OpDef& op) {
  op.Comment(
        "Out[n, c, h * r + i, w * r + j] = X[n, (c * r + i) * r + j, h, w], r the upscale_factor: "
        "channels become pixels (Shi et al., 2016).")
      .Example(
          ">>> x = to_variable([[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]])\n"
          ">>> F.pixel_shuffle(x, upscale_factor=2).tolist()\n"
          "[[[[1.0, 2.0], [3.0, 4.0]]]]");
  rearrange::Define<PixelShuffle>(op);
  op.Attr(&PixelShuffleAttrs::upscale_factor, "upscale_factor", "of height and width",
          Between(1, 32768))
      .Attr(&PixelShuffleAttrs::data_format, "data_format", "the order of X's and Out's axes",
            OneOf({"NCHW", "NHWC"}));
}

template <class T>
using PixelShuffleKernel = rearrange::Forward<PixelShuffle>::Kernel<T>;
template <class T>
using PixelShuffleGradKernel = rearrange::grad::Backward<PixelShuffle>::Kernel<T>;

REGISTER_OPERATOR(pixel_shuffle, DefinePixelShuffle);
REGISTER_KERNELS(pixel_shuffle, PixelShuffleKernel, float, double, int32_t, int64_t);
REGISTER_OPERATOR(pixel_shuffle_grad, rearrange::grad::Define<PixelShuffle>);
REGISTER_KERNELS(pixel_shuffle_grad, PixelShuffleGradKernel, float, double);

}  // namespace
}  // namespace dygraph
