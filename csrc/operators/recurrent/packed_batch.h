// What the recurrent operators share: the packing of a ragged or padded batch, and reading tensors
// as numbers or, for second order, as dual numbers.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/recurrent.h"
#include "operators/sequence/sequence.h"

namespace dygraph::recurrent {

using kernels::Dual;
using kernels::Real;

inline kernels::Act ActOf(const std::string& name) {
  if (name == "sigmoid") return kernels::Act::kSigmoid;
  if (name == "tanh") return kernels::Act::kTanh;
  return name == "relu" ? kernels::Act::kRelu : kernels::Act::kIdentity;
}
inline AttrCheck AnActivation() { return OneOf({"sigmoid", "tanh", "relu", "identity"}); }

// Numbers of a call: memory of its own, or a tensor's to read.
template <class V>
class Numbers {
 public:
  Numbers() = default;
  explicit Numbers(int64_t size)
      : own_(new Scratch(CPUPlace(), static_cast<size_t>(size) * sizeof(V))),
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
  void Fill(V v) { std::fill(data_, data_ + size_, v); }

 private:
  std::unique_ptr<Scratch> own_;
  V* data_ = nullptr;
  int64_t size_ = 0;
};

struct Packing {
  kernels::Steps steps;
  std::vector<int64_t> order;   // place side by side -> sequence
  std::vector<int64_t> source;  // packed row -> row of the tensor
  // The packed rows are the tensor's rows, as they lie.
  bool InPlace() const { return IsRange(source); }
  static bool IsRange(const std::vector<int64_t>& rows) {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] != static_cast<int64_t>(i)) return false;
    }
    return true;
  }
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

// Numbers read as V: dual ones take their derivative from `along`, null being zeros.
template <class V>
V Number(const Real<V>* x, const Real<V>* along, int64_t i) {
  if constexpr (std::is_same_v<V, Real<V>>) {
    return x[i];
  } else {
    return V(x[i], along ? along[i] : Real<V>(0));
  }
}

template <class V>
std::vector<V> Read(const Tensor& x, const Tensor* along) {
  using T = Real<V>;
  std::vector<V> v(x.numel());
  const T *from = x.data<T>(), *direction = along ? along->data<T>() : nullptr;
  for (size_t i = 0; i < v.size(); ++i) v[i] = Number<V>(from, direction, i);
  return v;
}

// to[i] = row rows[i] of x.
template <class V>
void GatherRows(const Real<V>* x, const Real<V>* along, const std::vector<int64_t>& rows,
                int64_t width, V* to) {
  kernels::ParallelRows(static_cast<int64_t>(rows.size()), width, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if constexpr (std::is_same_v<V, Real<V>>) {
        std::copy_n(x + rows[i] * width, width, to + i * width);
      } else {
        for (int64_t j = 0; j < width; ++j)
          to[i * width + j] = Number<V>(x, along, rows[i] * width + j);
      }
    }
  });
}

// Row rows[i] of `to` = x[i]: the values, or of dual numbers the derivatives where asked. No row
// twice.
template <class V>
void ScatterRows(const V* x, const std::vector<int64_t>& rows, int64_t width, Real<V>* to,
                 bool derivatives = false) {
  kernels::ParallelRows(static_cast<int64_t>(rows.size()), width, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Real<V>* row = to + rows[i] * width;
      if constexpr (std::is_same_v<V, Real<V>>) {
        std::copy_n(x + i * width, width, row);
      } else {
        for (int64_t j = 0; j < width; ++j) {
          const V& v = x[i * width + j];
          row[j] = derivatives ? v.d : v.v;
        }
      }
    }
  });
}

template <class V>
void Write(const V* x, int64_t n, Real<V>* to, bool derivatives = false) {
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<V, Real<V>>) {
      to[i] = x[i];
    } else {
      to[i] = derivatives ? x[i].d : x[i].v;
    }
  }
}

// An input packed as V (empty where it is absent): its rows by `rows`.
template <class V>
std::vector<V> Packed(const KernelContext& ctx, int slot, int along_slot,
                      const std::vector<int64_t>& rows) {
  const Tensor* x = ctx.InOrNull(slot);
  if (!x || rows.empty()) return {};
  const Tensor* along = along_slot < 0 ? nullptr : ctx.InOrNull(along_slot);
  int64_t width = x->dim(x->rank() - 1);
  std::vector<V> v(rows.size() * width);
  using T = Real<V>;
  GatherRows<V>(x->data<T>(), along ? along->data<T>() : nullptr, rows, width, v.data());
  return v;
}

template <class V>
const V* OrNull(const std::vector<V>& v) {
  return v.empty() ? nullptr : v.data();
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
