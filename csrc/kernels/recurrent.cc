#include "kernels/recurrent.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "kernels/matmul.h"
#include "kernels/packed_weights.h"
#include "kernels/parallel.h"
#include "tensor/scratch.h"

namespace dygraph::kernels {
namespace {

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

// The derivative of an activation, of its result: a + b y + c y^2, or a step for relu.
template <class T>
struct Slope {
  explicit Slope(Act act)
      : a(act == Act::kSigmoid ? 0 : 1),
        b(act == Act::kSigmoid ? 1 : 0),
        c(act == Act::kSigmoid || act == Act::kTanh ? -1 : 0),
        step(act == Act::kRelu) {}
  template <class V>
  DYGRAPH_INLINE V operator()(V y) const {
    V smooth = V(a) + y * (V(b) + V(c) * y);
    V kink = y > T(0) ? V(1) : V(0);
    return step ? kink : smooth;
  }
  T a, b, c;
  bool step;
};

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

template <class T>
struct Parts {  // the values and the derivatives of a matrix of duals
  Parts(const Dual<T>* x, int64_t rows, int64_t columns, int64_t stride)
      : v(rows * columns), d(rows * columns), columns(columns) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        v[i * columns + j] = x[i * stride + j].v;
        d[i * columns + j] = x[i * stride + j].d;
      }
    }
  }
  std::vector<T> v, d;
  int64_t columns;
};

template <class T>
void RealProduct(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda,
                 const T* b, int64_t ldb, bool add, T* c, int64_t ldc) {
  MatMul<T>(ta, tb, m, n, k, T(1), a, lda, b, ldb, T(add), c, ldc);
}

template <class T>
void RealProduct(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const Dual<T>* a, int64_t lda,
                 const Dual<T>* b, int64_t ldb, bool add, Dual<T>* c, int64_t ldc) {
  Parts<T> x(a, ta ? k : m, ta ? m : k, lda), y(b, tb ? n : k, tb ? k : n, ldb);
  std::vector<T> v(m * n), d(m * n);
  auto multiply = [&](const std::vector<T>& p, const std::vector<T>& q, T beta, T* to) {
    MatMul<T>(ta, tb, m, n, k, T(1), p.data(), x.columns, q.data(), y.columns, beta, to, n);
  };
  multiply(x.v, y.v, T(0), v.data());
  multiply(x.v, y.d, T(0), d.data());
  multiply(x.d, y.v, T(1), d.data());
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      Dual<T>& to = c[i * ldc + j];
      Dual<T> made(v[i * n + j], d[i * n + j]);
      to = add ? to + made : made;
    }
  }
}

// Columns [begin, end) of every gate and of the state: one thread's part of a step, which lie in
// panels [first, last) of the weight.
struct Share {
  int64_t first, last, begin, end;
  int64_t width() const { return end - begin; }
};

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

}  // namespace

template <class V>
void Product(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const V* a, int64_t lda, const V* b,
             int64_t ldb, bool add, V* c, int64_t ldc) {
  if (m == 0 || n == 0) return;
  if (k > 0) return RealProduct(ta, tb, m, n, k, a, lda, b, ldb, add, c, ldc);
  for (int64_t i = 0; !add && i < m; ++i) std::fill(c + i * ldc, c + i * ldc + n, V(0));
}

template <class V>
void Lstm<V>::Forward(StepWeight<V> weight) const {
  const int64_t H = hidden, G = 4 * H;
  OrZeros<V> first_h(h0, steps.batch * H), first_c(c0, steps.batch * H), add(bias, G);
  StepProduct<V> product(weight, 4, H, H);
  for (int64_t t = 0; t < steps.count(); ++t) {
    const int64_t n = steps.alive(t), at = steps.begin[t];
    const V *h_before = Before(steps, first_h.get(), h, H, t),
            *c_before = Before(steps, first_c.get(), c, H, t);
    V *a = gates + at * G, *c_now = c + at * H, *h_now = h + at * H, *cell_now = cell + at * H;
    product.EachShare(n, [&](const Share& share) {
      if (t > 0 || h0) product.Multiply(n, h_before, H, share, true, a, G);
      Cells(n, share.begin, share.end, add.get(), c_before, a, c_now, cell_now, h_now);
    });
  }
}

