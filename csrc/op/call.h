// One operator call with its values bound to slots.
#pragma once

#include <cstring>
#include <string>

#include "base/enforce.h"
#include "base/small_vector.h"
#include "tensor/value.h"

namespace dygraph {

class KeptForm;
class LoopQueue;
class OpInfo;
struct Epilogue;
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
  // Closes slots until there are so many.
  void CloseUpTo(int slots) {
    while (slots_ < slots) Close();
  }
  int slots() const { return slots_; }
  int begin_of(int slot) const { return slot == 0 ? 0 : static_cast<int>(ends_[slot - 1]); }
  int count(int slot) const {
    return slot < slots_ ? static_cast<int>(ends_[slot]) - begin_of(slot) : 0;
  }
  V* at(int slot, int i = 0) const {  // below the slot's end, which lies within flat_
    return i < count(slot) ? flat_.data()[begin_of(slot) + i] : nullptr;
  }
  Span<V* const> flat() const { return {flat_.data(), flat_.size()}; }
  // The same slots with f(element) in them. Ends are copied one by one between the elements: they
  // were written a moment ago, and a wider load would wait until they have left the store buffer.
  template <class U, class F>
  void Map(const SlotList<U>& other, F f) {
    slots_ = other.slots();
    Span<U* const> from = other.flat();
    V** to = flat_.Extend(from.size());
    size_t i = 0;
    for (int s = 0; s < slots_; ++s) {
      const uint32_t end = other.ends_.data()[s];
      for (; i < end; ++i) to[i] = f(from.data()[i]);
      ends_.data()[s] = end;
    }
  }
  Span<const uint32_t> ends() const { return {ends_.data(), static_cast<size_t>(slots_)}; }
  V*& flat_at(int i) { return flat_[i]; }

 private:
  template <class>
  friend class SlotList;

  SmallVector<V*, 6> flat_;
  int slots_ = 0;
  FixedArray<uint32_t, kMaxSlots> ends_;
};

// The maker of a call, for rarely needed facts.
class Caller {
 public:
  // The name of the input of this flat number, for messages and for `print`; nullptr where it has
  // no name.
  virtual const std::string* NameOf(int /*flat*/) const { return nullptr; }
  // The kernel is about to run without the interpreter's lock: inputs of the call must be held.
  virtual void Hold() {}

 protected:
  ~Caller() = default;
};

// A call is a value that holds all data for its kernel.
struct Call {
  const OpInfo* op = nullptr;
  const void* attrs = nullptr;  // the operator's attribute struct
  SlotList<const Value> in;
  SlotList<Value> out;  // an element may be null: that output is not wanted
  // In-place pairs of the operator (by position) whose output may be written into the input's
  // storage.
  uint32_t reuse = 0;
  bool from_tape = false;  // shapes fit the forward call already
  Place place;             // of a call without inputs
  // Random operators: stream is (ordinal, run) in programs, the call number eagerly.
  bool random_given = false;
  uint64_t random_seed = 0;
  uint64_t random_stream = 0;

  Caller* caller = nullptr;
  LoopQueue* queue = nullptr;    // where the loops of updates wait for those of others
  KeptForm* kept = nullptr;      // of a weight that the caller reads repeatedly
  Epilogue* epilogue = nullptr;  // what the kernel may do before it writes the result
  // For watchers: whether a backward pass makes the call, and the line of the user's program.
  bool backward = false;
  const std::string* line = nullptr;
};

// nullptr where it has none.
inline const std::string* NameOfInput(const Call& call, int slot, int i = 0) {
  bool given = call.caller && i < call.in.count(slot);
  return given ? call.caller->NameOf(call.in.begin_of(slot) + i) : nullptr;
}

}  // namespace dygraph
