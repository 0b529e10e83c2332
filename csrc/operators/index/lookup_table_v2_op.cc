#include "op/lod_rule.h"
#include "operators/index/lookup_table.h"

namespace dygraph::lookup_table {
namespace {

void DefineLookupTableV2(OpDef& op) {
  DefineSlots(op, "any shape, int32 or int64, in [0, height)")
      .Example(
          ">>> w = to_variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])\n"
          ">>> F.lookup_table_v2(w, to_variable([2, 0, 1]), padding_idx=0).tolist()\n"
          "[[5.0, 6.0], [0.0, 0.0], [3.0, 4.0]]")
      .Shape([](InferContext& ctx) { InferShape(ctx, false); })
      .Grad([](GradBuilder& g) {
        g.Call("lookup_table_v2_grad", {g.InputShape(kW), g.Input(kIds), g.OutputGrad(kOut)},
               {g.InputGrad(kW)})
            .SameAttrs();
      });
}

void DefineLookupTableV2Grad(OpDef& op) {
  grad::DefineSlots(op, "lookup_table_v2").Grad([](GradBuilder& g) {
    g.Call("lookup_table_v2", {g.OutputGrad(grad::kWGrad), g.Input(grad::kIds)},
           {g.InputGrad(grad::kOutGrad)})
        .SameAttrs();
  });
}

REGISTER_OPERATOR(lookup_table_v2, DefineLookupTableV2);
REGISTER_LOD_RULE(lookup_table_v2, RowsOfFirstAxis);
REGISTER_KERNELS(lookup_table_v2, LookupTableKernel, uint8_t, int8_t, int16_t, int32_t, int64_t,
                 float, double);
REGISTER_DEVICE_TYPES(lookup_table_v2, LookupTableKernel, float16, bfloat16);
REGISTER_OPERATOR(lookup_table_v2_grad, DefineLookupTableV2Grad);
REGISTER_KERNELS(lookup_table_v2_grad, grad::LookupTableGradKernel, float, double);
REGISTER_DEVICE_TYPES(lookup_table_v2_grad, grad::LookupTableGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::lookup_table
