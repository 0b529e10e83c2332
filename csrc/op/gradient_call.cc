#include "op/gradient_call.h"

#include <string>

#include "base/enforce.h"
#include "op/gradient_shapes.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

// The slot that `name` is the gradient of.
int FindMarked(const std::vector<SlotInfo>& slots, const std::string& name) {
  const std::string mark = "@GRAD";
  if (name.size() < mark.size()) return -1;
  size_t rest = name.size() - mark.size();
  return name.compare(rest, mark.size(), mark) == 0 ? FindSlot(slots, name.substr(0, rest)) : -1;
}

RecipeSlot Argument(const GradBuilder& g, const SlotInfo& slot, const OpInfo& called) {
  int i = FindSlot(g.op().inputs, slot.name);
  if (i >= 0) return slot.flags & kShapeOnly ? g.InputShapes(i) : g.Inputs(i);
  i = FindSlot(g.op().outputs, slot.name);
  if (i >= 0) {
    RecipeSlot refs;
    for (int k = 0; k < g.OutputCount(i); ++k) refs.push_back(g.Output(i, k));
    return refs;
  }
  i = FindMarked(g.op().outputs, slot.name);
  ENFORCE(i >= 0, PreconditionNotMet, "an input of ", called.type,
          " must be named after a slot of ", g.op().type, ", got ", slot.name);
  return g.OutputGrads(i);
}

RecipeSlot Result(const GradBuilder& g, const SlotInfo& slot, const OpInfo& called) {
  int i = FindMarked(g.op().inputs, slot.name);
  ENFORCE(i >= 0, PreconditionNotMet, "an output of ", called.type,
          " must be the gradient of an input of ", g.op().type, ", got ", slot.name);
  return g.op().inputs[i].duplicable() ? g.InputGrads(i) : RecipeSlot(g.InputGrad(i));
}

}  // namespace

void CallGradient(GradBuilder& g) {
  const OpInfo& called = GetOp(g.op().type + "_grad");
  std::vector<RecipeSlot> in, out;
  for (const SlotInfo& slot : called.inputs) in.push_back(Argument(g, slot, called));
  for (const SlotInfo& slot : called.outputs) out.push_back(Result(g, slot, called));
  auto call = g.CallLists(called.type, std::move(in), std::move(out));
  if (!called.attrs_of.empty()) call.SameAttrs();
}

}  // namespace dygraph
