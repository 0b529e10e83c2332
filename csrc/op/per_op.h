// A value for each operator, made when it is first asked for; asking again is one load.
#pragma once

#include <array>
#include <atomic>

#include "op/op_info.h"

namespace dygraph {

// `make` gives the value, which lives until the process ends; of two threads that ask at once both
// may call it.
template <class T>
class PerOp {
 public:
  using Make = const T* (*)(const OpInfo& op);
  constexpr explicit PerOp(Make make) : make_(make) {}

  const T& operator[](const OpInfo& op) {
    std::atomic<const T*>& place = values_[op.id];
    const T* value = place.load(std::memory_order_acquire);
    if (__builtin_expect(!value, 0)) place.store(value = make_(op), std::memory_order_release);
    return *value;
  }

 private:
  Make make_;
  std::array<std::atomic<const T*>, kMostOperators> values_ = {};
};

}  // namespace dygraph
