// Events of a profiled run: what ran when, on which thread, and how many bytes it left in use.
// Switched off it has no cost here: callers test before they add an event (run/watch.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dygraph::profiler {

struct Event {
  std::string name;
  const char* category;   // "operator", "backward", "range": a literal
  uint64_t start_ns = 0;  // of Now()
  uint64_t duration_ns = 0;
  uint64_t thread = 0;  // small numbers in order of first event
  int64_t bytes = 0;    // memory in use after the event less before it
  std::string shapes;   // of the inputs, if asked for
  std::string caller;   // the line that called, if asked for
};

uint64_t Now();  // nanoseconds of a clock that only goes forward, Python's time.perf_counter_ns
void Add(Event event);        // safe from any thread
std::vector<Event> Events();  // in order of their ends
void Clear();
// Events beyond this many are counted, not kept.
constexpr size_t kMostEvents = 4000000;
uint64_t Dropped();

}  // namespace dygraph::profiler
