// Recurrent cells over sequences of different lengths, without work for padding. Sequences lie side
// by side, longest first, so that the ones alive at a step are the first ones; rows are "packed":
// all of step 0, all of step 1, ... Loops are made for float, double and Dual of them.
//
// Each cell runs from the projections of its inputs: one product for all steps, made before.
#pragma once

#include <cstdint>

#include "kernels/packed_rows.h"
#include "kernels/recurrent_cells.h"

namespace dygraph::kernels {

// c [m, n] = (add ? c : 0) + op(a) op(b), as Gemm.
template <class V>
void Product(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const V* a, int64_t lda, const V* b,
             int64_t ldb, bool add, V* c, int64_t ldc);

// A weight that every step multiplies with: as its comment says, or transposed.
template <class V>
struct StepWeight {
  const V* data = nullptr;
  bool transposed = false;
};

// Places of the gates i, f and o in a row of gates.
struct GatePlaces {
  int input, forget, output;
};

// to [3, hidden]: the gradients of an LSTM's peepholes, from those of its gates [rows, 4 hidden].
// c0 [batch, hidden], null: zeros; c [rows, hidden].
template <class V>
void PeepholeSums(const Steps& steps, int64_t hidden, const V* c0, const V* c, const V* d_gates,
                  GatePlaces places, V* to);

// i = gate(a_i + p_i c'), f = gate(a_f + p_f c'), g = candidate(a_g), c = f c' + i g,
// o = gate(a_o + p_o c), h = o cell(c), where
// a = projection + bias + h' weight and ' is the step before.
template <class V>
struct Lstm {
  const Steps& steps;
  int64_t hidden;
  int input = 0, forget = 1, candidate = 2, output = 3;  // places in a row of gates
  Act gate_act = Act::kSigmoid, candidate_act = Act::kTanh, cell_act = Act::kTanh;
  const V* bias = nullptr;                        // [4 hidden], null: zeros
  const V* peephole = nullptr;                    // [3, hidden] for i, f, o
  const V *h0 = nullptr, *c0 = nullptr;           // [batch, hidden], null: zeros
  V* gates = nullptr;                             // [rows, 4 hidden]
  V *h = nullptr, *c = nullptr, *cell = nullptr;  // [rows, hidden]; cell is cell_act(c)

  // gates holds projections and then i, f, g, o. weight [hidden, 4 hidden].
  void Forward(StepWeight<V> weight) const;
  // From the gradients of h and c (null: none): d_gates [rows, 4 hidden] of the projections. d_h0
  // and d_c0 [batch, hidden] hold the gradients of the last states and then those of the first.
  // d_peephole may be null.
  void Backward(StepWeight<V> weight, const V* d_h, const V* d_c, V* d_gates, V* d_h0, V* d_c0,
                V* d_peephole) const;

 private:
  // Columns [begin, end) of a step of n rows, from the sums in a.
  void Cells(int64_t n, int64_t begin, int64_t end, const V* bias_or_zeros, const V* c_before, V* a,
             V* c_now, V* cell_now, V* h_now) const;
};

// u = gate(a_u), r = gate(a_r), m = candidate(projection_m + (r h') weight_m),
// h = (1 - u) h' + u m, or u h' + (1 - u) m in the original form.
template <class V>
struct Gru {
  const Steps& steps;
  int64_t hidden;
  Act gate_act = Act::kSigmoid, candidate_act = Act::kTanh;
  bool original = false;
  const V* h0 = nullptr;
  V* gates = nullptr;                // [rows, 3 hidden]: u, r, m
  V *reset = nullptr, *h = nullptr;  // [rows, hidden]; reset is r h'

  // weight: [hidden, 2 hidden] for u and r, then [hidden, hidden] for m.
  void Forward(const V* weight) const;
  void Backward(const V* weight, const V* d_h, V* d_gates, V* d_h0) const;
};

// The form whose reset gate acts behind the product: m = tanh(projection_m + r q),
// q = h' weight_m + q_bias, h = (1 - z) m + z h'. Gates lie as r, z, m.
template <class V>
struct LateResetGru {
  const Steps& steps;
  int64_t hidden;
  const V* h0 = nullptr;
  V* gates = nullptr;            // [rows, 3 hidden]
  V *q = nullptr, *h = nullptr;  // [rows, hidden]
  // [3 hidden] of the projections, and q_bias [hidden]; null: zeros
  const V *bias = nullptr, *q_bias = nullptr;

  // weight [hidden, 3 hidden]
  void Forward(StepWeight<V> weight) const;
  // d_hidden_gates [rows, 3 hidden]: those of h' weight, with q's in the third place.
  void Backward(StepWeight<V> weight, const V* d_h, V* d_gates, V* d_hidden_gates, V* d_h0) const;
};

// h = act(projection + bias + h' weight)
template <class V>
struct SimpleRnn {
  const Steps& steps;
  int64_t hidden;
  Act act = Act::kTanh;
  const V* h0 = nullptr;
  V* h = nullptr;           // holds projections and then h
  const V* bias = nullptr;  // [hidden], null: zeros

  // weight [hidden, hidden]
  void Forward(StepWeight<V> weight) const;
  void Backward(StepWeight<V> weight, const V* d_h, V* d_gates, V* d_h0) const;
};

}  // namespace dygraph::kernels
