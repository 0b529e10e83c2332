#include "operators/shape/axis_maps.h"

namespace dygraph::axis_maps {
namespace {

struct FlipAttrs {
  std::vector<int32_t> dims;
};

struct Flip : Description {
  static constexpr const char *kType = "flip", *kGradType = "flip_grad";
  static Maps Of(const Call& call, const Dims& x) {
    return Reversed(x, static_cast<const FlipAttrs*>(call.attrs)->dims, "dims");
  }
};

void DefineFlip(OpDef& op) {
  op.Comment("Out = X with the axes in dims read from the end to the beginning.");
  Define<Flip>(op).Attr(&FlipAttrs::dims, "dims",
                        "the axes to reverse; negative ones count from the end");
}

template <class T>
using FlipKernel = Kernel<Flip, T>;
template <class T>
using FlipGradKernel = GradKernel<Flip, T>;

REGISTER_OPERATOR(flip, DefineFlip);
REGISTER_KERNELS(flip, FlipKernel, AllTypes);
REGISTER_OPERATOR(flip_grad, DefineGrad<Flip>);
REGISTER_KERNELS(flip_grad, FlipGradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(flip_grad, FlipGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::axis_maps
