// A bound on the memory that one thread takes for a while.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dygraph::memory {

// While it lives, Alloc on the calling thread throws ResourceExhausted where the thread would have
// taken more than `most` bytes beyond what it has freed since. 0: no bound. What helpers of a loop
// take is not counted; results of operators are the caller's.
class Budget {
 public:
  explicit Budget(size_t most);
  ~Budget();
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;
  void Take(size_t bytes);
  void Give(size_t bytes) { held_ -= static_cast<int64_t>(bytes); }

 private:
  int64_t most_, held_ = 0;
  Budget* outer_ = nullptr;
};

}  // namespace dygraph::memory
