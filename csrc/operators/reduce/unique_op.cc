#include <algorithm>
#include <numeric>

#include "operators/reduce/groups.h"

// unique and unique_with_counts.
namespace dygraph::groups {
namespace {

constexpr int kX = 0, kOut = 0, kIndex = 1;
// Of unique_with_counts; of unique.
constexpr int kCount = 2, kIndices = 2, kCounts = 3;

struct CountAttrs {
  DType dtype = DType::kInt64;
};
struct UniqueAttrs {
  DType dtype = DType::kInt64;
  bool is_sorted = false;
  std::vector<int32_t> axis;
  bool return_index = false, return_inverse = false, return_counts = false;
};

// The axis whose slices are compared; -1: all elements are.
int AxisOf(const UniqueAttrs& a, const Dims& x) {
  ENFORCE(a.axis.size() <= 1, InvalidArgument, "axis must be one axis or none, got ",
          a.axis.size());
  ENFORCE(a.is_sorted || (a.axis.empty() && x.rank() <= 1), InvalidArgument,
          "X must have one axis, got shape ", x,
          ". With is_sorted=True it may have any shape, and an axis be named");
  return a.axis.empty() ? -1 : NormalizeAxis(a.axis[0], x.rank());
}

void InferUnique(InferContext& ctx) {
  const UniqueAttrs& a = ctx.attrs<UniqueAttrs>();
  const Dims& x = ctx.dims(kX);
  CheckNumbers(a.dtype);
  const int axis = AxisOf(a, x);
  Dims out{-1}, found{ctx.runtime() ? 0 : -1};  // the kernel says how many there are
  if (axis >= 0) out = x;
  out[std::max(axis, 0)] = found[0];
  ctx.SetOutput(kOut, out);
  const int64_t given = axis >= 0 ? x[axis] : x.HasUnknown() ? -1 : Numel(x);
  ctx.SetOutput(kIndex, {given}, a.dtype);
  ctx.SetOutput(kIndices, found, a.dtype);
  ctx.SetOutput(kCounts, found, a.dtype);
}

void InferWithCounts(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  DType dtype = ctx.attrs<CountAttrs>().dtype;
  ENFORCE(x.rank() == 1, InvalidArgument, "X must have one axis, got shape ", x);
  CheckNumbers(dtype);
  Dims found{ctx.runtime() ? 0 : -1};
  ctx.SetOutput(kOut, found);
  ctx.SetOutput(kIndex, x, dtype);
  ctx.SetOutput(kCount, found, dtype);
}

void DefineUnique(OpDef& op) {
  op.Comment(
        "Out = the different elements of X in order of their first appearance, or sorted with "
        "is_sorted, then also the different slices along an axis; X = Out[Index]. NaNs count as "
        "one element, the greatest. Indices = where each is first, Counts = how often it is there.")
      .Example(
          ">>> x = to_variable([3, 1, 3])\n"
          ">>> [v.tolist() for v in F.unique(x)]\n"
          "[[3, 1], [0, 1, 0]]\n"
          ">>> [v.tolist() for v in F.unique(x, is_sorted=True)]\n"
          "[[1, 3], [1, 0, 1]]")
      .Input(kX, "X", "one axis; any shape with is_sorted")
      .Output(kOut, "Out", "the different elements of X")
      .Output(kIndex, "Index", "for each element or slice of X where in Out it stands")
      .Output(kIndices, "Indices", "for each of Out where in X it is first", kExtra)
      .Output(kCounts, "Counts", "for each of Out how often it is in X", kExtra)
      .Attr(&UniqueAttrs::dtype, "dtype", "of Index, Indices and Counts: int32 or int64")
      .Attr(&UniqueAttrs::is_sorted, "is_sorted", "sort Out; slices by their first elements")
      .Attr(&UniqueAttrs::axis, "axis", "with is_sorted: compare slices along this axis")
      .Attr(&UniqueAttrs::return_index, "return_index",
            "of programs; outputs are asked for by name")
      .Attr(&UniqueAttrs::return_inverse, "return_inverse", "of programs, likewise")
      .Attr(&UniqueAttrs::return_counts, "return_counts", "of programs, likewise")
      .Shape(InferUnique)
      .KernelAllocates()
      .NoGrad();
}
void DefineUniqueWithCounts(OpDef& op) {
  op.Comment(
        "Out = the different elements of X in order of their first appearance, Count = how "
        "often each is there; X = Out[Index]. NaNs count as one element.")
      .Example(
          ">>> out, index, count = F.unique_with_counts(to_variable([5, 2, 5, 9]))\n"
          ">>> out.tolist(), index.tolist(), count.tolist()\n"
          "([5, 2, 9], [0, 1, 0, 2], [2, 1, 1])")
      .Input(kX, "X", "one axis")
      .Output(kOut, "Out", "the different elements of X, in order of their first appearance")
      .Output(kIndex, "Index", "shape of X: where in Out each element stands")
      .Output(kCount, "Count", "shape of Out")
      .Attr(&CountAttrs::dtype, "dtype", "of Index and Count: int32 or int64")
      .Shape(InferWithCounts)
      .KernelAllocates()
      .NoGrad();
}

// Equal for equals: one for 0 and -0, one for all NaNs, the greatest.
template <class T>
using KeyOf = decltype(sorting::OrderKey(T()));

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
Groups Sorted(const T* from, int64_t outer, int64_t n, int64_t inner) {
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
struct UniqueKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const UniqueAttrs& a = ctx.attrs<UniqueAttrs>();
    RequireWidth(a.dtype, x.numel());
    const int axis = AxisOf(a, x.dims());
    Groups groups;
    if (!a.is_sorted) {
      groups = ByAppearance(x.data<T>(), x.numel());
    } else if (axis < 0) {
      groups = SortedElements(x.data<T>(), x.numel());
    } else {
      groups = Sorted(x.data<T>(), Numel(x.dims(), 0, axis), x.dim(axis),
                      Numel(x.dims(), axis + 1, x.rank()));
    }
    WriteFirst<T>(ctx, kOut, x, groups, axis);
    Write(ctx, kIndex, groups.index, a.dtype);
    Write(ctx, kIndices, groups.first, a.dtype);
    Write(ctx, kCounts, groups.counts, a.dtype);
  }
};

template <class T>
struct UniqueWithCountsKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    DType dtype = ctx.attrs<CountAttrs>().dtype;
    RequireWidth(dtype, x.numel());
    Groups groups = ByAppearance(x.data<T>(), x.numel());
    WriteFirst<T>(ctx, kOut, x, groups, -1);
    Write(ctx, kIndex, groups.index, dtype);
    Write(ctx, kCount, groups.counts, dtype);
  }
};

REGISTER_OPERATOR(unique, DefineUnique);
REGISTER_CPU_KERNEL(unique, UniqueKernel, int32_t, int64_t, float, double);
REGISTER_OPERATOR(unique_with_counts, DefineUniqueWithCounts);
REGISTER_CPU_KERNEL(unique_with_counts, UniqueWithCountsKernel, int32_t, int64_t, float, double);

}  // namespace
}  // namespace dygraph::groups
