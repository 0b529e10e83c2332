// A value for each operator, made when it is first asked for; asking again is one load.
#pragma once

#include <array>
#include <atomic>

#include "op/op_info.h"

namespace dygraph {

// `make` gives the value; of two threads that ask at once both may call it, and one value stays.
// Values live until the process ends.
template <class T>
class PerOp {
 public:
  explicit PerOp(T (*make)(const OpInfo& op)) : make_(make) {}

  const T& operator[](const OpInfo& op) {
    if (__builtin_expect(op.id >= kMost, 0)) return *new T(make_(op));
    std::atomic<const T*>& place = values_[op.id];
    if (const T* value = place.load(std::memory_order_acquire)) return *value;
    return Make(op, place);
  }

 private:
  static constexpr int kMost = 4096;  // operators; plug-ins beyond it pay for each call

  __attribute__((noinline)) const T& Make(const OpInfo& op, std::atomic<const T*>& place) {
    const T* made = new T(make_(op));
    const T* other = nullptr;
    if (place.compare_exchange_strong(other, made, std::memory_order_acq_rel)) return *made;
    delete made;
    return *other;
  }

  T (*make_)(const OpInfo&);
  std::array<std::atomic<const T*>, kMost> values_ = {};
};

}  // namespace dygraph
