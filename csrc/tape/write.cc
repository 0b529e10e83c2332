// Writes into a variable, which listeners learn of.
#include "tape/thread_state.h"
#include "tape/variable.h"

namespace dygraph {

void Variable::SetValue(Value value) {
  CurrentThread().OnWrite(*this);
  value_ = std::move(value);
  value_number = 0;
}

void Variable::Become(Variable& result) {
  ENFORCE(!(IsLeaf() && RequiresGrad() && CurrentThread().recording), PreconditionNotMet,
          "a leaf that needs a gradient cannot be written in place while recording, got ",
          name().empty() ? "one" : "'" + name() + "'", " of shape ", value_.dims(),
          ". Write under dygraph.no_grad(), or compute a new variable");
  CurrentThread().OnWrite(*this);
  value_ = std::move(result.value_);
  if (result.producer_.node) {
    producer_ = std::move(result.producer_);
    marks_ |= kWantsGradient;
  } else if (producer_.node) {
    producer_ = Edge();
    marks_ &= ~kWantsGradient;
  }
  set_not_recorded(result.not_recorded_);
  value_number = result.value_number;
}

}  // namespace dygraph
