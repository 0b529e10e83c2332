// What the recurrent operators share: the packing of a ragged or padded batch, and reading tensors
// as numbers or, for second order, as dual numbers.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "kernels/elementwise.h"
#include "kernels/loops.h"
#include "kernels/recurrent.h"
#include "kernels/table.h"
#include "operators/sequence/sequence.h"

namespace dygraph::recurrent {

using kernels::Activated;
using kernels::Dual;
using kernels::Real;
using kernels::SlopeOf;

inline kernels::Act ActOf(const std::string& name) {
  if (name == "sigmoid") return kernels::Act::kSigmoid;
  if (name == "tanh") return kernels::Act::kTanh;
  return name == "relu" ? kernels::Act::kRelu : kernels::Act::kIdentity;
}
inline AttrCheck AnActivation() { return OneOf({"sigmoid", "tanh", "relu", "identity"}); }

// Numbers of a call: memory of its own at a place, or a tensor's to read.
template <class V>
class Numbers {
 public:
  Numbers() = default;
  Numbers(Place place, int64_t size)
      : own_(new Scratch(place, static_cast<size_t>(size) * sizeof(V))),
        data_(own_->as<V>()),
        size_(size) {}
  static Numbers Borrowed(const V* data, int64_t size) {
    Numbers x;
    x.data_ = const_cast<V*>(data);
    x.size_ = size;
    return x;
  }
  V* data() { return data_; }
  const V* data() const { return data_; }
  int64_t size() const { return size_; }
  void Clear() {
    using T = Real<V>;
    kernels::Fill(reinterpret_cast<T*>(data_), size_ * static_cast<int64_t>(sizeof(V) / sizeof(T)),
                  T(0));
  }

 private:
  std::unique_ptr<Scratch> own_;
  V* data_ = nullptr;
  int64_t size_ = 0;
};
template <class V>
Numbers<V> Zeros(Place place, int64_t size) {
  Numbers<V> x(place, size);
  x.Clear();
  return x;
}

struct Packing {
  kernels::Steps steps;
  std::vector<int64_t> order;   // place side by side -> sequence
  std::vector<int64_t> source;  // packed row -> row of the tensor
};

// `row(sequence, position)` is the tensor's row; reversed, a sequence is read from its end.
template <class RowOf>
Packing Pack(const std::vector<int64_t>& lengths, bool reversed, RowOf row) {
  Packing p;
  p.steps.batch = static_cast<int64_t>(lengths.size());
  p.order.resize(lengths.size());
  std::iota(p.order.begin(), p.order.end(), 0);
  std::stable_sort(p.order.begin(), p.order.end(),
                   [&](int64_t a, int64_t b) { return lengths[a] > lengths[b]; });
  size_t alive = lengths.size();
  int64_t longest = lengths.empty() ? 0 : lengths[p.order[0]];
  for (int64_t t = 0; t < longest; ++t) {
    while (alive > 0 && lengths[p.order[alive - 1]] <= t) --alive;
    for (size_t k = 0; k < alive; ++k) {
      int64_t s = p.order[k];
      p.source.push_back(row(s, reversed ? lengths[s] - 1 - t : t));
    }
    p.steps.begin.push_back(static_cast<int64_t>(p.source.size()));
  }
  return p;
}

inline Packing PackLoD(const std::vector<int64_t>& offsets, bool reversed) {
  std::vector<int64_t> lengths;
  for (size_t i = 1; i < offsets.size(); ++i) lengths.push_back(offsets[i] - offsets[i - 1]);
  return Pack(lengths, reversed, [&](int64_t s, int64_t at) { return offsets[s] + at; });
}

// Rows by number as loops read them, from a vector that must outlive it. Null: they lie as they are
// numbered.
class RowTable {
 public:
  explicit RowTable(const std::vector<int64_t>& rows) : size_(static_cast<int64_t>(rows.size())) {
    if (!IsRange(rows)) table_.emplace(rows);
  }
  int64_t size() const { return size_; }
  const int64_t* data() const { return table_ ? table_->data() : nullptr; }

 private:
  static bool IsRange(const std::vector<int64_t>& rows) {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] != static_cast<int64_t>(i)) return false;
    }
    return true;
  }
  int64_t size_;
  mutable std::optional<kernels::Table<int64_t>> table_;
};

// Numbers read as V: dual ones take their derivative from `along`, null being zeros.
template <class V>
DYGRAPH_INLINE V Number(const Real<V>* x, const Real<V>* along, int64_t i) {
  if constexpr (std::is_same_v<V, Real<V>>) {
    return x[i];
  } else {
    return V(x[i], along ? along[i] : Real<V>(0));
  }
}
// The number, or the derivative of a dual one.
template <class V>
DYGRAPH_INLINE Real<V> PartOf(const V& x, bool derivative) {
  if constexpr (std::is_same_v<V, Real<V>>) {
    return x;
  } else {
    return derivative ? x.d : x.v;
  }
}

