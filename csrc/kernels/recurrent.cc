#include "kernels/matmul.h"
#include "kernels/recurrent_steps.h"
#include "platform/interrupt.h"

namespace dygraph::kernels {

using recurrent_steps::Activate;
using recurrent_steps::AddColumns;
using recurrent_steps::OrZeros;
using recurrent_steps::Share;
using recurrent_steps::StepProduct;

namespace {

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
void PeepholeSums(const Steps& steps, int64_t hidden, const V* c0, const V* c, const V* d_gates,
                  GatePlaces places, V* to) {
  const int64_t H = hidden, in = places.input * H, fo = places.forget * H, ou = places.output * H;
  OrZeros<V> first(c0, steps.batch * H);
  std::fill(to, to + 3 * H, V(0));
  for (int64_t t = steps.count() - 1; t >= 0; --t) {
    const V *before = Before(steps, first.get(), c, H, t), *now = c + steps.begin[t] * H;
    const V* d = d_gates + steps.begin[t] * 4 * H;
    for (int64_t r = 0; r < steps.alive(t); ++r, before += H, now += H, d += 4 * H) {
      for (int64_t j = 0; j < H; ++j) {
        to[j] += d[in + j] * before[j];
        to[H + j] += d[fo + j] * before[j];
        to[2 * H + j] += d[ou + j] * now[j];
      }
    }
  }
}

template <class V>
bool Usual(const Lstm<V>& cell) {
  return cell.gate_act == Act::kSigmoid && cell.candidate_act == Act::kTanh &&
         cell.cell_act == Act::kTanh;
}

template <class V>
void Lstm<V>::Forward(StepWeight<V> weight) const {
  const int64_t H = hidden, G = 4 * H;
  OrZeros<V> first_h(h0, steps.batch * H), first_c(c0, steps.batch * H), add(bias, G);
  StepProduct<V> product(weight, 4, H, H);
  for (int64_t t = 0; t < steps.count(); ++t) {
    CheckInterrupt();
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
  if (!peep && Usual(*this)) {
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
  const bool usual = Usual(*this);
  if (d_peephole) std::fill(d_peephole, d_peephole + 3 * H, V(0));
  StepProduct<V> product({weight.data, !weight.transposed}, 1, H, G);
  for (int64_t t = last; t >= 0; --t) {
    CheckInterrupt();
    const int64_t n = steps.alive(t), at = steps.begin[t], behind = steps.begin[t + 1];
    const V* c_before = Before(steps, first_c.get(), c, H, t);
    const V *a = gates + at * G, *cell_now = cell + at * H, *c_now = c + at * H;
    const V *up_h = d_h ? d_h + at * H : nullptr, *up_c = d_c ? d_c + at * H : nullptr;
    V* to = d_gates + at * G;
    product.EachShare(n, [&](const Share& share) {
      const int64_t begin = share.begin, end = share.end;
      if (t < last)
        product.Multiply(steps.alive(t + 1), d_gates + behind * G, G, share, false, d_h0, H);
      AddColumns(n, share, H, up_h, d_h0);
      AddColumns(n, share, H, up_c, d_c0);
      auto cells = [=](auto peepholes_of, auto gate_slope, auto candidate_slope, auto cell_slope) {
        EachRow<V>(n, 16 * (end - begin), [=](int64_t r) {
          const V *row = a + r * G, *h_row = d_h0 + r * H, *c_row = c_before + r * H;
          const V* y_row = cell_now + r * H;
          V *d_row = to + r * G, *dc_row = d_c0 + r * H;
          DYGRAPH_IVDEP
          for (int64_t j = begin; j < end; ++j) {
            const LstmUnit<V> unit{row[in + j], row[fo + j], row[ca + j], row[ou + j], y_row[j]};
            const LstmGradient<V> d = LstmBack(unit, c_row[j], h_row[j], dc_row[j], peepholes_of(j),
                                               gate_slope, candidate_slope, cell_slope);
            d_row[in + j] = d.i;
            d_row[fo + j] = d.f;
            d_row[ca + j] = d.g;
            d_row[ou + j] = d.o;
            dc_row[j] = d.c_before;
          }
        });
      };
      auto none = [](int64_t) { return NoPeepholes(); };
      if (usual && !peep) {
        cells(none, SigmoidSlope(), TanhSlope(), TanhSlope());
      } else if (peep) {
        cells([=](int64_t j) { return Peepholes<V>{peep[j], peep[H + j], peep[2 * H + j]}; },
              gate_slope, candidate_slope, cell_slope);
      } else {
        cells(none, gate_slope, candidate_slope, cell_slope);
      }
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
void SimpleRnn<V>::Forward(StepWeight<V> weight) const {
  const int64_t H = hidden;
  OrZeros<V> first(h0, steps.batch * H), add(bias, H);
  StepProduct<V> product(weight, 1, H, H);
  const V* b = add.get();
  for (int64_t t = 0; t < steps.count(); ++t) {
    CheckInterrupt();
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
    CheckInterrupt();
    const int64_t n = steps.alive(t), at = steps.begin[t] * H, behind = steps.begin[t + 1];
    const V *now = h + at, *up = d_h ? d_h + at : nullptr;
    V* to = d_gates + at;
    product.EachShare(n, [&](const Share& share) {
      const int64_t begin = share.begin, end = share.end;
      if (t < last)
        product.Multiply(steps.alive(t + 1), d_gates + behind * H, H, share, false, d_h0, H);
      AddColumns(n, share, H, up, d_h0);
      EachRow<V>(n, 4 * share.width(), [=](int64_t r) {
        DYGRAPH_IVDEP
        for (int64_t j = begin; j < end; ++j) {
          const int64_t k = r * H + j;
          V dh = d_h0[k];
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

#define REGISTER_TYPE(V)                                                                           \
  template void Product(bool, bool, int64_t, int64_t, int64_t, const V*, int64_t, const V*,        \
                        int64_t, bool, V*, int64_t);                                               \
  template void PeepholeSums(const Steps&, int64_t, const V*, const V*, const V*, GatePlaces, V*); \
  template struct Lstm<V>;                                                                         \
  template struct SimpleRnn<V>
REGISTER_TYPE(float);
REGISTER_TYPE(double);
REGISTER_TYPE(Dual<float>);
REGISTER_TYPE(Dual<double>);
#undef REGISTER_TYPE

}  // namespace dygraph::kernels
