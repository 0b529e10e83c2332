// Random numbers of recorded work: each time it is played it draws others.
#pragma once

#include <cstdint>

#include "platform/place.h"

namespace dygraph {

// While it lives, the thread records work of a device. Random calls there get the seed 0 and
// streams that count from 0; their kernels read the seed, and the stream that those count from, at
// `at` in the memory of the device when they run.
class RecordedDraws {
 public:
  RecordedDraws(Place place, const uint64_t* at);
  ~RecordedDraws();
  RecordedDraws(const RecordedDraws&) = delete;
  RecordedDraws& operator=(const RecordedDraws&) = delete;

  const uint64_t* at() const { return at_; }
  uint64_t count() const { return count_; }  // of the streams that were given
  uint64_t Give(uint64_t count) { return (count_ += count) - count; }  // the first of so many

  // Of the calling thread on a place; null where it records nothing there.
  static RecordedDraws* On(Place place);

 private:
  Place place_;
  const uint64_t* at_;
  uint64_t count_ = 0;
};

}  // namespace dygraph
