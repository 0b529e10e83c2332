#include "tape/describe.h"

#include <deque>

#include "op/call_checks.h"
#include "tape/thread_state.h"

namespace dygraph {

namespace {

DescribeCall g_describe = nullptr;
DescribingLine g_line = nullptr;

bool IsOpen(const Value* value) {
  if (!value || !value->is_tensor()) return false;
  for (int64_t n : value->tensor().dims()) {
    if (n < 0) return true;
  }
  return false;
}

// The axes of each output if open sizes are `size`; -1 for outputs that are no tensors. Empty where
// such sizes do not fit: the run refuses them.
SmallVector<int, 4> RanksAt(int64_t size, const Call& call) {
  SmallVector<int, 4> ranks;
  std::deque<Value> values;  // addresses stay
  Call tried = call;
  tried.in = {};
  tried.out = {};
  for (int s = 0; s < call.in.slots(); ++s) {
    for (int i = 0; i < call.in.count(s); ++i) {
      const Value* value = call.in.at(s, i);
      if (IsOpen(value)) {
        Dims dims = value->tensor().dims();
        for (int k = 0; k < dims.rank(); ++k) {
          if (dims[k] < 0) dims[k] = size;
        }
        Tensor known;
        known.SetMeta(dims, value->tensor().dtype());
        value = &values.emplace_back(std::move(known));
      }
      tried.in.Push(value);
    }
    tried.in.Close();
  }
  for (int s = 0; s < call.out.slots(); ++s) {
    for (int i = 0; i < call.out.count(s); ++i)
      tried.out.Push(call.out.at(s, i) ? &values.emplace_back() : nullptr);
    tried.out.Close();
  }
  try {
    InferOutputs(tried);
  } catch (const Error&) {
    return ranks;
  }
  for (const Value* out : tried.out.flat())
    ranks.push_back(out && out->is_tensor() ? out->tensor().rank() : -1);
  return ranks;
}

// A program declares how many axes its variables have, so no open size may decide that.
void CheckRanks(const Call& call) {
  const Value* open = nullptr;
  for (const Value* value : call.in.flat()) {
    if (IsOpen(value)) open = open ? open : value;
  }
  if (!open) return;
  SmallVector<int, 4> ones = RanksAt(1, call), twos = RanksAt(2, call);
  for (size_t i = 0; i < ones.size() && i < twos.size(); ++i) {
    ENFORCE(ones[i] == twos[i], InvalidArgument,
            "a size that is known when the program runs must not decide how many axes a result "
            "has, got an input of shape ",
            open->tensor().dims(), ", which gives ", twos[i], " axes, or ", ones[i],
            " where such a size is 1. Declare the size, or name the axes of size 1 as in "
            "static.layers.squeeze(x, axes=[1])");
  }
}

}  // namespace

void SetDescribeCall(DescribeCall describe, DescribingLine line) {
  g_describe = describe;
  g_line = line;
}

void DescribingLayer::Run(EagerCall& call) {
  if (!(call.marks & Variable::kSymbolic) && !call.in.flat().empty()) return Below(call);
  ENFORCE(g_describe, PreconditionNotMet, "no program is being described");
  const ThreadState& thread = CurrentThread();
  try {
    InferOutputs(call.values);
    if (!thread.exploring) CheckRanks(call.values);
  } catch (Error& e) {
    e.AddOperator(call.op.type);
    // An explored function is run, and its errors are compared, at several sizes.
    if (!thread.exploring) e.Append(" (described at " + g_line() + ")");
    throw;
  }
  bool wanted = call.marks & Variable::kWantsGradient && (thread.recording || !thread.exploring);
  for (Variable* v : call.out.flat()) {
    if (!v) continue;
    v->set_symbolic();
    if (wanted && !call.op.has_no_grad && !v->value().empty() && IsInexact(v->value().dtype()))
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
