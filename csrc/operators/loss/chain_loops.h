// The loops of linear_chain_crf, crf_decoding and viterbi_decode, sequence by sequence.
#pragma once

#include <cmath>
#include <utility>

#include "kernels/parallel.h"
#include "operators/loss/crf.h"
#include "platform/interrupt.h"

namespace dygraph::crf {

inline double LogSum(const double* v, int64_t n) {
  double most = *std::max_element(v, v + n), sum = 0;
  if (std::isinf(most)) return most;
  for (int64_t i = 0; i < n; ++i) sum += std::exp(v[i] - most);
  return most + std::log(sum);
}

// One sequence: `x(t)` is the row of emissions of step t, `w` the transitions.
template <class T, class X>
std::vector<double> Forward(const T* w, int64_t tags, int64_t steps, X x) {
  std::vector<double> alpha(static_cast<size_t>(steps * tags)), sums(static_cast<size_t>(tags));
  for (int64_t k = 0; k < tags; ++k) alpha[k] = double{w[k]} + x(0)[k];
  for (int64_t t = 1; t < steps; ++t) {
    const double* before = alpha.data() + (t - 1) * tags;
    for (int64_t k = 0; k < tags; ++k) {
      CheckInterrupt();
      for (int64_t i = 0; i < tags; ++i) sums[i] = before[i] + w[(2 + i) * tags + k];
      alpha[t * tags + k] = x(t)[k] + LogSum(sums.data(), tags);
    }
  }
  return alpha;
}

template <class T>
double Total(const T* w, int64_t tags, const double* last) {
  std::vector<double> sums(static_cast<size_t>(tags));
  for (int64_t k = 0; k < tags; ++k) sums[k] = last[k] + w[tags + k];
  return LogSum(sums.data(), tags);
}

// What linear_chain_crf computes: `alpha` and `cost` may be nullptr.
template <class T>
void Costs(const KernelContext& ctx, T* alpha, T* cost_of) {
  const Tensor &x = ctx.In(kEmission), &transition = ctx.In(kTransition);
  int64_t tags = transition.dim(1);
  ragged::Batch b = Read(ctx);
  labels::ClassLabels label(ctx.In(kLabel));
  CheckLabels(label, b, tags);
  const T *xd = x.data<T>(), *w = transition.data<T>();
  if (alpha) std::fill(alpha, alpha + x.numel(), T(0));
  for (int64_t s = 0; s < b.size(); ++s) {
    int64_t steps = b.length[s];
    double cost = 0;
    if (steps > 0) {
      auto row = [&](int64_t t) { return xd + b.Row(s, t) * tags; };
      std::vector<double> a = Forward(w, tags, steps, row);
      cost = Total(w, tags, a.data() + (steps - 1) * tags);
      int64_t first = label[b.Row(s, 0)], last = label[b.Row(s, steps - 1)];
      cost -= double{w[first]} + w[tags + last];
      for (int64_t t = 0; t < steps; ++t) {
        int64_t k = label[b.Row(s, t)];
        cost -= row(t)[k];
        if (t > 0) cost -= w[(2 + label[b.Row(s, t - 1)]) * tags + k];
        double sum = LogSum(a.data() + t * tags, tags);
        for (int64_t i = 0; alpha && i < tags; ++i)
          alpha[b.Row(s, t) * tags + i] = static_cast<T>(std::exp(a[t * tags + i] - sum));
      }
    }
    if (cost_of) cost_of[s] = static_cast<T>(cost);
  }
}

// One sequence: dx = its gradient, dw gets its share added.
template <class T>
void AddCostGradient(const T* xd, const T* w, int64_t tags, const labels::ClassLabels& label,
                     const ragged::Batch& b, int64_t s, double g, T* dx, double* dw) {
  int64_t steps = b.length[s];
  auto row = [&](int64_t t) { return xd + b.Row(s, t) * tags; };
  std::vector<double> alpha = Forward(w, tags, steps, row);
  double total = Total(w, tags, alpha.data() + (steps - 1) * tags);
  std::vector<double> beta(w + tags, w + 2 * tags), before(beta.size()), sums(beta.size());
  for (int64_t t = steps - 1; t >= 0; --t) {
    const double* a = alpha.data() + t * tags;
    int64_t here = label[b.Row(s, t)];
    for (int64_t k = 0; k < tags; ++k) {
      double p = g * (std::exp(a[k] + beta[k] - total) - (k == here ? 1 : 0));
      if (dx) dx[b.Row(s, t) * tags + k] = static_cast<T>(p);
      if (t == 0) dw[k] += p;
      if (t == steps - 1) dw[tags + k] += p;
    }
    if (t == 0) break;
    const double* earlier = a - tags;
    for (int64_t i = 0; i < tags; ++i) {
      CheckInterrupt();
      for (int64_t k = 0; k < tags; ++k) {
        sums[k] = w[(2 + i) * tags + k] + row(t)[k] + beta[k];
        dw[(2 + i) * tags + k] += g * std::exp(earlier[i] + sums[k] - total);
      }
      before[i] = LogSum(sums.data(), tags);
    }
    dw[(2 + label[b.Row(s, t - 1)]) * tags + here] -= g;
    beta.swap(before);
  }
}

// The gradients for g [sequences]; each of dx and dw may be nullptr.
template <class T>
void CostGradients(const KernelContext& ctx, const Tensor& g, T* dx, T* to_w) {
  const Tensor &x = ctx.In(kEmission), &transition = ctx.In(kTransition);
  int64_t tags = transition.dim(1);
  ragged::Batch b = Read(ctx);
  CheckCostGrad(g, b.size());
  labels::ClassLabels label(ctx.In(kLabel));
  CheckLabels(label, b, tags);
  if (dx) std::fill(dx, dx + x.numel(), T(0));
  std::vector<double> dw(static_cast<size_t>(transition.numel()), 0.0);
  for (int64_t s = 0; s < b.size(); ++s) {
    if (b.length[s] > 0)
      AddCostGradient(x.data<T>(), transition.data<T>(), tags, label, b, s, double{g.data<T>()[s]},
                      dx, dw.data());
  }
  for (size_t i = 0; to_w && i < dw.size(); ++i) to_w[i] = static_cast<T>(dw[i]);
}

// The best tags of each step, 0 where there is none.
template <class T>
void DecodeTags(const KernelContext& ctx, int64_t* path, int64_t n) {
  const Tensor &x = ctx.In(kEmission), &transition = ctx.In(kTransition);
  int64_t tags = transition.dim(1);
  const T *xd = x.data<T>(), *w = transition.data<T>();
  ragged::Batch b = Read(ctx);
  const Tensor* label = ctx.InOrNull(kLabel);
  if (label) CheckLabels(labels::ClassLabels(*label), b, tags);
  std::fill(path, path + n, int64_t{0});
  std::vector<T> best(static_cast<size_t>(tags)), next(best.size());
  for (int64_t s = 0; s < b.size(); ++s) {
    int64_t steps = b.length[s];
    if (steps == 0) continue;
    std::vector<int64_t> from(static_cast<size_t>(steps * tags));
    for (int64_t k = 0; k < tags; ++k) best[k] = w[k] + xd[b.Row(s, 0) * tags + k];
    for (int64_t t = 1; t < steps; ++t) {
      for (int64_t k = 0; k < tags; ++k) {
        CheckInterrupt();
        int64_t most = 0;
        for (int64_t i = 1; i < tags; ++i) {
          if (best[i] + w[(2 + i) * tags + k] > best[most] + w[(2 + most) * tags + k]) most = i;
        }
        from[t * tags + k] = most;
        next[k] = best[most] + w[(2 + most) * tags + k] + xd[b.Row(s, t) * tags + k];
      }
      best.swap(next);
    }
    int64_t tag = 0;
    for (int64_t k = 1; k < tags; ++k) {
      if (best[k] + w[tags + k] > best[tag] + w[tags + tag]) tag = k;
    }
    for (int64_t t = steps - 1; t >= 0; --t) {
      path[b.Row(s, t)] = tag;
      tag = from[t * tags + tag];
    }
    for (int64_t t = 0; label && t < steps; ++t) {
      int64_t at = b.Row(s, t);
      path[at] = path[at] == labels::ClassLabels(*label)[at];
    }
  }
}

}  // namespace dygraph::crf

