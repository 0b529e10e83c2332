// What was prepared for calls of a library, by everything that it depends on. Bounded: beyond the
// limit any plan gives way.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <type_traits>
#include <unordered_map>

namespace dygraph::cuda {

// Key is compared by its bytes, whose number is a multiple of 8.
template <class Key, class Plan>
class PlanCache {
 public:
  explicit PlanCache(size_t most) : most_(most) {}

  // The plan of `key`; make(key) gives a new one.
  template <class F>
  std::shared_ptr<Plan> Find(const Key& key, const F& make) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (auto found = plans_.find(key); found != plans_.end()) return found->second;
    std::shared_ptr<Plan> plan = make(key);
    if (plans_.size() >= most_) plans_.erase(plans_.begin());
    plans_.emplace(key, plan);
    return plan;
  }

 private:
  static_assert(std::has_unique_object_representations_v<Key> && sizeof(Key) % 8 == 0);
  struct Same {
    bool operator()(const Key& a, const Key& b) const {
      return std::memcmp(&a, &b, sizeof(Key)) == 0;
    }
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      uint64_t words[sizeof(Key) / 8], hash = 0;
      std::memcpy(words, &key, sizeof(Key));
      for (uint64_t w : words) hash = (hash ^ w) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
      return hash;
    }
  };

  const size_t most_;
  std::mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<Plan>, Hash, Same> plans_;
};

}  // namespace dygraph::cuda
