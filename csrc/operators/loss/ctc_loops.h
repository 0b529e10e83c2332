// The loops of warpctc, sequence by sequence.
#pragma once

#include <cmath>

#include "kernels/parallel.h"
#include "operators/loss/ctc.h"
#include "platform/interrupt.h"

namespace dygraph::ctc {

inline double AddLogs(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kNever ? a : a + std::log1p(std::exp(b - a));
}

// One sequence. States are the labels with a blank before, between and after them.
class Alignment {
 public:
  Alignment(const int64_t* label, int64_t count, int64_t blank)
      : states_(2 * count + 1, blank), alpha_(states_.size()), next_(states_.size()) {
    for (int64_t i = 0; i < count; ++i) states_[2 * i + 1] = label[i];
  }

  // log_p[t * classes + c]: logarithms of the probabilities. Gives the loss; `grad`, where given,
  // gets the gradient with respect to the scores before the softmax.
  double Loss(const std::vector<double>& log_p, int64_t steps, int64_t classes,
              std::vector<double>* grad) {
    int64_t n = static_cast<int64_t>(states_.size());
    if (grad) grad->assign(log_p.size(), 0.0);
    if (steps == 0) return n == 1 ? 0.0 : -kNever;
    std::vector<double> all(grad ? static_cast<size_t>(steps * n) : 0);
    std::fill(alpha_.begin(), alpha_.end(), kNever);
    alpha_[0] = log_p[states_[0]];
    if (n > 1) alpha_[1] = log_p[states_[1]];
    if (grad) std::copy(alpha_.begin(), alpha_.end(), all.begin());
    for (int64_t t = 1; t < steps; ++t) {
      CheckInterrupt();
      const double* p = log_p.data() + t * classes;
      for (int64_t s = 0; s < n; ++s) {
        double sum = alpha_[s];
        if (s >= 1) sum = AddLogs(sum, alpha_[s - 1]);
        if (MaySkip(s)) sum = AddLogs(sum, alpha_[s - 2]);
        next_[s] = sum + p[states_[s]];
      }
      alpha_.swap(next_);
      if (grad) std::copy(alpha_.begin(), alpha_.end(), all.begin() + t * n);
    }
    double total = AddLogs(alpha_[n - 1], n > 1 ? alpha_[n - 2] : kNever);
    if (grad && total != kNever) Backward(log_p, steps, classes, all, total, grad);
    return -total;
  }

 private:
  // From state s - 2: the blank between two different labels may be left out.
  bool MaySkip(int64_t s) const { return s >= 2 && s % 2 == 1 && states_[s] != states_[s - 2]; }

  void Backward(const std::vector<double>& log_p, int64_t steps, int64_t classes,
                const std::vector<double>& all, double total, std::vector<double>* grad) {
    int64_t n = static_cast<int64_t>(states_.size());
    std::vector<double>& beta = alpha_;  // of what comes after step t
    std::fill(beta.begin(), beta.end(), kNever);
    beta[n - 1] = 0;
    if (n > 1) beta[n - 2] = 0;
    for (int64_t t = steps - 1; t >= 0; --t) {
      CheckInterrupt();
      const double* p = log_p.data() + t * classes;
      double* g = grad->data() + t * classes;
      for (int64_t c = 0; c < classes; ++c) g[c] = std::exp(p[c]);
      for (int64_t s = 0; s < n; ++s) g[states_[s]] -= std::exp(all[t * n + s] + beta[s] - total);
      for (int64_t s = 0; s < n; ++s) {
        double sum = beta[s] + p[states_[s]];
        if (s + 1 < n) sum = AddLogs(sum, beta[s + 1] + p[states_[s + 1]]);
        if (s + 2 < n && MaySkip(s + 2)) sum = AddLogs(sum, beta[s + 2] + p[states_[s + 2]]);
        next_[s] = sum;
      }
      beta.swap(next_);
    }
  }

