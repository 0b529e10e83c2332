// The loops of multinomial.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/parallel.h"
#include "operators/random/random.h"
#include "platform/interrupt.h"

namespace dygraph::random {

// With replacement: each draw is a number below the sum of the weights, and falls into one of them.
template <class T>
void DrawAgain(const T* weight, int64_t n, const kernels::Philox& generator, int64_t first,
               int64_t count, std::vector<double>* sums, int64_t* to) {
  double sum = 0;
  int64_t last = 0;
  for (int64_t i = 0; i < n; ++i) {
    (*sums)[i] = sum += static_cast<double>(weight[i]);
    if (weight[i] > T(0)) last = i;
  }
  std::vector<double> drawn(static_cast<size_t>(count));
  generator.Uniform(drawn.data(), count, first);
  for (int64_t k = 0; k < count; ++k) {  // the first sum above the number
    const int64_t at = std::upper_bound(sums->begin(), sums->end(), drawn[k] * sum) - sums->begin();
    to[k] = std::min(at, last);
  }
}

// Without: the first of exponential times, each with its weight as rate, come in this distribution.
template <class T>
void DrawOnce(const T* weight, int64_t n, const kernels::Philox& generator, int64_t row,
              int64_t count, std::vector<double>* times, int64_t* to) {
  generator.Uniform(times->data(), n, row * n);
  std::vector<std::pair<double, int64_t>> order;
  order.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    if (weight[i] > T(0))
      order.emplace_back(-std::log1p(-(*times)[i]) / static_cast<double>(weight[i]), i);
  }
  std::partial_sort(order.begin(), order.begin() + count, order.end());
  for (int64_t k = 0; k < count; ++k) to[k] = order[k].second;
}

// `count` draws of each of the rows of n weights.
template <class T>
void DrawMultinomial(const KernelContext& ctx, const T* weight, int64_t rows, int64_t n,
                     int64_t count, bool replacement, int64_t* to) {
  const int64_t needed = replacement ? 1 : count;
  for (int64_t r = 0; r < rows; ++r) {
    const T* row = weight + r * n;
    const int64_t positive = std::count_if(row, row + n, [](T w) { return w > T(0); });
    ENFORCE(positive >= needed, InvalidArgument, "each row of X must have ", needed,
            " positive weights, got ", positive, " in row ", r,
            ". replacement=True draws an element again");
  }
  const kernels::Philox generator = Generator(ctx, 0);
  kernels::ParallelRows(rows, n * 16 + count * 16, [=](int64_t begin, int64_t end) {
    std::vector<double> room(static_cast<size_t>(n));
    for (int64_t r = begin; r < end; ++r) {
      CheckInterrupt();
      const T* row = weight + r * n;
      if (replacement) {
        DrawAgain(row, n, generator, r * count, count, &room, to + r * count);
      } else {
        DrawOnce(row, n, generator, r, count, &room, to + r * count);
      }
    }
  });
}

}  // namespace dygraph::random
