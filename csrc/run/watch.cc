#include "run/watch.h"

#include <cmath>
#include <cstdio>
#include <mutex>
#include <set>
#include <sstream>

#include "base/flags.h"
#include "memory/holders.h"
#include "memory/memory.h"
#include "op/call_checks.h"
#include "platform/profiler.h"

namespace dygraph {

FLAG(bool, log_calls, false, "print a line on stderr for every operator call");
FLAG(bool, check_nan_inf, false, "raise where the result of an operator holds NaN or infinity");

namespace watch {

std::atomic<uint32_t> switches{0};

namespace {

constexpr int kBits = 5;

struct State {
  std::mutex mutex;
  int asked[kBits] = {};
  uint32_t from_flags = 0;
  CallerFunction caller;
  std::set<std::string> interned;

  void Update() {
    uint32_t word = from_flags;
    for (int i = 0; i < kBits; ++i) word |= asked[i] > 0 ? 1u << i : 0;
    switches.store(word, std::memory_order_relaxed);
  }
};

State& TheState() {
  static State* state = new State;
  return *state;
}

// "X=[8, 3] float32, W=[3, 4] float32"
template <class V>
std::string Describe(const std::vector<SlotInfo>& slots, const SlotList<V>& values) {
  std::ostringstream text;
  const char* comma = "";
  for (int s = 0; s < values.slots(); ++s) {
    for (int i = 0; i < values.count(s); ++i) {
      const Value* v = values.at(s, i);
      if (!v || v->empty()) continue;
      text << comma << slots[s].name << "=" << v->dims() << " " << v->dtype()
           << (v->is_rows() ? " rows" : "");
      comma = ", ";
    }
  }
  return text.str();
}

struct Bad {
  int64_t nans = 0, infs = 0, first = -1;
};

Bad CountBad(const Tensor& given) {
  Bad bad;
  if (!given.has_data() || !IsInexact(given.dtype())) return bad;
  Tensor t = given.place() == CPUPlace() ? given.Plain() : CopyTo(given, CPUPlace()).Plain();
  VisitDType(t.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* data = t.data<T>();
    for (int64_t i = 0; i < t.numel(); ++i) {
      if constexpr (kIsComplex<T>) {
        const double parts[] = {data[i].real(), data[i].imag()};
        if (std::isfinite(parts[0]) && std::isfinite(parts[1])) continue;
        ++(std::isnan(parts[0]) || std::isnan(parts[1]) ? bad.nans : bad.infs);
      } else {
        double v = static_cast<double>(static_cast<float>(data[i]));
        if constexpr (sizeof(T) == 8) v = static_cast<double>(data[i]);
        if (std::isfinite(v)) continue;
        ++(std::isnan(v) ? bad.nans : bad.infs);
      }
      if (bad.first < 0) bad.first = i;
    }
  });
  return bad;
}

Bad CountBad(const Value* v) {
  if (!v || v->empty()) return Bad();
  return CountBad(v->is_rows() ? v->rows().value() : v->tensor());
}

std::string Position(const Dims& dims, int64_t flat) {
  SmallVector<int64_t, 8> index;
  for (int i = dims.rank() - 1; i >= 0; --i) {
    index.push_back(flat % dims[i]);
    flat /= dims[i];
  }
  std::string text = "[";
  for (size_t i = index.size(); i-- > 0;) text += std::to_string(index[i]) + (i ? ", " : "");
  return text + "]";
}

void CheckFinite(const Call& call) {
  const OpInfo& op = *call.op;
  for (int s = 0; s < call.out.slots(); ++s) {
    for (int i = 0; i < call.out.count(s); ++i) {
      const Value* out = call.out.at(s, i);
      Bad bad = CountBad(out);
      if (bad.first < 0) continue;
      std::string cause = "No input does, so it arose here";
      for (int k = 0; k < call.in.slots() && cause[0] == 'N'; ++k) {
        for (int j = 0; j < call.in.count(k); ++j) {
          if (CountBad(call.in.at(k, j)).first >= 0)
            cause = "Input(" + op.inputs[k].name + ") held such values already";
        }
      }
      const Tensor& t = out->is_rows() ? out->rows().value() : out->tensor();
      THROW(NonFinite, "Output(", op.outputs[s].name, ") of shape ", t.dims(),
            " must hold finite numbers, got ", bad.nans, " NaN and ", bad.infs,
            " infinite, the first at ", Position(t.dims(), bad.first), ". ", cause);
    }
  }
}

void LogCall(const Call& call, Place place, uint64_t nanoseconds, const std::string* caller) {
  std::ostringstream text;
  text << call.op->type << "(" << Describe(call.op->inputs, call.in) << ") -> "
       << Describe(call.op->outputs, call.out) << "  " << place << ", " << nanoseconds / 1000 << "."
       << nanoseconds / 100 % 10 << " us" << (caller ? ", " + *caller : "") << "\n";
  std::fputs(text.str().c_str(), stderr);
}

// The device whose times are kept; nullptr for the host, and while a graph is recorded.
Accelerator* TimedDevice(uint32_t what, Place place) {
  if (!(what & kEvents) || place.kind != DeviceKind::kCUDA) return nullptr;
  Accelerator& device = GetAccelerator(place);
  return device.Capturing() ? nullptr : &device;
}

// Who made the large results, for the text of an error that there is no memory left.
void NoteHolders(const Call& call, Place place) {
  const std::string* text = nullptr;
  auto note = [&](const Tensor& t) {
    if (!t.has_data() || t.place() != place || t.bytes() < memory::kNotedBytes) return;
    if (!text) text = Intern(call.op->type + (call.line ? ", " + *call.line : ""));
    memory::NoteHolder(place, t.storage()->data(), text);
  };
  for (const Value* out : call.out.flat()) {
    if (!out || out->empty()) continue;
    if (out->is_tensor()) note(out->tensor());
    if (out->is_rows()) note(out->rows().value());
  }
}

}  // namespace

void Ask(uint32_t what) {
  State& state = TheState();
  std::lock_guard<std::mutex> lock(state.mutex);
  for (int i = 0; i < kBits; ++i) state.asked[i] += what >> i & 1;
  state.Update();
}

void Release(uint32_t what) {
  State& state = TheState();
  std::lock_guard<std::mutex> lock(state.mutex);
  for (int i = 0; i < kBits; ++i) {
    if (what >> i & 1 && state.asked[i] > 0) --state.asked[i];
  }
  state.Update();
}

void ReadFlags() {
  State& state = TheState();
  std::lock_guard<std::mutex> lock(state.mutex);
  state.from_flags = 0;
  if (FLAGS_log_calls) state.from_flags |= kLog;
  if (FLAGS_check_nan_inf) state.from_flags |= kCheckFinite;
  state.Update();
}

void SetCallerFunction(CallerFunction function) { TheState().caller = std::move(function); }

const std::string* Intern(const std::string& text) {
  State& state = TheState();
  std::lock_guard<std::mutex> lock(state.mutex);
  return &*state.interned.insert(text).first;
}

const std::string* AskCaller() {
  const CallerFunction& function = TheState().caller;
  if (!function) return nullptr;
  std::string text = function();
  return text.empty() ? nullptr : Intern(text);
}

void RunWatched(Call& call, void (*run)(Call&)) {
  uint32_t what = Switches();
  const Place place = PlaceOf(call);
  if (!call.backward) call.line = what & kCallers ? AskCaller() : nullptr;
  const std::string* caller = call.line;
  std::string shapes = what & kShapes ? Describe(call.op->inputs, call.in) : "";
  size_t used = what & kEvents ? memory::Used(place) : 0;
  SlotList<const Value> in = call.in;  // copies may stand in their place
  Accelerator* device = TimedDevice(what, place);
  std::shared_ptr<DeviceEvent> before = device ? device->Record() : nullptr;
  uint64_t start = profiler::Now();
  run(call);
  uint64_t duration = profiler::Now() - start;
  call.in = std::move(in);
  if (place.kind == DeviceKind::kCUDA && what & (kEvents | kCallers)) NoteHolders(call, place);
  if (what & kEvents) {
    profiler::Event event;
    event.name = call.op->type;
    event.category = call.backward ? "backward" : "operator";
    event.start_ns = start;
    event.duration_ns = duration;
    event.bytes = static_cast<int64_t>(memory::Used(place)) - static_cast<int64_t>(used);
    event.shapes = std::move(shapes);
    if (caller) event.caller = *caller;
    event.place = place;
    if (before) {
      event.before = std::move(before);
      event.after = device->Record();
    }
    profiler::Add(std::move(event));
  }
  if (what & kLog) LogCall(call, place, duration, caller);
  if (what & kCheckFinite) CheckFinite(call);
}

}  // namespace watch

}  // namespace dygraph