template <class V>
void Lstm<V>::Cells(int64_t n, int64_t begin, int64_t end, const V* add, const V* c_before, V* a,
                    V* c_now, V* cell_now, V* h_now) const {
  const int64_t H = hidden, G = 4 * H, width = end - begin;
  const int64_t in = input * H, fo = forget * H, ca = candidate * H, ou = output * H;
  const V* peep = peephole;
  if (!peep && gate_act == Act::kSigmoid && candidate_act == Act::kTanh && cell_act == Act::kTanh) {
    return EachRow<V>(n, 60 * width, [=](int64_t r) {
      V* row = a + r * G;
      DYGRAPH_IVDEP
      for (int64_t j = begin; j < end; ++j) {
        const int64_t k = r * H + j;
        V i = Sigmoid(row[in + j] + add[in + j]), f = Sigmoid(row[fo + j] + add[fo + j]);
        V g = Tanh(row[ca + j] + add[ca + j]), o = Sigmoid(row[ou + j] + add[ou + j]);
        V now = f * c_before[k] + i * g;
        V y = Tanh(now);
        row[in + j] = i;
        row[fo + j] = f;
        row[ca + j] = g;
        row[ou + j] = o;
        c_now[k] = now;
        cell_now[k] = y;
        h_now[k] = o * y;
      }
    });
  }
  EachRow<V>(n, 8 * width, [=](int64_t r) {
    V* row = a + r * G;
    for (int64_t j = begin; j < end; ++j) {
      row[in + j] += add[in + j];
      row[fo + j] += add[fo + j];
      row[ca + j] += add[ca + j];
      row[ou + j] += add[ou + j];
      if (peep) {
        row[in + j] += peep[j] * c_before[r * H + j];
        row[fo + j] += peep[H + j] * c_before[r * H + j];
      }
    }
  });
  Activate(gate_act, a + in + begin, n, width, G);
  Activate(gate_act, a + fo + begin, n, width, G);
  Activate(candidate_act, a + ca + begin, n, width, G);
  EachRow<V>(n, 4 * width, [=](int64_t r) {
    V* row = a + r * G;
    DYGRAPH_IVDEP
    for (int64_t j = begin; j < end; ++j) {
      V now = row[fo + j] * c_before[r * H + j] + row[in + j] * row[ca + j];
      c_now[r * H + j] = now;
      cell_now[r * H + j] = now;
      if (peep) row[ou + j] += peep[2 * H + j] * now;
    }
  });
  Activate(gate_act, a + ou + begin, n, width, G);
  Activate(cell_act, cell_now + begin, n, width, H);
  EachRow<V>(n, width, [=](int64_t r) {
    DYGRAPH_IVDEP
    for (int64_t j = begin; j < end; ++j)
      h_now[r * H + j] = a[r * G + ou + j] * cell_now[r * H + j];
  });
}

// In all backward passes a share takes the gradient of its part of h through the step behind and
// goes on with the gates of its own step: one meeting of the threads for each step.
template <class V>
void Lstm<V>::Backward(StepWeight<V> weight, const V* d_h, const V* d_c, V* d_gates, V* d_h0,
                       V* d_c0, V* d_peephole) const {
  using T = Real<V>;
  const int64_t H = hidden, G = 4 * H, last = steps.count() - 1;
  OrZeros<V> first_c(c0, steps.batch * H);
  const int64_t in = input * H, fo = forget * H, ca = candidate * H, ou = output * H;
  const Slope<T> gate_slope(gate_act), candidate_slope(candidate_act), cell_slope(cell_act);
  const V* peep = peephole;
  if (d_peephole) std::fill(d_peephole, d_peephole + 3 * H, V(0));
  StepProduct<V> product({weight.data, !weight.transposed}, 1, H, G);
  for (int64_t t = last; t >= 0; --t) {
    const int64_t n = steps.alive(t), at = steps.begin[t], behind = steps.begin[t + 1];
    const V* c_before = Before(steps, first_c.get(), c, H, t);
    const V *a = gates + at * G, *cell_now = cell + at * H, *c_now = c + at * H;
    const V *up_h = d_h ? d_h + at * H : nullptr, *up_c = d_c ? d_c + at * H : nullptr;
    V* to = d_gates + at * G;
    product.EachShare(n, [&](const Share& share) {
      const int64_t begin = share.begin, end = share.end;
      if (t < last)
        product.Multiply(steps.alive(t + 1), d_gates + behind * G, G, share, false, d_h0, H);
      EachRow<V>(n, 16 * share.width(), [=](int64_t r) {
        const V* row = a + r * G;
        V* d = to + r * G;
        DYGRAPH_IVDEP
        for (int64_t j = begin; j < end; ++j) {
          const int64_t k = r * H + j;
          V dh = d_h0[k], dc = d_c0[k];
          if (up_h) dh += up_h[k];
          if (up_c) dc += up_c[k];
          V i = row[in + j], f = row[fo + j], g = row[ca + j], o = row[ou + j], y = cell_now[k];
          V d_o = dh * y * gate_slope(o);
          dc += dh * o * cell_slope(y);
          if (peep) dc += d_o * peep[2 * H + j];
          V d_i = dc * g * gate_slope(i), d_f = dc * c_before[k] * gate_slope(f);
          d[in + j] = d_i;
          d[fo + j] = d_f;
          d[ca + j] = dc * i * candidate_slope(g);
          d[ou + j] = d_o;
          V back = dc * f;
          if (peep) back += d_i * peep[j] + d_f * peep[H + j];
          d_c0[k] = back;
        }
      });
      for (int64_t r = 0; d_peephole && r < n; ++r) {
        for (int64_t j = begin; j < end; ++j) {
          d_peephole[j] += to[r * G + in + j] * c_before[r * H + j];
          d_peephole[H + j] += to[r * G + fo + j] * c_before[r * H + j];
          d_peephole[2 * H + j] += to[r * G + ou + j] * c_now[r * H + j];
        }
      }
    });
  }
  if (last < 0) return;
  product.EachShare(steps.alive(0), [&](const Share& share) {
    product.Multiply(steps.alive(0), d_gates, G, share, false, d_h0, H);
  });
}

