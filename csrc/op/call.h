// One operator call with its values bound to slots.
#pragma once

#include "base/enforce.h"
#include "base/small_vector.h"
#include "tensor/value.h"

namespace dygraph {

class OpInfo;
constexpr int kMaxSlots = 24;

// The arguments of all slots in one flat list, with the slots' ends. An absent slot is an empty one.
template <class V>
class SlotList {
 public:
  void Push(V* v) { flat_.push_back(v); }  // appends to the open slot
  void Close() { ends_[slots_++] = static_cast<uint32_t>(flat_.size()); }
  void Add(V* v) {
    if (v) Push(v);
    Close();
  }
  int slots() const { return slots_; }
  int begin_of(int slot) const { return slot == 0 ? 0 : static_cast<int>(ends_[slot - 1]); }
  int count(int slot) const { return slot < slots_ ? static_cast<int>(ends_[slot]) - begin_of(slot) : 0; }
  V* at(int slot, int i = 0) const { return i < count(slot) ? flat_[begin_of(slot) + i] : nullptr; }
  Span<V* const> flat() const { return {flat_.data(), flat_.size()}; }
  Span<const uint32_t> ends() const { return {ends_, static_cast<size_t>(slots_)}; }
  V*& flat_at(int i) { return flat_[i]; }

 private:
  SmallVector<V*, 6> flat_;
  int slots_ = 0;
  uint32_t ends_[kMaxSlots];
};

struct Call {
  const OpInfo* op = nullptr;
  const void* attrs = nullptr;  // the operator's attribute struct
  SlotList<const Value> in;
  SlotList<Value> out;          // an element may be null: that output is not wanted
  uint64_t random_stream = 0;   // for random operators: (ordinal, run) in programs, call number eagerly
  uint64_t random_seed = 0;
};

}  // namespace dygraph
