// operators/loss/ctc_loops.h on the device: a team for each sequence, whose threads share the
// states of a step.
#pragma once

#include <cmath>

#include "cuda/scratch.h"
#include "cuda/sequence_rows.h"
#include "kernels/elementwise.h"
#include "kernels/loops.h"
#include "operators/class_labels.h"
#include "operators/loss/ctc.h"

namespace dygraph::ctc {

DYGRAPH_INLINE double AddLogs(double a, double b) {
  const double more = a < b ? b : a, less = a < b ? a : b;
  return less == kNever ? more : more + std::log1p(std::exp(less - more));
}

// The labels of all sequences, with a blank before, between and after those of each as its states.
struct States {
  cuda::SequenceRows rows;
  labels::ClassLabels labels;
  int64_t blank;

  DYGRAPH_INLINE int64_t Count(int64_t s) const { return 2 * rows.Length(s) + 1; }
  DYGRAPH_INLINE int64_t Label(int64_t s, int64_t i) const { return labels[rows.Row(s, i)]; }
  DYGRAPH_INLINE int64_t At(int64_t s, int64_t k) const { return k % 2 ? Label(s, k / 2) : blank; }
  // From state k - 2: the blank between two different labels may be left out.
  DYGRAPH_INLINE bool MaySkip(int64_t s, int64_t k) const {
    return k >= 2 && k % 2 == 1 && Label(s, k / 2) != Label(s, k / 2 - 1);
  }
};

// The logarithms of the softmax of each row.
template <class T>
void LogSoftmax(const T* x, int64_t rows, int64_t n, double* y) {
  kernels::ForEachRow(rows, n, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
    const T* from = x + r * n;
    double* to = y + r * n;
    const double most = team.Max(n, kNever, [=](int64_t c) { return double{from[c]}; });
    const double sum = team.Sum<double>(n, [=](int64_t c) { return std::exp(from[c] - most); });
    const double shift = std::log(sum);
    team.Each(n, [=](int64_t c) { to[c] = from[c] - most - shift; });
  });
}

// What warpctc computes: `grad` and `loss` may be nullptr.
template <class T>
void Losses(const KernelContext& ctx, T* grad, T* loss) {
  const Tensor &x = ctx.In(kLogits), &label = ctx.In(kLabel);
  const int64_t classes = x.dim(x.rank() - 1), rows = classes ? x.numel() / classes : 0;
  const cuda::Sequences sequences(ctx, kLogits, kLogitsLength, true);
  const cuda::Sequences spelled(ctx, kLabel, kLabelLength);
  const int64_t count = sequences.count, longest = sequences.longest;
  ENFORCE(spelled.count == count, InvalidArgument,
          "Logits and Label must have as many sequences, got ", count, " and ", spelled.count);
  const cuda::SequenceRows steps_of = sequences.rows;
  States states{spelled.rows, labels::ClassLabels(label), ctx.attrs<WarpCtcAttrs>().blank};
  states.labels.CheckAll(classes);
  const cuda::ValueReport blank_label(
      "Label must not hold blank, got %. Blanks between labels are put in by the loss");
  const int64_t most = 2 * spelled.longest + 1;  // states

  cuda::Workspace<double> probabilities(x.numel()), alphas(rows * most), totals(count);
  double *log_p = probabilities.data(), *alpha = alphas.data(), *total = totals.data();
  LogSoftmax(x.data<T>(), rows, classes, log_p);
  if (grad) kernels::Fill(grad, x.numel(), T(0));
  kernels::ForEachRow(count, most, [=] DYGRAPH_FN(int64_t s, kernels::Team team) {
    const int64_t steps = steps_of.Length(s), n = states.Count(s);
    team.Each(n / 2, [=](int64_t i) {
      const int64_t c = states.Label(s, i);
      if (c == states.blank) blank_label(static_cast<double>(c));
    });
    for (int64_t t = 0; t < steps; ++t) {
      const int64_t row = steps_of.Row(s, t);
      const double *p = log_p + row * classes,
                   *before = alpha + (t ? steps_of.Row(s, t - 1) * most : 0);
      double* here = alpha + row * most;
      team.Each(n, [=](int64_t k) {
        double sum = k < 2 ? 0.0 : kNever;
        if (t) {
          sum = before[k];
          if (k >= 1) sum = AddLogs(sum, before[k - 1]);
          if (states.MaySkip(s, k)) sum = AddLogs(sum, before[k - 2]);
        }
        here[k] = sum + p[states.At(s, k)];
      });
      team.Sync();
    }
    team.Once([=] {
      double all = n == 1 ? 0.0 : kNever;
      if (steps) {
        const double* last = alpha + steps_of.Row(s, steps - 1) * most;
        all = AddLogs(last[n - 1], n > 1 ? last[n - 2] : kNever);
      }
      total[s] = all;
      if (loss) loss[s] = static_cast<T>(-all);
    });
  });
  if (!grad) return;

  // beta: of what comes after a step; next: the place of a label's next occurrence, and below 0 in
  // all but the first of them.
  cuda::Workspace<double> betas(rows * most);
  cuda::Workspace<int32_t> places(2 * label.numel());
  double* beta = betas.data();
  int32_t *next = places.data(), *repeats = next + label.numel();
  kernels::ForEachRow(count, most, [=] DYGRAPH_FN(int64_t s, kernels::Team team) {
    const int64_t steps = steps_of.Length(s), n = states.Count(s);
    team.Each(n / 2, [=](int64_t i) {
      const int64_t at = states.rows.Row(s, i), c = states.Label(s, i);
      int64_t after = i + 1, before = i - 1;
      while (after < n / 2 && states.Label(s, after) != c) ++after;
      while (before >= 0 && states.Label(s, before) != c) --before;
      next[at] = after < n / 2 ? static_cast<int32_t>(after) : -1;
      repeats[at] = before >= 0;
    });
    for (int64_t t = steps - 1; t >= 0; --t) {
      const bool last = t + 1 == steps;
      const int64_t after = last ? 0 : steps_of.Row(s, t + 1);
      const double *p = log_p + after * classes, *later = beta + after * most;
      double* here = beta + steps_of.Row(s, t) * most;
      team.Each(n, [=](int64_t k) {
        if (last) {
          here[k] = k + 2 >= n ? 0.0 : kNever;
          return;
        }
        double sum = later[k] + p[states.At(s, k)];
        if (k + 1 < n) sum = AddLogs(sum, later[k + 1] + p[states.At(s, k + 1)]);
        if (k + 2 < n && states.MaySkip(s, k + 2))
          sum = AddLogs(sum, later[k + 2] + p[states.At(s, k + 2)]);
        here[k] = sum;
      });
      team.Sync();
    }
  });
  kernels::ForEachRow(count * longest, classes, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
    const int64_t s = r / longest, t = r % longest, n = states.Count(s);
    const double all = total[s];
    if (t >= steps_of.Length(s) || all == kNever) return;
    const int64_t row = steps_of.Row(s, t);
    const double *p = log_p + row * classes, *a = alpha + row * most, *b = beta + row * most;
    T* g = grad + row * classes;
    const double blanks =
        team.Sum<double>(n / 2 + 1, [=](int64_t i) { return std::exp(a[2 * i] + b[2 * i] - all); });
    team.Each(classes, [=](int64_t c) {
      g[c] = static_cast<T>(c == states.blank ? std::exp(p[c]) - blanks : std::exp(p[c]));
    });
    team.Sync();
    team.Each(n / 2, [=](int64_t i) {
      if (repeats[states.rows.Row(s, i)]) return;
      const int64_t c = states.Label(s, i);
      double sum = std::exp(p[c]);
      for (int64_t k = i; k >= 0; k = next[states.rows.Row(s, k)])
        sum -= std::exp(a[2 * k + 1] + b[2 * k + 1] - all);
      g[c] = static_cast<T>(sum);
    });
  });
}

