#include "op/open_attr.h"
#include "operators/shape/axis_maps.h"

namespace dygraph::axis_maps {
namespace {

struct ReverseAttrs {
  std::vector<int32_t> axis;
};

struct Reverse : Description {
  static constexpr const char *kType = "reverse", *kGradType = "reverse_grad";
  static Maps Of(const Call& call, const Dims& x) {
    const std::vector<int32_t>& axis = static_cast<const ReverseAttrs*>(call.attrs)->axis;
    if (!IsOpen(axis)) return Reversed(x, axis, "axis");
    return Reversed(x, {0}, "axis");  // described: any may be, the sizes stay
  }
};

void DefineReverse(OpDef& op) {
  op.Comment("Out = X with the axes in axis read from the end to the beginning.")
      .Example(
          ">>> F.reverse(to_variable([[1, 2], [3, 4]]), axis=[1]).tolist()\n"
          "[[2, 1], [4, 3]]");
  Define<Reverse>(op).Attr(&ReverseAttrs::axis, "axis",
                           "the axes to reverse; negative ones count from the end");
}

template <class T>
using ReverseKernel = Kernel<Reverse, T>;
template <class T>
using ReverseGradKernel = GradKernel<Reverse, T>;

REGISTER_OPERATOR(reverse, DefineReverse);
REGISTER_OPEN_ATTRS(reverse, "axis");
REGISTER_KERNELS(reverse, ReverseKernel, AllTypes);
REGISTER_OPERATOR(reverse_grad, DefineGrad<Reverse>);
REGISTER_KERNELS(reverse_grad, ReverseGradKernel, float, double, complex64, complex128);

}  // namespace
}  // namespace dygraph::axis_maps
