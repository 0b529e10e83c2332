#include "inference/handles.h"

#include <mutex>
#include <vector>

#include "base/enforce.h"

namespace dygraph::inference {

namespace {

constexpr int kSlotBits = 20, kKindBits = 2;

struct Slot {
  uint64_t generation = 0;  // how often it was opened
  Kind kind = Kind::kOptions;
  std::shared_ptr<void> object;
};

struct Table {
  std::mutex mutex;
  std::vector<Slot> slots;
  std::vector<uint32_t> free;

  // Locked. Null where the number is not that of an open handle.
  Slot* Find(Kind kind, const void* handle) {
    const auto number = reinterpret_cast<uintptr_t>(handle);
    const uint64_t at = number & ((uint64_t{1} << kSlotBits) - 1);
    if (at >= slots.size()) return nullptr;
    Slot& slot = slots[at];
    return slot.object && slot.kind == kind && number == NumberOf(slot, at) ? &slot : nullptr;
  }
  static uintptr_t NumberOf(const Slot& slot, uint64_t at) {
    return slot.generation << (kSlotBits + kKindBits) |
           static_cast<uint64_t>(slot.kind) << kSlotBits | at;
  }
};

Table& TheTable() {
  static Table* table = new Table;  // threads may still close handles while the process ends
  return *table;
}

}  // namespace

void* OpenHandle(Kind kind, std::shared_ptr<void> object) {
  Table& table = TheTable();
  std::lock_guard<std::mutex> lock(table.mutex);
  if (table.free.empty()) {
    ENFORCE(table.slots.size() < size_t{1} << kSlotBits, ResourceExhausted, "at most ",
            size_t{1} << kSlotBits, " handles may be open, got one more. Close some");
    table.slots.emplace_back();
    table.free.reserve(table.slots.size());  // so that closing one cannot fail
    table.free.push_back(static_cast<uint32_t>(table.slots.size() - 1));
  }
  const uint32_t at = table.free.back();
  table.free.pop_back();
  Slot& slot = table.slots[at];
  ++slot.generation;
  slot.kind = kind;
  slot.object = std::move(object);
  return reinterpret_cast<void*>(Table::NumberOf(slot, at));
}

std::shared_ptr<void> FindHandle(Kind kind, const void* handle) {
  Table& table = TheTable();
  std::lock_guard<std::mutex> lock(table.mutex);
  Slot* slot = table.Find(kind, handle);
  return slot ? slot->object : nullptr;
}

std::shared_ptr<void> CloseHandle(Kind kind, const void* handle) {
  Table& table = TheTable();
  std::lock_guard<std::mutex> lock(table.mutex);
  Slot* slot = table.Find(kind, handle);
  if (!slot) return nullptr;
  table.free.push_back(static_cast<uint32_t>(slot - table.slots.data()));
  return std::move(slot->object);  // ends outside the lock
}

}  // namespace dygraph::inference
