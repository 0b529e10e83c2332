#include "operators/shape/stacking.h"

namespace dygraph::stacking {
namespace {

struct UnstackAttrs {
  int32_t axis = 0;
  int32_t num = 0;
};

struct Unstack {
  using Attrs = UnstackAttrs;
  static constexpr const char* kType = "unstack";
  static constexpr const char *kOut = "Y", *kOutGrad = "Y@GRAD";
  static int Axis(const Attrs& a) { return a.axis; }
  static int Num(const Attrs& a) { return a.num; }
};

void DefineUnstack(OpDef& op) {
  op.Comment("Y[i] = element i of X along an axis, without the axis.");
  DefineParting<Unstack>(op)
      .Attr(&UnstackAttrs::axis, "axis", "the axis to part; negative ones count from the end")
      .Attr(&UnstackAttrs::num, "num", "size of the axis; 0: as X has it", AtLeast(-1));
}

template <class T>
using UnstackKernel = PartKernel<Unstack, T>;
template <class T>
using UnstackGradKernel = PartGradKernel<Unstack, T>;

REGISTER_OPERATOR(unstack, DefineUnstack);
REGISTER_KERNELS(unstack, UnstackKernel, AllTypes);
REGISTER_OPERATOR(unstack_grad, DefinePartingGrad<Unstack>);
REGISTER_KERNELS(unstack_grad, UnstackGradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(unstack_grad, UnstackGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::stacking
