// operators/sequence/topk_loops.h on the device: a team for each row of each channel.
#pragma once

#include "cuda/errors_cuda.h"
#include "kernels/elementwise.h"
#include "kernels/loops.h"
#include "kernels/table.h"
#include "operators/sequence/topk_parts.h"

namespace dygraph::sequence::topk {

namespace detail {

// A row of Out: where its numbers of channel c begin in X, at x + c * step, and how many.
struct Source {
  int64_t x, step, columns;
};
inline std::vector<Source> SourcesOf(const std::vector<Part>& parts) {
  std::vector<Source> rows;
  for (const Part& p : parts) {
    for (int64_t r = 0; r < p.rows; ++r)
      rows.push_back({p.x + r * p.columns, p.rows * p.columns, p.columns});
  }
  return rows;
}

// A number and its column; the greater number comes first, of equal ones the lower column.
template <class T>
struct Ranked {
  T value;
  int64_t column;  // -1: none
  DYGRAPH_INLINE bool Before(const Ranked& other) const {
    if (column < 0 || other.column < 0) return column >= 0;
    return value > other.value || (value == other.value && column < other.column);
  }
};

// Who reads the columns of a call.
inline cuda::IndexGuard GuardOf(int64_t most) {
  return cuda::IndexGuard({"sequence_topk_avg_pooling_grad", "pos"}, most);
}
inline int64_t MostColumns(const std::vector<Source>& rows) {
  int64_t most = 1;
  for (const Source& s : rows) most = std::max(most, s.columns);
  return most;
}

}  // namespace detail

// The averages, and in `pos`, unless nullptr, the columns of the greatest.
template <class T>
void Averages(const KernelContext& ctx, const T* x, T* out, int32_t* pos) {
  using Ranked = detail::Ranked<T>;
  const TopkAttrs& a = ctx.attrs<TopkAttrs>();
  const int64_t channels = a.channel_num, most = a.topks.back();
  const int64_t count = static_cast<int64_t>(a.topks.size());
  const std::vector<detail::Source> rows = detail::SourcesOf(PartsOf(ctx));
  kernels::Table<detail::Source> table(rows);
  kernels::Table<int32_t> numbers(a.topks);
  const detail::Source* sources = table.data();
  const int32_t* topks = numbers.data();
  kernels::ForEachRow(
      static_cast<int64_t>(rows.size()) * channels, detail::MostColumns(rows),
      [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
        const detail::Source source = sources[r / channels];
        const T* row = x + source.x + r % channels * source.step;
        T sum = 0;
        Ranked last{T(0), -1};
        int64_t k = 0;
        for (int64_t i = 0; i < most; ++i) {
          Ranked next{T(0), -1};
          if (i < source.columns) {
            next = team.Merge(
                source.columns, next,
                [=](int64_t j) {
                  const Ranked here{row[j], j};
                  return i == 0 || last.Before(here) ? here : Ranked{T(0), -1};
                },
                [](const Ranked& p, const Ranked& q) { return q.Before(p) ? q : p; });
            sum += next.value;
            last = next;
          }
          const int64_t column = next.column;
          if (pos) team.Once([=] { pos[r * most + i] = static_cast<int32_t>(column); });
          for (; k < count && topks[k] == i + 1; ++k)
            team.Once([=] { out[r * count + k] = sum / T(topks[k]); });
        }
      });
}

// x, of n numbers, gets the sums of its shares of g.
template <class T>
void SpreadShares(const KernelContext& ctx, const int32_t* pos, const T* g, T* x, int64_t n) {
  const TopkAttrs& a = ctx.attrs<TopkAttrs>();
  const int64_t channels = a.channel_num, most = a.topks.back();
  const int64_t count = static_cast<int64_t>(a.topks.size());
  const std::vector<detail::Source> rows = detail::SourcesOf(PartsOf(ctx));
  kernels::Table<detail::Source> table(rows);
  kernels::Table<int32_t> numbers(a.topks);
  const detail::Source* sources = table.data();
  const int32_t* topks = numbers.data();
  const cuda::IndexGuard guard = detail::GuardOf(detail::MostColumns(rows));
  kernels::Fill(x, n, T(0));
  kernels::ForEach(static_cast<int64_t>(rows.size()) * channels, [=] DYGRAPH_FN(int64_t r) {
    const detail::Source source = sources[r / channels];
    T* row = x + source.x + r % channels * source.step;
    for (int64_t i = 0; i < most; ++i) {
      const int64_t column = pos[r * most + i];
      if (column == -1 || guard(column) >= source.columns) continue;
      T sum = row[guard(column)];
      for (int64_t k = 0; k < count; ++k) {
        if (topks[k] > i) sum += g[r * count + k] / T(topks[k]);
      }
      row[guard(column)] = sum;
    }
  });
}

// out, of n numbers, gets the averages of x where the forward call took them.
template <class T>
void TakeShares(const KernelContext& ctx, const int32_t* pos, const T* x, T* out, int64_t n) {
  const TopkAttrs& a = ctx.attrs<TopkAttrs>();
  const int64_t channels = a.channel_num, most = a.topks.back();
  const int64_t count = static_cast<int64_t>(a.topks.size());
  const std::vector<detail::Source> rows = detail::SourcesOf(PartsOf(ctx));
  kernels::Table<detail::Source> table(rows);
  kernels::Table<int32_t> numbers(a.topks);
  const detail::Source* sources = table.data();
  const int32_t* topks = numbers.data();
  const cuda::IndexGuard guard = detail::GuardOf(detail::MostColumns(rows));
  kernels::ForEach(n, [=] DYGRAPH_FN(int64_t o) {
    const int64_t r = o / count;
    const detail::Source source = sources[r / channels];
    const T* row = x + source.x + r % channels * source.step;
    const int32_t k = topks[o % count];
    T sum = 0;
    for (int64_t i = 0; i < k; ++i) {
      const int64_t column = pos[r * most + i];
      if (column != -1 && guard(column) < source.columns) sum += row[guard(column)] / T(k);
    }
    out[o] = sum;
  });
}

}  // namespace dygraph::sequence::topk
