// Blocks of a device that stay while work that names their addresses may run again.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "platform/place.h"

namespace dygraph::memory {

// While a Use lives, what its thread frees on the place goes to the keeper, and what the thread
// allocates there is a kept block of as many bytes where there is one. Not for the host.
class BlockKeeper {
 public:
  explicit BlockKeeper(Place place) : place_(place) {}
  ~BlockKeeper();  // frees what it keeps
  BlockKeeper(const BlockKeeper&) = delete;
  BlockKeeper& operator=(const BlockKeeper&) = delete;

  class Use {
   public:
    explicit Use(BlockKeeper* keeper);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    BlockKeeper* outer_;
  };

  Place place() const { return place_; }
  size_t bytes() const { return bytes_; }  // kept and not in use
  void* Take(size_t bytes);                // nullptr: none is kept
  void Keep(void* block, size_t bytes);
  // The next Take() of so many bytes gives this block; false: it is in use, or another's.
  bool TakeNext(void* block, size_t bytes);

 private:
  const Place place_;
  size_t bytes_ = 0;
  std::unordered_map<size_t, std::vector<void*>> blocks_;  // by their bytes
};

}  // namespace dygraph::memory
