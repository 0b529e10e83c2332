// Programs as graphs of a device: what can be part of one, its recording, and runs that play it.
#include <algorithm>

#include "execute/frame.h"
#include "platform/device_flags.h"
#include "platform/onednn.h"
#include "platform/recorded_draws.h"
#include "run/fallback.h"
#include "run/watch.h"

namespace dygraph::program {

namespace {

constexpr int kMostStrays = 4;        // then the sizes run operator by operator
constexpr int kMostFailedBegins = 4;  // likewise
constexpr uint64_t kForgotten = 100;  // runs as recorded after which earlier strays do not count
constexpr size_t kFewOperators = 2;   // a shorter stretch is no graph
// Bytes of a variable that is copied where it moved; for a larger one the run is recorded anew.
constexpr size_t kWorthCopying = 4096;

bool LiesOn(const Value& value, Place place) {
  return value.is_tensor() && value.tensor().has_data() && value.place() == place;
}

const void* DataOf(const Value& value) {
  return value.is_tensor() ? value.tensor().raw_data() : nullptr;
}

Tensor OutOfGraph(const Tensor& t, bool persistable) {
  return t.has_data() && (persistable || !t.storage()->unique()) ? t.Clone() : t;
}

}  // namespace

Value OutOfGraph(const Value& value, bool persistable) {
  if (value.is_tensor()) return Value(OutOfGraph(value.tensor(), persistable));
  if (value.is_rows()) {
    const SelectedRows& rows = value.rows();
    return Value(
        MakeRef<SelectedRows>(rows.rows(), rows.height(), OutOfGraph(rows.value(), persistable)));
  }
  if (!value.is_array()) return value;
  std::vector<Tensor> items;
  for (const Tensor& t : value.array().items) items.push_back(OutOfGraph(t, persistable));
  return Value(MakeRef<TensorArray>(std::move(items)));
}

GraphedRun::Settings GraphedRun::Settings::Now() {
  return {FLAGS_kernel_library, FLAGS_allow_tf32, FLAGS_cuda_atomics, FLAGS_cudnn_deterministic,
          FLAGS_cudnn_exhaustive_search};
}

bool PreparedProgram::CanGraph(const Frame& frame) const {
  if (place_.kind != DeviceKind::kCUDA || !FLAGS_cuda_graphs || FLAGS_cuda_sync || has_blocks_ ||
      halves_.operators > 0 || frame.aliased || frame.apart || frame.times ||
      watch::Switches() != 0 || GetAccelerator(place_).Capturing())
    return false;
  return std::all_of(feed_slots_.begin(), feed_slots_.end(),
                     [&](int s) { return LiesOn(*frame.values[s], place_); });
}

GraphedRun& PreparedProgram::FindGraphed(Frame& frame) const {
  const auto settings = GraphedRun::Settings::Now();
  for (size_t k = 0; k < frame.graphed.size(); ++k) {
    const GraphedRun& known = *frame.graphed[k];
    bool fits = known.settings == settings;
    for (size_t i = 0; fits && i < feed_slots_.size(); ++i)
      fits = known.feeds[i].Fits(*frame.values[feed_slots_[i]]);
    if (!fits) continue;
    std::rotate(frame.graphed.begin(), frame.graphed.begin() + k, frame.graphed.begin() + k + 1);
    return *frame.graphed.front();
  }
  auto run = std::make_unique<GraphedRun>();
  run->settings = settings;
  run->varies.assign(plan_.slots.size(), 0);
  for (int s : feed_slots_) run->feeds.emplace_back(frame.values[s]->tensor());
  frame.graphed.insert(frame.graphed.begin(), std::move(run));
  if (frame.graphed.size() > kMostGraphed) frame.graphed.pop_back();
  return *frame.graphed.front();
}

void PreparedProgram::RunGraphed(Frame& frame, RandomStreams random) const {
  GraphedRun& run = FindGraphed(frame);
  if (!run.plain.empty()) return RunOps({plan_.ops, frame.calls}, frame, random);
  if (run.recorded()) return RunRecorded(run, frame, random);
  NotePlaces(run, frame);
  switch (++run.runs) {
    case 1: return RunOps({plan_.ops, frame.calls}, frame, random);
    case 2: return NoteCuts(run, frame, random);
    default: return RunRecording(run, frame, random);
  }
}

// Persistable variables that graphs only read, and that lie elsewhere than in the run before, are
// copied to a fixed place: small ones, such as a rate that a schedule sets, and those that
// operators between graphs make.
void PreparedProgram::NotePlaces(GraphedRun& run, const Frame& frame) const {
  const bool first = run.places.empty();
  run.places.resize(plan_.slots.size());
  std::vector<char> by_graphs(plan_.slots.size()), between(plan_.slots.size());
  for (size_t i = 0; i < plan_.ops.size(); ++i) {
    for (int s : plan_.ops[i].out) {
      if (s >= 0) (!run.cut.empty() && run.cut[i] ? between : by_graphs)[s] = 1;
    }
  }
  for (size_t s = 0; s < plan_.slots.size(); ++s) {
    if (!plan_.slots[s].persistable) continue;
    const Value& value = *frame.values[s];
    const void* now = DataOf(value);
    run.varies[s] |= !first && now != run.places[s] && value.is_tensor() &&
                     (between[s] || value.bytes() <= kWorthCopying);
    run.varies[s] &= !by_graphs[s];
    run.places[s] = now;
  }
}

// The end of the operators from here on that run as one.
size_t PreparedProgram::UnitEnd(size_t first) const {
  const PlanOp& op = plan_.ops[first];
  size_t count = static_cast<size_t>(std::max({1, op.updates, op.chain}));
  if (first + 1 < plan_.ops.size() && plan_.ops[first + 1].as_end)
    count = std::max<size_t>(count, 2);
  return std::min(first + count, plan_.ops.size());
}

// An ordinary run that notes which operators wait for the device, copy from it, or compute on the
// host. What others copy to the device, such as the bounds of sequences, follows from their
// attributes and from the forms of their inputs, which a record is made for.
void PreparedProgram::NoteCuts(GraphedRun& run, Frame& frame, RandomStreams random) const {
  Accelerator& device = GetAccelerator(place_);
  run.cut.assign(plan_.ops.size(), 0);
  auto moved = [&] {
    const DeviceCounts counts = device.Counts();
    return counts.waits + counts.copies_out + CountFallbacks();
  };
  auto elsewhere = [&](int s) {  // a value that is brought to the device, or read on the host
    return s >= 0 && frame.values[s]->is_tensor() && frame.values[s]->tensor().has_data() &&
           frame.values[s]->place() != place_;
  };
  for (size_t i = 0, end; i < plan_.ops.size(); i = end) {
    end = UnitEnd(i);
    bool cut = false;
    for (size_t k = i; k < end; ++k) {
      const PlanOp& op = plan_.ops[k];
      cut |= !op.open.empty() || EndsValues(op) ||
             std::any_of(op.in.begin(), op.in.end(), elsewhere);
    }
    const int64_t before = moved();
    RunOps({plan_.ops, frame.calls, i, end}, frame, random);
    cut |= moved() != before;
    std::fill(run.cut.begin() + i, run.cut.begin() + end, cut);
  }
}

void PreparedProgram::DivideGraphed(GraphedRun& run) const {
  for (size_t i = 0, end; i < plan_.ops.size(); i = end) {
    end = UnitEnd(i);
    if (run.segments.empty() || run.segments.back().wanted == static_cast<bool>(run.cut[i])) {
      run.segments.emplace_back();
      run.segments.back().begin = i;
      run.segments.back().wanted = !run.cut[i];
    }
    run.segments.back().end = end;
  }
  for (GraphedRun::Segment& segment : run.segments)
    segment.wanted &= segment.end - segment.begin >= kFewOperators;
}

// What a segment reads and writes of what outlives it, with the inputs at fixed places. False: it
// cannot be a graph.
bool PreparedProgram::FindGraphInputs(GraphedRun& run, GraphedRun::Segment& segment,
                                      Frame& frame) const {
  std::vector<char> reads(plan_.slots.size()), written(plan_.slots.size());
  for (size_t i = segment.begin; i < segment.end; ++i) {
    const PlanOp& op = plan_.ops[i];
    for (int s : op.in) {
      if (s >= 0 && !written[s]) reads[s] = 1;
    }
    for (int s : op.out) {
      if (s >= 0) written[s] = 1;
    }
  }
  std::vector<const void*> known;  // where values of earlier segments lie, for good
  for (const GraphedRun::Segment& earlier : run.segments) {
    if (earlier.begin >= segment.begin) break;
    for (const auto& [slot, value] : earlier.made) known.push_back(DataOf(value));
    for (const GraphedRun::Input& input : earlier.inputs) known.push_back(DataOf(input.fixed));
  }
  for (size_t k = 0; k < plan_.slots.size(); ++k) {
    const int s = static_cast<int>(k);
    if (!reads[k] && !(written[k] && plan_.slots[k].persistable)) continue;
    Value& value = *frame.values[k];
    if (plan_.slots[k].persistable && !run.varies[k]) {
      if (!LiesOn(value, place_) || value.tensor().lod() ||
          value.tensor().layout() != Layout::kPlain)
        return false;
      if (written[k]) {
        value.MutableTensor().MakeWritable();
        if (!value.tensor().OwnsStorage()) return false;
      }
      segment.lasting.push_back({s, Form(value.tensor()), DataOf(value), written[k] != 0});
      continue;
    }
    if (value.empty()) continue;
    if (!value.is_tensor()) return false;
    const Tensor& t = value.tensor();
    if (!t.has_data()) {  // a shape that is read
      segment.inputs.push_back({s, RecordedForm(t), value});
      continue;
    }
    if (t.place() != place_) return false;
    const bool stays = std::count(known.begin(), known.end(), t.raw_data()) > 0;
    if (stays) t.storage()->set_plain_twin(nullptr);
    segment.inputs.push_back({s, RecordedForm(t), stays ? value : Value(t.Clone())});
  }
  return true;
}

// The recording of one segment, and all that must be as before where it fails.
class PreparedProgram::Capture {
 public:
  Capture(const PreparedProgram& program, GraphedRun& run, GraphedRun::Segment& segment,
          Frame& frame)
      : program_(program),
        run_(run),
        segment_(segment),
        frame_(frame),
        device_(GetAccelerator(program.place_)),
        using_(run.keeper.get()) {
    for (size_t s = 0; s < program.plan_.slots.size(); ++s) {
      if (!program.plan_.slots[s].persistable) before_.emplace_back(s, *frame.values[s]);
    }
    for (const GraphedRun::Input& input : segment.inputs) {
      Value& value = *frame.values[input.slot];
      if (program.plan_.slots[input.slot].persistable) swapped_.emplace_back(input.slot, value);
      value = input.fixed;
    }
  }

