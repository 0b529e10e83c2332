// What the loops over recurrent cells are made of: activations, and the product of each step with a
// weight, shared out over threads. For recurrent*.cc.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>

#include "kernels/packed_weights.h"
#include "kernels/recurrent.h"
#include "tensor/scratch.h"

namespace dygraph::kernels::recurrent_steps {

template <class V, class F>
void ActRows(V* x, int64_t rows, int64_t width, int64_t stride, F f, int64_t cost) {
  EachRow<V>(rows, width * cost, [=](int64_t r) {
    V* row = x + r * stride;
    DYGRAPH_IVDEP
    for (int64_t j = 0; j < width; ++j) row[j] = f(row[j]);
  });
}

template <class V>
void Activate(Act act, V* x, int64_t rows, int64_t width, int64_t stride) {
  switch (act) {
    case Act::kIdentity: return;
    case Act::kSigmoid: return ActRows(x, rows, width, stride, [](V v) { return Sigmoid(v); }, 12);
    case Act::kTanh: return ActRows(x, rows, width, stride, [](V v) { return Tanh(v); }, 12);
    case Act::kRelu:
      return ActRows(x, rows, width, stride, [](V v) { return v < Real<V>(0) ? V(0) : v; }, 1);
  }
}

// A block of zeros where an array is not given.
template <class V>
class OrZeros {
 public:
  OrZeros(const V* given, int64_t size)
      : bytes_(given ? 0 : static_cast<size_t>(size) * sizeof(V)),
        zeros_(CPUPlace(), bytes_),
        at_(given ? given : zeros_.as<V>()) {
    if (bytes_ > 0) std::memset(zeros_.as<V>(), 0, bytes_);
  }
  const V* get() const { return at_; }

 private:
  size_t bytes_;
  Scratch zeros_;
  const V* at_;
};

// Columns [begin, end) of every gate and of the state: one thread's part of a step, which lie in
// panels [first, last) of the weight.
struct Share {
  int64_t first, last, begin, end;
  int64_t width() const { return end - begin; }
};

// to[row] += x[row] in the columns of the share; x may be null.
template <class V>
void AddColumns(int64_t rows, const Share& share, int64_t width, const V* x, V* to) {
  if (!x) return;
  const int64_t begin = share.begin, end = share.end;
  EachRow<V>(rows, share.width(), [=](int64_t r) {
    DYGRAPH_IVDEP
    for (int64_t k = r * width + begin; k < r * width + end; ++k) to[k] += x[k];
  });
}

// The product of each step with one weight, cut into shares of its columns. Duals take one share.
template <class V>
class StepProduct {
  static constexpr bool kReal = std::is_same_v<V, Real<V>>;

 public:
  // op(weight) [k, blocks * width]
  StepProduct(StepWeight<V> weight, int64_t blocks, int64_t width, int64_t k)
      : weight_(weight), blocks_(blocks), width_(width), k_(k) {
    if constexpr (kReal)
      packed_.emplace(weight.transposed, blocks, width, k, weight.data, Stride());
  }

  // c [rows, blocks * width] = (add ? c : 0) + a op(weight), in the columns of the share.
  void Multiply(int64_t rows, const V* a, int64_t lda, const Share& share, bool add, V* c,
                int64_t ldc) const {
    if constexpr (kReal) {
      packed_->Multiply(rows, a, lda, share.first, share.last, add, c, ldc);
    } else {
      Product(false, weight_.transposed, rows, blocks_ * width_, k_, a, lda, weight_.data, Stride(),
              add, c, ldc);
    }
  }

  // f(share) for all shares of a step, on the pool where its work is worth that.
  template <class F>
  void EachShare(int64_t rows, const F& f) const {
    if constexpr (kReal) {
      const int64_t panels = packed_->panels(), columns = packed_->panel_columns(), width = width_;
      bool large = rows * blocks_ * width_ * k_ >= kShareVolume;
      const int64_t pieces = large ? std::min<int64_t>(NumThreads(), panels) : 1;
      ParallelBlocks(pieces, [&](int64_t i) {
        int64_t first = panels * i / pieces, last = panels * (i + 1) / pieces;
        f(Share{first, last, first * columns, std::min(last * columns, width)});
      });
    } else {
      f(Share{0, 1, 0, width_});
    }
  }

 private:
  static constexpr int64_t kShareVolume = 1 << 17;  // multiplications worth a second thread
  int64_t Stride() const { return weight_.transposed ? k_ : blocks_ * width_; }
  struct None {
    template <class... Args>
    void emplace(Args...) {}
  };
  StepWeight<V> weight_;
  int64_t blocks_, width_, k_;
  std::conditional_t<kReal, std::optional<PackedWeights<Real<V>>>, None> packed_;
};

}  // namespace dygraph::kernels::recurrent_steps
