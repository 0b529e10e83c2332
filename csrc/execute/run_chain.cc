// Chains of pointwise operators (execute/chain.h) in a run of a program.
#include <algorithm>
#include <unordered_set>

#include "execute/chain.h"
#include "execute/frame.h"
#include "execute/planned_runs.h"
#include "platform/interrupt.h"
#include "run/interpreter.h"
#include "run/watch.h"

namespace dygraph::program {

namespace {

// Elements of arrays that do not stay in a core's cache from one operator to the next: in a planned
// run, chains on fewer run call by call.
constexpr int64_t kWorthChain = 1 << 16;

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

bool TakesBlocks(DType dtype) {  // others may divide by zero
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kBool;
}

// The kernel that the call would run, if it takes blocks as it takes the whole.
KernelFn KernelOf(const Call& call) {
  const Value* first = call.in.flat().empty() ? nullptr : call.in.flat()[0];
  if (!first || !first->is_tensor()) return nullptr;
  for (const Value* v : call.in.flat()) {
    if (v && !v->is_tensor()) return nullptr;
  }
  const DType dtype = call.op->kernel_dtype ? call.op->kernel_dtype(call) : first->dtype();
  if (!TakesBlocks(dtype)) return nullptr;
  const Kernel* kernel =
      call.op->sole_kernel[static_cast<int>(DeviceKind::kCPU)][static_cast<int>(dtype)];
  return kernel && kernel->key.layout != KernelLayout::kNHWC ? kernel->run : nullptr;
}
// That of a settled call.
KernelFn KernelOf(const OpInfo& op, const Kernel& kernel) {
  const DType dtype = kernel.key.dtype;
  const Kernel* sole = op.sole_kernel[static_cast<int>(DeviceKind::kCPU)][static_cast<int>(dtype)];
  const bool takes = TakesBlocks(dtype) && kernel.key.layout != KernelLayout::kNHWC;
  return takes && sole == &kernel ? kernel.run : nullptr;
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
  for (size_t r = 0; !idle_.empty() && r < idle_.back()->planned.size() && r < 1; ++r) {
    for (const PlannedRun::Segment& s : idle_.back()->planned[r]->segments)
      count += s.end - s.begin;
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
  chain.segments = program::FindSegments(
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

// The segments of a planned run, from what its noting run saw.
void PreparedProgram::FindSegments(PlannedRun& run, Frame& frame) const {
  using Kind = ChainSegment::Operand::Kind;
  run.segments.clear();
  run.in_segment.assign(plan_.ops.size(), 0);
  run.passing.assign(plan_.slots.size(), 0);
  for (size_t first = 0; first < plan_.ops.size(); ++first) {
    const size_t end = first + plan_.ops[first].chain;
    std::vector<ChainCall> seen;
    for (size_t i = first; i < end; ++i) {
      const PlanOp& op = plan_.ops[i];
      const PlannedRun::Step& step = run.steps[i];
      ChainCall& call = seen.emplace_back();
      call.op = op.info;
      call.call = &frame.calls[i].call;
      if (step.settled && !step.call.transforms)
        call.kernel = KernelOf(*op.info, *step.call.kernel);
      call.axis = AxisOf(frame.calls[i].call);
      call.reuse = op.reuse;
      for (int s : op.in) {
        auto ask = std::find_if(step.asks.begin(), step.asks.end(),
                                [&](const auto& a) { return a.first == s; });
        call.in.push_back(s);
        call.in_metas.push_back(ask == step.asks.end() ? ChainMeta() : ChainMeta(ask->second));
      }
      for (int s : op.out) {
        call.out.push_back(s);
        call.out_metas.push_back(s < 0 ? ChainMeta() : ChainMeta(run.forms[s]));
      }
    }
    auto ends = [&](size_t k, int slot) { return plan_.ops[first + k].Ends(slot); };
    auto only_sizes = [&](size_t k, int slot) {
      const auto& read = plan_.ops[first + k].read;
      return std::find(read.begin(), read.end(), slot) != read.end();
    };
    for (ChainSegment& found : program::FindSegments(seen, ends, only_sizes)) {
      if (Numel(found.shape) < kWorthChain) continue;
      PlannedRun::Segment& segment = run.segments.emplace_back(std::move(found));
      segment.begin = first + segment.chain.begin;
      segment.end = first + segment.chain.end;
      for (size_t i = segment.begin; i < segment.end; ++i) run.in_segment[i] = 1;
      for (const ChainSegment::Operand& o : segment.chain.operands)
        run.passing[o.slot] |= o.kind == Kind::kScratch;
    }
  }
}

void PreparedProgram::ArrangeSegment(const PlannedRun& run, PlannedRun::Segment& segment) const {
  using Kind = ChainSegment::Operand::Kind;
  const auto& operands = segment.chain.operands;
  segment.data.assign(operands.size(), nullptr);
  segment.held.clear();
  segment.fresh.clear();
  segment.asks.clear();
  segment.twins.clear();
  for (size_t k = 0; k < operands.size(); ++k) {
    const ChainSegment::Operand& o = operands[k];
    const bool read = o.kind == Kind::kRows || o.kind == Kind::kWhole;
    if (run.planned[o.slot]) {
      if (o.kind == Kind::kScratch) continue;
      const Tensor& t = run.values[o.slot].tensor();
      segment.data[k] = static_cast<char*>(const_cast<void*>(t.raw_data()));
      if (!read && o.meta.layout != Layout::kPlain) segment.twins.push_back(t.storage());
    } else if (read) {
      segment.held.push_back(static_cast<int>(k));
      segment.asks.emplace_back(o.slot, o.meta);
    } else if (o.kind == Kind::kResult || o.sizes_read) {
      segment.fresh.push_back(static_cast<int>(k));
    }
  }
}

// False, with nothing done: an input is not as noted.
bool PreparedProgram::RunSegment(const PlannedRun& run, PlannedRun::Segment& segment,
                                 Frame& frame) const {
  using Kind = ChainSegment::Operand::Kind;
  const ChainSegment& s = segment.chain;
  for (const auto& [slot, form] : segment.asks) {
    if (!form.Fits(*frame.values[slot])) return false;
  }
  SmallVector<Tensor, 4> held;  // while other threads may write to the variables
  for (int k : segment.held) {
    held.push_back(frame.values[s.operands[k].slot]->tensor());
    segment.data[k] = static_cast<char*>(const_cast<void*>(held.back().raw_data()));
  }
  for (int k : segment.fresh) {
    const ChainSegment::Operand& o = s.operands[k];
    Tensor& t = frame.values[o.slot]->MutableTensor();
    t.SetMeta(s.shape, o.meta.dtype, place_, s.layout);
    if (o.kind != Kind::kResult) continue;
    t.AllocateData(place_, s.layout);
    segment.data[k] = static_cast<char*>(t.mutable_raw_data());
  }
  for (const Ref<Storage>& storage : segment.twins) storage->set_plain_twin(nullptr);
  {
    WithoutLock unlocked(Numel(s.shape) * static_cast<int64_t>(s.links.size()) >= kWorthUnlocking);
    s.Run(segment.data, &segment.views);
  }
  for (size_t i = segment.begin; i < segment.end; ++i) EndValues(run.steps[i], frame);
  return true;
}

}  // namespace dygraph::program
