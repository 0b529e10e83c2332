// A counted block of bytes on a place. Tensors share it; a writer first makes sure to be its only
// owner.
#pragma once

#include <cstddef>
#include <functional>

#include "base/ref.h"
#include "platform/place.h"

namespace dygraph {

class Storage : public RefCounted<Storage> {
 public:
  static Ref<Storage> Make(Place place, size_t bytes);  // ResourceExhausted when there is no memory
  // Memory of another library (NumPy, DLPack): never written by us; `release` runs when the last
  // tensor lets go.
  static Ref<Storage> Foreign(Place place, void* data, size_t bytes, std::function<void()> release);

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Place place() const { return place_; }
  bool foreign() const { return release_ != nullptr; }
  bool writable() const { return unique() && !foreign(); }

  // The same values in plain order, kept beside an NHWC block after its first restoring; a write
  // drops it.
  const Ref<Storage>& plain_twin() const { return plain_twin_; }
  void set_plain_twin(Ref<Storage> twin) { plain_twin_ = std::move(twin); }

  static void Destroy(Storage* self);

 private:
  Storage() = default;
  ~Storage() = default;
  void* data_ = nullptr;
  size_t bytes_ = 0;
  Place place_;
  Ref<Storage> plain_twin_;
  std::function<void()>* release_ = nullptr;
};

}  // namespace dygraph
