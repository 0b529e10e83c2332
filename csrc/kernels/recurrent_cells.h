// The formulas of recurrent cells, of one hidden unit: what loops of the host and of devices share.
#pragma once

#include <cstdint>

#include "kernels/dual.h"

namespace dygraph::kernels {

// Fluid's numbers of activations.
enum class Act : int32_t { kIdentity = 0, kSigmoid = 1, kTanh = 2, kRelu = 3 };

template <class V>
DYGRAPH_INLINE V Activated(Act act, V x) {
  switch (act) {
    case Act::kSigmoid: return Sigmoid(x);
    case Act::kTanh: return Tanh(x);
    case Act::kRelu: return x < Real<V>(0) ? V(0) : x;
    default: return x;
  }
}

// The derivative of an activation, of its result.
template <class V>
DYGRAPH_INLINE V SlopeOf(Act act, V y) {
  switch (act) {
    case Act::kSigmoid: return y * (V(1) - y);
    case Act::kTanh: return V(1) - y * y;
    case Act::kRelu: return y > Real<V>(0) ? V(1) : V(0);
    default: return V(1);
  }
}

// The same as functors: of one activation, or of any.
struct SigmoidAct {
  template <class V>
  DYGRAPH_INLINE V operator()(V x) const {
    return Sigmoid(x);
  }
};
struct TanhAct {
  template <class V>
  DYGRAPH_INLINE V operator()(V x) const {
    return Tanh(x);
  }
};
struct AnyAct {
  Act act;
  template <class V>
  DYGRAPH_INLINE V operator()(V x) const {
    return Activated(act, x);
  }
};
struct SigmoidSlope {
  template <class V>
  DYGRAPH_INLINE V operator()(V y) const {
    return y * (V(1) - y);
  }
};
struct TanhSlope {
  template <class V>
  DYGRAPH_INLINE V operator()(V y) const {
    return V(1) - y * y;
  }
};
// Without a branch, for vectors: a + b y + c y^2, or a step for relu.
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

// What the gates of an LSTM see of its cell.
struct NoPeepholes {
  template <class V>
  DYGRAPH_INLINE V ToInput(V sum, V) const {
    return sum;
  }
  template <class V>
  DYGRAPH_INLINE V ToForget(V sum, V) const {
    return sum;
  }
  template <class V>
  DYGRAPH_INLINE V ToOutput(V sum, V) const {
    return sum;
  }
  template <class V>
  DYGRAPH_INLINE V FromOutput(V d_c, V) const {
    return d_c;
  }
  template <class V>
  DYGRAPH_INLINE V FromInputAndForget(V d_c, V, V) const {
    return d_c;
  }
};
template <class V>
struct Peepholes {
  V i, f, o;
  DYGRAPH_INLINE V ToInput(V sum, V c) const { return sum + i * c; }
  DYGRAPH_INLINE V ToForget(V sum, V c) const { return sum + f * c; }
  DYGRAPH_INLINE V ToOutput(V sum, V c) const { return sum + o * c; }
  // The gradient of the cell, with what comes back from the gates.
  DYGRAPH_INLINE V FromOutput(V d_c, V d_o) const { return d_c + d_o * o; }
  DYGRAPH_INLINE V FromInputAndForget(V d_c, V d_i, V d_f) const {
    return d_c + (d_i * i + d_f * f);
  }
};

template <class V>
struct LstmUnit {
  V i, f, g, o, c, y;  // y: the activated cell
};

// From the sums behind i, f, g and o and the cell of the step before.
template <class V, class P, class Gate, class Candidate, class CellAct>
DYGRAPH_INLINE LstmUnit<V> LstmStep(V i, V f, V g, V o, V c_before, const P& peepholes, Gate gate,
                                    Candidate candidate, CellAct cell_act) {
  LstmUnit<V> unit;
  unit.i = gate(peepholes.ToInput(i, c_before));
  unit.f = gate(peepholes.ToForget(f, c_before));
  unit.g = candidate(g);
  unit.c = unit.f * c_before + unit.i * unit.g;
  unit.o = gate(peepholes.ToOutput(o, unit.c));
  unit.y = cell_act(unit.c);
  return unit;
}

template <class V>
struct LstmGradient {
  V i, f, g, o;  // of the sums
  V c_before;
};

// From the gradients of h and c. `unit` needs no c.
template <class V, class P, class Gate, class Candidate, class CellAct>
DYGRAPH_INLINE LstmGradient<V> LstmBack(const LstmUnit<V>& unit, V c_before, V d_h, V d_c,
                                        const P& peepholes, Gate gate_slope,
                                        Candidate candidate_slope, CellAct cell_slope) {
  LstmGradient<V> d;
  d.o = d_h * unit.y * gate_slope(unit.o);
  d_c += d_h * unit.o * cell_slope(unit.y);
  d_c = peepholes.FromOutput(d_c, d.o);
  d.i = d_c * unit.g * gate_slope(unit.i);
  d.f = d_c * c_before * gate_slope(unit.f);
  d.g = d_c * unit.i * candidate_slope(unit.g);
  d.c_before = peepholes.FromInputAndForget(d_c * unit.f, d.i, d.f);
  return d;
}

// h of a GRU with the update gate u, candidate m and the state before. The original form has u and
// 1 - u change places.
template <class V>
DYGRAPH_INLINE V GruStep(V u, V m, V before, bool original) {
  V step = u * (m - before);
  return original ? m - step : before + step;
}

template <class V>
struct GruGradient {
  V u, m;    // of the sums
  V before;  // without what comes through the gates
};
template <class V, class Gate, class Candidate>
DYGRAPH_INLINE GruGradient<V> GruBack(V u, V m, V before, V d_h, bool original, Gate gate_slope,
                                      Candidate candidate_slope) {
  V d_u = d_h * (m - before);
  V keep = V(1) - u;
  GruGradient<V> d;
  d.u = (original ? V(0) - d_u : d_u) * gate_slope(u);
  d.m = d_h * (original ? keep : u) * candidate_slope(m);
  d.before = d_h * (original ? u : keep);
  return d;
}

// A GRU whose reset gate acts behind the product: q is h' weight_m + q_bias.
template <class V>
struct LateResetUnit {
  V r, z, m, h;
};
template <class V>
DYGRAPH_INLINE LateResetUnit<V> LateResetStep(V r, V z, V m, V q, V before) {
  LateResetUnit<V> unit;
  unit.r = Sigmoid(r);
  unit.z = Sigmoid(z);
  unit.m = Tanh(m + unit.r * q);
  unit.h = unit.m + unit.z * (before - unit.m);
  return unit;
}

template <class V>
struct LateResetGradient {
  V r, z, m;  // of the sums
  V q;
  V before;  // without what comes through the gates
};
template <class V>
DYGRAPH_INLINE LateResetGradient<V> LateResetBack(V r, V z, V m, V q, V before, V d_h) {
  const SigmoidSlope sigmoid_slope;
  const TanhSlope tanh_slope;
  LateResetGradient<V> d;
  d.m = d_h * (V(1) - z) * tanh_slope(m);
  d.z = d_h * (before - m) * sigmoid_slope(z);
  d.r = d.m * q * sigmoid_slope(r);
  d.q = d.m * r;
  d.before = d_h * z;
  return d;
}

}  // namespace dygraph::kernels
