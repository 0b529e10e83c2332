// The loops of warprnnt.
#pragma once

#include <cmath>
#include <utility>

#include "kernels/math.h"
#include "kernels/parallel.h"
#include "kernels/simd.h"
#include "operators/loss/rnnt.h"
#include "platform/interrupt.h"

namespace dygraph::rnnt {

inline double AddLogs(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kNever ? a : a + std::log1p(std::exp(b - a));
}

// The logarithms of the probabilities of a cell's two moves, then how many of the paths, as a
// share, take them.
struct Moves {
  double blank = 0, emit = 0;
};

// The probabilities of the moves of one sequence to what paths share them; gives the loss.
inline double Share(const Batch& b, int64_t s, Moves* cells) {
  const int64_t steps = b.length[s], states = b.labels[s] + 1;
  if (steps == 0) return -kNever;
  std::vector<double> alpha(static_cast<size_t>(steps * states)), beta(states);
  for (int64_t t = 0; t < steps; ++t) {
    CheckInterrupt();
    for (int64_t u = 0; u < states; ++u) {
      double sum = t == 0 && u == 0 ? 0.0 : kNever;
      if (t > 0) sum = AddLogs(sum, alpha[(t - 1) * states + u] + cells[b.Cell(s, t - 1, u)].blank);
      if (u > 0) sum = AddLogs(sum, alpha[t * states + u - 1] + cells[b.Cell(s, t, u - 1)].emit);
      alpha[t * states + u] = sum;
    }
  }
  const double total = alpha.back() + cells[b.Cell(s, steps - 1, states - 1)].blank;
  // beta[u]: of what comes behind a cell, of the step below and then of this one
  std::fill(beta.begin(), beta.end(), kNever);
  for (int64_t t = steps - 1; t >= 0; --t) {
    CheckInterrupt();
    for (int64_t u = states - 1; u >= 0; --u) {
      Moves& cell = cells[b.Cell(s, t, u)];
      const bool last = t == steps - 1 && u == states - 1;
      const double blank = cell.blank + (last ? 0.0 : beta[u]);
      const double emit = u + 1 < states ? cell.emit + beta[u + 1] : kNever;
      const double before = alpha[t * states + u] - total;
      cell.blank = total == kNever ? 0.0 : std::exp(before + blank);
      cell.emit = total == kNever ? 0.0 : std::exp(before + emit);
      beta[u] = AddLogs(blank, emit);
    }
  }
  return -total;
}

// f(sequence, labels before, cell) of all cells that paths may reach.
template <class F>
void ForCells(const Batch& b, const F& f) {
  kernels::ParallelRows(b.count * b.steps, b.states * b.classes * 8,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t r = begin; r < end; ++r) {
                            CheckInterrupt();
                            const int64_t s = r / b.steps, t = r % b.steps;
                            if (t >= b.length[s]) continue;
                            for (int64_t u = 0; u <= b.labels[s]; ++u) f(s, u, b.Cell(s, t, u));
                          }
                        });
}

template <class T>
T LogSum(const T* x, int64_t n) {
  T result = 0, *to = &result;
  kernels::Simd([=] {
    T most = x[0], sum = 0;
    for (int64_t c = 1; c < n; ++c) most = x[c] > most ? x[c] : most;
    for (int64_t c = 0; c < n; ++c) sum += kernels::Exp(x[c] - most);
    *to = most + std::log(sum);
  });
  return result;
}

// to = the softmax of x, whose sum has this logarithm, times a factor
template <class T>
void Spread(const T* x, T total, T factor, int64_t n, T* to) {
  kernels::Simd([=] {
    for (int64_t c = 0; c < n; ++c) to[c] = factor * kernels::Exp(x[c] - total);
  });
}

// What warprnnt computes: `loss` and `g`, its gradient, may be nullptr.
template <class T>
void Losses(const KernelContext& ctx, T* loss, T* g) {
  const WarpRnntAttrs& a = ctx.attrs<WarpRnntAttrs>();
  const Batch b(ctx);
  const T* x = ctx.In(kInput).data<T>();
  std::vector<Moves> cells(static_cast<size_t>(b.count * b.steps * b.states));
  std::vector<T> totals(cells.size());  // logarithms of the sums over classes
  ForCells(b, [&](int64_t s, int64_t u, int64_t at) {
    const T* row = x + at * b.classes;
    totals[at] = LogSum(row, b.classes);
    const double total = static_cast<double>(totals[at]);
    cells[at].blank = static_cast<double>(row[a.blank]) - total;
    if (u < b.labels[s]) cells[at].emit = static_cast<double>(row[b.LabelAt(s, u)]) - total;
  });
  kernels::ParallelRows(b.count, b.steps * b.states * 128, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      const double value = Share(b, s, cells.data());
      if (loss) loss[s] = static_cast<T>(value);
    }
  });
  if (!g) return;
  std::fill(g, g + ctx.In(kInput).numel(), T(0));
  const double emphasis = 1 + NumberFor<T>(a.fastemit_lambda);
  ForCells(b, [&](int64_t s, int64_t u, int64_t at) {
    const Moves& cell = cells[at];
    const double emit = u < b.labels[s] ? emphasis * cell.emit : 0.0;
    Spread(x + at * b.classes, totals[at], static_cast<T>(cell.blank + emit), b.classes,
           g + at * b.classes);
    g[at * b.classes + a.blank] -= static_cast<T>(cell.blank);
    if (u < b.labels[s]) g[at * b.classes + b.LabelAt(s, u)] -= static_cast<T>(emit);
  });
}

}  // namespace dygraph::rnnt