namespace dygraph::viterbi {

// One sequence of `steps` >= 1; gives its score.
template <class T>
T Decode(const T* x, const T* w, int64_t steps, int64_t tags, bool ends, std::vector<T>* room,
         std::vector<int64_t>* from, int64_t* path) {
  T *best = room->data(), *next = best + tags;
  const T *first = w + (tags - 1) * tags, *last = w + std::max<int64_t>(tags - 2, 0) * tags;
  for (int64_t k = 0; k < tags; ++k) best[k] = ends ? x[k] + first[k] : x[k];
  for (int64_t t = 1; t < steps; ++t) {
    CheckInterrupt();
    int64_t* back = from->data() + t * tags;
    for (int64_t k = 0; k < tags; ++k) {  // by rows of Transition, along memory
      next[k] = best[0] + w[k];
      back[k] = 0;
    }
    for (int64_t i = 1; i < tags; ++i) {
      const T score = best[i];
      const T* row = w + i * tags;
      for (int64_t k = 0; k < tags; ++k) {
        const T sum = score + row[k];
        back[k] = sum > next[k] ? i : back[k];
        next[k] = sum > next[k] ? sum : next[k];
      }
    }
    for (int64_t k = 0; k < tags; ++k) next[k] += x[t * tags + k];
    std::swap(best, next);
  }
  for (int64_t k = 0; ends && k < tags; ++k) best[k] += last[k];
  int64_t tag = std::max_element(best, best + tags) - best;
  const T score = best[tag];
  for (int64_t t = steps - 1; t >= 0; --t) {
    path[t] = tag;
    if (t > 0) tag = (*from)[t * tags + tag];
  }
  return score;
}

// The paths [count, longest] and, unless nullptr, their scores.
template <class T>
void DecodeAll(const T* x, const T* w, const std::vector<int64_t>& length, int64_t steps,
               int64_t tags, bool ends, int64_t longest, int64_t* path, T* score) {
  const int64_t count = static_cast<int64_t>(length.size());
  kernels::ParallelRows(count, longest * tags * tags, [&](int64_t begin, int64_t end) {
    std::vector<T> room(static_cast<size_t>(2 * tags));
    std::vector<int64_t> back(static_cast<size_t>(longest * tags));
    for (int64_t s = begin; s < end; ++s) {
      int64_t* to = path + s * longest;
      std::fill_n(to, longest, int64_t{0});
      T best = 0;
      if (length[s] > 0)
        best = Decode(x + s * steps * tags, w, length[s], tags, ends, &room, &back, to);
      if (score) score[s] = best;
    }
  });
}

}  // namespace dygraph::viterbi
