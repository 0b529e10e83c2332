// Steps of a planned run on several threads: a step runs when those that it follows have run. A
// step that runs beside others computes with one thread, so together they take no more than a loop
// would.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <queue>

#include "execute/frame.h"
#include "execute/planned_runs.h"
#include "platform/device_context.h"
#include "platform/interrupt.h"
#include "platform/threads.h"
#include "program/op_binding.h"
#include "run/interpreter.h"
#include "run/run.h"

namespace dygraph::program {

namespace {

constexpr size_t kMostSteps = 512;     // of a section, since each pair of steps is compared
constexpr double kWorthwhile = 20e-6;  // seconds that a section must be able to save
constexpr double kShare = 0.9;         // of its time that it must then take at most
constexpr int kTrials = 3;             // timed runs of each way, of which the fastest counts

// Whose effects are seen outside of the run, in an order.
bool IsOrdered(const PlanOp& op) {
  const std::string& type = op.desc->type;
  return type == "print" || type == "py_func" || type == "assert" || type == "save" ||
         type == "save_combine" || type == "load" || type == "load_combine";
}

struct Bytes {
  const char *begin, *end;
  bool Meets(const Bytes& other) const { return begin < other.end && other.begin < end; }
};

double Seconds() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

// What runs next, for the threads of one run of a section.
class Ready {
 public:
  Ready(const PlannedRun::Section& section)
      : section_(section), waits_(section.waits), left_(section.waits.size()) {
    for (size_t i = 0; i < waits_.size(); ++i) {
      if (waits_[i] == 0) ready_.push(static_cast<int>(i));
    }
  }
  // The first step that may run; -1: there will be none.
  int Take() {
    std::unique_lock<std::mutex> lock(mutex_);
    more_.wait(lock, [&] { return !ready_.empty() || left_ == 0 || failed_; });
    if (failed_ || left_ == 0) return -1;
    const int step = ready_.top();
    ready_.pop();
    --left_;
    if (left_ == 0) more_.notify_all();
    return step;
  }
  void Done(int step) {
    std::lock_guard<std::mutex> lock(mutex_);
    int found = 0;
    for (int after : section_.next[step]) {
      if (--waits_[after] > 0) continue;
      ready_.push(after);
      ++found;
    }
    if (found > 1) more_.notify_all();
    if (found == 1) more_.notify_one();
  }
  void Fail() {
    std::lock_guard<std::mutex> lock(mutex_);
    failed_ = true;
    more_.notify_all();
  }

