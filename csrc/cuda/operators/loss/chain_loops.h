// operators/loss/chain_loops.h on the device: a team for each sequence, whose threads share the
// tags of a step.
#pragma once

#include <cmath>
#include <vector>

#include "cuda/scratch.h"
#include "cuda/sequence_rows.h"
#include "kernels/elementwise.h"
#include "kernels/loops.h"
#include "operators/loss/crf.h"

namespace dygraph::crf {

// The logarithm of the sum of exp(f(i)) over [0, n).
template <class F>
DYGRAPH_INLINE double LogSum(int64_t n, F f) {
  double most = f(0), sum = 0;
  for (int64_t i = 1; i < n; ++i) {
    const double v = f(i);
    most = v > most ? v : most;
  }
  if (std::isinf(most)) return most;
  for (int64_t i = 0; i < n; ++i) sum += std::exp(f(i) - most);
  return most + std::log(sum);
}

// alpha = the logarithms of the sums over the chains up to each tag, of one sequence; gives that
// over all chains. For all threads of the team.
template <class T>
DYGRAPH_INLINE double Forward(const cuda::SequenceRows& rows, int64_t s, const T* x, const T* w,
                              int64_t tags, double* alpha, kernels::Team team) {
  const int64_t steps = rows.Length(s);
  for (int64_t t = 0; t < steps; ++t) {
    const int64_t at = rows.Row(s, t) * tags;
    const double* before = alpha + (t ? rows.Row(s, t - 1) * tags : 0);
    team.Each(tags, [=](int64_t k) {
      const T* into = w + 2 * tags + k;
      const double sum = t ? LogSum(tags, [=](int64_t i) { return before[i] + into[i * tags]; })
                           : static_cast<double>(w[k]);
      alpha[at + k] = sum + x[at + k];
    });
    team.Sync();
  }
  const double* last = alpha + rows.Row(s, steps - 1) * tags;
  return LogSum(tags, [=](int64_t k) { return last[k] + w[tags + k]; });
}

// What linear_chain_crf computes: `to_alpha` and `cost` may be nullptr.
template <class T>
void Costs(const KernelContext& ctx, T* to_alpha, T* cost) {
  const Tensor& in = ctx.In(kEmission);
  const int64_t n = in.numel(), tags = ctx.In(kTransition).dim(1);
  const cuda::Sequences sequences(ctx, kEmission, kLength);
  const cuda::SequenceRows rows = sequences.rows;
  labels::ClassLabels label(ctx.In(kLabel));
  label.CheckAll(tags);
  const T *x = in.data<T>(), *w = ctx.In(kTransition).data<T>();
  cuda::Workspace<double> room(n);
  double* alpha = room.data();
  if (to_alpha) kernels::Fill(to_alpha, n, T(0));
  kernels::ForEachRow(sequences.count, tags, [=] DYGRAPH_FN(int64_t s, kernels::Team team) {
    const int64_t steps = rows.Length(s);
    if (steps == 0) {
      if (cost) cost[s] = T(0);
      return;
    }
    const double total = Forward(rows, s, x, w, tags, alpha, team);
    const double score = team.Sum<double>(steps, [=](int64_t t) {
      const int64_t row = rows.Row(s, t), k = label[row];
      const int64_t from = t ? 2 + label[rows.Row(s, t - 1)] : 0;
      const double step = static_cast<double>(x[row * tags + k]) + w[from * tags + k];
      return t + 1 < steps ? step : step + w[tags + k];
    });
    if (cost) team.Once([=] { cost[s] = static_cast<T>(total - score); });
    if (!to_alpha) return;
    team.Each(steps, [=](int64_t t) {
      const int64_t at = rows.Row(s, t) * tags;
      const double sum = LogSum(tags, [=](int64_t k) { return alpha[at + k]; });
      for (int64_t k = 0; k < tags; ++k)
        to_alpha[at + k] = static_cast<T>(std::exp(alpha[at + k] - sum));
    });
  });
}

// The gradients for g [sequences]; each of dx and dw may be nullptr.
template <class T>
void CostGradients(const KernelContext& ctx, const Tensor& of_cost, T* dx, T* dw) {
  const Tensor& in = ctx.In(kEmission);
  const int64_t n = in.numel(), tags = ctx.In(kTransition).dim(1);
  const cuda::Sequences sequences(ctx, kEmission, kLength);
  const cuda::SequenceRows rows = sequences.rows;
  const int64_t count = sequences.count, longest = sequences.longest;
  CheckCostGrad(of_cost, count);
  labels::ClassLabels label(ctx.In(kLabel));
  label.CheckAll(tags);
  const T *x = in.data<T>(), *w = ctx.In(kTransition).data<T>(), *g = of_cost.data<T>();
  cuda::Workspace<double> alphas(n), betas(n), totals(count);
  double *alpha = alphas.data(), *beta = betas.data(), *total = totals.data();
  if (dx) kernels::Fill(dx, n, T(0));
  kernels::ForEachRow(count, tags, [=] DYGRAPH_FN(int64_t s, kernels::Team team) {
    const int64_t steps = rows.Length(s);
    if (steps == 0) return;
    const double all = Forward(rows, s, x, w, tags, alpha, team);
    team.Once([=] { total[s] = all; });
    for (int64_t t = steps - 1; t >= 0; --t) {
      const int64_t row = rows.Row(s, t), at = row * tags, here = label[row];
      const int64_t after = t + 1 < steps ? rows.Row(s, t + 1) * tags : -1;
      team.Each(tags, [=](int64_t i) {
        const T* out = w + (2 + i) * tags;
        beta[at + i] =
            after < 0 ? static_cast<double>(w[tags + i])
                      : LogSum(
                            tags,
                            [=](int64_t k) {
                              return static_cast<double>(out[k]) + x[after + k] + beta[after + k];
                            });
        const double p = std::exp(alpha[at + i] + beta[at + i] - all) - (i == here ? 1 : 0);
        if (dx) dx[at + i] = static_cast<T>(g[s] * p);
      });
      team.Sync();
    }
  });
  if (!dw) return;
  // A team for each number of Transition: its share of all steps.
  kernels::ForEachRow((tags + 2) * tags, count * longest,
                      [=] DYGRAPH_FN(int64_t to, kernels::Team team) {
                        const int64_t from = to / tags - 2, k = to % tags;
                        const double sum = team.Sum<double>(count * longest, [=](int64_t j) {
                          const int64_t s = j / longest, t = j % longest, steps = rows.Length(s);
                          if (t >= steps || (from == -2 && t > 0) ||
                              (from == -1 && t + 1 < steps) || (from >= 0 && t == 0))
                            return 0.0;
                          const int64_t row = rows.Row(s, t), at = row * tags + k;
                          double p = beta[at] - total[s];
                          bool there = label[row] == k;
                          if (from < 0) {
                            p += alpha[at];
                          } else {
                            const int64_t before = rows.Row(s, t - 1);
                            p += alpha[before * tags + from] + w[to] + x[at];
                            there = there && label[before] == from;
                          }
                          return g[s] * (std::exp(p) - (there ? 1 : 0));
                        });
                        team.Once([=] { dw[to] = static_cast<T>(sum); });
                      });
}

// The best chain of each sequence: `first` (may be nullptr), `last` (the same) and w are added to
// the scores x. Step t goes to path[s * width + t], or with a width of 0 to where it stands in x.
template <class T>
void BestChains(int64_t count, const cuda::SequenceRows& rows, const T* x, int64_t n, int64_t tags,
                const T* first, const T* last, const T* w, int64_t width, int64_t* path, T* score) {
  cuda::Workspace<T> bests(n);
  cuda::Workspace<int32_t> origins(n);
  T* best = bests.data();
  int32_t* origin = origins.data();
  kernels::ForEachRow(count, tags, [=] DYGRAPH_FN(int64_t s, kernels::Team team) {
    const int64_t steps = rows.Length(s);
    for (int64_t t = 0; t < steps; ++t) {
      const int64_t at = rows.Row(s, t) * tags;
      const T* before = best + (t ? rows.Row(s, t - 1) * tags : 0);
      team.Each(tags, [=](int64_t k) {
        T most = first ? first[k] : T(0);
        if (t) {
          most = before[0] + w[k];
          int32_t from = 0;
          for (int64_t i = 1; i < tags; ++i) {
            const T sum = before[i] + w[i * tags + k];
            from = sum > most ? static_cast<int32_t>(i) : from;
            most = sum > most ? sum : most;
          }
          origin[at + k] = from;
        }
        best[at + k] = most + x[at + k];
      });
      team.Sync();
    }
    team.Once([=] {
      int64_t tag = 0;
      T most = 0;
      for (int64_t k = 0; steps && k < tags; ++k) {
        const T sum = best[rows.Row(s, steps - 1) * tags + k] + (last ? last[k] : T(0));
        tag = k == 0 || sum > most ? k : tag;
        most = k == 0 || sum > most ? sum : most;
      }
      if (score) score[s] = most;
      for (int64_t t = steps - 1; t >= 0; --t) {
        const int64_t row = rows.Row(s, t);
        path[width ? s * width + t : row] = tag;
        if (t > 0) tag = origin[row * tags + tag];
      }
    });
  });
}

// The best tags of each step, 0 where there is none.
template <class T>
void DecodeTags(const KernelContext& ctx, int64_t* path, int64_t n) {
  const Tensor& x = ctx.In(kEmission);
  const int64_t tags = ctx.In(kTransition).dim(1);
  const cuda::Sequences sequences(ctx, kEmission, kLength);
  const cuda::SequenceRows rows = sequences.rows;
  const T* w = ctx.In(kTransition).data<T>();
  kernels::Fill(path, n, int64_t{0});
  BestChains(sequences.count, rows, x.data<T>(), x.numel(), tags, w, w + tags, w + 2 * tags, 0,
             path, static_cast<T*>(nullptr));
  const Tensor* given = ctx.InOrNull(kLabel);
  if (!given) return;
  labels::ClassLabels label(*given);
  label.CheckAll(tags);
  kernels::ForEachRow(sequences.count, sequences.longest,
                      [=] DYGRAPH_FN(int64_t s, kernels::Team team) {
                        team.Each(rows.Length(s), [=](int64_t t) {
                          const int64_t at = rows.Row(s, t);
                          path[at] = path[at] == label[at];
                        });
                      });
}

}  // namespace dygraph::crf

namespace dygraph::viterbi {

// The paths [count, longest] and, unless nullptr, their scores.
template <class T>
void DecodeAll(const T* x, const T* w, const std::vector<int64_t>& length, int64_t steps,
               int64_t tags, bool ends, int64_t longest, int64_t* path, T* score) {
  const int64_t count = static_cast<int64_t>(length.size());
  kernels::Table<int64_t> table(length);
  const cuda::SequenceRows rows{nullptr, nullptr, table.data(),
                                steps,   1,       cuda::IndexGuard(cuda::Reporter(), steps + 1)};
  const T* first = ends ? w + (tags - 1) * tags : nullptr;
  kernels::Fill(path, count * longest, int64_t{0});
  crf::BestChains(count, rows, x, count * steps * tags, tags, first,
                  ends ? w + (tags - 2) * tags : nullptr, w, longest, path, score);
}

}  // namespace dygraph::viterbi
