#include "operators/conv/resize.h"

namespace dygraph {
namespace {

struct LinearResize {
  static constexpr const char* kName = "linear_interp";
  static constexpr int kAxes = 1;
  static constexpr auto kBy = interp::By::kLinear;
  using Attrs = interp::Attrs;
};

void DefineLinearResize(OpDef& op) {
  op.Comment("Out is X resized: each element a weighted mean of the two around its place in X.")
      .Example(
          ">>> x = to_variable([[[0.0, 2.0]]])\n"
          ">>> F.linear_interp(x, out_w=3).tolist()\n"
          "[[[0.0, 1.0, 2.0]]]");
  interp::Define<LinearResize>(op);
}

template <class T>
using LinearResizeKernel = interp::Forward<LinearResize>::Kernel<T>;
template <class T>
using LinearResizeGradKernel = interp::grad::Backward<LinearResize>::Kernel<T>;

REGISTER_OPERATOR(linear_interp, DefineLinearResize);
REGISTER_KERNELS(linear_interp, LinearResizeKernel, float, double);
REGISTER_OPERATOR(linear_interp_grad, interp::grad::Define<LinearResize>);
REGISTER_KERNELS(linear_interp_grad, LinearResizeGradKernel, float, double);

}  // namespace
}  // namespace dygraph
