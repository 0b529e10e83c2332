// Observation of operator calls: events for the profiler, a line in the log, a check for NaN and
// infinity, the caller's line. When no watcher is active, a call tests one word.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "op/call.h"

namespace dygraph {

namespace watch {

enum What : uint32_t {
  kEvents = 1,       // profiler::Add for each call
  kLog = 2,          // a line on stderr for each call: FLAGS_log_calls
  kCheckFinite = 4,  // NonFinite where a result holds NaN or infinity: FLAGS_check_nan_inf
  kCallers = 8,      // callers: for events, the log and the nodes of the tape
  kShapes = 16,      // shapes of inputs in events
};

extern std::atomic<uint32_t> switches;
inline uint32_t Switches() { return switches.load(std::memory_order_relaxed); }

// Requests are counted: each caller requests once and releases once.
void Ask(uint32_t what);
void Release(uint32_t what);
// After flags have changed.
void ReadFlags();

// The line of the caller, as the host language knows it; "" where it does not. Set once.
using CallerFunction = std::function<std::string()>;
void SetCallerFunction(CallerFunction function);
// Equal texts have the same pointer, for ever.
const std::string* Intern(const std::string& text);
// Asks now; nullptr where it is not known.
const std::string* AskCaller();

// Runs the call and observes it by the switches. If callers are recorded, `call.line` is the
// caller's from here on; calls of a backward pass have that of their node's forward call already.
void RunWatched(Call& call, void (*run)(Call&));

}  // namespace watch

}  // namespace dygraph
