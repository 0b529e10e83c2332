#include "operators/arithmetic/floor_division.h"

namespace dygraph::elementwise {
namespace {

void DefineFloorDiv(OpDef& op) {
  DefineBinary(op,
               "Out = floor(X / Y), elementwise, rounded down as in Python (Fluid rounds integers "
               "towards zero). Integers are divided by zero never. Shapes broadcast as NumPy's; "
               "axis >= 0 lays Y along X from that axis on.")
      .Example(
          ">>> F.elementwise_floordiv(to_variable([7, -7]), to_variable([2, 2])).tolist()\n"
          "[3, -4]")
      .NoGrad();
}

template <class T>
using FloorDivKernel = FloorDivisionKernel<FloorDiv, T>;

REGISTER_OPERATOR(elementwise_floordiv, DefineFloorDiv);
REGISTER_LOD_RULE(elementwise_floordiv, elementwise::KeepsRows);
REGISTER_LOD_ALSO(elementwise_floordiv, elementwise::kY);
REGISTER_KERNELS(elementwise_floordiv, FloorDivKernel, float, double, uint8_t, int8_t, int16_t,
                 int32_t, int64_t);

}  // namespace
}  // namespace dygraph::elementwise