template <class V>
void Gru<V>::Forward(const V* weight) const {
  const int64_t H = hidden, G = 3 * H;
  OrZeros<V> first(h0, steps.batch * H);
  StepProduct<V> gates_product({weight, false}, 2, H, H),
      candidate_product({weight + 2 * H * H, false}, 1, H, H);
  const bool swapped = original;
  for (int64_t t = 0; t < steps.count(); ++t) {
    const int64_t n = steps.alive(t), at = steps.begin[t];
    const V* before = Before(steps, first.get(), h, H, t);
    V *a = gates + at * G, *rh = reset + at * H, *now = h + at * H;
    gates_product.EachShare(n, [&](const Share& share) {
      const int64_t begin = share.begin, end = share.end;
      gates_product.Multiply(n, before, H, share, true, a, G);
      Activate(gate_act, a + begin, n, end - begin, G);
      Activate(gate_act, a + H + begin, n, end - begin, G);
      EachRow<V>(n, share.width(), [=](int64_t r) {
        DYGRAPH_IVDEP
        for (int64_t j = begin; j < end; ++j) rh[r * H + j] = a[r * G + H + j] * before[r * H + j];
      });
    });
    candidate_product.EachShare(n, [&](const Share& share) {
      const int64_t begin = share.begin, end = share.end;
      candidate_product.Multiply(n, rh, H, share, true, a + 2 * H, G);
      Activate(candidate_act, a + 2 * H + begin, n, end - begin, G);
      EachRow<V>(n, 3 * share.width(), [=](int64_t r) {
        DYGRAPH_IVDEP
        for (int64_t j = begin; j < end; ++j) {
          V u = a[r * G + j], m = a[r * G + 2 * H + j], b = before[r * H + j];
          V step = u * (m - b);
          now[r * H + j] = swapped ? m - step : b + step;
        }
      });
    });
  }
}

template <class V>
void Gru<V>::Backward(const V* weight, const V* d_h, V* d_gates, V* d_h0) const {
  using T = Real<V>;
  const int64_t H = hidden, G = 3 * H, last = steps.count() - 1;
  OrZeros<V> first(h0, steps.batch * H);
  StepProduct<V> gates_product({weight, true}, 1, H, 2 * H),
      candidate_product({weight + 2 * H * H, true}, 1, H, H);
  const bool swapped = original;
  const Slope<T> gate_slope(gate_act), candidate_slope(candidate_act);
  Scratch room(CPUPlace(), static_cast<size_t>(steps.batch * H) * sizeof(V));
  V* d_reset = room.as<V>();
  for (int64_t t = last; t >= 0; --t) {
    const int64_t n = steps.alive(t), at = steps.begin[t], behind = steps.begin[t + 1];
    const V *before = Before(steps, first.get(), h, H, t), *a = gates + at * G;
    const V* up = d_h ? d_h + at * H : nullptr;
    V* to = d_gates + at * G;
    gates_product.EachShare(n, [&](const Share& share) {
      const int64_t begin = share.begin, end = share.end;
      if (t < last)
        gates_product.Multiply(steps.alive(t + 1), d_gates + behind * G, G, share, true, d_h0, H);
      EachRow<V>(n, 8 * share.width(), [=](int64_t r) {
        const V* row = a + r * G;
        DYGRAPH_IVDEP
        for (int64_t j = begin; j < end; ++j) {
          const int64_t k = r * H + j;
          V dh = d_h0[k];
          if (up) dh += up[k];
          V u = row[j], m = row[2 * H + j];
          V d_u = dh * (m - before[k]);
          V keep = V(1) - u;
          to[r * G + j] = (swapped ? V(0) - d_u : d_u) * gate_slope(u);
          to[r * G + 2 * H + j] = dh * (swapped ? keep : u) * candidate_slope(m);
          d_h0[k] = dh * (swapped ? u : keep);
        }
      });
    });
    candidate_product.EachShare(n, [&](const Share& share) {
      const int64_t begin = share.begin, end = share.end;
      candidate_product.Multiply(n, to + 2 * H, G, share, false, d_reset, H);
      EachRow<V>(n, 4 * share.width(), [=](int64_t r) {
        DYGRAPH_IVDEP
        for (int64_t j = begin; j < end; ++j) {
          const int64_t k = r * H + j;
          V reset_gate = a[r * G + H + j];
          to[r * G + H + j] = d_reset[k] * before[k] * gate_slope(reset_gate);
          d_h0[k] += d_reset[k] * reset_gate;
        }
      });
    });
  }
  if (last < 0) return;
  gates_product.EachShare(steps.alive(0), [&](const Share& share) {
    gates_product.Multiply(steps.alive(0), d_gates, G, share, true, d_h0, H);
  });
}