  std::vector<int64_t> states_;
  std::vector<double> alpha_, next_;
};

template <class T>
void LogSoftmax(const T* x, int64_t n, double* to) {
  double most = x[0], sum = 0;
  for (int64_t c = 1; c < n; ++c) most = std::max<double>(most, x[c]);
  for (int64_t c = 0; c < n; ++c) sum += std::exp(x[c] - most);
  for (int64_t c = 0; c < n; ++c) to[c] = x[c] - most - std::log(sum);
}

// What warpctc computes: `grad` and `loss` may be nullptr.
template <class T>
void Losses(const KernelContext& ctx, T* grad, T* loss) {
  const Tensor& x = ctx.In(kLogits);
  int64_t classes = x.dim(x.rank() - 1), blank = ctx.attrs<WarpCtcAttrs>().blank;
  Batches b = Read(ctx);
  std::vector<int64_t> label = ReadLabels(ctx, b, classes);
  const T* xd = x.data<T>();
  if (grad) std::fill(grad, grad + x.numel(), T(0));
  int64_t cost = b.steps.Longest() * (classes + 8 * b.labels.Longest()) * 8;
  kernels::ParallelRows(b.steps.size(), cost, [&](int64_t begin, int64_t end) {
    std::vector<double> log_p, g;
    for (int64_t s = begin; s < end; ++s) {
      int64_t steps = b.steps.length[s];
      log_p.resize(static_cast<size_t>(steps * classes));
      for (int64_t t = 0; t < steps; ++t)
        LogSoftmax(xd + b.steps.Row(s, t) * classes, classes, log_p.data() + t * classes);
      Alignment a(label.data() + b.labels.begin[s], b.labels.length[s], blank);
      double value = a.Loss(log_p, steps, classes, grad ? &g : nullptr);
      if (loss) loss[s] = static_cast<T>(value);
      for (int64_t t = 0; grad && t < steps; ++t) {
        T* to = grad + b.steps.Row(s, t) * classes;
        for (int64_t c = 0; c < classes; ++c) to[c] = static_cast<T>(g[t * classes + c]);
      }
    }
  });
}

// dx = x * g[s] of the rows of each sequence s, as FactorOf says, 0 elsewhere.
template <class T>
void ScaleSequences(const KernelContext& ctx, const T* x, const Tensor& g_in, T* dx) {
  ragged::Batch b = StepsOf(ctx, kLogits, kLogitsLength);
  CheckLossGrad(g_in, b.size());
  const T* g = g_in.data<T>();
  const Dims& dims = ctx.In(kLogits).dims();
  const int64_t classes = dims[dims.rank() - 1];
  std::fill(dx, dx + Numel(dims), T(0));
  for (int64_t s = 0; s < b.size(); ++s) {
    T factor = g[s] * FactorOf<T>(ctx.attrs<WarpCtcAttrs>().norm_by_times, b.length[s]);
    for (int64_t t = 0; t < b.length[s]; ++t) {
      int64_t at = b.Row(s, t) * classes;
      for (int64_t c = at; c < at + classes; ++c) dx[c] = x[c] * factor;
    }
  }
}

// out[s] = the sum of x * v over the rows of sequence s, as FactorOf says.
template <class T>
void SumSequences(const KernelContext& ctx, const T* x, const T* v, T* out) {
  ragged::Batch b = StepsOf(ctx, kLogits, kLogitsLength);
  const Dims& dims = ctx.In(kLogits).dims();
  const int64_t classes = dims[dims.rank() - 1];
  for (int64_t s = 0; s < b.size(); ++s) {
    double sum = 0;
    for (int64_t t = 0; t < b.length[s]; ++t) {
      for (int64_t c = 0; c < classes; ++c) {
        const int64_t at = b.Row(s, t) * classes + c;
        sum += static_cast<double>(x[at]) * static_cast<double>(v[at]);
      }
    }
    out[s] =
        static_cast<T>(sum) * FactorOf<T>(ctx.attrs<WarpCtcAttrs>().norm_by_times, b.length[s]);
  }
}

}  // namespace dygraph::ctc
