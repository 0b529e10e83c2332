#include "program/block_gradient.h"

#include <algorithm>

#include "op/op_registry.h"

namespace dygraph::program {

namespace {

using Names = std::vector<std::string>;

bool IsName(const std::string& name) { return !name.empty() && name != kEmptyName; }

Names Listed(const Names* names) { return names ? *names : Names(); }

// Gradients of outputs come in slices, those of inputs are put together again, those of states go
// from step to step.
void ReadStepGradients(const OpDesc& op, const Names& arriving, const Names& inner,
                       const std::string& where, BlockGradient* result) {
  auto strings = [&](const char* name) { return Listed(op.FindAttr<Names>(name)); };
  const Names inputs = Listed(op.Input("inputs")), to_inputs = Listed(op.Output("inputs@GRAD")),
              initial = Listed(op.Input("initial_states")),
              to_states = Listed(op.Output("initial_states@GRAD")),
              input_grads = strings("input_grads"), state_grads = strings("state_grads"),
              states = strings("states");
  ENFORCE(to_inputs.size() == input_grads.size() && to_states.size() == state_grads.size() &&
              to_inputs.size() <= inputs.size() && to_states.size() <= states.size() &&
              to_states.size() <= initial.size(),
          Format, op.type, ": its lists must be as long as those they go with", where);
  for (size_t i = 0; i < arriving.size(); ++i) result->sliced.push_back({arriving[i], inner[i], ""});
  for (size_t i = 0; i < to_inputs.size(); ++i) {
    if (IsName(to_inputs[i])) result->stacked.push_back({to_inputs[i], input_grads[i], inputs[i]});
  }
  for (size_t i = 0; i < to_states.size(); ++i) {
    if (state_grads[i].empty()) continue;
    result->flows.push_back(
        {"", states[i] + "@GRAD@NEXT", state_grads[i], to_states[i], initial[i], ""});
  }
}

}  // namespace

ListNames ListsOfBlockGradient(const OpDesc& op) {
  if (op.type == "while_grad") return {"X", "Out", "StepScopes"};
  if (op.type == "recurrent_grad") return {"parameters", "outputs", "step_scopes"};
  if (op.type == "conditional_block_grad") return {"Input", "Out", "Scope"};
  return {"X", "Out", "StepScopes"};
}

BlockGradient ReadBlockGradient(const OpDesc& op, const OuterUses& forward,
                                const std::function<bool(const std::string&)>& is_array,
                                const std::string& where) {
  const ListNames lists = ListsOfBlockGradient(op);
  const bool second = op.type == "block_grad_grad", steps = op.type == "recurrent_grad";
  const std::string gradients = std::string(lists.reads) + "@GRAD";
  auto strings = [&](const char* name) { return Listed(op.FindAttr<Names>(name)); };
  const Names reads = Listed(op.Input(lists.reads)), grads = Listed(op.Output(gradients)),
              arriving = Listed(op.Input(std::string(lists.writes) + "@GRAD")),
              before = Listed(op.Input("Before")), inner = strings("original_output_grad"),
              terms = strings("term_names"), named = strings("flow_names");
  const auto* given = op.FindAttr<std::vector<int32_t>>("term_counts");
  const std::vector<int32_t> counts = given ? *given : std::vector<int32_t>();
  ENFORCE(grads.size() <= reads.size() && inner.size() == arriving.size() &&
              (counts.empty() || counts.size() == reads.size()) &&
              (before.empty() || before.size() == reads.size()) &&
              (!second || named.size() == reads.size()),
          Format, op.type, ": its lists must be as long as those they go with", where);
  BlockGradient result;
  size_t term = 0;
  for (size_t i = 0; i < grads.size(); ++i) {
    // What the block calls the gradient that comes from the turn after.
    const std::string in = second ? named[i] : reads[i] + "@GRAD";
    Names of;
    if (counts.empty()) of.push_back(in);
    for (int32_t k = 0; !counts.empty() && k < counts[i]; ++k, ++term) {
      ENFORCE(term < terms.size() && IsName(terms[term]), Format, op.type,
              ": term_counts must add up to the ", terms.size(), " names in term_names", where);
      of.push_back(terms[term]);
    }
    const bool flows = second ? !in.empty()
                              : forward.Writes(reads[i]) ||
                                    std::find(inner.begin(), inner.end(), in) != inner.end();
    if (!IsName(grads[i]) && !(second && flows)) continue;
    if (IsName(grads[i]) && is_array(grads[i])) {  // the block itself changes it
      result.arrays.push_back(grads[i]);
      continue;
    }
    const std::string first = before.empty() ? "" : before[i];
    if (!flows) {
      result.gathers.push_back({first, std::move(of), grads[i], reads[i]});
      continue;
    }
    std::string from;
    for (size_t k = 0; k < arriving.size(); ++k) {
      if (inner[k] == in) from = arriving[k];
    }
    ENFORCE(of.size() <= 1, Format, op.type, ": the gradient of '", reads[i],
            "', which goes from turn to turn, must be one variable, got ", of.size(), where);
    result.flows.push_back({from, in, of.empty() ? "" : of[0], grads[i], reads[i], first});
  }
  if (steps) ReadStepGradients(op, arriving, inner, where, &result);
  if (!second) return result;
  const Names slices = Listed(op.Input("Slices")), of_slices = Listed(op.Output("Slices@GRAD")),
              wholes = Listed(op.Input("Stacked@GRAD")), made = strings("slice_grads"),
              into = strings("stacked_grads");
  ENFORCE(slices.size() == of_slices.size() && slices.size() == made.size() &&
              wholes.size() == into.size(),
          Format, op.type, ": its lists must be as long as those they go with", where);
  for (size_t i = 0; i < wholes.size(); ++i) result.sliced.push_back({wholes[i], into[i], ""});
  for (size_t i = 0; i < slices.size(); ++i) {
    if (IsName(of_slices[i])) result.stacked.push_back({of_slices[i], made[i], slices[i]});
  }
  return result;
}

}  // namespace dygraph::program
