// The k-th element of a line without sorting it: kthvalue, median and nanmedian.
#pragma once

#include "operators/reduce/sorting.h"

namespace dygraph::sorting {

// The k-th smallest of n keys, k from 0; changes their order. Of many keys, those that share their
// first digit with the k-th are set apart first, which takes two passes.
template <class K>
K KthKey(K* keys, int64_t n, int64_t k) {
  constexpr int kDigit = 12, kShift = 8 * sizeof(K) - kDigit;
  if (n >= 1 << 14) {
    std::vector<int64_t> counts(size_t{1} << kDigit);
    InPieces(n, kPiece, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++counts[keys[i] >> kShift];
    });
    K digit = 0;
    while (k >= counts[digit]) k -= counts[digit++];
    int64_t kept = 0;
    InPieces(n, kPiece, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const K key = keys[i];
        keys[kept] = key;
        kept += (key >> kShift) == digit;
      }
    });
    n = kept;
  }
  std::nth_element(keys, keys + k, keys + n);
  return keys[k];
}

// The place of the k-th element of a line in ascending order, equal ones in the order in which they
// stand; `key` is its key and keys those of the line.
template <class K>
int64_t PlaceOf(const K* keys, int64_t n, K key, int64_t k) {
  int64_t less = 0;
  for (int64_t i = 0; i < n; ++i) less += keys[i] < key;
  for (int64_t i = 0;; ++i) {
    if (keys[i] == key && less++ == k) return i;
  }
}

// Keys of a line, and room in which to reorder them.
template <class K>
struct KeyRoom {
  explicit KeyRoom(int64_t n)
      : room(CPUPlace(), 2 * static_cast<size_t>(n) * sizeof(K)),
        keys(room.template as<K>()),
        spare(keys + n),
        n(n) {}
  // The place of the k-th element of those whose keys are there.
  int64_t Kth(int64_t k) const {
    std::copy_n(keys, n, spare);
    return PlaceOf(keys, n, KthKey(spare, n, k), k);
  }
  Scratch room;
  K *keys, *spare;
  int64_t n;
};

}  // namespace dygraph::sorting
