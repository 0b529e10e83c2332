// Tells when a block of bytes ends: from then on its address may stand for another one.
#pragma once

#include <functional>

#include "tensor/storage.h"

namespace dygraph {

// While it lives, `on_end` is called for every storage of the process that ends, on the thread that
// let go last. It may not let go of a storage in turn.
class StorageWatch {
 public:
  explicit StorageWatch(std::function<void(const Storage*)> on_end);
  ~StorageWatch();
  StorageWatch(const StorageWatch&) = delete;
  StorageWatch& operator=(const StorageWatch&) = delete;
  void Tell(const Storage* storage) const { on_end_(storage); }

 private:
  std::function<void(const Storage*)> on_end_;
};

}  // namespace dygraph
