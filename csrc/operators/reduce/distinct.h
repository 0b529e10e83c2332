// Groups of equal elements or slices: those of unique, unique_with_counts and unique_consecutive.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "operators/reduce/sorting.h"

namespace dygraph::groups {

using List = std::vector<int64_t>;

// The groups of equal rows: where each group has its first, each row its group.
struct Groups {
  List first, index, counts;
  // The group of row i is a new one where `group` is the number of groups.
  void Add(int64_t i, int64_t group) {
    if (group == static_cast<int64_t>(first.size())) {
      first.push_back(i);
      counts.push_back(0);
    }
    ++counts[group];
    index[i] = group;
  }
};

// -1, 0, 1; a NaN is the greatest and equals a NaN.
template <class T>
int Compare(T a, T b) {
  if (a < b) return -1;
  if (b < a) return 1;
  return a == b ? 0 : (a != a) - (b != b);
}

// Equal for equals: one for 0 and -0, one for all NaNs, the greatest.
using sorting::KeyOf;

// In order of first appearance, by a table that stays in the cache. False where it gets too full.
template <class T>
bool LookUp(const T* from, int64_t n, Groups* groups) {
  constexpr int kBits = 16;
  constexpr size_t kSize = size_t{1} << kBits, kMost = kSize / 2;
  struct Entry {
    KeyOf<T> key;
    int32_t group;
  };
  std::vector<Entry> table(kSize, Entry{0, -1});
  bool few = true;
  InPieces(n, sorting::kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && few; ++i) {
      const KeyOf<T> key = sorting::OrderKey(from[i]);
      size_t at = (uint64_t{key} * 0x9E3779B97F4A7C15u) >> (64 - kBits);
      while (table[at].group >= 0 && table[at].key != key) at = (at + 1) % kSize;
      if (table[at].group < 0) {
        few = groups->first.size() < kMost;
        table[at] = {key, static_cast<int32_t>(groups->first.size())};
      }
      groups->Add(i, table[at].group);
    }
  });
  return few;
}

// By their keys, equals in the order in which they appear. f(i, whether a new group begins).
template <class T, class K, class F>
void ForSorted(const T* from, int64_t n, const F& f) {
  sorting::TwoRows<K> rows(n);
  InPieces(n, sorting::kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      rows.row[i] = {sorting::OrderKey(from[i]), static_cast<K>(i)};
  });
  const sorting::Keyed<K>* sorted = sorting::RadixSort(rows.row, rows.spare, n);
  InPieces(n, sorting::kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      f(static_cast<int64_t>(sorted[i].at), i == 0 || sorted[i].key != sorted[i - 1].key);
  });
}
template <class T, class F>
void ForSorted(const T* from, int64_t n, const F& f) {
  n <= UINT32_MAX ? ForSorted<T, KeyOf<T>>(from, n, f) : ForSorted<T, uint64_t>(from, n, f);
}

// Groups of elements, the smallest first.
template <class T>
Groups SortedElements(const T* from, int64_t n) {
  Groups groups;
  groups.index.resize(n);
  int64_t group = -1;
  ForSorted(from, n, [&](int64_t i, bool begins) { groups.Add(i, group += begins); });
  return groups;
}

// In order of first appearance. Few different elements are looked up; of many, all are sorted, and
// the groups are put back in order.
template <class T>
Groups ByAppearance(const T* from, int64_t n) {
  Groups groups;
  groups.index.resize(n);
  if (LookUp(from, n, &groups)) return groups;
  groups = SortedElements(from, n);
  std::vector<int64_t> leads(n, -1);  // the group that begins here
  for (size_t g = 0; g < groups.first.size(); ++g) leads[groups.first[g]] = g;
  Groups ordered;
  std::vector<int64_t> place(groups.first.size());
  InPieces(n, sorting::kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (leads[i] < 0) continue;
      place[leads[i]] = static_cast<int64_t>(ordered.first.size());
      ordered.first.push_back(i);
      ordered.counts.push_back(groups.counts[leads[i]]);
    }
  });
  InPieces(n, sorting::kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) groups.index[i] = place[groups.index[i]];
  });
  ordered.index = std::move(groups.index);
  return ordered;
}

// Rows of an array [outer, n, inner] along its middle axis, sorted.
template <class T>
Groups SortedSlices(const T* from, int64_t outer, int64_t n, int64_t inner) {
  uint64_t compared = 0;
  auto compare = [&](int64_t i, int64_t j) {
    if ((++compared & 1023) == 0) CheckInterrupt();
    for (int64_t o = 0; o < outer; ++o) {
      const T *a = from + (o * n + i) * inner, *b = from + (o * n + j) * inner;
      for (int64_t k = 0; k < inner; ++k) {
        if (int c = Compare(a[k], b[k])) return c;
      }
    }
    return 0;
  };
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return compare(i, j) < 0; });
  Groups groups;
  groups.index.resize(n);
  for (int64_t at = 0; at < n; ++at) {
    const bool same = at > 0 && compare(order[at - 1], order[at]) == 0;
    groups.Add(order[at], static_cast<int64_t>(groups.first.size()) - (same ? 1 : 0));
  }
  return groups;
}

template <class T>
bool Same(T a, T b) {
  return a == b || (a != a && b != b);
}

// Single elements without those that equal the one before.
template <class T>
void KeepChanges(const T* x, int64_t n, Tensor* out) {
  Scratch room(CPUPlace(), static_cast<size_t>(n) * sizeof(T));
  T* to = room.as<T>();
  int64_t count = 0;
  InPieces(n, sorting::kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {  // what is not new is written over
      to[count] = x[i];
      count += i == 0 || !Same(x[i - 1], x[i]);
    }
  });
  out->Allocate({count}, out->dtype(), CPUPlace());
  std::copy_n(to, count, out->mutable_data<T>());
}

// Slices that equal the one before belong to its group. Which groups they are, and how large, is
// found only where it is asked for.
template <class T>
Groups Consecutive(const T* from, int64_t outer, int64_t n, int64_t inner, bool numbers,
                   bool counts) {
  auto same = [=](int64_t i) {  // as slice i - 1
    for (int64_t o = 0; o < outer; ++o) {
      const T* at = from + (o * n + i) * inner;
      for (int64_t k = 0; k < inner; ++k) {
        if (!Same(at[k - inner], at[k])) return false;
      }
    }
    return true;
  };
  Groups groups;
  groups.first.resize(n);
  int64_t count = 0;
  InPieces(n, sorting::kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      groups.first[count] = i;
      count += i == 0 || !same(i);
    }
  });
  groups.first.resize(count);
  for (int64_t g = 0; g < count; ++g) {
    const int64_t end = g + 1 < count ? groups.first[g + 1] : n;
    if (numbers) groups.index.resize(end, g);
    if (counts) groups.counts.push_back(end - groups.first[g]);
  }
  return groups;
}

}  // namespace dygraph::groups
