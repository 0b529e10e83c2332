// Weights in the form their kernels like, kept from run to run.
#include <algorithm>

#include "execute/plan.h"
#include "memory/memory.h"
#include "platform/onednn.h"
#include "run/run.h"

namespace dygraph::program {

// A weight that only other programs may change is kept in the form its kernel likes: in place of
// the plain one, if no other operator reads it.
void PreparedProgram::FindKeptWeights() {
  std::vector<bool> written(slots_.size());
  std::vector<int> readers(slots_.size());
  auto look = [&](const Op& op) {
    for (int s : op.out) {
      if (s >= 0) written[s] = true;
    }
    for (int s : op.in) {
      if (s >= 0) ++readers[s];
    }
  };
  for (const Op& op : ops_) {
    look(op);
    for (const Op& part : op.parts) look(part);
  }
  for (int s : fetch_slots_) ++readers[s];
  for (Op& op : ops_) {
    for (size_t slot = 0; slot < op.info->inputs.size(); ++slot) {
      uint32_t begin = slot ? op.in_ends[slot - 1] : 0;
      if (!op.info->inputs[slot].weight() || op.in_ends[slot] != begin + 1) continue;
      int s = op.in[begin];
      if (s < 0 || !slots_[s].persistable || written[s]) continue;
      op.kept = std::make_unique<KeptForm>();
      if (readers[s] == 1) op.weight = static_cast<int>(begin);
    }
  }
}

// The call gets the weight, or its shape where the form alone is kept and the kernel takes it.
void PreparedProgram::RunKept(const Op& op, Bound& bound) const {
  Call& call = bound.call;
  if (!bound.weight) return dygraph::Run(call);
  {
    Value weight = bound.weight->Held();
    call.in.flat_at(op.weight) = &weight;
    if (weight.is_tensor() && !weight.tensor().has_data() && weight.tensor().numel() > 0) {
      std::shared_ptr<const KeptForm::Form> form = op.kept->Find(weight.tensor());
      const Value* first = bound.in[0];
      bool asked = form && first && first->is_tensor();
      bool suits = asked && bound.suits == first->dims() && FLAGS_kernel_library.empty();
      if (asked && !suits) {
        suits = ExplainKernel(call).chosen->key.library == form->library();
        bound.suits = suits ? first->dims() : Dims();
      }
      if (!suits) weight = bound.weight->Get();
    }
    dygraph::Run(call);
  }
  if (size_t bytes = bound.weight->GiveUp(op.kept.get())) given_up_ += bytes;
}

// A run that gave weights up, the first one as a rule, left the places of those that could not be
// packed where they lay, and temporaries around them: once the pages go back to the system.
void PreparedProgram::ReleasePages() {
  constexpr size_t kWorthwhile = size_t{16} << 20;
  if (given_up_ >= kWorthwhile && !released_.exchange(true)) memory::ReleaseFree(place_);
}

}  // namespace dygraph::program
