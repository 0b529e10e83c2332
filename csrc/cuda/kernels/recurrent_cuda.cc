// kernels/recurrent.h on the device: for each step a product and a launch of the cells.
#include "cuda/scratch.h"
#include "kernels/elementwise.h"
#include "kernels/matmul.h"
#include "kernels/recurrent.h"

namespace dygraph::kernels {

// c [m, n] = (add ? c : 0) + op(a) op(b)
template <class T>
void RealProduct(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda,
                 const T* b, int64_t ldb, bool add, T* c, int64_t ldc) {
  MatMul<T>(ta, tb, m, n, k, T(1), a, lda, b, ldb, T(add), c, ldc);
}

// The values and the derivatives of a matrix of duals.
template <class T>
class Parts {
 public:
  Parts(const Dual<T>* x, int64_t rows, int64_t columns, int64_t stride)
      : columns_(columns), v_(rows * columns), d_(rows * columns) {
    Split(x, rows, columns, stride, v_.data(), d_.data());
  }
  static void Split(const Dual<T>* x, int64_t rows, int64_t columns, int64_t stride, T* v, T* d) {
    EachInRows<T>(
        rows, columns,
        [=] DYGRAPH_FN(int64_t i, int64_t j) {
          v[i * columns + j] = x[i * stride + j].v;
          d[i * columns + j] = x[i * stride + j].d;
        },
        1);
  }
  int64_t columns() const { return columns_; }
  const T* v() { return v_.data(); }
  const T* d() { return d_.data(); }

