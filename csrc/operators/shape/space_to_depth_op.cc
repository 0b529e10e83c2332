#include "operators/shape/rearrange.h"

namespace dygraph {
namespace {

struct SpaceToDepthAttrs {
  int64_t blocksize = 1;
};

struct SpaceToDepth {
  static constexpr const char *kName = "space_to_depth",
                              *kHelp =
                                  "[N, C, H, W]: C a multiple of blocksize^2, H and W of blocksize";
  using Attrs = SpaceToDepthAttrs;
  static rearrange::Plan Describe(const Dims& x, const Attrs& a) {
    int64_t b = a.blocksize;
    ENFORCE(x.rank() == 4, InvalidArgument, "X must have 4 axes, NCHW, got shape ", x);
    int64_t c = rearrange::Divide(x[1], b * b, "the number of channels");
    int64_t h = rearrange::Divide(x[2], b, "the height"),
            w = rearrange::Divide(x[3], b, "the width");
    return {{x[0], b, b, c, x[2], x[3]}, {0, 3, 4, 1, 5, 2}, {x[0], MulSizes(x[1], b * b), h, w}};
  }
};

void DefineSpaceToDepth(OpDef& op) {
  op.Comment(
        "Out has the shape [N, C * b^2, H / b, W / b], b the blocksize. Its memory is that of an "
        "image [N, C / b^2, H * b, W * b] whose pixel (h * b + i, w * b + j) of channel c is X[n, "
        "(i "
        "* b + j) * C / b^2 + c, h, w]: the order of the reorganising layer of Redmon and Farhadi, "
        "2016, as programs know it.")
      .Example(
          ">>> x = to_variable(np.arange(16).reshape(1, 4, 2, 2))\n"
          ">>> out = F.space_to_depth(x, blocksize=2)\n"
          ">>> out.shape, out.numpy().ravel().tolist()\n"
          "((1, 16, 1, 1), [0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15])");
  rearrange::Define<SpaceToDepth>(op);
  op.Attr(&SpaceToDepthAttrs::blocksize, "blocksize", "of the blocks of pixels", Between(1, 32768));
}

template <class T>
using SpaceToDepthKernel = rearrange::Forward<SpaceToDepth>::Kernel<T>;
template <class T>
using SpaceToDepthGradKernel = rearrange::grad::Backward<SpaceToDepth>::Kernel<T>;

REGISTER_OPERATOR(space_to_depth, DefineSpaceToDepth);
REGISTER_KERNELS(space_to_depth, SpaceToDepthKernel, float, double, int32_t, int64_t);
REGISTER_OPERATOR(space_to_depth_grad, rearrange::grad::Define<SpaceToDepth>);
REGISTER_KERNELS(space_to_depth_grad, SpaceToDepthGradKernel, float, double);

}  // namespace
}  // namespace dygraph
