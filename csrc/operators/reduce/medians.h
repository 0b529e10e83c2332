// The medians of groups of elements.
#pragma once

#include <limits>
#include <vector>

#include "operators/reduce/reduction.h"
#include "operators/reduce/selection.h"

namespace dygraph::medians {

// The elements of each median: `n` of them lie from Begin(i) on, element j at At(j).
struct Groups {
  int64_t n = 1, count = 1, inner = 1;
  std::vector<int64_t> begins, places;  // where the axes are not neighbours

  Groups(const reduce::Axes& axes, const Dims& x) {
    const int rank = x.rank();
    int first = 0, last = rank;
    while (first < rank && !axes.reduced[first]) ++first;
    while (last > first && !axes.reduced[last - 1]) --last;
    bool neighbours = true;
    for (int i = first; i < last; ++i) neighbours = neighbours && axes.reduced[i];
    for (int i = 0; i < rank; ++i) (axes.reduced[i] ? n : count) *= x[i];
    inner = Numel(x, last, rank);
    if (neighbours) return;
    begins = Offsets(axes, x, false);
    places = Offsets(axes, x, true);
  }
  int64_t Begin(int64_t i) const {
    return begins.empty() ? i / inner * inner * n + i % inner : begins[i];
  }
  int64_t At(int64_t j) const { return places.empty() ? j * inner : places[j]; }

  // Positions of all elements along those axes whose `reduced` is this one, from the first on.
  static std::vector<int64_t> Offsets(const reduce::Axes& axes, const Dims& x, bool reduced) {
    std::vector<int64_t> offsets{0};
    const Dims strides = Strides(x);
    for (int i = 0; i < x.rank(); ++i) {
      if (axes.reduced[i] != reduced) continue;
      std::vector<int64_t> next;
      next.reserve(offsets.size() * x[i]);
      for (int64_t base : offsets) {
        for (int64_t k = 0; k < x[i]; ++k) next.push_back(base + k * strides[i]);
      }
      offsets.swap(next);
    }
    return offsets;
  }
};

// The places of the two elements in the middle of the first `count` in order, by the keys of a
// line.
template <class K>
void Middle(const sorting::KeyRoom<K>& room, int64_t count, int64_t* lower, int64_t* upper) {
  *lower = *upper = room.Kth((count - 1) / 2);
  if (count % 2 == 1) return;
  const K key = room.keys[*lower];
  int64_t least = -1;
  K next = ~K(0);
  for (int64_t i = 0; i < room.n; ++i) {  // an equal one behind it, else the next greater
    const K k = room.keys[i];
    if (k == key && i > *lower) {
      *upper = i;
      return;
    }
    if (k > key && (k < next || least < 0)) {
      next = k;
      least = i;
    }
  }
  *upper = least;
}

// Of each group of elements of x, along `axes`: the median, with kSkipNan of those that are no NaN,
// and where its two elements in the middle stand (`index`, which may be null; -1 for none). With
// `least` the median is the first of both.
template <class T, bool kSkipNan>
void Medians(const Tensor& x, const reduce::Axes& axes, bool least, T* to, int64_t* index) {
  using K = sorting::KeyOf<T>;
  const Groups groups(axes, x.dims());
  const T* from = x.data<T>();
  kernels::ParallelRows(groups.count, groups.n * 8, [&](int64_t begin, int64_t end) {
    sorting::KeyRoom<K> room(groups.n);
    for (int64_t i = begin; i < end; ++i) {
      CheckInterrupt();
      const T* in = from + groups.Begin(i);
      int64_t count = groups.n, nan = -1, lower = -1, upper = -1;
      if (groups.places.empty()) {
        sorting::KeysOf(in, groups.inner, groups.n, K(0), K(0), room.keys);
      } else {
        for (int64_t j = 0; j < groups.n; ++j) room.keys[j] = sorting::OrderKey(in[groups.At(j)]);
      }
      if constexpr (!std::is_integral_v<T>) {
        for (int64_t j = 0; j < groups.n; ++j) count -= room.keys[j] == ~K(0);
        if (count < groups.n) nan = std::find(room.keys, room.keys + groups.n, ~K(0)) - room.keys;
      }
      if (nan >= 0 && !kSkipNan) {
        lower = upper = nan;
      } else if (count > 0) {
        Middle(room, count, &lower, &upper);
      }
      if (least) upper = lower;
      if (lower < 0) {
        to[i] = std::numeric_limits<T>::quiet_NaN();
      } else {
        const T low = in[groups.At(lower)], high = in[groups.At(upper)];
        to[i] = lower == upper || low == high ? low : low / T(2) + high / T(2);
      }
      if (!index) continue;
      index[2 * i] = lower < 0 ? -1 : in - from + groups.At(lower);
      index[2 * i + 1] = upper < 0 ? -1 : in - from + groups.At(upper);
    }
  });
}

}  // namespace dygraph::medians
