// Events of a profiled run: what ran when, on which thread, and how many bytes it left in use.
// Switched off it has no cost here: callers test before they add an event (run/watch.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "platform/accelerator.h"

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
  // Of a call on a device that keeps times: two points in its work, until the device has passed
  // them; then when it began by Now(), and how long it took.
  Place place;
  std::shared_ptr<DeviceEvent> before, after;
  uint64_t device_start_ns = 0, device_ns = 0;
};

uint64_t Now();  // nanoseconds of a clock that only goes forward, Python's time.perf_counter_ns
void Add(Event event);        // safe from any thread
std::vector<Event> Events();  // in order of their ends; waits for devices
void Clear();
// Events beyond this many are counted, not kept.
constexpr size_t kMostEvents = 4000000;
uint64_t Dropped();

}  // namespace dygraph::profiler
