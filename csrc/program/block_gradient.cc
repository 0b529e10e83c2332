#include "program/block_gradient.h"

#include <algorithm>

#include "op/op_registry.h"

namespace dygraph::program {

namespace {

using Names = std::vector<std::string>;
using Counts = std::vector<int32_t>;

Names Listed(const Names* names) { return names ? *names : Names(); }
Names StringsOf(const OpDesc& op, const char* attr) { return Listed(op.FindAttr<Names>(attr)); }
Counts CountsOf(const OpDesc& op, const char* attr) {
  const auto* counts = op.FindAttr<Counts>(attr);
  return counts ? *counts : Counts();
}

// Names in pieces of given lengths.
class Pieces {
 public:
  Pieces(const OpDesc& op, const char* names, const char* counts, const std::string& where)
      : op_(op), names_attr_(names), counts_attr_(counts), where_(where),
        names_(StringsOf(op, names)), counts_(CountsOf(op, counts)) {}
  size_t size() const { return counts_.size(); }
  Names Of(size_t i) {
    Names piece;
    for (int32_t k = 0; k < counts_[i]; ++k, ++next_) {
      ENFORCE(next_ < names_.size() && IsName(names_[next_]), Format, op_.type, ": ", counts_attr_,
              " must add up to the ", names_.size(), " names in ", names_attr_, where_);
      piece.push_back(names_[next_]);
    }
    return piece;
  }