// Real numbers are read where they lie.
template <class V>
Numbers<V> Read(Place place, const Tensor& x, const Tensor* along) {
  using T = Real<V>;
  const T *from = x.data<T>(), *direction = along ? along->data<T>() : nullptr;
  if constexpr (std::is_same_v<V, T>) {
    return Numbers<V>::Borrowed(from, x.numel());
  } else {
    Numbers<V> numbers(place, x.numel());
    V* to = numbers.data();
    kernels::ForEach(x.numel(),
                     [=] DYGRAPH_FN(int64_t i) { to[i] = Number<V>(from, direction, i); });
    return numbers;
  }
}

// to[i] = row rows[i] of x.
template <class V>
void GatherRows(const Real<V>* x, const Real<V>* along, const RowTable& rows, int64_t width,
                V* to) {
  kernels::EachInListed<V>(rows.data(), rows.size(), width,
                           [=] DYGRAPH_FN(int64_t i, int64_t row, int64_t j) {
                             to[i * width + j] = Number<V>(x, along, row * width + j);
                           });
}

// Row rows[i] of `to` = x[i]: the values, or of dual numbers the derivatives where asked. No row
// twice.
template <class V>
void ScatterRows(const V* x, const RowTable& rows, int64_t width, Real<V>* to,
                 bool derivatives = false) {
  kernels::EachInListed<Real<V>>(rows.data(), rows.size(), width,
                                 [=] DYGRAPH_FN(int64_t i, int64_t row, int64_t j) {
                                   to[row * width + j] = PartOf(x[i * width + j], derivatives);
                                 });
}

// to[i] = row rows[i] of x, whose rows lie `apart` numbers apart. Here and below no list stands for
// the first n rows.
template <class V>
void TakeRows(const V* x, int64_t apart, const int64_t* rows, int64_t n, int64_t width, V* to) {
  kernels::EachInListed<V>(rows, n, width, [=] DYGRAPH_FN(int64_t i, int64_t row, int64_t j) {
    to[i * width + j] = x[row * apart + j];
  });
}
// Row rows[i] of `to`, whose rows lie `apart` numbers apart, = x[i].
template <class V>
void PutRows(const V* x, const int64_t* rows, int64_t n, int64_t width, V* to, int64_t apart) {
  kernels::EachInListed<V>(rows, n, width, [=] DYGRAPH_FN(int64_t i, int64_t row, int64_t j) {
    to[row * apart + j] = x[i * width + j];
  });
}
// Row rows[i] of `to` += x[i]. No row twice.
template <class V>
void AddRows(const V* x, const int64_t* rows, int64_t n, int64_t width, V* to) {
  kernels::EachInListed<V>(rows, n, width, [=] DYGRAPH_FN(int64_t i, int64_t row, int64_t j) {
    to[row * width + j] += x[i * width + j];
  });
}

template <class V>
void Write(const V* x, int64_t n, Real<V>* to, bool derivatives = false) {
  kernels::ForEach(n, [=] DYGRAPH_FN(int64_t i) { to[i] = PartOf(x[i], derivatives); });
}

// An input's rows as V. Without the input, or without rows, there are no numbers.
template <class V>
Numbers<V> Packed(Place place, const Tensor* x, const Tensor* along, const RowTable& rows) {
  using T = Real<V>;
  if (!x || rows.size() == 0) return {};
  const int64_t width = x->dim(x->rank() - 1);
  Numbers<V> numbers(place, rows.size() * width);
  GatherRows<V>(x->data<T>(), along ? along->data<T>() : nullptr, rows, width, numbers.data());
  return numbers;
}

// The rank and sizes of an input; -1 in `sizes` passes anything.
inline void CheckShape(const InferContext& ctx, int slot, std::initializer_list<int64_t> sizes,
                       const char* what) {
  if (!ctx.HasInput(slot)) return;
  const Dims& d = ctx.dims(slot);
  bool fits = d.size() == sizes.size();
  int i = 0;
  for (int64_t size : sizes) {
    fits = fits && (d[i] == size || !BothKnown(d[i], size));
    ++i;
  }
  ENFORCE(fits, InvalidArgument, const_cast<InferContext&>(ctx).call().op->inputs[slot].name,
          " must have shape ", what, ", ", Dims(sizes), " here, got ", d);
}

}  // namespace dygraph::recurrent
