#include "kernels/recurrent.h"

#include <algorithm>
#include <cstring>

#include "kernels/matmul.h"
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

// A block of zeros where a first state is not given.
template <class V>
class FirstState {
 public:
  FirstState(const Steps& steps, const V* given, int64_t width)
      : bytes_(given ? 0 : static_cast<size_t>(steps.batch * width) * sizeof(V)),
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

}  // namespace

template <class V>
void Product(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const V* a, int64_t lda, const V* b,
             int64_t ldb, bool add, V* c, int64_t ldc) {
  if (m == 0 || n == 0) return;
  if (k > 0) return RealProduct(ta, tb, m, n, k, a, lda, b, ldb, add, c, ldc);
  for (int64_t i = 0; !add && i < m; ++i) std::fill(c + i * ldc, c + i * ldc + n, V(0));
}

template <class V>
void Lstm<V>::Forward(const V* weight) const {
  FirstState<V> first_h(steps, h0, hidden), first_c(steps, c0, hidden);
  const int64_t H = hidden, G = 4 * H;
  const int64_t in = input * H, fo = forget * H, ca = candidate * H, ou = output * H;
  const V* peep = peephole;
  for (int64_t t = 0; t < steps.count(); ++t) {
    const int64_t n = steps.alive(t), at = steps.begin[t];
    const V *h_before = Before(steps, first_h.get(), h, H, t),
            *c_before = Before(steps, first_c.get(), c, H, t);
    V *a = gates + at * G, *c_now = c + at * H, *h_now = h + at * H, *cell_now = cell + at * H;
    if (t > 0 || h0) Product(false, false, n, G, H, h_before, H, weight, G, true, a, G);
    if (peep) {
      EachRow<V>(n, 2 * H, [=](int64_t r) {
        for (int64_t j = 0; j < H; ++j) {
          a[r * G + in + j] += peep[j] * c_before[r * H + j];
          a[r * G + fo + j] += peep[H + j] * c_before[r * H + j];
        }
      });
    }
    Activate(gate_act, a + in, n, H, G);
    Activate(gate_act, a + fo, n, H, G);
    Activate(candidate_act, a + ca, n, H, G);
    EachRow<V>(n, 4 * H, [=](int64_t r) {
      V* row = a + r * G;
      DYGRAPH_IVDEP
      for (int64_t j = 0; j < H; ++j) {
        V now = row[fo + j] * c_before[r * H + j] + row[in + j] * row[ca + j];
        c_now[r * H + j] = now;
        cell_now[r * H + j] = now;
        if (peep) row[ou + j] += peep[2 * H + j] * now;
      }
    });
    Activate(gate_act, a + ou, n, H, G);
    Activate(cell_act, cell_now, n, H, H);
    EachRow<V>(n, H, [=](int64_t r) {
      DYGRAPH_IVDEP
      for (int64_t j = 0; j < H; ++j) h_now[r * H + j] = a[r * G + ou + j] * cell_now[r * H + j];
    });
  }
}

