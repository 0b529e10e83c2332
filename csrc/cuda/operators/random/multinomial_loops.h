// operators/random/multinomial_loops.h on the device: a team for each row.
#pragma once

#include <cmath>

#include "cuda/errors_cuda.h"
#include "cuda/scratch.h"
#include "kernels/loops.h"
#include "operators/random/random.h"

namespace dygraph::random {

namespace detail {

constexpr int64_t kPieces = 256;  // of a row whose sums are made

// With replacement: each draw is a number below the sum of the weights, and falls into one of them.
template <class T>
void DrawAgain(const T* weight, int64_t rows, int64_t n, const double* drawn, int64_t count,
               int64_t* to) {
  cuda::Workspace<double> sum_room(rows * n), piece_room(rows * kPieces);
  cuda::Workspace<int64_t> last_room(rows);
  double *all = sum_room.data(), *all_pieces = piece_room.data();
  int64_t* last = last_room.data();
  const int64_t length = (n + kPieces - 1) / kPieces;
  kernels::ForEachRow(rows, n, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
    const T* row = weight + r * n;
    double *sums = all + r * n, *pieces = all_pieces + r * kPieces;
    team.Each(kPieces, [=](int64_t p) {
      double sum = 0;
      for (int64_t i = p * length; i < n && i < (p + 1) * length; ++i)
        sums[i] = sum += static_cast<double>(row[i]);
      pieces[p] = sum;
    });
    team.Sync();
    team.Once([=] {
      double before = 0;
      for (int64_t p = 0; p < kPieces; ++p) {
        const double sum = pieces[p];
        pieces[p] = before;
        before += sum;
      }
    });
    team.Sync();
    team.Each(n, [=](int64_t i) { sums[i] += pieces[i / length]; });
    const int64_t end = team.Max(n, int64_t{0}, [=](int64_t i) { return row[i] > T(0) ? i : 0; });
    team.Once([=] { last[r] = end; });
  });
  kernels::ForEach(rows * count, [=] DYGRAPH_FN(int64_t k) {
    const int64_t r = k / count;
    const double *sums = all + r * n, number = drawn[k] * sums[n - 1];
    int64_t low = 0, high = n;  // the first sum above the number
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (sums[middle] > number) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    to[k] = low < last[r] ? low : last[r];
  });
}

// An exponential time and the element that it belongs to.
struct Arrival {
  double time;
  int64_t element;  // -1: none
  DYGRAPH_INLINE bool Before(const Arrival& other) const {
    if (element < 0 || other.element < 0) return element >= 0;
    return time < other.time || (time == other.time && element < other.element);
  }
};

// Without: the first of exponential times, each with its weight as rate, come in this distribution.
template <class T>
void DrawOnce(const T* weight, int64_t rows, int64_t n, const double* drawn, int64_t count,
              int64_t* to) {
  cuda::Workspace<double> room(rows * n);
  double* all = room.data();
  kernels::ForEachRow(rows, n, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
    const T* row = weight + r * n;
    const double* uniform = drawn + r * n;
    double* times = all + r * n;
    team.Each(n, [=](int64_t i) {
      times[i] = row[i] > T(0) ? -std::log1p(-uniform[i]) / static_cast<double>(row[i]) : -1;
    });
    team.Sync();
    Arrival last{0, -1};
    for (int64_t k = 0; k < count; ++k) {
      const Arrival next = team.Merge(
          n, Arrival{0, -1},
          [=](int64_t i) {
            const Arrival here{times[i], times[i] < 0 ? -1 : i};
            return k == 0 || last.Before(here) ? here : Arrival{0, -1};
          },
          [](const Arrival& a, const Arrival& b) { return b.Before(a) ? b : a; });
      team.Once([=] { to[r * count + k] = next.element < 0 ? 0 : next.element; });
      last = next;
    }
  });
}

}  // namespace detail

// `count` draws of each of the rows of n weights.
template <class T>
void DrawMultinomial(const KernelContext& ctx, const T* weight, int64_t rows, int64_t n,
                     int64_t count, bool replacement, int64_t* to) {
  const int64_t needed = replacement ? 1 : count;
  const cuda::ValueReport few(
      "each row of X must have as many positive weights as are drawn, got %. replacement=True "
      "draws an element again");
  kernels::ForEachRow(rows, n, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
    const T* row = weight + r * n;
    const int64_t positive =
        team.Sum<int64_t>(n, [=](int64_t i) { return static_cast<int64_t>(row[i] > T(0)); });
    if (positive < needed) team.Once([=] { few(static_cast<double>(positive)); });
  });
  const int64_t numbers = rows * (replacement ? count : n);
  cuda::Workspace<double> room(numbers);
  Generator(ctx, 0).Uniform(room.data(), numbers);
  if (replacement) {
    detail::DrawAgain(weight, rows, n, room.data(), count, to);
  } else {
    detail::DrawOnce(weight, rows, n, room.data(), count, to);
  }
}

}  // namespace dygraph::random