  // False: the device could not record now.
  bool Begin() {
    try {
      device_.BeginCapture();
    } catch (const Error&) {
      return false;
    }
    return true;
  }

  // Everything that outlives the segment goes where the next run looks for it.
  void Finish() {
    for (const GraphedRun::Lasting& lasting : segment_.lasting) {
      Value& value = *frame_.values[lasting.slot];
      if (!lasting.written || DataOf(value) == lasting.data) continue;
      ENFORCE(lasting.form.Fits(value) && !IsOldPlace(DataOf(value)), PreconditionNotMet, "'",
              program_.plan_.slots[lasting.slot].name,
              "' must keep its type and shape, and its memory to itself");
      device_.CopyWithin(const_cast<void*>(lasting.data), DataOf(value), value.bytes());
      moved_.emplace_back(&lasting, value);
    }
    segment_.graph = device_.EndCapture();
    ENFORCE(segment_.graph, PreconditionNotMet, "the device did not make the graph");
    for (const auto& [lasting, value] : moved_) {
      Value& now = *frame_.values[lasting->slot];
      now = Value();
      ENFORCE(Return(*lasting, &now), PreconditionNotMet, "'",
              program_.plan_.slots[lasting->slot].name, "' must keep its memory to itself");
    }
    segment_.graph->Launch();
    for (auto& [lasting, value] : moved_) segment_.held.push_back(std::move(value));
    for (auto& [slot, value] : swapped_) *frame_.values[slot] = std::move(value);
    NoteMade();
  }

