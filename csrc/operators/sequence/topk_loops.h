// The loops of sequence_topk_avg_pooling.
#pragma once

#include <algorithm>
#include <numeric>

#include "operators/sequence/topk_parts.h"

namespace dygraph::sequence::topk {

// The averages, and in `pos`, unless nullptr, the columns of the greatest.
template <class T>
void Averages(const KernelContext& ctx, const T* x, T* out, int32_t* pos) {
  const TopkAttrs& a = ctx.attrs<TopkAttrs>();
  const int64_t channels = a.channel_num, most = a.topks.back();
  std::vector<int32_t> order;
  for (const Part& p : PartsOf(ctx)) {
    for (int64_t r = 0; r < p.rows; ++r) {
      for (int64_t c = 0; c < channels; ++c) {
        const T* row = x + p.x + (c * p.rows + r) * p.columns;
        order.resize(p.columns);
        std::iota(order.begin(), order.end(), 0);
        const int64_t n = std::min(most, p.columns);
        std::partial_sort(
            order.begin(), order.begin() + n, order.end(),
            [row](int32_t i, int32_t j) { return row[i] > row[j] || (row[i] == row[j] && i < j); });
        T sum = 0;
        size_t k = 0;
        for (int64_t i = 0; i < most; ++i) {
          if (i < n) sum += row[order[i]];
          if (pos) *pos++ = i < n ? order[i] : -1;
          for (; k < a.topks.size() && a.topks[k] == i + 1; ++k) *out++ = sum / T(a.topks[k]);
        }
      }
    }
  }
}

// f(number of X, number of Out@GRAD, its divisor) for each share that one of X has in one of Out.
template <class F>
void ForShares(const KernelContext& ctx, const int32_t* pos, F f) {
  const TopkAttrs& a = ctx.attrs<TopkAttrs>();
  const int64_t channels = a.channel_num, most = a.topks.back();
  int64_t out = 0;
  for (const Part& p : PartsOf(ctx)) {
    for (int64_t r = 0; r < p.rows; ++r) {
      for (int64_t c = 0; c < channels; ++c, pos += most) {
        for (int32_t k : a.topks) {
          for (int64_t i = 0; i < k; ++i) {
            ENFORCE(pos[i] >= -1 && pos[i] < p.columns, OutOfRange, "pos must be in [-1, ",
                    p.columns, "), got ", pos[i]);
            if (pos[i] >= 0) f(p.x + (c * p.rows + r) * p.columns + pos[i], out, k);
          }
          ++out;
        }
      }
    }
  }
}

// x, of n numbers, gets the sums of its shares of g.
template <class T>
void SpreadShares(const KernelContext& ctx, const int32_t* pos, const T* g, T* x, int64_t n) {
  std::fill(x, x + n, T(0));
  ForShares(ctx, pos, [&](int64_t i, int64_t o, int32_t k) { x[i] += g[o] / T(k); });
}

// out, of n numbers, gets the averages of x where the forward call took them.
template <class T>
void TakeShares(const KernelContext& ctx, const int32_t* pos, const T* x, T* out, int64_t n) {
  std::fill(out, out + n, T(0));
  ForShares(ctx, pos, [&](int64_t i, int64_t o, int32_t k) { out[o] += x[i] / T(k); });
}

}  // namespace dygraph::sequence::topk
