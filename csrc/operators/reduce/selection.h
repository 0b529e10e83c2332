// One element of each line: the k-th, found without sorting it, and the most frequent.
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

// place(line, n, step, room) of each line, whose elements lie `step` apart, is where its element
// stands; the lines of one thread share a `room` for n elements. `cost` is that of an element in
// additions.
template <class T, class Room, class Place>
void ForLines(const T* from, const Lines& lines, int64_t cost, T* values, int64_t* indices,
              const Place& place) {
  kernels::ParallelRows(lines.count(), lines.n * cost, [&](int64_t begin, int64_t end) {
    Room room(lines.n);
    for (int64_t i = begin; i < end; ++i) {
      CheckInterrupt();
      const T* line = from + lines.Begin(i, lines.n);
      indices[i] = place(line, lines.n, lines.inner, &room);
      values[i] = line[indices[i] * lines.inner];
    }
  });
}

// The k-th smallest element of each line, k from 0, and where it stands.
template <class T>
void Kth(const T* from, const Lines& lines, int64_t k, T* values, int64_t* indices) {
  using K = KeyOf<T>;
  ForLines<T, KeyRoom<K>>(from, lines, 8, values, indices,
                          [k](const T* line, int64_t n, int64_t step, KeyRoom<K>* room) {
                            KeysOf(line, step, n, K(0), K(0), room->keys);
                            return room->Kth(k);
                          });
}

inline const Keyed<uint64_t>* SortedRow(TwoRows<uint64_t>* rows, int64_t n) {
  if (n >= 256) return RadixSort(rows->row, rows->spare, n);
  std::sort(rows->row, rows->row + n, [](const auto& a, const auto& b) {
    return a.key != b.key ? a.key < b.key : a.at < b.at;
  });
  return rows->row;
}

// The most frequent element of each line, the least of several, and where it stands last.
template <class T>
void Mode(const T* from, const Lines& lines, T* values, int64_t* indices) {
  using K = uint64_t;  // any number of elements
  ForLines<T, TwoRows<K>>(
      from, lines, 64, values, indices,
      [](const T* line, int64_t n, int64_t step, TwoRows<K>* rows) {
        K least = ~K(0);
        for (int64_t i = 0; i < n; ++i)
          least = std::min(least, static_cast<K>(OrderKey(line[i * step])));
        for (int64_t i = 0; i < n; ++i)  // from 0 on: keys of a small range have few digits
          rows->row[i] = {OrderKey(line[i * step]) - least, static_cast<K>(i)};
        const Keyed<K>* sorted = SortedRow(rows, n);
        int64_t best = 0, most = 0;
        for (int64_t i = 0, begin = 0; i < n; ++i) {
          if (sorted[i].key != sorted[begin].key) begin = i;
          if (i - begin + 1 <= most) continue;
          most = i - begin + 1;
          best = i;
        }
        return static_cast<int64_t>(sorted[best].at);
      });
}

}  // namespace dygraph::sorting
