#include "kernels/recurrent_steps.h"
#include "platform/interrupt.h"

namespace dygraph::kernels {

using recurrent_steps::Activate;
using recurrent_steps::AddColumns;
using recurrent_steps::OrZeros;
using recurrent_steps::Share;
using recurrent_steps::StepProduct;

template <class V>
void Gru<V>::Forward(const V* weight) const {
  const int64_t H = hidden, G = 3 * H;
  OrZeros<V> first(h0, steps.batch * H);
  StepProduct<V> gates_product({weight, false}, 2, H, H),
      candidate_product({weight + 2 * H * H, false}, 1, H, H);
  const bool swapped = original;
  for (int64_t t = 0; t < steps.count(); ++t) {
    CheckInterrupt();
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
    CheckInterrupt();
    const int64_t n = steps.alive(t), at = steps.begin[t], behind = steps.begin[t + 1];
    const V *before = Before(steps, first.get(), h, H, t), *a = gates + at * G;
    const V* up = d_h ? d_h + at * H : nullptr;
    V* to = d_gates + at * G;
    gates_product.EachShare(n, [&](const Share& share) {
      const int64_t begin = share.begin, end = share.end;
      if (t < last)
        gates_product.Multiply(steps.alive(t + 1), d_gates + behind * G, G, share, true, d_h0, H);
      AddColumns(n, share, H, up, d_h0);
      EachRow<V>(n, 8 * share.width(), [=](int64_t r) {
        const V* row = a + r * G;
        DYGRAPH_IVDEP
        for (int64_t j = begin; j < end; ++j) {
          const int64_t k = r * H + j;
          V dh = d_h0[k];
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
    CheckInterrupt();
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
  const int64_t H = hidden, G = 3 * H, last = steps.count() - 1;
  OrZeros<V> first(h0, steps.batch * H);
  StepProduct<V> product({weight.data, !weight.transposed}, 1, H, G);
  for (int64_t t = last; t >= 0; --t) {
    CheckInterrupt();
    const int64_t n = steps.alive(t), at = steps.begin[t], behind = steps.begin[t + 1];
    const V *before = Before(steps, first.get(), h, H, t), *a = gates + at * G, *q_now = q + at * H;
    const V* up = d_h ? d_h + at * H : nullptr;
    V *to = d_gates + at * G, *to_hidden = d_hidden_gates + at * G;
    product.EachShare(n, [&](const Share& share) {
      const int64_t begin = share.begin, end = share.end;
      if (t < last)
        product.Multiply(steps.alive(t + 1), d_hidden_gates + behind * G, G, share, true, d_h0, H);
      AddColumns(n, share, H, up, d_h0);
      EachRow<V>(n, 12 * share.width(), [=](int64_t r) {
        const V* row = a + r * G;
        DYGRAPH_IVDEP
        for (int64_t j = begin; j < end; ++j) {
          const int64_t k = r * H + j;
          const LateResetGradient<V> d =
              LateResetBack(row[j], row[H + j], row[2 * H + j], q_now[k], before[k], d_h0[k]);
          to[r * G + j] = d.r;
          to[r * G + H + j] = d.z;
          to[r * G + 2 * H + j] = d.m;
          to_hidden[r * G + j] = d.r;
          to_hidden[r * G + H + j] = d.z;
          to_hidden[r * G + 2 * H + j] = d.q;
          d_h0[k] = d.before;
        }
      });
    });
  }
  if (last < 0) return;
  product.EachShare(steps.alive(0), [&](const Share& share) {
    product.Multiply(steps.alive(0), d_hidden_gates, G, share, true, d_h0, H);
  });
}

template struct Gru<float>;
template struct Gru<double>;
template struct Gru<Dual<float>>;
template struct Gru<Dual<double>>;
template struct LateResetGru<float>;
template struct LateResetGru<double>;
template struct LateResetGru<Dual<float>>;
template struct LateResetGru<Dual<double>>;

}  // namespace dygraph::kernels