// dx = x * g[s] of the rows of each sequence s, as FactorOf says, 0 elsewhere.
template <class T>
void ScaleSequences(const KernelContext& ctx, const T* x, const Tensor& of_loss, T* dx) {
  const cuda::Sequences sequences(ctx, kLogits, kLogitsLength, true);
  CheckLossGrad(of_loss, sequences.count);
  const cuda::SequenceRows rows = sequences.rows;
  const Dims& dims = ctx.In(kLogits).dims();
  const int64_t classes = dims[dims.rank() - 1], longest = sequences.longest;
  const bool norm_by_times = ctx.attrs<WarpCtcAttrs>().norm_by_times;
  const T* g = of_loss.data<T>();
  kernels::Fill(dx, Numel(dims), T(0));
  kernels::ForEachRow(sequences.count * longest, classes,
                      [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
                        const int64_t s = r / longest, t = r % longest, steps = rows.Length(s);
                        if (t >= steps) return;
                        const T factor = g[s] * FactorOf<T>(norm_by_times, steps);
                        const int64_t at = rows.Row(s, t) * classes;
                        team.Each(classes, [=](int64_t c) { dx[at + c] = x[at + c] * factor; });
                      });
}

// out[s] = the sum of x * v over the rows of sequence s, as FactorOf says.
template <class T>
void SumSequences(const KernelContext& ctx, const T* x, const T* v, T* out) {
  const cuda::Sequences sequences(ctx, kLogits, kLogitsLength, true);
  const cuda::SequenceRows rows = sequences.rows;
  const Dims& dims = ctx.In(kLogits).dims();
  const int64_t classes = dims[dims.rank() - 1];
  const bool norm_by_times = ctx.attrs<WarpCtcAttrs>().norm_by_times;
  kernels::ForEachRow(
      sequences.count, sequences.longest * classes, [=] DYGRAPH_FN(int64_t s, kernels::Team team) {
        const int64_t steps = rows.Length(s);
        const double sum = team.Sum<double>(steps * classes, [=](int64_t i) {
          const int64_t at = rows.Row(s, i / classes) * classes + i % classes;
          return static_cast<double>(x[at]) * static_cast<double>(v[at]);
        });
        team.Once([=] { out[s] = static_cast<T>(sum) * FactorOf<T>(norm_by_times, steps); });
      });
}

}  // namespace dygraph::ctc