 private:
  const OpDesc& op_;
  const char *names_attr_, *counts_attr_;
  const std::string& where_;
  const Names names_;
  const Counts counts_;
  size_t next_ = 0;
};

void Fit(bool fits, const OpDesc& op, const std::string& where) {
  ENFORCE(fits, Format, op.type, ": its lists must be as long as those they go with", where);
}

// Of recurrent_grad: gradients of outputs come in slices, those of inputs are put together again,
// those of states go from step to step.
void ReadStepGradients(const OpDesc& op, const Names& arriving, const Names& inner,
                       const std::string& where, BlockGradient* result) {
  const Names inputs = Listed(op.Input("inputs")), to_inputs = Listed(op.Output("inputs@GRAD")),
              to_states = Listed(op.Output("initial_states@GRAD")),
              input_grads = StringsOf(op, "input_grads"),
              state_grads = StringsOf(op, "state_grads"), states = StringsOf(op, "states");
  Fit(to_inputs.size() == input_grads.size() && to_states.size() == state_grads.size() &&
          to_inputs.size() <= inputs.size() && to_states.size() <= states.size(),
      op, where);
  for (size_t i = 0; i < arriving.size(); ++i) result->sliced.push_back({arriving[i], inner[i], ""});
  for (size_t i = 0; i < to_inputs.size(); ++i) {
    if (IsName(to_inputs[i])) result->stacked.push_back({to_inputs[i], input_grads[i], inputs[i]});
  }
  for (size_t i = 0; i < to_states.size(); ++i) {
    if (state_grads[i].empty()) continue;
    result->flows.push_back({"", states[i] + "@GRAD@NEXT", state_grads[i], to_states[i]});
  }
}

// Of block_grad_grad: what its first order puts together it takes in slices, and the other way
// round; what the turns kept has gradients.
void ReadSecondOrder(const OpDesc& op, const std::string& where, BlockGradient* result) {
  const Names slices = Listed(op.Input("Slices")), of_slices = Listed(op.Output("Slices@GRAD")),
              wholes = Listed(op.Input("Stacked@GRAD")), made = StringsOf(op, "slice_grads"),
              into = StringsOf(op, "stacked_grads");
  Fit(slices.size() == of_slices.size() && slices.size() == made.size() &&
          wholes.size() == into.size(),
      op, where);
  for (size_t i = 0; i < wholes.size(); ++i) result->sliced.push_back({wholes[i], into[i], ""});
  for (size_t i = 0; i < slices.size(); ++i) {
    if (IsName(of_slices[i])) result->stacked.push_back({of_slices[i], made[i], slices[i]});
  }
}

void ReadKept(const OpDesc& op, const std::string& where, BlockGradient* result) {
  for (const std::string& name : StringsOf(op, "kept")) result->kept.push_back({name, {}, -1, "", ""});
  if (op.type != "block_grad_grad") return;
  Pieces terms(op, "kept_terms", "kept_counts", where);
  const Counts made_as = CountsOf(op, "kept_made_as");
  const Names first = Listed(op.Input("Restored@GRAD")), last = Listed(op.Output("Last@GRAD"));
  const size_t count = result->kept.size();
  Fit(terms.size() == count && made_as.size() == count && first.size() == count &&
          last.size() == count,
      op, where);
  for (size_t i = 0; i < count; ++i) {
    const int number = made_as[i];
    ENFORCE(number >= -1 && number < static_cast<int>(count), Format, op.type,
            ": kept_made_as must be -1 or in [0, ", count, "), got ", number, where);
    BlockGradient::Kept& kept = result->kept[i];
    kept = {kept.name, terms.Of(i), number, first[i], last[i]};
  }
}

}  // namespace

ListNames ListsOfBlock(const OpDesc& op) {
  auto is = [&](const char* type) { return op.type.rfind(type, 0) == 0; };
  if (is("while") || is("block_grad_grad")) return {"X", "Out", "StepScopes"};
  if (is("conditional_block")) return {"Input", "Out", "Scope"};
  if (is("recurrent")) return {"parameters", "outputs", "step_scopes"};
  THROW(Unimplemented, "the operator has no gradient in programs");
}

BlockGradient ReadBlockGradient(const OpDesc& op, const OuterUses& forward,
                                const std::function<bool(const std::string&)>& is_array,
                                const std::string& where) {
  const ListNames lists = ListsOfBlock(op);
  const bool second = op.type == "block_grad_grad", steps = op.type == "recurrent_grad";
  const Names reads = Listed(op.Input(lists.reads)),
              grads = Listed(op.Output(std::string(lists.reads) + "@GRAD")),
              arriving = Listed(op.Input(std::string(lists.writes) + "@GRAD")),
              before = Listed(op.Input("Before")), inner = StringsOf(op, "original_output_grad"),
              named = StringsOf(op, "flow_names");
  Pieces terms(op, "term_names", "term_counts", where);
  Fit(grads.size() <= reads.size() && inner.size() == arriving.size() &&
          (terms.size() == 0 || terms.size() == reads.size()) &&
          (before.empty() || before.size() == reads.size()) &&
          (!second || named.size() == reads.size()),
      op, where);
  BlockGradient result;
  for (size_t i = 0; i < grads.size(); ++i) {
    // What the block calls the gradient that comes from the turn after.
    const std::string in = second ? named[i] : reads[i] + "@GRAD";
    const Names of = terms.size() == 0 ? Names{in} : terms.Of(i);
    const bool flows = second ? !in.empty()
                              : forward.Writes(reads[i]) ||
                                    std::find(inner.begin(), inner.end(), in) != inner.end();
    if (!IsName(grads[i]) && !(second && flows)) continue;
    if (IsName(grads[i]) && is_array(grads[i])) {  // the block itself changes it
      result.arrays.push_back(grads[i]);
      continue;
    }
    if (!flows) {
      result.gathers.push_back({before.empty() ? "" : before[i], of, grads[i]});
      continue;
    }
    std::string from;
    for (size_t k = 0; k < arriving.size(); ++k) {
      if (inner[k] == in) from = arriving[k];
    }
    ENFORCE(of.size() <= 1, Format, op.type, ": the gradient of '", reads[i],
            "', which iterations pass on, must be one variable, got ", of.size(), where);
    result.flows.push_back({from, in, of.empty() ? "" : of[0], grads[i]});
  }
  if (steps) ReadStepGradients(op, arriving, inner, where, &result);
  if (second) ReadSecondOrder(op, where, &result);
  ReadKept(op, where, &result);
  return result;
}

}  // namespace dygraph::program
