// Working memory of one kernel call.
#pragma once

#include "memory/memory.h"

namespace dygraph {

class Scratch {
 public:
  Scratch(Place place, size_t bytes)
      : place_(place), bytes_(bytes), data_(memory::Alloc(place, bytes)) {}
  ~Scratch() { memory::Free(place_, data_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  template <class T>
  T* as() {
    return static_cast<T*>(data_);
  }

 private:
  Place place_;
  size_t bytes_;
  void* data_;
};

}  // namespace dygraph
