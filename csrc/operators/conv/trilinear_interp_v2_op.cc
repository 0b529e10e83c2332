#include "operators/conv/resize.h"

namespace dygraph {
namespace {

struct TrilinearV2 {
  static constexpr const char* kName = "trilinear_interp_v2";
  static constexpr int kAxes = 3;
  static constexpr auto kBy = interp::By::kLinear;
  using Attrs = interp::AttrsV2;
};

void DefineTrilinearV2(OpDef& op) {
  op.Comment(
        "Out is X resized: each element a weighted mean of the eight around its place in X, for "
        "uint8 cut off to a whole number. scale has a number for each axis; where it gives the "
        "sizes, pixels lie 1 / scale apart.")
      .Example(
          ">>> x = to_variable([[[[[0.0, 1.0], [4.0, 5.0]]]]])\n"
          ">>> out = F.trilinear_interp_v2(x, out_d=1, out_h=3, out_w=3)\n"
          ">>> out.numpy().reshape(3, 3).tolist()\n"
          "[[0.0, 0.5, 1.0], [2.0, 2.5, 3.0], [4.0, 4.5, 5.0]]");
  interp::Define<TrilinearV2>(op);
}

template <class T>
using TrilinearV2Kernel = interp::Forward<TrilinearV2>::Kernel<T>;
template <class T>
using TrilinearV2GradKernel = interp::grad::Backward<TrilinearV2>::Kernel<T>;

REGISTER_OPERATOR(trilinear_interp_v2, DefineTrilinearV2);
REGISTER_KERNELS(trilinear_interp_v2, TrilinearV2Kernel, uint8_t, float, double);
REGISTER_OPERATOR(trilinear_interp_v2_grad, interp::grad::Define<TrilinearV2>);
REGISTER_KERNELS(trilinear_interp_v2_grad, TrilinearV2GradKernel, float, double);

}  // namespace
}  // namespace dygraph
