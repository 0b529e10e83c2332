#include "platform/profiler.h"

#include <atomic>
#include <chrono>
#include <mutex>

namespace dygraph::profiler {

namespace {

struct Log {
  std::mutex mutex;
  std::vector<Event> events;
  uint64_t dropped = 0;
};

Log& TheLog() {
  static Log* log = new Log;  // threads may still add while the process ends
  return *log;
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
    log.events.push_back(std::move(event));
  }
}

std::vector<Event> Events() {
  Log& log = TheLog();
  std::lock_guard<std::mutex> lock(log.mutex);
  return log.events;
}

void Clear() {
  Log& log = TheLog();
  std::lock_guard<std::mutex> lock(log.mutex);
  log.events.clear();
  log.events.shrink_to_fit();
  log.dropped = 0;
}

uint64_t Dropped() {
  Log& log = TheLog();
  std::lock_guard<std::mutex> lock(log.mutex);
  return log.dropped;
}

}  // namespace dygraph::profiler
