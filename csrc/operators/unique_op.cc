#include <vector>

#include "operators/sorting.h"

// unique and unique_with_counts.
namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0, kIndex = 1, kCount = 2;

struct UniqueAttrs {
  DType dtype = DType::kInt64;
};

void InferShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  DType dtype = ctx.attrs<UniqueAttrs>().dtype;
  ENFORCE(x.rank() == 1, InvalidArgument, "X must have one axis, got shape ", x);
  ENFORCE(dtype == DType::kInt32 || dtype == DType::kInt64, Type,
          "the attribute dtype must be int32 or int64, got ", dtype);
  Dims found{ctx.runtime() ? 0 : -1};  // the kernel says how many there are
  ctx.SetOutput(kOut, found);
  ctx.SetOutput(kIndex, x, dtype);
  if (ctx.call().op->outputs.size() > kCount) ctx.SetOutput(kCount, found, dtype);
}

OpDef& Declare(OpDef& op, const char* comment) {
  return op.Comment(comment)
      .Input(kX, "X", "one axis")
      .Output(kOut, "Out", "the different elements of X, in order of their first appearance")
      .Output(kIndex, "Index", "shape of X: where in Out each element stands")
      .Attr(&UniqueAttrs::dtype, "dtype", "of Index: int32 or int64")
      .Shape(InferShape)
      .KernelAllocates()
      .NoGrad();
}
void DefineUnique(OpDef& op) {
  Declare(op,
          "Out = the different elements of X in order of their first appearance; X = "
          "Out[Index]. NaNs count as one element.");
}
void DefineUniqueWithCounts(OpDef& op) {
  Declare(op,
          "Out = the different elements of X in order of their first appearance, Count = how "
          "often each is there; X = Out[Index]. NaNs count as one element.")
      .Example(
          ">>> out, index, count = F.unique_with_counts(to_variable([5, 2, 5, 9]))\n"
          ">>> out.tolist(), index.tolist(), count.tolist()\n"
          "([5, 2, 9], [0, 1, 0, 2], [2, 1, 1])")
      .Output(kCount, "Count", "shape of Out");
}

// Numbers the different ones of n elements as they first appear. Few are looked up in a table that
// stays in the cache; for many, all are sorted, so that equals lie side by side.
template <class T>
class Numbering {
 public:
  using K = decltype(sorting::OrderKey(T()));  // equal for equals: one for 0 and -0, one for NaNs

  Numbering(const T* x, int64_t n) : x_(x), n_(n), index_(static_cast<size_t>(n)) {
    if (!LookUp()) Sort();
  }
  const std::vector<int64_t>& index() const { return index_; }    // of each element
  const std::vector<int64_t>& first() const { return first_; }    // where each number appears first
  const std::vector<int64_t>& counts() const { return counts_; }  // of each number

 private:
  static constexpr int64_t kPiece = sorting::kPiece;

  // An open table of numbers. False where it would get too full.
  bool LookUp() {
    constexpr int kBits = 16;
    constexpr size_t kSize = size_t{1} << kBits, kMost = kSize / 2;
    struct Entry {
      K key;
      int32_t number;
    };
    std::vector<Entry> table(kSize, Entry{0, -1});
    bool few = true;
    InPieces(n_, kPiece, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end && few; ++i) {
        const K key = sorting::OrderKey(x_[i]);
        size_t at = (uint64_t{key} * 0x9E3779B97F4A7C15u) >> (64 - kBits);
        while (table[at].number >= 0 && table[at].key != key) at = (at + 1) % kSize;
        if (table[at].number < 0) {
          few = first_.size() < kMost;
          table[at] = {key, static_cast<int32_t>(first_.size())};
          first_.push_back(i);
          counts_.push_back(0);
        }
        index_[i] = table[at].number;
        ++counts_[table[at].number];
      }
    });
    return few;
  }

  void Sort() {
    if (n_ <= UINT32_MAX) return SortBy<K>();
    SortBy<uint64_t>();
  }
  template <class Wide>
  void SortBy() {
    sorting::TwoRows<Wide> rows(n_);
    InPieces(n_, kPiece, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        rows.row[i] = {sorting::OrderKey(x_[i]), static_cast<Wide>(i)};
    });
    const sorting::Keyed<Wide>* sorted = sorting::RadixSort(rows.row, rows.spare, n_);
    // Equals keep their order: the first of a run appears first. index_ notes whose run it leads.
    std::fill(index_.begin(), index_.end(), -1);
    InPieces(n_, kPiece, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (i == 0 || sorted[i].key != sorted[i - 1].key) index_[sorted[i].at] = 0;
      }
    });
    first_.clear();
    InPieces(n_, kPiece, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (index_[i] < 0) continue;
        index_[i] = static_cast<int64_t>(first_.size());
        first_.push_back(i);
      }
    });
    counts_.assign(first_.size(), 0);
    int64_t number = 0;
    InPieces(n_, kPiece, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (i == 0 || sorted[i].key != sorted[i - 1].key) number = index_[sorted[i].at];
        index_[sorted[i].at] = number;
        ++counts_[number];
      }
    });
  }

  const T* x_;
  int64_t n_;
  std::vector<int64_t> index_, first_, counts_;
};

void Write(const std::vector<int64_t>& values, DType dtype, Tensor* out) {
  VisitDType(dtype, [&](auto tag) {
    using U = typename decltype(tag)::type;
    U* to = out->mutable_data<U>();
    for (size_t i = 0; i < values.size(); ++i) to[i] = static_cast<U>(values[i]);
  });
}

template <class T>
struct UniqueKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    DType dtype = ctx.attrs<UniqueAttrs>().dtype;
    ENFORCE(dtype == DType::kInt64 || x.numel() <= INT32_MAX, OutOfRange, "X of ", x.numel(),
            " elements needs dtype int64, got int32");
    const T* from = x.data<T>();
    const Numbering<T> numbering(from, x.numel());
    const std::vector<int64_t>& first = numbering.first();
    const int64_t n = static_cast<int64_t>(first.size());
    if (Tensor* out = ctx.OutOrNull(kOut)) {
      out->Allocate({n}, x.dtype(), ctx.place());
      T* to = out->mutable_data<T>();
      for (int64_t i = 0; i < n; ++i) to[i] = from[first[i]];
    }
    if (Tensor* out = ctx.OutOrNull(kIndex)) {
      out->Allocate(x.dims(), dtype, ctx.place());
      Write(numbering.index(), dtype, out);
    }
    if (ctx.call().op->outputs.size() <= kCount) return;
    if (Tensor* out = ctx.OutOrNull(kCount)) {
      out->Allocate({n}, dtype, ctx.place());
      Write(numbering.counts(), dtype, out);
    }
  }
};

REGISTER_OPERATOR(unique, DefineUnique);
REGISTER_CPU_KERNEL(unique, UniqueKernel, int32_t, int64_t, float, double);
REGISTER_OPERATOR(unique_with_counts, DefineUniqueWithCounts);
REGISTER_CPU_KERNEL(unique_with_counts, UniqueKernel, int32_t, int64_t, float, double);

}  // namespace
}  // namespace dygraph
