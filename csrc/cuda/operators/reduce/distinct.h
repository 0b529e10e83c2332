// operators/reduce/distinct.h on the device. How many groups there are is read once: the outputs
// have that size.
#pragma once

#include <memory>

#include "kernels/loops.h"
#include "kernels/sort_lines.h"
#include "operators/reduce/order_key.h"
#include "platform/device_context.h"

namespace dygraph::groups {

// Numbers on the device.
class List {
 public:
  List() = default;
  explicit List(int64_t n) : room_(std::make_shared<cuda::Workspace<int64_t>>(n)), size_(n) {}
  int64_t* data() { return room_ ? room_->data() : nullptr; }
  const int64_t* data() const { return room_ ? room_->data() : nullptr; }
  int64_t size() const { return size_; }
  // Only the first n are left.
  void Shorten(int64_t n) { size_ = n; }

 private:
  std::shared_ptr<cuda::Workspace<int64_t>> room_;
  int64_t size_ = 0;
};

// The groups of equal rows: where each group has its first, each row its group.
struct Groups {
  List first, index, counts;
};

inline int64_t ReadNumber(const int64_t* at) {
  int64_t number = 0;
  GetDeviceContext(cuda::CurrentPlace()).CopyToHost(&number, at, sizeof number);
  return number;
}

// Of n sorted rows, of which order[i] is the i-th, begins(i) says where a group begins.
template <class Order, class F>
Groups FromSorted(int64_t n, const Order* order, F begins) {
  Groups groups;
  groups.index = List(n);
  if (n == 0) return groups;
  List before(n), starts(n), total(1);  // groups before each row; where each group starts
  groups.first = List(n);
  int64_t *of = before.data(), *start = starts.data(), *first = groups.first.data(),
          *index = groups.index.data();
  kernels::ForEach(n, [=] DYGRAPH_FN(int64_t i) { of[i] = begins(i); });
  cuda::SumBefore(of, n, total.data());
  kernels::ForEach(n, [=] DYGRAPH_FN(int64_t i) {
    const bool begin = begins(i);
    const int64_t group = of[i] + begin - 1, row = order[i];
    index[row] = group;
    if (!begin) return;
    start[group] = i;
    first[group] = row;
  });
  const int64_t count = ReadNumber(total.data());
  groups.first.Shorten(count);
  groups.counts = List(count);
  int64_t* counts = groups.counts.data();
  kernels::ForEach(count, [=] DYGRAPH_FN(int64_t g) {
    counts[g] = (g + 1 < count ? start[g + 1] : n) - start[g];
  });
  return groups;
}

// Groups of elements, the smallest first.
template <class T>
Groups SortedElements(const T* from, int64_t n) {
  using K = sorting::KeyOf<T>;
  cuda::Workspace<K> keys(n);
  cuda::Workspace<uint32_t> order(n);
  kernels::SortLines(
      1, n, [=] DYGRAPH_FN(int64_t, int64_t i) { return sorting::OrderKey(from[i]); }, keys.data(),
      order.data());
  const K* k = keys.data();
  return FromSorted(n, order.data(),
                    [=] DYGRAPH_FN(int64_t i) { return i == 0 || k[i] != k[i - 1]; });
}

// In order of first appearance.
template <class T>
Groups ByAppearance(const T* from, int64_t n) {
  Groups sorted = SortedElements(from, n);
  const int64_t count = sorted.first.size();
  if (count == 0) return sorted;
  Groups groups;
  groups.first = List(count);
  groups.counts = List(count);
  groups.index = List(n);
  List leading(n);  // whether a group begins at a row, then how many do before it
  int64_t *lead = leading.data(), *first = groups.first.data(), *counts = groups.counts.data(),
          *index = groups.index.data();
  const int64_t *old_first = sorted.first.data(), *old_counts = sorted.counts.data(),
                *old_index = sorted.index.data();
  kernels::ForEach(n, [=] DYGRAPH_FN(int64_t i) { lead[i] = old_first[old_index[i]] == i; });
  cuda::SumBefore(lead, n, nullptr);
  kernels::ForEach(count, [=] DYGRAPH_FN(int64_t g) {
    const int64_t place = lead[old_first[g]];
    first[place] = old_first[g];
    counts[place] = old_counts[g];
  });
  kernels::ForEach(n, [=] DYGRAPH_FN(int64_t i) { index[i] = lead[old_first[old_index[i]]]; });
  return groups;
}

// Rows of an array [outer, n, inner] along its middle axis, sorted: by their last elements first.
template <class T>
Groups SortedSlices(const T* from, int64_t outer, int64_t n, int64_t inner) {
  using K = sorting::KeyOf<T>;
  List rows(n), next(n);
  cuda::Workspace<K> keys(n);
  cuda::Workspace<uint32_t> order(n);
  int64_t *row = rows.data(), *to = next.data();
  const uint32_t* at = order.data();
  kernels::ForEach(n, [=] DYGRAPH_FN(int64_t i) { row[i] = i; });
  for (int64_t e = outer * inner; e-- > 0;) {
    const T* column = from + e / inner * n * inner + e % inner;
    kernels::SortLines(
        1, n,
        [=] DYGRAPH_FN(int64_t, int64_t i) { return sorting::OrderKey(column[row[i] * inner]); },
        keys.data(), order.data());
    kernels::ForEach(n, [=] DYGRAPH_FN(int64_t i) { to[i] = row[at[i]]; });
    std::swap(row, to);
  }
  const int64_t* sorted = row;
  return FromSorted(n, sorted, [=] DYGRAPH_FN(int64_t i) {
    if (i == 0) return true;
    for (int64_t o = 0; o < outer; ++o) {
      const T *a = from + (o * n + sorted[i - 1]) * inner, *b = from + (o * n + sorted[i]) * inner;
      for (int64_t k = 0; k < inner; ++k) {
        if (sorting::OrderKey(a[k]) != sorting::OrderKey(b[k])) return true;
      }
    }
    return false;
  });
}

// Slices that equal the one before belong to its group.
template <class T>
Groups Consecutive(const T* from, int64_t outer, int64_t n, int64_t inner, bool, bool) {
  List rows(n);
  int64_t* row = rows.data();
  kernels::ForEach(n, [=] DYGRAPH_FN(int64_t i) { row[i] = i; });
  return FromSorted(n, row, [=] DYGRAPH_FN(int64_t i) {
    if (i == 0) return true;
    for (int64_t o = 0; o < outer; ++o) {
      const T* b = from + (o * n + i) * inner;
      for (int64_t k = 0; k < inner; ++k) {
        const T x = b[k - inner], y = b[k];
        if (x != y && (x == x || y == y)) return true;
      }
    }
    return false;
  });
}

// Single elements without those that equal the one before.
template <class T>
void KeepChanges(const T* x, int64_t n, Tensor* out) {
  const Groups groups = Consecutive(x, 1, n, 1, false, false);
  const int64_t count = groups.first.size();
  out->Allocate({count}, out->dtype(), cuda::CurrentPlace());
  const int64_t* first = groups.first.data();
  T* to = out->mutable_data<T>();
  kernels::ForEach(count, [=] DYGRAPH_FN(int64_t g) { to[g] = x[first[g]]; });
}

}  // namespace dygraph::groups
