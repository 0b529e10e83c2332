#include "platform/profiler.h"

#include <atomic>
#include <chrono>
#include <mutex>

#include "base/enforce.h"

namespace dygraph::profiler {

namespace {

// Points that may wait for their times; then the device is waited for, once for all of them.
constexpr size_t kMostPending = 4096;

struct Log {
  std::mutex mutex;
  std::vector<Event> events;
  std::vector<size_t> pending;  // events without the times of their device
  uint64_t dropped = 0;
};

Log& TheLog() {
  static Log* log = new Log;  // threads may still add while the process ends
  return *log;
}

// The times of pending events of one device, by a point that is passed now.
void Measure(Log& log, Place place) {
  std::unique_ptr<DeviceEvent> now = GetAccelerator(place).Record();
  now->Wait();
  const uint64_t end = Now();
  for (size_t i : log.pending) {
    Event& e = log.events[i];
    if (!e.before || !(e.place == place)) continue;
    const double ago = now->Since(*e.before) * 1e6, took = e.after->Since(*e.before) * 1e6;
    e.device_start_ns = end - static_cast<uint64_t>(ago);
    e.device_ns = static_cast<uint64_t>(took);
    e.before = e.after = nullptr;
  }
}

// The log's lock is held. A device that has failed gives no times.
void MeasureAll(Log& log) {
  for (size_t i : log.pending) {
    if (!log.events[i].before) continue;
    try {
      Measure(log, log.events[i].place);
    } catch (const Error&) {
      break;
    }
  }
  for (size_t i : log.pending) log.events[i].before = log.events[i].after = nullptr;
  log.pending.clear();
}

uint64_t ThreadNumber() {
  static std::atomic<uint64_t> next{0};
  static thread_local uint64_t number = next++;
  return number;
}

}  // namespace

uint64_t Now() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

void Add(Event event) {
  event.thread = ThreadNumber();
  Log& log = TheLog();
  std::lock_guard<std::mutex> lock(log.mutex);
  if (log.events.size() >= kMostEvents) {
    ++log.dropped;
  } else {
    if (event.before) log.pending.push_back(log.events.size());
    log.events.push_back(std::move(event));
    if (log.pending.size() >= kMostPending) MeasureAll(log);
  }
}

std::vector<Event> Events() {
  Log& log = TheLog();
  std::lock_guard<std::mutex> lock(log.mutex);
  MeasureAll(log);
  return log.events;
}

void Clear() {
  Log& log = TheLog();
  std::lock_guard<std::mutex> lock(log.mutex);
  log.events.clear();
  log.pending.clear();
  log.events.shrink_to_fit();
  log.dropped = 0;
}

uint64_t Dropped() {
  Log& log = TheLog();
  std::lock_guard<std::mutex> lock(log.mutex);
  return log.dropped;
}

}  // namespace dygraph::profiler
