// operators/loss/rnnt_loops.h on the device: a team for each cell's classes, then one for each
// sequence, whose threads share the cells that a diagonal of steps and labels meets.
#pragma once

#include <algorithm>
#include <cmath>

#include "cuda/errors_cuda.h"
#include "cuda/scratch.h"
#include "kernels/elementwise.h"
#include "kernels/loops.h"
#include "operators/loss/rnnt.h"

namespace dygraph::rnnt {

DYGRAPH_INLINE double AddLogs(double a, double b) {
  const double more = a < b ? b : a, less = a < b ? a : b;
  return less == kNever ? more : more + std::log1p(std::exp(less - more));
}

// Integers of an input, checked where they are read.
class Checked {
 public:
  Checked(const KernelContext& ctx, int slot, int64_t bound)
      : narrow_(nullptr),
        wide_(nullptr),
        guard_({"warprnnt", ctx.call().op->inputs[slot].name.c_str()}, bound) {
    const Tensor& t = ctx.In(slot);
    VisitIndices(t, ctx.call().op->inputs[slot].name.c_str(), [this](auto* at) { Set(at); });
  }
  DYGRAPH_INLINE int64_t operator[](int64_t i) const {
    return guard_(narrow_ ? narrow_[i] : wide_[i]);
  }

 private:
  void Set(const int32_t* at) { narrow_ = at; }
  void Set(const int64_t* at) { wide_ = at; }

  const int32_t* narrow_;
  const int64_t* wide_;
  cuda::IndexGuard guard_;
};

// As of the host.
struct Moves {
  double blank, emit;
};

// What warprnnt computes: `loss` and `g`, its gradient, may be nullptr.
template <class T>
void Losses(const KernelContext& ctx, T* loss, T* g) {
  const WarpRnntAttrs& a = ctx.attrs<WarpRnntAttrs>();
  const Tensor& input = ctx.In(kInput);
  const Dims& dims = input.dims();
  const int64_t count = dims[0], steps = dims[1], states = dims[2], classes = dims[3];
  const int64_t width = ctx.In(kLabel).dim(1), blank = a.blank, all = count * steps * states;
  const Checked lengths(ctx, kInputLengths, steps + 1), label(ctx, kLabel, classes);
  const Checked spelled(ctx, kLabelLengths, std::min(width, states - 1) + 1);
  const cuda::ValueReport blank_label("label must not hold blank, got %");
  const T* x = input.data<T>();
  cuda::Workspace<Moves> moves(all);
  cuda::Workspace<double> alphas(2 * all);
  cuda::Workspace<T> sums(all);
  Moves* cells = moves.data();
  double *alpha = alphas.data(), *beta = alpha + all;
  T* totals = sums.data();  // logarithms of the sums over classes
  kernels::ForEachRow(all, classes, [=] DYGRAPH_FN(int64_t at, kernels::Team team) {
    const int64_t u = at % states, t = at / states % steps, s = at / states / steps;
    const int64_t labels = spelled[s];
    if (t >= lengths[s] || u > labels) return;
    const T* row = x + at * classes;
    const T most = team.Max(classes, row[0], [=](int64_t c) { return row[c]; });
    const T sum = team.Sum<T>(classes, [=](int64_t c) { return std::exp(row[c] - most); });
    team.Once([=] {
      const double total = static_cast<double>(most + std::log(sum));
      totals[at] = static_cast<T>(total);
      cells[at].blank = static_cast<double>(row[blank]) - total;
      if (u == labels) return;
      const int64_t c = label[s * width + u];
      if (c == blank) blank_label(static_cast<double>(c));
      cells[at].emit = static_cast<double>(row[c]) - total;
    });
  });
  kernels::ForEachRow(count, states, [=] DYGRAPH_FN(int64_t s, kernels::Team team) {
    const int64_t length = lengths[s], reached = length ? spelled[s] + 1 : 0;
    const int64_t first = s * steps * states, diagonals = length + reached - 1;
    for (int64_t d = 0; d < diagonals; ++d) {
      team.Each(reached, [=](int64_t u) {
        const int64_t t = d - u, at = first + t * states + u;
        if (t < 0 || t >= length) return;
        double sum = d == 0 ? 0.0 : kNever;
        if (t > 0) sum = AddLogs(sum, alpha[at - states] + cells[at - states].blank);
        if (u > 0) sum = AddLogs(sum, alpha[at - 1] + cells[at - 1].emit);
        alpha[at] = sum;
      });
      team.Sync();
    }
    double total = kNever;
    if (length) {
      const int64_t end = first + (length - 1) * states + reached - 1;
      total = alpha[end] + cells[end].blank;
    }
    team.Sync();  // all have read the cell that the next loop changes
    if (loss) team.Once([=] { loss[s] = static_cast<T>(-total); });
    for (int64_t d = diagonals - 1; d >= 0; --d) {
      team.Each(reached, [=](int64_t u) {
        const int64_t t = d - u, at = first + t * states + u;
        if (t < 0 || t >= length) return;
        const bool last_step = t + 1 == length, last_state = u + 1 == reached;
        const double below = !last_step ? beta[at + states] : last_state ? 0.0 : kNever;
        const double by_blank = cells[at].blank + below;
        const double by_emit = last_state ? kNever : cells[at].emit + beta[at + 1];
        const double before = alpha[at] - total;
        cells[at].blank = total == kNever ? 0.0 : std::exp(before + by_blank);
        cells[at].emit = total == kNever ? 0.0 : std::exp(before + by_emit);
        beta[at] = AddLogs(by_blank, by_emit);
      });
      team.Sync();
    }
  });
  if (!g) return;
  const double emphasis = 1 + NumberFor<T>(a.fastemit_lambda);
  kernels::ForEachRow(all, classes, [=] DYGRAPH_FN(int64_t at, kernels::Team team) {
    const int64_t u = at % states, t = at / states % steps, s = at / states / steps;
    const int64_t labels = spelled[s];
    T* to = g + at * classes;
    if (t >= lengths[s] || u > labels) {
      team.Each(classes, [=](int64_t c) { to[c] = T(0); });
      return;
    }
    const T* row = x + at * classes;
    const int64_t emitted = u < labels ? label[s * width + u] : -1;
    const double stay = cells[at].blank, emit = u < labels ? emphasis * cells[at].emit : 0.0;
    const T factor = static_cast<T>(stay + emit), total = totals[at];
    team.Each(classes, [=](int64_t c) {
      T v = factor * std::exp(row[c] - total);
      if (c == blank) v -= static_cast<T>(stay);
      if (c == emitted) v -= static_cast<T>(emit);
      to[c] = v;
    });
  });
}

}  // namespace dygraph::rnnt
