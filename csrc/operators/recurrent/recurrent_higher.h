// Recurrent cells on single numbers, for their third gradients (operators/higher_gradient.h).
#pragma once

#include "operators/higher_gradient.h"
#include "operators/recurrent/packed_batch.h"

namespace dygraph::recurrent {

using higher::Scalar;
using Row = std::vector<Scalar>;

inline Scalar Activate(kernels::Act act, Scalar x) {
  switch (act) {
    case kernels::Act::kSigmoid: return Sigmoid(x);
    case kernels::Act::kTanh: return Tanh(x);
    case kernels::Act::kRelu: return ValueOf(x) > 0 ? x : kernels::Constant(0);
    default: return x;
  }
}

// Within [-clip, clip], where clip is above 0.
inline Scalar Clip(Scalar x, double clip) {
  if (!(clip > 0) || std::fabs(ValueOf(x)) < clip) return x;
  return kernels::Constant(ValueOf(x) > 0 ? clip : -clip);
}

// Row `row` of input i, or zeros where it is absent.
inline Row RowOf(higher::Problem& p, int i, int64_t row, int64_t width) {
  return p.Has(i) ? p.Leaves(i, row * width, width) : Row(width, kernels::Constant(0));
}

// The whole of an input, [rows, columns], as a matrix to multiply rows with.
struct Matrix {
  Row numbers;
  int64_t columns;
  // start + x times column j
  Scalar Times(Scalar start, const Row& x, int64_t j) const {
    return kernels::ScalarTape::Current().Dot(start, x.data(), 1, numbers.data() + j, columns,
                                              static_cast<int64_t>(x.size()));
  }
  // start + x times row i
  Scalar TimesRow(Scalar start, const Row& x, int64_t i) const {
    return kernels::ScalarTape::Current().Dot(start, x.data(), 1, numbers.data() + i * columns, 1,
                                              columns);
  }
};

// Calls f(sequence, row of the tensor) in the order of the steps.
template <class F>
void ForEachStep(const Packing& packing, const F& f) {
  for (int64_t t = 0; t < packing.steps.count(); ++t) {
    for (int64_t k = 0; k < packing.steps.alive(t); ++k)
      f(packing.order[k], packing.source[packing.steps.begin[t] + k]);
  }
}

// What lstm and lstmp share: g, i, f, o side by side, the peepholes of i, f, o behind the bias.
struct LstmCell {
  int64_t d;
  kernels::Act gate, candidate, cell;
  const Matrix& weight;
  const Row& bias;
  bool peepholes;
  double clip = 0;

  // From x (4 d numbers) and what the row before left; c becomes the cell, the result is h.
  Row Step(const Row& x, const Row& h, Row* c) const {
    Row out;
    auto pre = [&](int which, int64_t j) {
      return weight.Times(x[which * d + j] + bias[which * d + j], h, which * d + j);
    };
    auto seen = [&](Scalar v, int which, int64_t j) {
      return peepholes ? v + bias[(4 + which) * d + j] * (*c)[j] : v;
    };
    for (int64_t j = 0; j < d; ++j) {
      Scalar g = Activate(candidate, pre(0, j)), i = Activate(gate, seen(pre(1, j), 0, j)),
             f = Activate(gate, seen(pre(2, j), 1, j));
      (*c)[j] = Clip(f * (*c)[j] + i * g, clip);
      out.push_back(Activate(gate, seen(pre(3, j), 2, j)) * Activate(cell, (*c)[j]));
    }
    return out;
  }
};

}  // namespace dygraph::recurrent
