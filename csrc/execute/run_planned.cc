// Runs at sizes that ran before: noted, planned, then made of settled steps.
#include <algorithm>
#include <chrono>
#include <numeric>

#include "execute/frame.h"
#include "execute/planned_runs.h"
#include "execute/term_order.h"
#include "platform/device_context.h"
#include "platform/onednn.h"
#include "platform/run_limit.h"
#include "platform/threads.h"
#include "program/op_binding.h"
#include "run/interpreter.h"
#include "run/watch.h"

namespace dygraph::program {

namespace {

constexpr size_t kAlignment = 64;
constexpr int kMostStrayed = 3;        // of one set of sizes, whose runs are not planned then
constexpr int64_t kUnlocks = 1 << 14;  // elements of a call whose inputs may be copies after it
constexpr uint32_t kStepsPerSignalCheck = 16;
constexpr uint32_t kSeesPlanned = watch::kEvents | watch::kShapes;  // watchers of planned runs

DeviceContext& HostContext() {
  static DeviceContext& host = GetDeviceContext(CPUPlace());
  return host;
}

size_t Aligned(size_t bytes) {
  return (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

namespace {

// Whether the operator may write output `out` into the memory of input `in`, numbers in its lists.
bool IsReused(const PlanOp& op, size_t in, size_t out) {
  auto slot_of = [](size_t flat, const SmallVector<uint32_t, 4>& ends) {
    int slot = 0;
    while (static_cast<size_t>(slot) < ends.size() && ends[slot] <= flat) ++slot;
    return slot;
  };
  const std::pair<int, int> pair(slot_of(in, op.in_ends), slot_of(out, op.out_ends));
  for (size_t i = 0; i < op.info->in_place.size(); ++i) {
    if (op.reuse >> i & 1 && op.info->in_place[i] == pair) return true;
  }
  return false;
}

}  // namespace

bool PreparedProgram::CanPlan(const Frame& frame) const {
  if (has_blocks_ || halves_.operators > 0 || frame.aliased || frame.apart || frame.times ||
      place_ != CPUPlace() || (watch::Switches() & ~kSeesPlanned) != 0)
    return false;
  for (int s : feed_slots_) {
    if (!frame.values[s]->is_tensor() || frame.values[s]->tensor().lod()) return false;
  }
  return true;
}

// Whether the operator is one that may be settled.
bool PreparedProgram::IsStep(size_t i) const {
  const PlanOp& op = plan_.ops[i];
  if (op.control || !op.parts.empty() || op.as_end || op.lenient || op.terms || !op.open.empty() ||
      EndsValues(op) || (i + 1 < plan_.ops.size() && plan_.ops[i + 1].as_end))
    return false;
  // What outlives the run is made aside, and nothing else is.
  size_t lasting = 0;
  for (int s : op.out) lasting += s >= 0 && plan_.slots[s].persistable;
  return lasting == op.staged.size() && (lasting == 0 || op.info->allocates) &&
         std::all_of(op.staged.begin(), op.staged.end(),
                     [&](int o) { return plan_.slots[op.out[o]].persistable; });
}

// The values that the latest run left at their slots make room.
void PreparedProgram::Uninstall(Frame& frame) const {
  if (!frame.installed) return;
  for (size_t s = 0; s < plan_.slots.size(); ++s) {
    if (frame.installed->planned[s]) *frame.values[s] = Value();
  }
  frame.installed = nullptr;
}

void PreparedProgram::RunPlanned(Frame& frame, RandomStreams random) {
  PlannedRun* run = nullptr;
  const int threads = NumThreads();
  for (size_t k = 0; k < frame.planned.size() && !run; ++k) {
    PlannedRun& known = *frame.planned[k];
    bool fits = known.threads == threads && known.library == FLAGS_kernel_library;
    for (size_t i = 0; fits && i < feed_slots_.size(); ++i)
      fits = known.feeds[i].Fits(*frame.values[feed_slots_[i]]);
    if (!fits) continue;
    run = &known;
    if (k > 0)
      std::rotate(frame.planned.begin(), frame.planned.begin() + k, frame.planned.begin() + k + 1);
  }
  if (frame.installed != run) Uninstall(frame);
  if (!run) {
    auto made = std::make_unique<PlannedRun>();
    run = made.get();
    run->threads = threads;
    run->library = FLAGS_kernel_library;
    for (int s : feed_slots_) run->feeds.emplace_back(frame.values[s]->tensor());
    frame.planned.insert(frame.planned.begin(), std::move(made));
    if (frame.planned.size() > kMostPlanned) frame.planned.pop_back();
  }
  run->over = false;
  if (!run->noted || run->strayed > kMostStrayed) {
    Uninstall(frame);
    run->arena = nullptr;
    if (run->strayed > kMostStrayed || watch::Switches() != 0)
      return RunOps({plan_.ops, frame.calls}, frame, random);
    NoteForms(*run, frame, random);
    return;
  }
  if (watch::Switches() != 0 && !run->segments.empty()) {  // which hide their operators
    Uninstall(frame);
    return RunOps({plan_.ops, frame.calls}, frame, random);
  }
  if (run->tightens) {
    Uninstall(frame);
    run->arena = nullptr;
    run->loose = run->tightens = false;
  }
  if (!run->arena) Install(*run, frame);
  if (frame.installed != run) {
    for (size_t s = 0; s < plan_.slots.size(); ++s) {
      if (run->planned[s]) *frame.values[s] = run->values[s];
    }
    for (size_t i = 0; i < frame.calls.size(); ++i) {
      Bound& bound = frame.calls[i];
      for (size_t k = 0; k < bound.in.size(); ++k)  // which other runs left with copies
        bound.call.in.flat_at(static_cast<int>(k)) = bound.in[k];
      const PlanOp& op = plan_.ops[i];
      for (const PlannedRun::Step::Lasting& made : run->steps[i].lasting) {
        bound.call.out.flat_at(op.staged[made.staged]) =
            run->steps[i].direct ? frame.values[made.slot]
                                 : &frame.staging[bound.staging + made.staged];
      }
    }
    frame.installed = run;
  }
  RunSteps(*run, frame, random);
}

// Runs the operators as always, and notes what each call comes to and which slots share memory.
void PreparedProgram::NoteForms(PlannedRun& run, Frame& frame, RandomStreams random) {
  const Stretch all{plan_.ops, frame.calls};
  const size_t count = plan_.ops.size();
  run.steps.assign(count, {});
  run.forms.assign(plan_.slots.size(), Form());
  run.apart.assign(plan_.slots.size(), 0);
  run.joined.resize(plan_.slots.size());
  std::iota(run.joined.begin(), run.joined.end(), 0);
  auto note = [&](const PlanOp& op, SettledCall* settled) {
    for (size_t o = 0; o < op.out.size(); ++o) {
      const int out = op.out[o];
      if (out < 0 || !frame.values[out]->is_tensor()) continue;
      const Tensor& made = frame.values[out]->tensor();
      run.forms[out] = Form(made);
      bool shares = false;
      for (size_t i = 0; i < op.in.size(); ++i) {
        const int in = op.in[i];
        if (in < 0 || !frame.values[in]->is_tensor() || !made.has_data()) continue;
        if (frame.values[in]->tensor().storage().get() != made.storage().get()) continue;
        shares = true;
        if (IsReused(op, i, o)) {  // which a part of an arena never is
          if (!op.info->allocates) settled->kernel = nullptr;
          if (!settled->kernel) continue;
        }
        run.joined[run.Root(out)] = run.Root(in);
      }
      const bool inside = made.has_data() && made.raw_data() != made.storage()->data();
      run.apart[out] = inside || (!op.info->allocates && !shares);
    }
  };
  for (size_t i = 0; i < count; ++i) {
    const PlanOp& op = plan_.ops[i];
    if (i + 1 < count && plan_.ops[i + 1].as_end) {
      bool both = RunToEnd(all, i, frame, random);
      note(op, &run.steps[i].call);
      Release(op, frame);
      const PlanOp& next = plan_.ops[++i];
      if (!both) RunFused(next, frame, frame.calls[i], random);
      note(next, &run.steps[i].call);
      Release(next, frame);
    } else {
      PlannedRun::Step& step = run.steps[i];
      const bool apt = IsStep(i);
      if (apt) {
        for (size_t k = 0; k < op.in.size(); ++k) {
          const int in = op.in[k];
          if (in < 0 || !frame.values[in]->is_tensor()) continue;
          if (static_cast<int>(k) == op.weight) {
            step.weight = Form(frame.calls[i].weight->Held().tensor());
          } else {
            step.asks.emplace_back(in, Form(frame.values[in]->tensor()));
          }
        }
      }
      {
        Beside<SettledCall> noting(&frame.calls[i].noting, apt ? &step.call : nullptr);
        const auto start = std::chrono::steady_clock::now();
        RunFused(op, frame, frame.calls[i], random);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        step.seconds = took.count();
      }
      note(op, &step.call);
      Release(op, frame);
    }
    if (void (*check)() = Interpreter().check_signals) check();
    CheckRun();
  }
  FindPlanned(run);
  FindSegments(run, frame);
  run.noted = true;
}

// Which slots lie in the arena: those that settled steps make, with all that share their memory,
// none of which outlives the run.
void PreparedProgram::FindPlanned(PlannedRun& run) const {
  const size_t slots = plan_.slots.size();
  for (size_t i = 0; i < plan_.ops.size(); ++i) {  // updates run together, or each as a step
    bool all = true;
    for (int k = 0; k < plan_.ops[i].updates; ++k) all &= run.steps[i + k].call.kernel != nullptr;
    for (int k = 0; k < plan_.ops[i].updates && !all; ++k) run.steps[i + k].call.kernel = nullptr;
  }
  std::vector<int> makers(slots);
  std::vector<char> barred(slots);
  auto bar = [&](int slot) { barred[run.Root(slot)] = 1; };
  for (int s : plan_.fetches) bar(s);
  for (size_t i = 0; i < plan_.ops.size(); ++i) {
    run.steps[i].settled = run.steps[i].call.kernel != nullptr;
    for (int s : plan_.ops[i].out) {
      if (s < 0) continue;
      ++makers[s];
      if (!run.steps[i].settled) bar(s);
    }
  }
  for (size_t s = 0; s < slots; ++s) {
    if (plan_.slots[s].persistable || makers[s] != 1 || run.apart[s]) bar(static_cast<int>(s));
  }
  run.planned.assign(slots, 0);
  for (size_t s = 0; s < slots; ++s) run.planned[s] = !barred[run.Root(static_cast<int>(s))];
}

// Places the planned slots and arranges the steps.
void PreparedProgram::Install(PlannedRun& run, Frame& frame) const {
  const size_t slots = plan_.slots.size(), count = plan_.ops.size();
  std::vector<int> block_of(slots, -1), first(slots, -1), last(slots, -1);
  int group_end = 0;  // of updates that run together: what they read they read until the last one
  for (size_t i = 0; i < count; ++i) {
    const PlanOp& op = plan_.ops[i];
    const int at = static_cast<int>(i);
    if (op.updates > 0 && !run.steps[i].settled) group_end = at + op.updates - 1;
    for (int s : op.out) {
      if (s >= 0 && first[s] < 0) first[s] = at;
    }
    for (const auto* uses : {&op.in, &op.out}) {
      for (int s : *uses) {
        if (s >= 0) last[s] = std::max(at, group_end);
      }
    }
  }
  for (size_t i = 0; i < count; ++i) {  // from there on sizes alone are read
    for (int s : plan_.ops[i].read) last[s] = std::max(static_cast<int>(i), first[s]);
  }
  for (const PlannedRun::Segment& segment : run.segments) {  // whose blocks take turns
    const int begin = static_cast<int>(segment.begin), end = static_cast<int>(segment.end);
    for (const ChainSegment::Operand& o : segment.chain.operands) {
      if (first[o.slot] > begin && first[o.slot] < end) first[o.slot] = begin;
      if (last[o.slot] >= begin) last[o.slot] = std::max(last[o.slot], end - 1);
    }
  }
  if (!run.looked) {
    run.looked = true;
    FindSections(run);
    run.loose = !run.sections.empty();
  }
  for (const PlannedRun::Section& section : run.sections) {
    const int begin = static_cast<int>(section.begin), end = static_cast<int>(section.end);
    for (size_t s = 0; run.loose && s < slots; ++s) {
      if (first[s] < end && last[s] >= begin) last[s] = std::max(last[s], end - 1);
    }
  }
  std::vector<Lifetime> blocks;
  run.unshared_bytes = 0;
  for (size_t s = 0; s < slots; ++s) {
    if (!run.planned[s] || run.passing[s]) continue;
    const int root = run.Root(static_cast<int>(s));
    const Form& form = run.forms[s];
    const size_t bytes = Aligned(static_cast<size_t>(Numel(form.dims)) * SizeOf(form.dtype));
    if (block_of[root] < 0) {
      block_of[root] = static_cast<int>(blocks.size());
      blocks.push_back({bytes, first[s], last[s]});
    } else {
      Lifetime& block = blocks[block_of[root]];
      block.bytes = std::max(block.bytes, bytes);
      block.first = std::min(block.first, first[s]);
      block.last = std::max(block.last, last[s]);
    }
    block_of[s] = block_of[root];
  }
  for (const Lifetime& block : blocks) run.unshared_bytes += block.bytes;
  run.arena_bytes = PlaceLifetimes(&blocks);
  run.arena = Storage::Make(place_, std::max<size_t>(run.arena_bytes, 1));
  std::vector<Ref<Storage>> parts;
  for (const Lifetime& block : blocks) {
    parts.push_back(Storage::Foreign(place_, static_cast<char*>(run.arena->data()) + block.place,
                                     block.bytes, [] {}));
  }
  run.values.assign(slots, Value());
  run.others.clear();
  run.lasting.clear();
  for (size_t s = 0; s < slots; ++s) {
    if (run.passing[s]) {
      run.values[s].MutableTensor().SetMeta(run.forms[s].dims, run.forms[s].dtype, place_,
                                            run.forms[s].layout);
    } else if (run.planned[s]) {
      const Form& form = run.forms[s];
      run.values[s].MutableTensor().ShareStorage(parts[block_of[s]], form.dims, form.dtype,
                                                 form.layout);
    } else if (!plan_.slots[s].persistable) {
      run.others.push_back(frame.values[s]);
    }
  }
  Arrange(run);
  run.sections.clear();
  if (run.loose) FindSections(run);
}

void PreparedProgram::Arrange(PlannedRun& run) const {
  run.stretches.clear();
  run.lasting.clear();
  for (size_t i = 0; i < plan_.ops.size(); ++i) {
    const PlanOp& op = plan_.ops[i];
    PlannedRun::Step& step = run.steps[i];
    if (!step.settled) {
      if (run.stretches.empty() || run.stretches.back().end != i)
        run.stretches.push_back({i, i, {}});
      PlannedRun::Stretch& stretch = run.stretches.back();
      stretch.end = i + 1;
      for (const auto* list : {&op.done, &op.read}) {
        for (int s : *list) {
          if (run.planned[s]) stretch.restored.push_back(s);
        }
      }
      for (int s : op.out) {
        if (s >= 0 && plan_.slots[s].persistable) run.lasting.push_back(s);
      }
      continue;
    }
    auto known = [&](const std::pair<int, Form>& ask) { return run.planned[ask.first]; };
    step.asks.erase(std::remove_if(step.asks.begin(), step.asks.end(), known), step.asks.end());
    step.fresh.clear();
    step.bare.clear();
    step.made.clear();
    step.released.clear();
    step.read.clear();
    step.ended.clear();
    step.lasting.clear();
    NoteLasting(op, run.forms, &step);
    for (int s : op.out) {
      if (s < 0 || plan_.slots[s].persistable) continue;
      step.drops_twins |= run.forms[s].layout != Layout::kPlain;
      if (run.planned[s]) step.made.emplace_back(s, run.values[s].tensor().raw_data());
      if (!op.info->allocates)
        step.bare.emplace_back(s, run.forms[s]);
      else if (!run.planned[s])
        step.fresh.emplace_back(s, run.forms[s]);
    }
    for (int s : op.done) {
      if (!run.planned[s]) {
        step.released.push_back(s);
      } else if (run.forms[s].layout != Layout::kPlain && !run.passing[s]) {
        step.ended.push_back(run.values[s].tensor().storage());
      }
    }
    for (int s : op.read) {
      if (!run.planned[s]) step.read.push_back(s);
    }
    step.plain = op.random < 0 && !step.drops_twins && step.asks.empty() && step.fresh.empty() &&
                 step.bare.empty() && step.lasting.empty() && step.released.empty() &&
                 step.read.empty() && step.ended.empty();
  }
  for (PlannedRun::Segment& segment : run.segments) ArrangeSegment(run, segment);
}

// Where the outputs of a step go that outlive the run. They are written there at once if they take
// the memory of the value before and no other thread of the interpreter can run meanwhile.
void PreparedProgram::NoteLasting(const PlanOp& op, const std::vector<Form>& forms,
                                  PlannedRun::Step* step) {
  step->direct = step->call.elements < kWorthUnlocking;
  for (size_t k = 0; k < op.staged.size(); ++k) {
    const int out = op.staged[k], slot = op.out[out];
    int from = -1;
    for (size_t i = 0; i < op.in.size(); ++i) {
      if (op.in[i] == slot && IsReused(op, i, out)) from = slot;
    }
    const Form& form = forms[slot];
    auto asked = std::find_if(step->asks.begin(), step->asks.end(),
                              [&](const auto& ask) { return ask.first == slot; });
    if (asked == step->asks.end() || !(asked->second == form)) from = -1;
    step->direct &= from >= 0;
    step->lasting.push_back({static_cast<int>(k), slot, from, form});
  }
  step->direct &= !step->lasting.empty();
}

// The outputs of a settled step before its kernel runs.
void PreparedProgram::Prepare(const PlannedRun& run, size_t i, Frame& frame,
                              RandomStreams random) const {
  const PlannedRun::Step& step = run.steps[i];
  Bound& bound = frame.calls[i];
  for (const auto& [slot, form] : step.fresh)
    frame.values[slot]->MutableTensor().Allocate(form.dims, form.dtype, place_, form.layout);
  if (__builtin_expect(step.drops_twins, 0)) {
    for (const auto& [slot, data] : step.made)
      run.values[slot].tensor().storage()->set_plain_twin(nullptr);
  }
  for (const auto& [slot, form] : step.bare)
    frame.values[slot]->MutableTensor().SetMeta(form.dims, form.dtype, place_);
  for (const PlannedRun::Step::Lasting& made : step.lasting) {
    if (step.direct) {
      frame.values[made.slot]->MutableTensor().MakeWritable();
      continue;
    }
    Tensor& t = frame.staging[bound.staging + made.staged].MutableTensor();
    const Tensor* from = made.from < 0 ? nullptr : &frame.values[made.from]->tensor();
    t.SetMeta(made.form.dims, made.form.dtype, place_, made.form.layout);
    if (from && from->OwnsStorage()) {
      from->storage()->set_plain_twin(nullptr);
      t.ShareData(*from);
    } else {
      t.AllocateData(place_, made.form.layout);
    }
  }
  if (plan_.ops[i].random >= 0) {
    bound.call.random_given = true;
    bound.call.random_seed = random.seed;
    bound.call.random_stream = random.first + plan_.ops[i].random;
  }
}

// Whether the kernel of a step left its results where they were to lie.
bool PreparedProgram::IsMade(const PlannedRun::Step& step, const Frame& frame) {
  for (const auto& [slot, data] : step.made) {
    const Value& made = *frame.values[slot];
    if (__builtin_expect(!made.is_tensor() || made.tensor().raw_data() != data, 0)) return false;
  }
  return true;
}

void PreparedProgram::EndValues(const PlannedRun::Step& step, Frame& frame) {
  for (int s : step.read) *frame.values[s] = Value(frame.values[s]->tensor().Meta());
  for (int s : step.released) *frame.values[s] = Value();
  for (const Ref<Storage>& part : step.ended) part->set_plain_twin(nullptr);
}

// False: not as noted, so the run goes on as always from operator `*from`.
bool PreparedProgram::RunStep(const PlannedRun& run, size_t i, Frame& frame, RandomStreams random,
                              size_t* from) const {
  const PlannedRun::Step& step = run.steps[i];
  Bound& bound = frame.calls[i];
  *from = i;
  for (const auto& [slot, form] : step.asks) {
    if (__builtin_expect(!form.Fits(*frame.values[slot]), 0)) return false;
  }
  const PlanOp& op = plan_.ops[i];
  Value weight;
  if (bound.weight) {
    weight = WeightFor(op, bound, *step.call.kernel);
    if (!weight.is_tensor() || weight.dims() != step.weight.dims ||
        weight.tensor().dtype() != step.weight.dtype || weight.tensor().lod())
      return false;
  }
  if (!step.plain) Prepare(run, i, frame, random);
  if (step.call.elements >= kUnlocks || step.call.transforms) {  // the last run left copies there
    for (size_t k = 0; k < bound.in.size(); ++k)
      bound.call.in.flat_at(static_cast<int>(k)) = bound.in[k];
  }
  if (bound.weight) bound.call.in.flat_at(op.weight) = &weight;
  try {
    RunSettled(bound.call, step.call, HostContext());
  } catch (Error& e) {
    e.Append(PositionText(*op.desc, op.position, op.block));
    throw;
  }
  if (!step.plain) {
    for (size_t k = 0; !step.direct && k < step.lasting.size(); ++k) {
      Value& made = frame.staging[bound.staging + step.lasting[k].staged];
      *frame.values[step.lasting[k].slot] = std::move(made);
      made = Value();
    }
    EndValues(step, frame);
  }
  *from = i + 1;
  return IsMade(step, frame);
}

void PreparedProgram::RunSteps(PlannedRun& run, Frame& frame, RandomStreams random) const {
  void (*check_signals)() = Interpreter().check_signals;
  const size_t count = plan_.ops.size();
  uint32_t unchecked = 0;
  auto stretch = run.stretches.begin();
  auto section = run.sections.begin();
  auto segment = run.segments.begin();
  for (size_t i = 0; i < count;) {
    if (stretch != run.stretches.end() && stretch->begin == i) {
      RunOps({plan_.ops, frame.calls, stretch->begin, stretch->end}, frame, random);
      for (int s : stretch->restored) *frame.values[s] = run.values[s];
      i = (stretch++)->end;
      continue;
    }
    size_t from = i;
    bool as_noted, checks = run.steps[i].call.elements >= kUnlocks;
    while (section != run.sections.end() && section->begin < i) ++section;
    if (segment != run.segments.end() && segment->begin == i) {
      from = i;
      as_noted = RunSegment(run, *segment, frame);
      i = (segment++)->end;
      checks = true;
    } else if (section != run.sections.end() && section->begin == i &&
               section->way != PlannedRun::Section::Way::kAlone) {
      as_noted = RunSection(run, *section, frame, random, &from);
      i = section->end;
      checks = true;
    } else {
      as_noted = RunStep(run, i, frame, random, &from);
      ++i;
    }
    if (__builtin_expect(!as_noted, 0)) {  // the values are right so far
      ++run.strayed;
      run.strayed_at = plan_.ops[std::min(from, count - 1)].desc->type;
      run.noted = false;
      return RunOps({plan_.ops, frame.calls, from, count}, frame, random);
    }
    if (check_signals && (checks || ++unchecked % kStepsPerSignalCheck == 0)) check_signals();
    CheckRun();
  }
  for (const std::vector<int>* slots :
       {&plan_.fetches, static_cast<const std::vector<int>*>(&run.lasting)}) {
    for (int s : *slots)
      ENFORCE(!run.Holds(*frame.values[s]), PreconditionNotMet, "the value of '",
              plan_.slots[s].name, "' must not lie in the arena of a run that it outlives");
  }
  run.over = true;
}

PreparedProgram::Planned PreparedProgram::planned() {
  std::lock_guard<std::mutex> lock(mutex_);
  Planned found;
  for (const auto& frame : idle_) {
    for (const auto& run : frame->planned) {
      found.strayed += run->strayed;
      if (run->strayed > 0) found.strayed_at = run->strayed_at;
      if (!run->arena) continue;
      ++found.arenas;
      found.bytes += run->arena_bytes;
      found.unshared = run->unshared_bytes;
      found.operators = run->steps.size();
      found.steps = 0;
      for (const PlannedRun::Step& step : run->steps) found.steps += step.settled;
      found.together = 0;
      for (const PlannedRun::Section& section : run->sections) {
        if (section.way == PlannedRun::Section::Way::kTogether)
          found.together += section.end - section.begin;
      }
    }
  }
  return found;
}

void PreparedProgram::Shrink() {
  std::lock_guard<std::mutex> lock(mutex_);
  idle_.clear();
}

}  // namespace dygraph::program
