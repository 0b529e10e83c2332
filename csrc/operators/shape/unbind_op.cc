#include "operators/shape/stacking.h"

namespace dygraph::stacking {
namespace {

struct UnbindAttrs {
  int32_t axis = 0;
};

struct Unbind {
  using Attrs = UnbindAttrs;
  static constexpr const char* kType = "unbind";
  static constexpr const char *kOut = "Out", *kOutGrad = "Out@GRAD";
  static int Axis(const Attrs& a) { return a.axis; }
  static int Num(const Attrs&) { return 0; }
};

void DefineUnbind(OpDef& op) {
  op.Comment("Out[i] = element i of X along an axis, without the axis.");
  DefineParting<Unbind>(op).Attr(&UnbindAttrs::axis, "axis",
                                 "the axis to part; negative ones count from the end");
}

template <class T>
using UnbindKernel = PartKernel<Unbind, T>;
template <class T>
using UnbindGradKernel = PartGradKernel<Unbind, T>;

REGISTER_OPERATOR(unbind, DefineUnbind);
REGISTER_KERNELS(unbind, UnbindKernel, AllTypes);
REGISTER_OPERATOR(unbind_grad, DefinePartingGrad<Unbind>);
REGISTER_KERNELS(unbind_grad, UnbindGradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(unbind_grad, UnbindGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::stacking
