#include "operators/index/lookup_table.h"

namespace dygraph::lookup_table {
namespace {

void DefineLookupTable(OpDef& op) {
  DefineSlots(op, "[..., 1], int32 or int64, in [0, height)")
      .Example(
          ">>> w = to_variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])\n"
          ">>> F.lookup_table(w, to_variable([[2], [0]])).tolist()\n"
          "[[5.0, 6.0], [1.0, 2.0]]")
      .Shape([](InferContext& ctx) { InferShape(ctx, true); })
      .Grad([](GradBuilder& g) {
        g.Call("lookup_table_grad", {g.InputShape(kW), g.Input(kIds), g.OutputGrad(kOut)},
               {g.InputGrad(kW)})
            .SameAttrs();
      });
}

void DefineLookupTableGrad(OpDef& op) {
  grad::DefineSlots(op, "lookup_table").Grad([](GradBuilder& g) {
    g.Call("lookup_table", {g.OutputGrad(grad::kWGrad), g.Input(grad::kIds)},
           {g.InputGrad(grad::kOutGrad)})
        .SameAttrs();
  });
}

REGISTER_OPERATOR(lookup_table, DefineLookupTable);
REGISTER_KERNELS(lookup_table, LookupTableKernel, uint8_t, int8_t, int16_t, int32_t, int64_t, float,
                 double);
REGISTER_OPERATOR(lookup_table_grad, DefineLookupTableGrad);
REGISTER_KERNELS(lookup_table_grad, grad::LookupTableGradKernel, float, double);

}  // namespace
}  // namespace dygraph::lookup_table