template <class V>
void LateResetGru<V>::Forward(StepWeight<V> weight) const {
  const int64_t H = hidden, G = 3 * H;
  OrZeros<V> first(h0, steps.batch * H), add(bias, G), q_add(q_bias, H);
  StepProduct<V> product(weight, 3, H, H);
  Scratch room(CPUPlace(), static_cast<size_t>(steps.batch * G) * sizeof(V));
  V* from_state = room.as<V>();
  const V *b = add.get(), *qb = q_add.get();
  for (int64_t t = 0; t < steps.count(); ++t) {
    const int64_t n = steps.alive(t), at = steps.begin[t];
    const V* before = Before(steps, first.get(), h, H, t);
    V *a = gates + at * G, *q_now = q + at * H, *now = h + at * H;
    product.EachShare(n, [&](const Share& share) {
      const int64_t begin = share.begin, end = share.end;
      product.Multiply(n, before, H, share, false, from_state, G);
      EachRow<V>(n, 40 * share.width(), [=](int64_t r) {
        const V* p = from_state + r * G;
        V* row = a + r * G;
        DYGRAPH_IVDEP
        for (int64_t j = begin; j < end; ++j) {
          const int64_t k = r * H + j;
          V reset = Sigmoid(row[j] + b[j] + p[j]);
          V z = Sigmoid(row[H + j] + b[H + j] + p[H + j]);
          V from = p[2 * H + j] + qb[j];
          V m = Tanh(row[2 * H + j] + b[2 * H + j] + reset * from);
          row[j] = reset;
          row[H + j] = z;
          row[2 * H + j] = m;
          q_now[k] = from;
          now[k] = m + z * (before[k] - m);
        }
      });
    });
  }
}

template <class V>
void LateResetGru<V>::Backward(StepWeight<V> weight, const V* d_h, V* d_gates, V* d_hidden_gates,
                               V* d_h0) const {
  using T = Real<V>;
  const int64_t H = hidden, G = 3 * H, last = steps.count() - 1;
  OrZeros<V> first(h0, steps.batch * H);
  StepProduct<V> product({weight.data, !weight.transposed}, 1, H, G);
  const Slope<T> sigmoid_slope(Act::kSigmoid), tanh_slope(Act::kTanh);
  for (int64_t t = last; t >= 0; --t) {
    const int64_t n = steps.alive(t), at = steps.begin[t], behind = steps.begin[t + 1];
    const V *before = Before(steps, first.get(), h, H, t), *a = gates + at * G, *q_now = q + at * H;
    const V* up = d_h ? d_h + at * H : nullptr;
    V *to = d_gates + at * G, *to_hidden = d_hidden_gates + at * G;
    product.EachShare(n, [&](const Share& share) {
      const int64_t begin = share.begin, end = share.end;
      if (t < last)
        product.Multiply(steps.alive(t + 1), d_hidden_gates + behind * G, G, share, true, d_h0, H);
      EachRow<V>(n, 12 * share.width(), [=](int64_t r) {
        const V* row = a + r * G;
        DYGRAPH_IVDEP
        for (int64_t j = begin; j < end; ++j) {
          const int64_t k = r * H + j;
          V dh = d_h0[k];
          if (up) dh += up[k];
          V reset = row[j], z = row[H + j], m = row[2 * H + j];
          V d_m = dh * (V(1) - z) * tanh_slope(m);
          V d_z = dh * (before[k] - m) * sigmoid_slope(z);
          V d_r = d_m * q_now[k] * sigmoid_slope(reset);
          to[r * G + j] = d_r;
          to[r * G + H + j] = d_z;
          to[r * G + 2 * H + j] = d_m;
          to_hidden[r * G + j] = d_r;
          to_hidden[r * G + H + j] = d_z;
          to_hidden[r * G + 2 * H + j] = d_m * reset;
          d_h0[k] = dh * z;
        }
      });
    });
  }
  if (last < 0) return;
  product.EachShare(steps.alive(0), [&](const Share& share) {
    product.Multiply(steps.alive(0), d_hidden_gates, G, share, true, d_h0, H);
  });
}

