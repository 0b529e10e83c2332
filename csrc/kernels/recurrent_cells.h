// Formulas of recurrent cells, of one hidden unit, that loops of the host and of devices share. Steps
// forward stand in the loops themselves: on the host their bits follow from how a loop is written.
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

// The same as functors.
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

// What the gates of an LSTM give back to its cell: with peepholes, and without.
template <class V>
struct Peepholes {
  V i, f, o;
  DYGRAPH_INLINE V FromOutput(V d_c, V d_o) const { return d_c + d_o * o; }
  DYGRAPH_INLINE V FromInputAndForget(V d_c, V d_i, V d_f) const {
    return d_c + (d_i * i + d_f * f);
  }
};
struct NoPeepholes {
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
struct LstmUnit {
  V i, f, g, o, y;  // the gates and the activated cell
};

template <class V>
struct LstmGradient {
  V i, f, g, o;  // of the sums
  V c_before;
};

// From the gradients of h and c.
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

// A GRU whose reset gate acts behind the product: q is h' weight_m + q_bias.
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