template <class V>
void Lstm<V>::Backward(const V* back_weight, const V* d_h, const V* d_c, V* d_gates, V* d_h0,
                       V* d_c0, V* d_peephole) const {
  using T = Real<V>;
  FirstState<V> first_c(steps, c0, hidden);
  const int64_t H = hidden, G = 4 * H;
  const int64_t in = input * H, fo = forget * H, ca = candidate * H, ou = output * H;
  const Slope<T> gate_slope(gate_act), candidate_slope(candidate_act), cell_slope(cell_act);
  const V* peep = peephole;
  if (d_peephole) std::fill(d_peephole, d_peephole + 3 * H, V(0));
  for (int64_t t = steps.count() - 1; t >= 0; --t) {
    const int64_t n = steps.alive(t), at = steps.begin[t];
    const V* c_before = Before(steps, first_c.get(), c, H, t);
    const V *a = gates + at * G, *cell_now = cell + at * H, *c_now = c + at * H;
    const V *up_h = d_h ? d_h + at * H : nullptr, *up_c = d_c ? d_c + at * H : nullptr;
    V* to = d_gates + at * G;
    EachRow<V>(n, 16 * H, [=](int64_t r) {
      const V* row = a + r * G;
      V* d = to + r * G;
      DYGRAPH_IVDEP
      for (int64_t j = 0; j < H; ++j) {
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
      for (int64_t j = 0; j < H; ++j) {
        d_peephole[j] += to[r * G + in + j] * c_before[r * H + j];
        d_peephole[H + j] += to[r * G + fo + j] * c_before[r * H + j];
        d_peephole[2 * H + j] += to[r * G + ou + j] * c_now[r * H + j];
      }
    }
    Product(false, false, n, H, G, to, G, back_weight, H, false, d_h0, H);
  }
}

template <class V>
void Gru<V>::Forward(const V* weight) const {
  FirstState<V> first(steps, h0, hidden);
  const int64_t H = hidden, G = 3 * H;
  const bool swapped = original;
  for (int64_t t = 0; t < steps.count(); ++t) {
    const int64_t n = steps.alive(t), at = steps.begin[t];
    const V* before = Before(steps, first.get(), h, H, t);
    V *a = gates + at * G, *rh = reset + at * H, *now = h + at * H;
    Product(false, false, n, 2 * H, H, before, H, weight, 2 * H, true, a, G);
    Activate(gate_act, a, n, 2 * H, G);
    EachRow<V>(n, H, [=](int64_t r) {
      DYGRAPH_IVDEP
      for (int64_t j = 0; j < H; ++j) rh[r * H + j] = a[r * G + H + j] * before[r * H + j];
    });
    Product(false, false, n, H, H, rh, H, weight + 2 * H * H, H, true, a + 2 * H, G);
    Activate(candidate_act, a + 2 * H, n, H, G);
    EachRow<V>(n, 3 * H, [=](int64_t r) {
      DYGRAPH_IVDEP
      for (int64_t j = 0; j < H; ++j) {
        V u = a[r * G + j], m = a[r * G + 2 * H + j], b = before[r * H + j];
        V step = u * (m - b);
        now[r * H + j] = swapped ? m - step : b + step;
      }
    });
  }
}

template <class V>
void Gru<V>::Backward(const V* weight, const V* d_h, V* d_gates, V* d_h0) const {
  using T = Real<V>;
  FirstState<V> first(steps, h0, hidden);
  const int64_t H = hidden, G = 3 * H;
  const bool swapped = original;
  const Slope<T> gate_slope(gate_act), candidate_slope(candidate_act);
  Scratch room(CPUPlace(), static_cast<size_t>(steps.batch * H) * sizeof(V));
  V* d_reset = room.as<V>();
  for (int64_t t = steps.count() - 1; t >= 0; --t) {
    const int64_t n = steps.alive(t), at = steps.begin[t];
    const V *before = Before(steps, first.get(), h, H, t), *a = gates + at * G;
    const V* up = d_h ? d_h + at * H : nullptr;
    V* to = d_gates + at * G;
    EachRow<V>(n, 8 * H, [=](int64_t r) {
      const V* row = a + r * G;
      DYGRAPH_IVDEP
      for (int64_t j = 0; j < H; ++j) {
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
    Product(false, true, n, H, H, to + 2 * H, G, weight + 2 * H * H, H, false, d_reset, H);
    EachRow<V>(n, 4 * H, [=](int64_t r) {
      DYGRAPH_IVDEP
      for (int64_t j = 0; j < H; ++j) {
        const int64_t k = r * H + j;
        V reset_gate = a[r * G + H + j];
        to[r * G + H + j] = d_reset[k] * before[k] * gate_slope(reset_gate);
        d_h0[k] += d_reset[k] * reset_gate;
      }
    });
    Product(false, true, n, H, 2 * H, to, G, weight, 2 * H, true, d_h0, H);
  }
}

template <class V>
void LateResetGru<V>::Forward(const V* weight, const V* q_bias) const {
  FirstState<V> first(steps, h0, hidden);
  const int64_t H = hidden, G = 3 * H;
  Scratch room(CPUPlace(), static_cast<size_t>(steps.batch * G) * sizeof(V));
  V* product = room.as<V>();  // of the state and all gates' weights
  for (int64_t t = 0; t < steps.count(); ++t) {
    const int64_t n = steps.alive(t), at = steps.begin[t];
    const V* before = Before(steps, first.get(), h, H, t);
    V *a = gates + at * G, *q_now = q + at * H, *now = h + at * H;
    Product(false, false, n, G, H, before, H, weight, G, false, product, G);
    EachRow<V>(n, 3 * H, [=](int64_t r) {
      DYGRAPH_IVDEP
      for (int64_t j = 0; j < 2 * H; ++j) a[r * G + j] += product[r * G + j];
      DYGRAPH_IVDEP
      for (int64_t j = 0; j < H; ++j) {
        V v = product[r * G + 2 * H + j];
        q_now[r * H + j] = q_bias ? v + q_bias[j] : v;
      }
    });
    Activate(Act::kSigmoid, a, n, 2 * H, G);
    EachRow<V>(n, H, [=](int64_t r) {
      DYGRAPH_IVDEP
      for (int64_t j = 0; j < H; ++j) a[r * G + 2 * H + j] += a[r * G + j] * q_now[r * H + j];
    });
    Activate(Act::kTanh, a + 2 * H, n, H, G);
    EachRow<V>(n, 3 * H, [=](int64_t r) {
      DYGRAPH_IVDEP
      for (int64_t j = 0; j < H; ++j) {
        V z = a[r * G + H + j], m = a[r * G + 2 * H + j];
        now[r * H + j] = m + z * (before[r * H + j] - m);
      }
    });
  }
}

template <class V>
void LateResetGru<V>::Backward(const V* back_weight, const V* d_h, V* d_gates, V* d_hidden_gates,
                               V* d_h0) const {
  using T = Real<V>;
  FirstState<V> first(steps, h0, hidden);
  const int64_t H = hidden, G = 3 * H;
  const Slope<T> sigmoid_slope(Act::kSigmoid), tanh_slope(Act::kTanh);
  for (int64_t t = steps.count() - 1; t >= 0; --t) {
    const int64_t n = steps.alive(t), at = steps.begin[t];
    const V *before = Before(steps, first.get(), h, H, t), *a = gates + at * G, *q_now = q + at * H;
    const V* up = d_h ? d_h + at * H : nullptr;
    V *to = d_gates + at * G, *to_hidden = d_hidden_gates + at * G;
    EachRow<V>(n, 12 * H, [=](int64_t r) {
      const V* row = a + r * G;
      DYGRAPH_IVDEP
      for (int64_t j = 0; j < H; ++j) {
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
    Product(false, false, n, H, G, to_hidden, G, back_weight, H, true, d_h0, H);
  }
}

template <class V>
void SimpleRnn<V>::Forward(const V* weight) const {
  FirstState<V> first(steps, h0, hidden);
  const int64_t H = hidden;
  for (int64_t t = 0; t < steps.count(); ++t) {
    const int64_t n = steps.alive(t);
    V* now = h + steps.begin[t] * H;
    Product(false, false, n, H, H, Before(steps, first.get(), h, H, t), H, weight, H, true, now, H);
    Activate(act, now, n, H, H);
  }
}

template <class V>
void SimpleRnn<V>::Backward(const V* back_weight, const V* d_h, V* d_gates, V* d_h0) const {
  const int64_t H = hidden;
  const Slope<Real<V>> slope(act);
  for (int64_t t = steps.count() - 1; t >= 0; --t) {
    const int64_t n = steps.alive(t), at = steps.begin[t] * H;
    const V *now = h + at, *up = d_h ? d_h + at : nullptr;
    V* to = d_gates + at;
    EachRow<V>(n, 4 * H, [=](int64_t r) {
      DYGRAPH_IVDEP
      for (int64_t k = r * H; k < (r + 1) * H; ++k) {
        V dh = d_h0[k];
        if (up) dh += up[k];
        to[k] = dh * slope(now[k]);
      }
    });
    Product(false, false, n, H, H, to, H, back_weight, H, false, d_h0, H);
  }
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
