#include "operators/conv/resize.h"

namespace dygraph {
namespace {

struct Bilinear {
  static constexpr const char* kName = "bilinear_interp";
  static constexpr int kAxes = 2;
  static constexpr auto kBy = interp::By::kLinear;
  using Attrs = interp::Attrs;
};

void DefineBilinearInterp(OpDef& op) {
  op.Comment(
        "Out is X resized: each pixel a weighted mean of the four around its place in X, for "
        "uint8 cut off to a whole number.")
      .Example(
          ">>> x = to_variable([[[[0.0, 2.0], [4.0, 6.0]]]])\n"
          ">>> F.bilinear_interp(x, out_h=2, out_w=3).tolist()\n"
          "[[[[0.0, 1.0, 2.0], [4.0, 5.0, 6.0]]]]");
  interp::Define<Bilinear>(op);
}

template <class T>
using BilinearInterpKernel = interp::Forward<Bilinear>::Kernel<T>;
template <class T>
using BilinearInterpGradKernel = interp::grad::Backward<Bilinear>::Kernel<T>;

REGISTER_OPERATOR(bilinear_interp, DefineBilinearInterp);
REGISTER_KERNELS(bilinear_interp, BilinearInterpKernel, uint8_t, float, double);
REGISTER_OPERATOR(bilinear_interp_grad, interp::grad::Define<Bilinear>);
REGISTER_KERNELS(bilinear_interp_grad, BilinearInterpGradKernel, float, double);

}  // namespace
}  // namespace dygraph
