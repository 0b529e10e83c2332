// Calls with weights in the form their kernels like, kept from run to run.
#include "execute/frame.h"
#include "memory/memory.h"
#include "platform/onednn.h"
#include "run/run.h"

namespace dygraph::program {

// The call gets the weight, or its shape where the form alone is kept and the kernel takes it.
void PreparedProgram::RunKept(const PlanOp& op, Bound& bound) const {
  Call& call = bound.call;
  auto run = [&] { bound.noting ? RunNoting(call, bound.noting) : dygraph::Run(call); };
  if (!bound.weight) return run();
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
    run();
  }
  if (size_t bytes = bound.weight->GiveUp(op.kept.get())) given_up_ += bytes;
}

// The same for a call that needs this kernel alone.
Value PreparedProgram::WeightFor(const PlanOp& op, const Bound& bound, const Kernel& kernel) const {
  Value weight = bound.weight->Held();
  if (!weight.is_tensor() || weight.tensor().has_data()) return weight;
  std::shared_ptr<const KeptForm::Form> form = op.kept->Find(weight.tensor());
  return form && form->library() == kernel.key.library ? weight : bound.weight->Get();
}

// A run that gave weights up, the first one as a rule, left the places of those that could not be
// packed where they lay, and temporaries around them: once the pages go back to the system.
void PreparedProgram::ReleasePages() {
  constexpr size_t kWorthwhile = size_t{16} << 20;
  if (given_up_ >= kWorthwhile && !released_.exchange(true)) memory::ReleaseFree(place_);
}

}  // namespace dygraph::program
