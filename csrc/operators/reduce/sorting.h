// What argsort and top_k_v2 share: lines along an axis, put in order. A NaN counts as greater than
// all numbers; of equals the first comes first.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/parallel.h"
#include "kernels/simd.h"
#include "operators/reduce/order_key.h"
#include "platform/interrupt.h"
#include "tensor/scratch.h"

namespace dygraph::sorting {

template <class T>
struct Entry {
  T value;
  int64_t at;
};

template <class T>
bool Before(const Entry<T>& a, const Entry<T>& b, bool descending) {
  bool a_nan = a.value != a.value, b_nan = b.value != b.value;
  if (a_nan || b_nan) return a_nan == b_nan ? a.at < b.at : a_nan == descending;
  if (a.value == b.value) return a.at < b.at;
  return (a.value < b.value) != descending;
}

// The keys of `n` elements `step` apart, each turned by `flip`; whether one is less than `worst`.
template <class T, class K>
bool KeysOf(const T* x, int64_t step, int64_t n, K flip, K worst, K* keys) {
  K less = 0, *found = &less;
  kernels::Simd([=] {
    K any = 0;
    if (step == 1) {
      for (int64_t i = 0; i < n; ++i) {
        keys[i] = OrderKey(x[i]) ^ flip;
        any |= K(keys[i] < worst);
      }
    } else {
      for (int64_t i = 0; i < n; ++i) {
        keys[i] = OrderKey(x[i * step]) ^ flip;
        any |= K(keys[i] < worst);
      }
    }
    *found = any;
  });
  return less != 0;
}

template <class K>
struct Keyed {
  K key, at;
};

constexpr int64_t kPiece = 1 << 18;  // elements between two looks for Ctrl-C

// Sorts by digits from the lowest up; each pass keeps the order of equals. The result is in the
// memory that is returned, one of both.
template <class K>
Keyed<K>* RadixSort(Keyed<K>* row, Keyed<K>* spare, int64_t n) {
  constexpr int kBits = 8 * sizeof(K);
  const int width = n < 16384 ? 8 : 11, digits = (kBits + width - 1) / width;
  const K mask = (K(1) << width) - 1;
  std::vector<int64_t> counts(static_cast<size_t>(digits) << width);
  InPieces(n, kPiece, [&, counts = counts.data()](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const K key = row[i].key;
      for (int d = 0; d < digits; ++d) ++counts[(d << width) + (key >> (d * width) & mask)];
    }
  });
  for (int d = 0; d < digits && n > 0; ++d) {
    int64_t* count = counts.data() + (d << width);
    if (count[row[0].key >> (d * width) & mask] == n) continue;  // all have this digit
    int64_t first = 0;
    for (K v = 0; v <= mask; ++v) first += std::exchange(count[v], first);
    InPieces(n, kPiece, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        spare[count[row[i].key >> (d * width) & mask]++] = row[i];
    });
    std::swap(row, spare);
  }
  return row;
}

// Room for two lines of keys.
template <class K>
struct TwoRows {
  explicit TwoRows(int64_t n)
      : room(CPUPlace(), 2 * static_cast<size_t>(n) * sizeof(Keyed<K>)),
        row(room.template as<Keyed<K>>()),
        spare(row + n) {}
  Scratch room;
  Keyed<K>*row, *spare;
};

// The first k of all elements of each line, by their keys. n fits into the key's type.
template <class T>
void SortWhole(const T* from, const Lines& lines, int64_t k, bool descending, T* values,
               int64_t* indices) {
  using K = decltype(OrderKey(T()));
  kernels::ParallelRows(lines.count(), lines.n * 16, [=](int64_t begin, int64_t end) {
    TwoRows<K> rows(lines.n);
    const K flip = descending ? ~K(0) : K(0);
    for (int64_t line = begin; line < end; ++line) {
      const int64_t first = lines.Begin(line, lines.n), inner = lines.inner;
      const int64_t out = lines.Begin(line, k);
      InPieces(lines.n, kPiece, [&](int64_t piece, int64_t stop) {
        for (int64_t i = piece; i < stop; ++i)
          rows.row[i] = {OrderKey(from[first + i * inner]) ^ flip, static_cast<K>(i)};
      });
      const Keyed<K>* sorted = RadixSort(rows.row, rows.spare, lines.n);
      InPieces(k, kPiece, [&](int64_t piece, int64_t stop) {
        for (int64_t i = piece; i < stop; ++i) {
          const int64_t at = static_cast<int64_t>(sorted[i].at);
          values[out + i * inner] = from[first + at * inner];
          indices[out + i * inner] = at;
        }
      });
    }
  });
}

