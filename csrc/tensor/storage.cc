#include "tensor/storage.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "base/pool.h"
#include "memory/memory.h"
#include "tensor/storage_watch.h"

namespace dygraph {

namespace {

std::atomic<int> g_watches{0};

struct Watches {
  std::mutex mutex;
  std::vector<StorageWatch*> list;
};
Watches& AllWatches() {
  static Watches* watches = new Watches;  // storage ends on late threads too
  return *watches;
}

__attribute__((noinline)) void TellEnd(const Storage* storage) {
  Watches& all = AllWatches();
  std::lock_guard<std::mutex> lock(all.mutex);
  for (StorageWatch* watch : all.list) watch->Tell(storage);
}

}  // namespace

// As many as a long loop keeps for its gradient: 2 MB of a thread.
using StoragePool = Pool<Storage, 32768>;

StorageWatch::StorageWatch(std::function<void(const Storage*)> on_end)
    : on_end_(std::move(on_end)) {
  Watches& all = AllWatches();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.list.push_back(this);
  g_watches.fetch_add(1, std::memory_order_relaxed);
}

StorageWatch::~StorageWatch() {
  Watches& all = AllWatches();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.list.erase(std::find(all.list.begin(), all.list.end(), this));
  g_watches.fetch_sub(1, std::memory_order_relaxed);
}

Ref<Storage> Storage::Make(Place place, size_t bytes) {
  void* data = memory::Alloc(place, bytes);
  Storage* s = new (StoragePool::Get()) Storage();
  s->data_ = data;
  s->bytes_ = bytes;
  s->place_ = place;
  return Ref<Storage>::New(s);
}

Ref<Storage> Storage::Foreign(Place place, void* data, size_t bytes,
                              std::function<void()> release) {
  Storage* s = new (StoragePool::Get()) Storage();
  s->data_ = data;
  s->bytes_ = bytes;
  s->place_ = place;
  s->release_ = new std::function<void()>(std::move(release));
  return Ref<Storage>::New(s);
}

void Storage::Destroy(Storage* self) {
  if (__builtin_expect(g_watches.load(std::memory_order_relaxed) != 0, 0)) TellEnd(self);
  if (self->release_) {
    if (*self->release_) (*self->release_)();
    delete self->release_;
  } else {
    memory::Free(self->place_, self->data_, self->bytes_);
  }
  self->~Storage();
  StoragePool::Put(self);
}

}  // namespace dygraph
