#include "operators/conv/resize.h"

namespace dygraph {
namespace {

struct BilinearV2 {
  static constexpr const char* kName = "bilinear_interp_v2";
  static constexpr int kAxes = 2;
  static constexpr auto kBy = interp::By::kLinear;
  using Attrs = interp::AttrsV2;
};

void DefineBilinearV2(OpDef& op) {
  op.Comment(
        "Out is X resized: each pixel a weighted mean of the four around its place in X, for uint8 "
        "cut off to a whole number. scale has a number for each axis; where it gives the sizes, "
        "pixels lie 1 / scale apart.")
      .Example(
          ">>> x = to_variable([[[[0.0, 2.0], [4.0, 6.0]]]])\n"
          ">>> F.bilinear_interp_v2(x, out_h=2, out_w=3).tolist()\n"
          "[[[[0.0, 1.0, 2.0], [4.0, 5.0, 6.0]]]]");
  interp::Define<BilinearV2>(op);
}

template <class T>
using BilinearV2Kernel = interp::Forward<BilinearV2>::Kernel<T>;
template <class T>
using BilinearV2GradKernel = interp::grad::Backward<BilinearV2>::Kernel<T>;

REGISTER_OPERATOR(bilinear_interp_v2, DefineBilinearV2);
REGISTER_KERNELS(bilinear_interp_v2, BilinearV2Kernel, uint8_t, float, double);
REGISTER_OPERATOR(bilinear_interp_v2_grad, interp::grad::Define<BilinearV2>);
REGISTER_KERNELS(bilinear_interp_v2_grad, BilinearV2GradKernel, float, double);

}  // namespace
}  // namespace dygraph