// The first k elements of each line for a small k: most elements are passed after one comparison,
// many at a time.
template <class T>
void SortFirst(const T* from, const Lines& lines, int64_t k, bool descending, T* values,
               int64_t* indices) {
  using K = decltype(OrderKey(T()));
  constexpr int64_t kBlock = 64;
  kernels::ParallelRows(lines.count(), lines.n * 4, [=](int64_t begin, int64_t end) {
    const K flip = descending ? ~K(0) : K(0);
    K ahead[kBlock];
    std::vector<K> keys(static_cast<size_t>(k));
    std::vector<int64_t> places(keys.size());
    for (int64_t line = begin; line < end; ++line) {
      const T* in = from + lines.Begin(line, lines.n);
      int64_t found = 0;
      for (int64_t first = 0; first < lines.n; first += kBlock) {
        if (first % kPiece == 0) CheckInterrupt();
        const int64_t count = std::min(kBlock, lines.n - first);
        const K worst = found < k ? ~K(0) : keys[k - 1];
        const bool any = KeysOf(in + first * lines.inner, lines.inner, count, flip, worst, ahead);
        if (!any && found == k) continue;
        for (int64_t i = 0; i < count; ++i) {
          const K key = ahead[i];
          if (found == k && !(key < keys[k - 1])) continue;
          int64_t at = found < k ? found++ : k - 1;
          for (; at > 0 && key < keys[at - 1]; --at) {
            keys[at] = keys[at - 1];
            places[at] = places[at - 1];
          }
          keys[at] = key;
          places[at] = first + i;
        }
      }
      const int64_t out = lines.Begin(line, k);
      for (int64_t i = 0; i < k; ++i) {
        values[out + i * lines.inner] = in[places[i] * lines.inner];
        indices[out + i * lines.inner] = places[i];
      }
    }
  });
}

// The first k of the elements of a line, in no order. Most are passed after one comparison.
template <class T, class B>
void Select(const T* in, int64_t n, int64_t inner, int64_t k, const B& before,
            std::vector<Entry<T>>* chosen) {
  InPieces(n, std::max(k, kPiece), [&](int64_t begin, int64_t end) {
    if (begin == 0) {
      chosen->resize(static_cast<size_t>(end));
      for (int64_t i = 0; i < end; ++i) (*chosen)[i] = {in[i * inner], i};
    } else {
      const Entry<T> worst = chosen->back();  // the k-th
      for (int64_t i = begin; i < end; ++i) {
        const Entry<T> e = {in[i * inner], i};
        if (before(e, worst)) chosen->push_back(e);
      }
    }
    if (static_cast<int64_t>(chosen->size()) == k) return;
    std::nth_element(chosen->begin(), chosen->begin() + (k - 1), chosen->end(), before);
    chosen->resize(static_cast<size_t>(k));
  });
}

// The first k elements of each line of x in order, and where in the line they stood.
template <class T>
void Sort(const Tensor& x, int64_t axis, int64_t k, bool descending, T* values, int64_t* indices) {
  Lines lines(x.dims(), axis);
  if (k == 0) return;
  const T* from = x.data<T>();
  // short lines are sorted faster by comparing, and few elements chosen
  constexpr int64_t kShort = 256, kMostChosen = 1 << 20;
  if (((k == lines.n && k >= kShort) || k > kMostChosen) && lines.n <= UINT32_MAX)
    return SortWhole(from, lines, k, descending, values, indices);
  if (k <= 32 && k <= lines.n / 4) return SortFirst(from, lines, k, descending, values, indices);
  kernels::ParallelRows(lines.count(), lines.n * 16, [=](int64_t begin, int64_t end) {
    std::vector<Entry<T>> row;
    auto before = [descending](const Entry<T>& a, const Entry<T>& b) {
      return Before(a, b, descending);
    };
    for (int64_t line = begin; line < end; ++line) {
      const T* in = from + lines.Begin(line, lines.n);
      Select(in, lines.n, lines.inner, k, before, &row);
      std::sort(row.begin(), row.end(), before);
      int64_t out = lines.Begin(line, k);
      for (int64_t i = 0; i < k; ++i) {
        values[out + i * lines.inner] = row[i].value;
        indices[out + i * lines.inner] = row[i].at;
      }
    }
  });
}

}  // namespace dygraph::sorting
