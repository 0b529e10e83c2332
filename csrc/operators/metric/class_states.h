// How often predictions of each class were right and wrong.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dygraph {

constexpr int kTp = 0, kFp = 1, kTn = 2, kFn = 3;  // columns of the states

// Of one prediction.
struct Classes {
  int64_t found, label;
};

// states[c, :] of the weights of n predictions (nullptr: 1); of(i) gives the classes of one.
template <class T, class F>
void CountStates(int64_t n, int64_t classes, const T* weights, F of, double* states) {
  std::fill_n(states, 4 * classes, 0.0);
  double all = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Classes c = of(i);
    const double w = weights ? double{weights[i]} : 1.0;
    all += w;
    states[4 * c.label + kTn] -= w;
    if (c.found == c.label) {
      states[4 * c.label + kTp] += w;
    } else {
      states[4 * c.label + kFn] += w;
      states[4 * c.found + kFp] += w;
      states[4 * c.found + kTn] -= w;
    }
  }
  for (int64_t c = 0; c < classes; ++c) states[4 * c + kTn] += all;
}

}  // namespace dygraph