  // As before the segment; nothing of it has been computed.
  void Undo() {
    if (device_.Capturing()) device_.EndCapture();
    segment_.graph = nullptr;
    for (auto& [lasting, value] : moved_) {
      Value& now = *frame_.values[lasting->slot];
      if (now.empty()) now = std::move(value);
    }
    moved_.clear();
    for (const auto& [slot, value] : before_) *frame_.values[slot] = Value();
    for (Value& v : frame_.staging) v = Value();
    for (const GraphedRun::Lasting& lasting : segment_.lasting) {
      Value& value = *frame_.values[lasting.slot];
      if (!lasting.written || DataOf(value) == lasting.data) continue;
      if (Return(lasting, &value)) continue;
      for (const GraphedRun::Lasting& other : segment_.lasting) {  // that took its memory over
        const Value& taken = *frame_.values[other.slot];
        if (DataOf(taken) == lasting.data) value = Value(taken);
      }
    }
    for (auto& [slot, value] : swapped_) *frame_.values[slot] = std::move(value);
    for (auto& [slot, value] : before_) *frame_.values[slot] = std::move(value);
  }

 private:
  bool IsOldPlace(const void* data) const {
    return std::any_of(segment_.lasting.begin(), segment_.lasting.end(),
                       [&](const GraphedRun::Lasting& l) { return l.data == data; });
  }

