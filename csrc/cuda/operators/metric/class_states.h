// operators/metric/class_states.h on the device: a team for each class, so that weights are added
// in an order of their own.
#pragma once

#include <cstdint>

#include "kernels/loops.h"

namespace dygraph {

constexpr int kTp = 0, kFp = 1, kTn = 2, kFn = 3;  // columns of the states

// Of one prediction.
struct Classes {
  int64_t found, label;
};

namespace detail {
struct States {
  double of[4];
};
}  // namespace detail

// states[c, :] of the weights of n predictions (nullptr: 1); of(i) gives the classes of one.
template <class T, class F>
void CountStates(int64_t n, int64_t classes, const T* weights, F of, double* states) {
  kernels::ForEachRow(classes, n, [=] DYGRAPH_FN(int64_t c, kernels::Team team) {
    const detail::States sums = team.Merge(
        n, detail::States{{0, 0, 0, 0}},
        [=](int64_t i) {
          const Classes both = of(i);
          detail::States one = {{0, 0, 0, 0}};
          const int column =
              both.found == c ? (both.label == c ? kTp : kFp) : (both.label == c ? kFn : kTn);
          one.of[column] = weights ? static_cast<double>(weights[i]) : 1.0;
          return one;
        },
        [](detail::States a, detail::States b) {
          for (int k = 0; k < 4; ++k) a.of[k] += b.of[k];
          return a;
        });
    team.Once([=] {
      for (int k = 0; k < 4; ++k) states[4 * c + k] = sums.of[k];
    });
  });
}

}  // namespace dygraph
