#include "tape/describe.h"

#include "op/call_checks.h"
#include "tape/thread_state.h"

namespace dygraph {

namespace {
DescribeCall g_describe = nullptr;
}

void SetDescribeCall(DescribeCall describe) { g_describe = describe; }

void DescribingLayer::Run(EagerCall& call) {
  if (!(call.marks & Variable::kSymbolic) && !call.in.flat().empty()) return Below(call);
  ENFORCE(g_describe, PreconditionNotMet, "no program is being described");
  InferOutputs(call.values);
  const ThreadState& thread = CurrentThread();
  bool wanted = call.marks & Variable::kWantsGradient && (thread.recording || !thread.exploring);
  for (Variable* v : call.out.flat()) {
    if (!v) continue;
    v->set_symbolic();
    if (wanted && !call.op.has_no_grad && !v->value().empty() && IsFloating(v->value().dtype()))
      v->set_stop_gradient(false);
  }
  g_describe(call);
  const SlotList<Variable>* targets = std::exchange(call.targets, nullptr);  // written by that
  if (!targets) return;
  size_t flat = 0;
  for (int s = 0; s < call.out.slots(); ++s) {
    for (int i = 0; i < call.out.count(s); ++i, ++flat) {
      if (Variable* target = targets->at(s, i)) call.result->owned[flat] = Ref<Variable>(target);
    }
  }
}

}  // namespace dygraph