  // The variable on the memory that it had and that nothing else holds.
  bool Return(const GraphedRun::Lasting& lasting, Value* value) {
    const size_t bytes = static_cast<size_t>(Numel(lasting.form.dims)) * SizeOf(lasting.form.dtype);
    if (!run_.keeper->TakeNext(const_cast<void*>(lasting.data), bytes)) return false;
    *value = Value(Tensor(lasting.form.dims, lasting.form.dtype, program_.place_));
    return DataOf(*value) == lasting.data;
  }

  void NoteMade() {
    std::vector<char> seen(program_.plan_.slots.size());
    auto once = [&](int s) {
      return s >= 0 && !program_.plan_.slots[s].persistable && !std::exchange(seen[s], 1);
    };
    for (size_t i = segment_.begin; i < segment_.end; ++i) {
      for (int s : program_.plan_.ops[i].out) {
        if (once(s) && !frame_.values[s]->empty()) segment_.made.emplace_back(s, *frame_.values[s]);
      }
    }
    for (const GraphedRun::Input& input : segment_.inputs) {
      const Value& value = *frame_.values[input.slot];
      if (!once(input.slot)) continue;
      if (value.empty()) segment_.ended.push_back(input.slot);
      if (value.is_tensor() && !value.tensor().has_data())  // of which only sizes are asked for
        segment_.made.emplace_back(input.slot, value);
    }
  }

