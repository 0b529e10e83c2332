#include "operators/conv/resize.h"

namespace dygraph {
namespace {

struct LinearV2 {
  static constexpr const char* kName = "linear_interp_v2";
  static constexpr int kAxes = 1;
  static constexpr auto kBy = interp::By::kLinear;
  using Attrs = interp::AttrsV2;
};

void DefineLinearV2(OpDef& op) {
  op.Comment(
        "Out is X resized: each element a weighted mean of the two around its place in X. scale "
        "has a number for each axis; where it gives the sizes, pixels lie 1 / scale apart.")
      .Example(
          ">>> x = to_variable([[[0.0, 2.0]]])\n"
          ">>> F.linear_interp_v2(x, out_w=3).tolist()\n"
          "[[[0.0, 1.0, 2.0]]]");
  interp::Define<LinearV2>(op);
}

template <class T>
using LinearV2Kernel = interp::Forward<LinearV2>::Kernel<T>;
template <class T>
using LinearV2GradKernel = interp::grad::Backward<LinearV2>::Kernel<T>;

REGISTER_OPERATOR(linear_interp_v2, DefineLinearV2);
REGISTER_KERNELS(linear_interp_v2, LinearV2Kernel, float, double);
REGISTER_OPERATOR(linear_interp_v2_grad, interp::grad::Define<LinearV2>);
REGISTER_KERNELS(linear_interp_v2_grad, LinearV2GradKernel, float, double);

}  // namespace
}  // namespace dygraph