 private:
  int64_t columns_;
  cuda::Workspace<T> v_, d_;
};

template <class T>
void RealProduct(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const Dual<T>* a, int64_t lda,
                 const Dual<T>* b, int64_t ldb, bool add, Dual<T>* c, int64_t ldc) {
  Parts<T> x(a, ta ? k : m, ta ? m : k, lda), y(b, tb ? n : k, tb ? k : n, ldb);
  cuda::Workspace<T> values(m * n), derivatives(m * n);
  T *v = values.data(), *d = derivatives.data();
  auto multiply = [&](const T* p, const T* q, T beta, T* to) {
    MatMul<T>(ta, tb, m, n, k, T(1), p, x.columns(), q, y.columns(), beta, to, n);
  };
  multiply(x.v(), y.v(), T(0), v);
  multiply(x.v(), y.d(), T(0), d);
  multiply(x.d(), y.v(), T(1), d);
  EachInRows<T>(
      m, n,
      [=] DYGRAPH_FN(int64_t i, int64_t j) {
        const Dual<T> made(v[i * n + j], d[i * n + j]);
        Dual<T>& to = c[i * ldc + j];
        to = add ? to + made : made;
      },
      1);
}

template <class V>
void Product(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const V* a, int64_t lda, const V* b,
             int64_t ldb, bool add, V* c, int64_t ldc) {
  if (m == 0 || n == 0) return;
  if (k > 0) return RealProduct(ta, tb, m, n, k, a, lda, b, ldb, add, c, ldc);
  if (add) return;
  EachInRows<V>(m, n, [=] DYGRAPH_FN(int64_t i, int64_t j) { c[i * ldc + j] = V(0); }, 1);
}

namespace {

// c [rows, n] = (add ? c : 0) + a [rows, k] times the weight, or times the weight transposed.
template <class V>
void StepProduct(int64_t rows, int64_t n, int64_t k, const V* a, StepWeight<V> weight, bool add,
                 V* c) {
  Product(false, weight.transposed, rows, n, k, a, k, weight.data, weight.transposed ? k : n, add,
          c, n);
}

template <class V>
StepWeight<V> Transposed(StepWeight<V> weight) {
  return {weight.data, !weight.transposed};
}

struct ActOf {
  Act act;
  template <class V>
  DYGRAPH_INLINE V operator()(V x) const {
    return Activated(act, x);
  }
};

// x[i], or 0 where there is no x.
template <class V>
DYGRAPH_INLINE V At(const V* x, int64_t i) {
  return x ? x[i] : V(0);
}

}  // namespace

template <class V>
void PeepholeSums(const Steps& steps, int64_t hidden, const V* c0, const V* c, const V* d_gates,
                  GatePlaces places, V* to) {
  const int64_t H = hidden, rows = steps.rows();
  const int64_t in = places.input * H, fo = places.forget * H, ou = places.output * H;
  cuda::Workspace<V> before(rows * H), shares(rows * 3 * H);
  PreviousRows(steps, c0, c, H, before.data());
  const V* was = before.data();
  V* share = shares.data();
  EachInRows<V>(
      rows, H,
      [=] DYGRAPH_FN(int64_t r, int64_t j) {
        const V* d = d_gates + r * 4 * H;
        const int64_t k = r * H + j, at = 3 * r * H + j;
        share[at] = d[in + j] * was[k];
        share[at + H] = d[fo + j] * was[k];
        share[at + 2 * H] = d[ou + j] * c[k];
      },
      1);
  ColumnSums<V>(share, rows, 3 * H, 3 * H, to);
}

template <class V>
void Lstm<V>::Forward(StepWeight<V> weight) const {
  const int64_t H = hidden, G = 4 * H;
  const int64_t in = input * H, fo = forget * H, ca = candidate * H, ou = output * H;
  const ActOf gate{gate_act}, of_g{candidate_act}, of_c{cell_act};
  const V *add = bias, *peep = peephole;
  for (int64_t t = 0; t < steps.count(); ++t) {
    const int64_t n = steps.alive(t), at = steps.begin[t];
    const V *h_before = Before(steps, h0, h, H, t), *c_before = Before(steps, c0, c, H, t);
    V *a = gates + at * G, *c_now = c + at * H, *h_now = h + at * H, *cell_now = cell + at * H;
    if (h_before) StepProduct(n, G, H, h_before, weight, true, a);
    EachInRows<V>(
        n, H,
        [=] DYGRAPH_FN(int64_t r, int64_t j) {
          V* row = a + r * G;
          const int64_t k = r * H + j;
          const V i = row[in + j] + At(add, in + j), f = row[fo + j] + At(add, fo + j),
                  g = row[ca + j] + At(add, ca + j), o = row[ou + j] + At(add, ou + j),
                  before = At(c_before, k);
          const bool seen = peep != nullptr;
          const V in_gate = gate(seen ? i + peep[j] * before : i),
                  keep = gate(seen ? f + peep[H + j] * before : f), candidate = of_g(g),
                  now = keep * before + in_gate * candidate,
                  out = gate(seen ? o + peep[2 * H + j] * now : o), y = of_c(now);
          row[in + j] = in_gate;
          row[fo + j] = keep;
          row[ca + j] = candidate;
          row[ou + j] = out;
          c_now[k] = now;
          cell_now[k] = y;
          h_now[k] = out * y;
        },
        1);
  }
}

template <class V>
void Lstm<V>::Backward(StepWeight<V> weight, const V* d_h, const V* d_c, V* d_gates, V* d_h0,
                       V* d_c0, V* d_peephole) const {
  const int64_t H = hidden, G = 4 * H, last = steps.count() - 1;
  const int64_t in = input * H, fo = forget * H, ca = candidate * H, ou = output * H;
  const Slope<Real<V>> gate_slope(gate_act), candidate_slope(candidate_act), cell_slope(cell_act);
  const V* peep = peephole;
  for (int64_t t = last; t >= 0; --t) {
    const int64_t n = steps.alive(t), at = steps.begin[t];
    const V* c_before = Before(steps, c0, c, H, t);
    const V *a = gates + at * G, *cell_now = cell + at * H;
    const V *up_h = d_h ? d_h + at * H : nullptr, *up_c = d_c ? d_c + at * H : nullptr;
    V* to = d_gates + at * G;
    if (t < last) {
      StepProduct(steps.alive(t + 1), H, G, d_gates + steps.begin[t + 1] * G, Transposed(weight),
                  false, d_h0);
    }
    EachInRows<V>(
        n, H,
        [=] DYGRAPH_FN(int64_t r, int64_t j) {
          const V* row = a + r * G;
          V* d_row = to + r * G;
          const int64_t k = r * H + j;
          const LstmUnit<V> unit{row[in + j], row[fo + j], row[ca + j], row[ou + j], cell_now[k]};
          const V before = At(c_before, k), dh = d_h0[k] + At(up_h, k), dc = d_c0[k] + At(up_c, k);
          const LstmGradient<V> d =
              peep ? LstmBack(unit, before, dh, dc,
                              Peepholes<V>{peep[j], peep[H + j], peep[2 * H + j]}, gate_slope,
                              candidate_slope, cell_slope)
                   : LstmBack(unit, before, dh, dc, NoPeepholes(), gate_slope, candidate_slope,
                              cell_slope);
          d_row[in + j] = d.i;
          d_row[fo + j] = d.f;
          d_row[ca + j] = d.g;
          d_row[ou + j] = d.o;
          d_c0[k] = d.c_before;
        },
        1);
  }
  if (last >= 0) StepProduct(steps.alive(0), H, G, d_gates, Transposed(weight), false, d_h0);
  if (d_peephole) PeepholeSums(steps, H, c0, c, d_gates, {input, forget, output}, d_peephole);
}

template <class V>
void SimpleRnn<V>::Forward(StepWeight<V> weight) const {
  const int64_t H = hidden;
  const ActOf of{act};
  const V* add = bias;
  for (int64_t t = 0; t < steps.count(); ++t) {
    const int64_t n = steps.alive(t);
    const V* before = Before(steps, h0, h, H, t);
    V* now = h + steps.begin[t] * H;
    if (before) StepProduct(n, H, H, before, weight, true, now);
    EachInRows<V>(
        n, H,
        [=] DYGRAPH_FN(int64_t r, int64_t j) { now[r * H + j] = of(now[r * H + j] + At(add, j)); },
        1);
  }
}

template <class V>
void SimpleRnn<V>::Backward(StepWeight<V> weight, const V* d_h, V* d_gates, V* d_h0) const {
  const int64_t H = hidden, last = steps.count() - 1;
  const Slope<Real<V>> slope(act);
  for (int64_t t = last; t >= 0; --t) {
    const int64_t n = steps.alive(t), at = steps.begin[t] * H;
    const V *now = h + at, *up = d_h ? d_h + at : nullptr;
    V* to = d_gates + at;
    if (t < last) {
      StepProduct(steps.alive(t + 1), H, H, d_gates + steps.begin[t + 1] * H, Transposed(weight),
                  false, d_h0);
    }
    EachInRows<V>(
        n, H,
        [=] DYGRAPH_FN(int64_t r, int64_t j) {
          const int64_t k = r * H + j;
          to[k] = (d_h0[k] + At(up, k)) * slope(now[k]);
        },
        1);
  }
  if (last >= 0) StepProduct(steps.alive(0), H, H, d_gates, Transposed(weight), false, d_h0);
}

template <class V>
void Gru<V>::Forward(const V* weight) const {
  const int64_t H = hidden, G = 3 * H;
  const ActOf gate{gate_act}, of_m{candidate_act};
  const bool swapped = original;
  for (int64_t t = 0; t < steps.count(); ++t) {
    const int64_t n = steps.alive(t), at = steps.begin[t];
    const V* before = Before(steps, h0, h, H, t);
    V *a = gates + at * G, *rh = reset + at * H, *now = h + at * H;
    if (before) Product(false, false, n, 2 * H, H, before, H, weight, 2 * H, true, a, G);
    EachInRows<V>(
        n, H,
        [=] DYGRAPH_FN(int64_t r, int64_t j) {
          V* row = a + r * G;
          row[j] = gate(row[j]);
          row[H + j] = gate(row[H + j]);
          rh[r * H + j] = row[H + j] * At(before, r * H + j);
        },
        1);
    if (before) Product(false, false, n, H, H, rh, H, weight + 2 * H * H, H, true, a + 2 * H, G);
    EachInRows<V>(
        n, H,
        [=] DYGRAPH_FN(int64_t r, int64_t j) {
          V* row = a + r * G;
          const V m = of_m(row[2 * H + j]), last = At(before, r * H + j);
          const V step = row[j] * (m - last);
          row[2 * H + j] = m;
          now[r * H + j] = swapped ? m - step : last + step;
        },
        1);
  }
}

template <class V>
void Gru<V>::Backward(const V* weight, const V* d_h, V* d_gates, V* d_h0) const {
  const int64_t H = hidden, G = 3 * H, last = steps.count() - 1;
  const bool swapped = original;
  const Slope<Real<V>> gate_slope(gate_act), candidate_slope(candidate_act);
  cuda::Workspace<V> room(steps.batch * H);
  V* d_reset = room.data();
  auto through_gates = [&](int64_t t) {
    Product(false, true, steps.alive(t), H, 2 * H, d_gates + steps.begin[t] * G, G, weight, 2 * H,
            true, d_h0, H);
  };
  for (int64_t t = last; t >= 0; --t) {
    const int64_t n = steps.alive(t), at = steps.begin[t];
    const V *before = Before(steps, h0, h, H, t), *a = gates + at * G;
    const V* up = d_h ? d_h + at * H : nullptr;
    V* to = d_gates + at * G;
    if (t < last) through_gates(t + 1);
    EachInRows<V>(
        n, H,
        [=] DYGRAPH_FN(int64_t r, int64_t j) {
          const V* row = a + r * G;
          const int64_t k = r * H + j;
          const V u = row[j], m = row[2 * H + j], dh = d_h0[k] + At(up, k);
          const V d_u = dh * (m - At(before, k)), keep = V(1) - u;
          to[r * G + j] = (swapped ? V(0) - d_u : d_u) * gate_slope(u);
          to[r * G + 2 * H + j] = dh * (swapped ? keep : u) * candidate_slope(m);
          d_h0[k] = dh * (swapped ? u : keep);
        },
        1);
    Product(false, true, n, H, H, to + 2 * H, G, weight + 2 * H * H, H, false, d_reset, H);
    EachInRows<V>(
        n, H,
        [=] DYGRAPH_FN(int64_t r, int64_t j) {
          const int64_t k = r * H + j;
          const V gate = a[r * G + H + j];
          to[r * G + H + j] = d_reset[k] * At(before, k) * gate_slope(gate);
          d_h0[k] += d_reset[k] * gate;
        },
        1);
  }
  if (last >= 0) through_gates(0);
}

template <class V>
void LateResetGru<V>::Forward(StepWeight<V> weight) const {
  const int64_t H = hidden, G = 3 * H;
  cuda::Workspace<V> room(steps.batch * G);
  const V *b = bias, *qb = q_bias;
  for (int64_t t = 0; t < steps.count(); ++t) {
    const int64_t n = steps.alive(t), at = steps.begin[t];
    const V* before = Before(steps, h0, h, H, t);
    V *a = gates + at * G, *q_now = q + at * H, *now = h + at * H;
    const V* from_state = before ? room.data() : nullptr;
    if (before) StepProduct(n, G, H, before, weight, false, room.data());
    EachInRows<V>(
        n, H,
        [=] DYGRAPH_FN(int64_t r, int64_t j) {
          V* row = a + r * G;
          const int64_t k = r * H + j, p = r * G + j;
          const V from = At(from_state, p + 2 * H) + At(qb, j);
          const V reset = Sigmoid(row[j] + At(b, j) + At(from_state, p)),
                  z = Sigmoid(row[H + j] + At(b, H + j) + At(from_state, p + H)),
                  m = Tanh(row[2 * H + j] + At(b, 2 * H + j) + reset * from);
          row[j] = reset;
          row[H + j] = z;
          row[2 * H + j] = m;
          q_now[k] = from;
          now[k] = m + z * (At(before, k) - m);
        },
        1);
  }
}

template <class V>
void LateResetGru<V>::Backward(StepWeight<V> weight, const V* d_h, V* d_gates, V* d_hidden_gates,
                               V* d_h0) const {
  const int64_t H = hidden, G = 3 * H, last = steps.count() - 1;
  auto through_gates = [&](int64_t t) {
    StepProduct(steps.alive(t), H, G, d_hidden_gates + steps.begin[t] * G, Transposed(weight), true,
                d_h0);
  };
  for (int64_t t = last; t >= 0; --t) {
    const int64_t n = steps.alive(t), at = steps.begin[t];
    const V *before = Before(steps, h0, h, H, t), *a = gates + at * G, *q_now = q + at * H;
    const V* up = d_h ? d_h + at * H : nullptr;
    V *to = d_gates + at * G, *to_hidden = d_hidden_gates + at * G;
    if (t < last) through_gates(t + 1);
    EachInRows<V>(
        n, H,
        [=] DYGRAPH_FN(int64_t r, int64_t j) {
          const V* row = a + r * G;
          const int64_t k = r * H + j, p = r * G + j;
          const LateResetGradient<V> d = LateResetBack(row[j], row[H + j], row[2 * H + j], q_now[k],
                                                       At(before, k), d_h0[k] + At(up, k));
          to[p] = d.r;
          to[p + H] = d.z;
          to[p + 2 * H] = d.m;
          to_hidden[p] = d.r;
          to_hidden[p + H] = d.z;
          to_hidden[p + 2 * H] = d.q;
          d_h0[k] = d.before;
        },
        1);
  }
  if (last >= 0) through_gates(0);
}

#define REGISTER_TYPE(V)                                                                           \
  template void Product(bool, bool, int64_t, int64_t, int64_t, const V*, int64_t, const V*,        \
                        int64_t, bool, V*, int64_t);                                               \
  template void PeepholeSums(const Steps&, int64_t, const V*, const V*, const V*, GatePlaces, V*); \
  template struct Lstm<V>;                                                                         \
  template struct Gru<V>;                                                                          \
  template struct LateResetGru<V>;                                                                 \
  template struct SimpleRnn<V>
REGISTER_TYPE(float);
REGISTER_TYPE(double);
REGISTER_TYPE(Dual<float>);
REGISTER_TYPE(Dual<double>);
#undef REGISTER_TYPE

}  // namespace dygraph::kernels
