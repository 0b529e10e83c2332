#include "tensor/storage.h"

#include "base/pool.h"
#include "memory/memory.h"

namespace dygraph {

Ref<Storage> Storage::Make(Place place, size_t bytes) {
  void* data = memory::Alloc(place, bytes);
  Storage* s = new (Pool<Storage>::Get()) Storage();
  s->data_ = data;
  s->bytes_ = bytes;
  s->place_ = place;
  return Ref<Storage>(s);
}

Ref<Storage> Storage::Foreign(Place place, void* data, size_t bytes,
                              std::function<void()> release) {
  Storage* s = new (Pool<Storage>::Get()) Storage();
  s->data_ = data;
  s->bytes_ = bytes;
  s->place_ = place;
  s->release_ = new std::function<void()>(std::move(release));
  return Ref<Storage>(s);
}

void Storage::Destroy(Storage* self) {
  if (self->release_) {
    if (*self->release_) (*self->release_)();
    delete self->release_;
  } else {
    memory::Free(self->place_, self->data_, self->bytes_);
  }
  self->~Storage();
  Pool<Storage>::Put(self);
}

}  // namespace dygraph
