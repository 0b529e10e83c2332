// Notifies when a block of bytes is freed: afterwards its address may belong to another one.
#pragma once

#include <functional>

#include "tensor/storage.h"

namespace dygraph {

// While it lives, `on_end` is called for every storage of the process that is freed, on the thread
// that released it last. It must not release a storage itself.
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
