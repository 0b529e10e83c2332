// One operator call with its values bound to slots.
#pragma once

#include "base/enforce.h"
#include "base/small_vector.h"
#include "tensor/value.h"

namespace dygraph {

class OpInfo;
constexpr int kMaxSlots = 24;

// The arguments of all slots in one flat list, with the slots' ends. An absent slot is an empty
// one.
template <class V>
class SlotList {
 public:
  void Push(V* v) { flat_.push_back(v); }  // appends to the open slot
  void Close() {
    ends_[slots_] = static_cast<uint32_t>(flat_.size());
    ++slots_;
  }
  void Add(V* v) {
    if (v) Push(v);
    Close();
  }
  int slots() const { return slots_; }
  int begin_of(int slot) const { return slot == 0 ? 0 : static_cast<int>(ends_[slot - 1]); }
  int count(int slot) const {
    return slot < slots_ ? static_cast<int>(ends_[slot]) - begin_of(slot) : 0;
  }
  V* at(int slot, int i = 0) const { return i < count(slot) ? flat_[begin_of(slot) + i] : nullptr; }
  Span<V* const> flat() const { return {flat_.data(), flat_.size()}; }
  // The same slots with f(element) in them.
  template <class U, class F>
  void Map(const SlotList<U>& other, F f) {
    Span<const uint32_t> ends = other.ends();
    for (size_t i = 0; i < ends.size(); ++i) ends_[i] = ends[i];
    slots_ = static_cast<int>(ends.size());
    for (U* v : other.flat()) flat_.push_back(f(v));
  }
  Span<const uint32_t> ends() const { return {ends_.data(), static_cast<size_t>(slots_)}; }
  V*& flat_at(int i) { return flat_[i]; }

 private:
  SmallVector<V*, 6> flat_;
  int slots_ = 0;
  FixedArray<uint32_t, kMaxSlots> ends_;
};

struct Call {
  const OpInfo* op = nullptr;
  const void* attrs = nullptr;  // the operator's attribute struct
  SlotList<const Value> in;
  SlotList<Value> out;  // an element may be null: that output is not wanted
  // In-place pairs of the operator (by position) whose output may be written into the input's
  // storage.
  uint32_t reuse = 0;
  bool from_tape = false;  // shapes fit the forward call already
  // Random operators: stream is (ordinal, run) in programs, the call number eagerly.
  bool random_given = false;
  uint64_t random_seed = 0;
  uint64_t random_stream = 0;
};

}  // namespace dygraph
