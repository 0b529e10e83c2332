// Chains of pointwise operators (execute/chain.h) in a run of a program.
#include <algorithm>
#include <unordered_set>

#include "execute/chain.h"
#include "execute/frame.h"
#include "platform/interrupt.h"
#include "run/interpreter.h"
#include "run/watch.h"

namespace dygraph::program {

namespace {

// What all operators of a chain read of what was there before it.
std::vector<int> InputsOf(const std::vector<PlanOp>& ops, size_t first, size_t end) {
  std::vector<int> inputs;
  std::unordered_set<int> seen;
  for (size_t i = first; i < end; ++i) {
    for (int s : ops[i].in) {
      if (s >= 0 && seen.insert(s).second) inputs.push_back(s);
    }
    for (int s : ops[i].out) seen.insert(s);
  }
  return inputs;
}

// The kernel that the call would run, if it takes blocks as it takes the whole.
KernelFn KernelOf(const Call& call) {
  const Value* first = call.in.flat().empty() ? nullptr : call.in.flat()[0];
  if (!first || !first->is_tensor()) return nullptr;
  for (const Value* v : call.in.flat()) {
    if (v && !v->is_tensor()) return nullptr;
  }
  const DType dtype = call.op->kernel_dtype ? call.op->kernel_dtype(call) : first->dtype();
  const bool floating = dtype == DType::kFloat32 || dtype == DType::kFloat64;
  if (!floating && dtype != DType::kBool) return nullptr;  // others may divide by zero
  const Kernel* kernel =
      call.op->sole_kernel[static_cast<int>(DeviceKind::kCPU)][static_cast<int>(dtype)];
  return kernel && kernel->key.layout != KernelLayout::kNHWC ? kernel->run : nullptr;
}

int AxisOf(const Call& call) {
  const int at = call.op->attr_table.Find("axis");
  if (at < 0) return -1;
  const AttrValue value = call.op->attr_table.Get(call.attrs, at);
  const int32_t* axis = std::get_if<int32_t>(&value);
  return axis ? *axis : -1;
}

}  // namespace

// False, with nothing done: the operators are to run one by one.
bool PreparedProgram::RunChain(Stretch of, size_t first, Frame& frame, RandomStreams random) const {
  if (watch::Switches() != 0 || frame.times) return false;
  const size_t end = first + of.ops[first].chain;
  std::unique_ptr<Chain>& held = of.calls[first].chain;
  if (!held) {
    for (size_t i = first; i < end; ++i) {
      if (of.ops[i].terms) return false;
    }
    held = std::make_unique<Chain>();
    held->inputs = InputsOf(of.ops, first, end);
    held->metas.resize(held->inputs.size());
  }
  Chain& chain = *held;
  bool met = true;
  for (size_t k = 0; k < chain.inputs.size(); ++k) {
    const Value& value = *frame.values[chain.inputs[k]];
    ChainMeta& known = chain.metas[k];
    if (known.usual && known.Fits(value)) continue;
    const ChainMeta now(value);
    met &= !now.usual && now == known;
    known = now;
  }
  if (!met) {
    chain.met = 0;
    chain.segments.clear();
    chain.views.clear();
    return false;
  }
  if (++chain.met == 1) {
    LearnChain(of, first, frame, random);
    return true;
  }
  chain.met = 2;
  size_t next = first;
  for (size_t k = 0; k < chain.segments.size(); ++k) {
    RunLinks(of, next, first + chain.segments[k].begin, frame, random);
    RunSegment(of, first, k, frame);
    next = first + chain.segments[k].end;
  }
  RunLinks(of, next, end, frame, random);
  return true;
}

size_t PreparedProgram::operators_in_chains() {
  std::lock_guard<std::mutex> lock(mutex_);
  size_t count = 0;
  for (size_t i = 0; !idle_.empty() && i < plan_.ops.size(); ++i) {
    if (!idle_.back()->calls[i].chain) continue;
    for (const ChainSegment& s : idle_.back()->calls[i].chain->segments) count += s.end - s.begin;
  }
  return count;
}

// One by one.
void PreparedProgram::RunLinks(Stretch of, size_t begin, size_t end, Frame& frame,
                               RandomStreams random) const {
  for (size_t i = begin; i < end; ++i) {
    RunOne(of.ops[i], frame, of.calls[i], random);
    Release(of.ops[i], frame);
  }
}

void PreparedProgram::LearnChain(Stretch of, size_t first, Frame& frame,
                                 RandomStreams random) const {
  std::vector<ChainCall> seen;
  const size_t end = first + of.ops[first].chain;
  for (size_t i = first; i < end; ++i) {
    const PlanOp& op = of.ops[i];
    Bound& bound = of.calls[i];
    for (size_t k = 0; k < bound.in.size(); ++k)
      bound.call.in.flat_at(static_cast<int>(k)) = bound.in[k];
    ChainCall& call = seen.emplace_back();
    call.op = op.info;
    call.call = &bound.call;
    call.kernel = KernelOf(bound.call);
    call.axis = AxisOf(bound.call);
    call.reuse = op.reuse;
    for (int s : op.in) {
      call.in.push_back(s);
      call.in_metas.emplace_back(s < 0 ? Value() : *frame.values[s]);
    }
    RunOne(op, frame, bound, random);
    for (int s : op.out) {
      call.out.push_back(s);
      call.out_metas.emplace_back(s < 0 ? Value() : *frame.values[s]);
    }
    Release(op, frame);
  }
  Chain& chain = *of.calls[first].chain;
  chain.segments = FindSegments(
      seen, [&](size_t k, int slot) { return of.ops[first + k].Ends(slot); },
      [&](size_t k, int slot) {
        const auto& read = of.ops[first + k].read;
        return std::find(read.begin(), read.end(), slot) != read.end();
      });
  chain.views.clear();
  for (const ChainSegment& s : chain.segments) chain.views.emplace_back(s);
}

// Memory of results, then the blocks.
void PreparedProgram::RunSegment(Stretch of, size_t first, size_t segment, Frame& frame) const {
  using Kind = ChainSegment::Operand::Kind;
  Chain& chain = *of.calls[first].chain;
  const ChainSegment& s = chain.segments[segment];
  const size_t count = s.operands.size();
  const bool large = Numel(s.shape) * static_cast<int64_t>(s.links.size()) >= kWorthUnlocking;
  std::vector<Tensor> held;  // while other threads may write to the variables
  std::vector<char*>& data = chain.data;
  data.assign(count, nullptr);
  // Whether a result may take the memory of an input, before anything else holds it.
  auto taken = [&](const ChainSegment::Operand& o) -> const Tensor* {
    if (o.kind != Kind::kResult || o.in_place_of < 0) return nullptr;
    const Tensor& t = frame.values[s.operands[o.in_place_of].slot]->tensor();
    return t.OwnsStorage() ? &t : nullptr;
  };
  SmallVector<Tensor, 2> spent;
  SmallVector<size_t, 2> takers;
  for (size_t k = 0; k < count; ++k) {
    if (const Tensor* t = taken(s.operands[k])) {
      spent.push_back(*t);
      takers.push_back(k);
    }
  }
  for (size_t k = 0; k < count; ++k) {
    const ChainSegment::Operand& o = s.operands[k];
    if (o.kind != Kind::kRows && o.kind != Kind::kWhole) continue;
    const Tensor& t = frame.values[o.slot]->tensor();
    data[k] = static_cast<char*>(const_cast<void*>(t.raw_data()));
    if (large) held.push_back(t);
  }
  size_t next = 0;
  for (size_t k = 0; k < count; ++k) {
    const ChainSegment::Operand& o = s.operands[k];
    if (o.kind != Kind::kResult && !o.sizes_read) continue;
    Tensor& t = frame.values[o.slot]->MutableTensor();
    t.SetMeta(s.shape, o.meta.dtype, CPUPlace(), s.layout);
    if (o.sizes_read) continue;
    if (next < takers.size() && takers[next] == k) {
      t.ShareData(spent[next++]);
      t.storage()->set_plain_twin(nullptr);
    } else {
      t.AllocateData(CPUPlace(), s.layout);
    }
    data[k] = static_cast<char*>(t.mutable_raw_data());
  }
  {
    WithoutLock unlocked(large);
    interrupt::Off written(!takers.empty());
    s.Run(data, &chain.views[segment]);
  }
  for (size_t i = first + s.begin; i < first + s.end; ++i) Release(of.ops[i], frame);
}

}  // namespace dygraph::program