  const PreparedProgram& program_;
  GraphedRun& run_;
  GraphedRun::Segment& segment_;
  Frame& frame_;
  Accelerator& device_;
  memory::BlockKeeper::Use using_;
  std::vector<std::pair<int, Value>> before_;   // temporaries
  std::vector<std::pair<int, Value>> swapped_;  // persistable inputs
  std::vector<std::pair<const GraphedRun::Lasting*, Value>> moved_;
};

// What the random operators of graphs find when they run.
void PreparedProgram::PutStreams(const GraphedRun& run, RandomStreams random) const {
  if (run.streams.empty()) return;
  const uint64_t numbers[] = {random.seed, random.first};
  GetAccelerator(place_).CopyFromHost(const_cast<void*>(DataOf(run.streams)), numbers,
                                      sizeof numbers);
}

// Records a segment and runs it. False: nothing of it has run.
bool PreparedProgram::RecordSegment(GraphedRun& run, GraphedRun::Segment& segment,
                                    Frame& frame) const {
  Capture capture(*this, run, segment, frame);
  if (!capture.Begin()) {
    if (++run.begins_failed >= kMostFailedBegins)
      run.plain = "the device could not begin to record";
    capture.Undo();
    return false;
  }
  try {
    {
      RecordedDraws draws(place_, static_cast<const uint64_t*>(DataOf(run.streams)));
      RunOps({plan_.ops, frame.calls, segment.begin, segment.end}, frame, {});
    }
    capture.Finish();
  } catch (const Error& e) {
    capture.Undo();
    if (e.kind() == ErrorKind::Interrupted) throw;
    run.plain = e.what();
    return false;
  } catch (...) {
    capture.Undo();
    throw;
  }
  return true;
}

void PreparedProgram::RunRecording(GraphedRun& run, Frame& frame, RandomStreams random) const {
  struct DropUnlessDone {
    GraphedRun& run;
    bool done = false;
    ~DropUnlessDone() {
      if (!done) run.Drop();
    }
  } record{run};
  DivideGraphed(run);
  run.keeper = std::make_unique<memory::BlockKeeper>(place_);
  frame.keeps_results = true;
  size_t graphs = 0;
  try {
    if (random_ops_ > 0) run.streams = Value(Tensor({2}, DType::kInt64, place_));
    PutStreams(run, random);
  } catch (const Error& e) {
    run.plain = e.what();
  }
  for (GraphedRun::Segment& segment : run.segments) {
    const size_t begin = segment.begin;
    try {
      segment.wanted = segment.wanted && FindGraphInputs(run, segment, frame);
    } catch (const Error& e) {  // no memory for fixed places
      run.plain = e.what();
    }
    if (run.plain.empty() && !segment.wanted) {
      segment.inputs.clear();
      segment.lasting.clear();
      RunOps({plan_.ops, frame.calls, begin, segment.end}, frame, random);
    } else if (run.plain.empty() && RecordSegment(run, segment, frame)) {
      ++graphs;
    } else {
      run.Drop();
      return RunOps({plan_.ops, frame.calls, begin, plan_.ops.size()}, frame, random);
    }
  }
  record.done = graphs > 0;
  if (graphs == 0)
    run.plain = "its operators wait for the device or compute on the host";
}

// Whether what the graph names is where it was. A variable that is read and lies elsewhere now is
// copied from here on.
bool PreparedProgram::FitsGraph(GraphedRun& run, const GraphedRun::Segment& segment,
                                const Frame& frame) const {
  bool fits = true;
  for (const GraphedRun::Lasting& lasting : segment.lasting) {
    const Value& value = *frame.values[lasting.slot];
    if (__builtin_expect(DataOf(value) == lasting.data, 1) && lasting.form.Fits(value) &&
        (!lasting.written || value.tensor().OwnsStorage()))
      continue;
    fits = false;
  }
  for (const GraphedRun::Input& input : segment.inputs) {
    const Value& value = *frame.values[input.slot];
    fits &= input.form.Fits(value) && value.place() == input.fixed.place();
  }
  if (!fits) NotePlaces(run, frame);
  return fits;
}

void PreparedProgram::RunRecorded(GraphedRun& run, Frame& frame, RandomStreams random) const {
  Accelerator& device = GetAccelerator(place_);
  frame.keeps_results = true;
  PutStreams(run, random);
  for (GraphedRun::Segment& segment : run.segments) {
    if (!segment.graph) {
      RunOps({plan_.ops, frame.calls, segment.begin, segment.end}, frame, random);
      continue;
    }
    if (__builtin_expect(!FitsGraph(run, segment, frame), 0)) {
      const size_t from = segment.begin;
      ++run.strayed;
      if (++run.strays > kMostStrays)
        run.plain = "its variables lie elsewhere, or are shared, in each run";
      run.since_stray = 0;
      run.Drop();
      return RunOps({plan_.ops, frame.calls, from, plan_.ops.size()}, frame, random);
    }
    for (const GraphedRun::Input& input : segment.inputs) {
      const Tensor& from = frame.values[input.slot]->tensor();
      const Tensor& to = input.fixed.tensor();
      if (from.raw_data() != to.raw_data())
        device.CopyWithin(const_cast<void*>(to.raw_data()), from.raw_data(), to.bytes());
    }
    segment.graph->Launch();
    for (int s : segment.ended) *frame.values[s] = Value();
    for (const auto& [slot, value] : segment.made) {
      if (value.is_tensor() && value.tensor().has_data())
        value.tensor().storage()->set_plain_twin(nullptr);
      *frame.values[slot] = value;
    }
  }
  ++run.replays;
  if (++run.since_stray == kForgotten) run.strays = 0;
}

PreparedProgram::Graphed PreparedProgram::graphed() {
  std::lock_guard<std::mutex> lock(mutex_);
  Graphed found;
  for (const auto& frame : idle_) {
    for (size_t k = frame->graphed.size(); k-- > 0;) {  // the latest one last
      const GraphedRun& run = *frame->graphed[k];
      found.runs += run.recorded();
      found.replays += run.replays;
      found.strayed += run.strayed;
      found.plain = run.plain;
      found.graphs = found.operators = found.between = found.bytes = 0;
      if (run.keeper) found.bytes = run.keeper->bytes();
      for (const GraphedRun::Segment& segment : run.segments) {
        found.graphs += segment.graph != nullptr;
        (segment.graph ? found.operators : found.between) += segment.end - segment.begin;
      }
    }
  }
  return found;
}

}  // namespace dygraph::program