template <class V>
void SimpleRnn<V>::Forward(StepWeight<V> weight) const {
  const int64_t H = hidden;
  OrZeros<V> first(h0, steps.batch * H), add(bias, H);
  StepProduct<V> product(weight, 1, H, H);
  const V* b = add.get();
  for (int64_t t = 0; t < steps.count(); ++t) {
    const int64_t n = steps.alive(t);
    const V* before = Before(steps, first.get(), h, H, t);
    V* now = h + steps.begin[t] * H;
    product.EachShare(n, [&](const Share& share) {
      const int64_t begin = share.begin, end = share.end;
      product.Multiply(n, before, H, share, true, now, H);
      EachRow<V>(n, share.width(), [=](int64_t r) {
        DYGRAPH_IVDEP
        for (int64_t j = begin; j < end; ++j) now[r * H + j] += b[j];
      });
      Activate(act, now + begin, n, share.width(), H);
    });
  }
}

template <class V>
void SimpleRnn<V>::Backward(StepWeight<V> weight, const V* d_h, V* d_gates, V* d_h0) const {
  const int64_t H = hidden, last = steps.count() - 1;
  const Slope<Real<V>> slope(act);
  StepProduct<V> product({weight.data, !weight.transposed}, 1, H, H);
  for (int64_t t = last; t >= 0; --t) {
    const int64_t n = steps.alive(t), at = steps.begin[t] * H, behind = steps.begin[t + 1];
    const V *now = h + at, *up = d_h ? d_h + at : nullptr;
    V* to = d_gates + at;
    product.EachShare(n, [&](const Share& share) {
      const int64_t begin = share.begin, end = share.end;
      if (t < last)
        product.Multiply(steps.alive(t + 1), d_gates + behind * H, H, share, false, d_h0, H);
      EachRow<V>(n, 4 * share.width(), [=](int64_t r) {
        DYGRAPH_IVDEP
        for (int64_t j = begin; j < end; ++j) {
          const int64_t k = r * H + j;
          V dh = d_h0[k];
          if (up) dh += up[k];
          to[k] = dh * slope(now[k]);
        }
      });
    });
  }
  if (last < 0) return;
  product.EachShare(steps.alive(0), [&](const Share& share) {
    product.Multiply(steps.alive(0), d_gates, H, share, false, d_h0, H);
  });
}

template void Product<float>(bool, bool, int64_t, int64_t, int64_t, const float*, int64_t,
                             const float*, int64_t, bool, float*, int64_t);
template void Product<double>(bool, bool, int64_t, int64_t, int64_t, const double*, int64_t,
                              const double*, int64_t, bool, double*, int64_t);
template void Product<Dual<float>>(bool, bool, int64_t, int64_t, int64_t, const Dual<float>*,
                                   int64_t, const Dual<float>*, int64_t, bool, Dual<float>*,
                                   int64_t);
template void Product<Dual<double>>(bool, bool, int64_t, int64_t, int64_t, const Dual<double>*,
                                    int64_t, const Dual<double>*, int64_t, bool, Dual<double>*,
                                    int64_t);
template struct Lstm<float>;
template struct Lstm<double>;
template struct Lstm<Dual<float>>;
template struct Lstm<Dual<double>>;
template struct Gru<float>;
template struct Gru<double>;
template struct Gru<Dual<float>>;
template struct Gru<Dual<double>>;
template struct LateResetGru<float>;
template struct LateResetGru<double>;
template struct LateResetGru<Dual<float>>;
template struct LateResetGru<Dual<double>>;
template struct SimpleRnn<float>;
template struct SimpleRnn<double>;
template struct SimpleRnn<Dual<float>>;
template struct SimpleRnn<Dual<double>>;

}  // namespace dygraph::kernels
