#include "operators/conv/resize.h"

namespace dygraph {
namespace {

struct Trilinear {
  static constexpr const char* kName = "trilinear_interp";
  static constexpr int kAxes = 3;
  static constexpr auto kBy = interp::By::kLinear;
  using Attrs = interp::Attrs;
};

void DefineTrilinear(OpDef& op) {
  op.Comment(
        "Out is X resized: each element a weighted mean of the eight around its place in X, for "
        "uint8 cut off to a whole number.")
      .Example(
          ">>> x = to_variable([[[[[0.0, 1.0], [4.0, 5.0]]]]])\n"
          ">>> out = F.trilinear_interp(x, out_d=1, out_h=3, out_w=3)\n"
          ">>> out.numpy().reshape(3, 3).tolist()\n"
          "[[0.0, 0.5, 1.0], [2.0, 2.5, 3.0], [4.0, 4.5, 5.0]]");
  interp::Define<Trilinear>(op);
}

template <class T>
using TrilinearKernel = interp::Forward<Trilinear>::Kernel<T>;
template <class T>
using TrilinearGradKernel = interp::grad::Backward<Trilinear>::Kernel<T>;

REGISTER_OPERATOR(trilinear_interp, DefineTrilinear);
REGISTER_KERNELS(trilinear_interp, TrilinearKernel, uint8_t, float, double);
REGISTER_OPERATOR(trilinear_interp_grad, interp::grad::Define<Trilinear>);
REGISTER_KERNELS(trilinear_interp_grad, TrilinearGradKernel, float, double);

}  // namespace
}  // namespace dygraph
