#include "operators/shape/axis_maps.h"

namespace dygraph::axis_maps {
namespace {

struct ExpandAs : Description {
  static constexpr const char *kType = "expand_as", *kGradType = "expand_as_grad";
  static constexpr int kInputs = 2;
  static constexpr uint32_t kShapeOnly = 1u << 1;
  static void AddInputs(OpDef& op) {
    op.Input(0, "X", "any shape").Input(1, "target_tensor", "as many axes; its shape is read");
  }
  static Maps Of(const Call& call, const Dims& x) {
    const Dims& target = call.in.at(1)->dims();
    ENFORCE(target.rank() == x.rank(), InvalidArgument,
            "target_tensor must have as many axes as X ", x, ", got shape ", target);
    Maps maps;
    for (int i = 0; i < x.rank(); ++i) {
      bool known = BothKnown(x[i], target[i]);
      ENFORCE(!known || (x[i] == 0 ? target[i] == 0 : target[i] % x[i] == 0), InvalidArgument,
              "the sizes of target_tensor must be multiples of those of X ", x, ", got ", target);
      AxisMap m = Tiled(x[i], known && x[i] > 0 ? target[i] / x[i] : 1);
      m.out = target[i];
      maps.Push(m);
    }
    return maps;
  }
};

void DefineExpandAs(OpDef& op) {
  op.Comment("Out = X, repeated along each axis as often as gives target_tensor's shape.");
  Define<ExpandAs>(op);
}

template <class T>
using ExpandAsKernel = Kernel<ExpandAs, T>;
template <class T>
using ExpandAsGradKernel = GradKernel<ExpandAs, T>;

REGISTER_OPERATOR(expand_as, DefineExpandAs);
REGISTER_KERNELS(expand_as, ExpandAsKernel, AllTypes);
REGISTER_OPERATOR(expand_as_grad, DefineGrad<ExpandAs>);
REGISTER_KERNELS(expand_as_grad, ExpandAsGradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(expand_as_grad, ExpandAsGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::axis_maps
