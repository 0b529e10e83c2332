// Shapes of forward inputs that the gradients of an operator do not take, in the file that
// registers the operator:
//
//   REGISTER_GRADIENT_SHAPES(batch_norm, {"Mean", "Scale"}, {"MomentumTensor", ""});
//
// Mean has the shape and type of Scale; no shape depends on MomentumTensor. With that the shape
// rule of the forward call can be asked what every gradient's shape must be (op/gradient_of.h). An
// output with an empty string is a list whose length does not follow from the call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dygraph {

class OpInfo;
struct SlotInfo;

struct ShapeTwin {
  std::string missing;  // an input of the operator, or a list of outputs
  std::string like;     // an input or output of it; empty: no shape follows from `missing`
};

class ShapeTwinRegistration {
 public:
  ShapeTwinRegistration(const char* type, std::vector<ShapeTwin> twins);
};
// Those of `op`; nullptr without an entry for `input`.
const ShapeTwin* FindShapeTwin(const OpInfo& op, const std::string& input);
// The operator whose attributes `op` has.
const std::string& AttrsOwner(const OpInfo& op);
int FindSlot(const std::vector<SlotInfo>& slots, std::string_view name);  // -1: there is none
// The first output has the shape of the first input, by OpDef::SameShape(0, 0).
bool CopiesFirstShape(const OpInfo& op);

}  // namespace dygraph

#define REGISTER_GRADIENT_SHAPES(type, ...) \
  static ::dygraph::ShapeTwinRegistration gradient_shapes_##type(#type, {__VA_ARGS__})