 private:
  const PlannedRun::Section& section_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::vector<int> waits_;
  size_t left_;
  bool failed_ = false;
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready_;  // in the program's order
};

}  // namespace

namespace {

// Whether the steps of a section, each as fast as it was alone, would save enough side by side.
bool IsPromising(const PlannedRun::Section& section, int threads) {
  std::vector<double> end(section.seconds.size());
  double total = 0, longest = 0;
  for (size_t i = 0; i < end.size(); ++i) {
    end[i] += section.seconds[i];
    total += section.seconds[i];
    longest = std::max(longest, end[i]);
    for (int after : section.next[i]) end[after] = std::max(end[after], end[i]);
  }
  const double least = std::max(longest, total / threads);
  return total - least > kWorthwhile && least < kShare * total;
}

}  // namespace

// What follows what: a step follows those that made what it reads, and those that read or made what
// lies where its results go.
void PreparedProgram::FindSections(PlannedRun& run) const {
  run.sections.clear();
  if (run.threads < 2 || most_together_ == 1) return;
  auto part_of = [&](int slot) {
    const Tensor& t = run.values[slot].tensor();
    const char* begin = static_cast<const char*>(t.raw_data());
    return Bytes{begin, begin + std::max<size_t>(t.bytes(), 1)};
  };
  auto meet = [&](const SmallVector<int, 6>& one, const SmallVector<int, 6>& two) {
    for (int a : one) {
      for (int b : two) {
        if (a < 0 || b < 0) continue;
        if (a == b ||
            (run.arena && run.planned[a] && run.planned[b] && part_of(a).Meets(part_of(b))))
          return true;
        if (!run.arena && run.Root(a) == run.Root(b)) return true;
      }
    }
    return false;
  };
  for (size_t i = 0; i < plan_.ops.size();) {
    size_t end = i;
    while (end < plan_.ops.size() && end - i < kMostSteps && run.steps[end].settled &&
           !run.in_segment[end] && !run.steps[end].call.transforms &&
           plan_.ops[end].staged.empty() && plan_.ops[end].weight < 0 &&
           !IsOrdered(plan_.ops[end]))
      ++end;
    if (end - i < 2) {
      i = std::max(end, i + 1);
      continue;
    }
    PlannedRun::Section section;
    section.begin = i;
    section.end = end;
    section.waits.assign(end - i, 0);
    section.next.resize(end - i);
    for (size_t k = i; k < end; ++k) section.seconds.push_back(run.steps[k].seconds);
    std::vector<char> made(plan_.slots.size());
    for (size_t b = i; b < end; ++b) {
      const PlanOp& later = plan_.ops[b];
      for (int s : later.in) {
        if (s >= 0 && !made[s] && !run.planned[s]) section.held.push_back(s);
      }
      for (int s : later.out) {
        if (s >= 0) made[s] = 1;
      }
      for (size_t a = i; a < b; ++a) {
        const PlanOp& earlier = plan_.ops[a];
        if (!meet(earlier.out, later.in) && !meet(earlier.out, later.out) &&
            !meet(earlier.in, later.out))
          continue;
        section.next[a - i].push_back(static_cast<int>(b - i));
        ++section.waits[b - i];
      }
    }
    std::sort(section.held.begin(), section.held.end());
    section.held.erase(std::unique(section.held.begin(), section.held.end()), section.held.end());
    if (IsPromising(section, run.threads)) run.sections.push_back(std::move(section));
    i = end;
  }
}

// Runs a section the way that pays, or one that is to be tried. False: not as noted, so the run
// goes on as always from operator `*from`.
bool PreparedProgram::RunSection(PlannedRun& run, PlannedRun::Section& section, Frame& frame,
                                 RandomStreams random, size_t* from) const {
  using Way = PlannedRun::Section::Way;
  const int threads = most_together_ > 0 ? std::min(most_together_, run.threads) : run.threads;
  const double start = Seconds();
  bool together = section.way == Way::kTogether || section.trials >= kTrials;
  for (size_t i = section.begin; together && i < section.end; ++i) {
    for (const auto& [slot, form] : run.steps[i].asks) {
      const bool inside = !std::binary_search(section.held.begin(), section.held.end(), slot);
      together = together && (inside || form.Fits(*frame.values[slot]));
    }
  }
  if (together) {
    RunTogether(run, section, frame, random, threads);
    for (size_t i = section.begin; i < section.end; ++i) {
      if (IsMade(run.steps[i], frame)) continue;
      *from = section.end;
      return false;
    }
  } else {
    for (size_t i = section.begin; i < section.end; ++i) {
      const double before = Seconds();
      if (!RunStep(run, i, frame, random, from)) return false;
      double& seconds = section.seconds[i - section.begin];
      seconds = std::min(seconds, Seconds() - before);
    }
  }
  if (section.way == Way::kTrying) {
    double& best = together ? section.together : section.alone;
    best = std::min(best, Seconds() - start);
    ++section.trials;
    if (section.trials == kTrials && !IsPromising(section, threads)) section.way = Way::kAlone;
    if (section.trials == 2 * kTrials) {
      const bool pays = section.together < kShare * section.alone &&
                        section.alone - section.together > kWorthwhile / 2;
      section.way = pays ? Way::kTogether : Way::kAlone;
    }
    run.tightens = std::all_of(run.sections.begin(), run.sections.end(),
                               [](const auto& each) { return each.way == Way::kAlone; });
  }
  return true;
}

void PreparedProgram::RunTogether(PlannedRun& run, const PlannedRun::Section& section, Frame& frame,
                                  RandomStreams random, int threads) const {
  std::vector<Value> held;  // what other threads of Python may write meanwhile
  std::vector<const Value*> at(plan_.slots.size());
  held.reserve(section.held.size());
  for (int s : section.held) at[s] = &held.emplace_back(*frame.values[s]);
  for (size_t i = section.begin; i < section.end; ++i) {
    const PlanOp& op = plan_.ops[i];
    Bound& bound = frame.calls[i];
    for (size_t k = 0; k < bound.in.size(); ++k) {
      const bool is_held = bound.in[k] && at[op.in[k]];
      bound.call.in.flat_at(static_cast<int>(k)) = is_held ? at[op.in[k]] : bound.in[k];
    }
  }
  Ready ready(section);
  struct Work {
    Ready& ready;
    const std::function<void(int)>& run;
  };
  DeviceContext& device = GetDeviceContext(place_);
  const std::function<void(int)> run_one = [&](int number) {
    const size_t i = section.begin + number;
    Prepare(run, i, frame, random);
    try {
      RunSettledUnlocked(frame.calls[i].call, run.steps[i].call, device);
    } catch (Error& e) {
      e.Append(PositionText(*plan_.ops[i].desc, plan_.ops[i].position, plan_.ops[i].block));
      throw;
    }
  };
  Work work{ready, run_one};
  {
    interrupt::Postpone();
    struct Unlocked {
      void* token = Interpreter().release_lock ? Interpreter().release_lock() : nullptr;
      ~Unlocked() {
        if (token) Interpreter().acquire_lock(token);
      }
    } unlocked;
    detail::RunOnPool(
        threads - 1, threads,
        [](void* state, int64_t) {
          Work& work = *static_cast<Work*>(state);
          for (int step; (step = work.ready.Take()) >= 0;) {
            try {
              work.run(step);
            } catch (...) {
              work.ready.Fail();
              throw;
            }
            work.ready.Done(step);
          }
        },
        &work);
  }
  for (size_t i = section.begin; i < section.end; ++i) {
    Bound& bound = frame.calls[i];
    for (size_t k = 0; k < bound.in.size(); ++k)
      bound.call.in.flat_at(static_cast<int>(k)) = bound.in[k];
  }
  for (size_t i = section.begin; i < section.end; ++i) EndValues(run.steps[i], frame);
}

}  // namespace dygraph::program
