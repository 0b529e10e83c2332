// Reductions of dense row-major arrays over any set of axes.
//
// Work is cut into blocks whose borders depend on the shape alone, and their results are combined
// in index order, so the bits do not depend on the thread count. Floating sums add at most a few
// hundred values per lane before they move to a double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "kernels/parallel.h"
#include "kernels/reduce_ops.h"
#include "kernels/simd.h"
#include "kernels/strides.h"

namespace dygraph::kernels {

namespace detail {

// A loop that -O3 unrolls is not vectorised any more.
#if defined(__clang__)
#define DYGRAPH_ROLLED
#else
#define DYGRAPH_ROLLED _Pragma("GCC unroll 1")
#endif

constexpr int64_t kReduceBlock = 16384;  // elements of one block
constexpr int64_t kReduceTile = 256;     // columns reduced together when the inner axis is kept
constexpr int64_t kReduceRows = 64;      // rows added in lanes before they move to totals
constexpr int kRowsTogether = 16, kRowLanes = 16;
constexpr int64_t kReduceRowLength = 4096;  // elements added in lanes before they move to totals

// The whole lanes of x; `n` loses what was used.
template <class Op, int kLanes>
DYGRAPH_INLINE typename Op::Total ReduceLanes(const typename Op::In*& x, int64_t& n) {
  typename Op::Lane lane[kLanes];
  for (int j = 0; j < kLanes; ++j) lane[j] = Op::kInit;
  int64_t whole = n / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int j = 0; j < kLanes; ++j) lane[j] = Op::Add(lane[j], x[i + j]);
  }
  x += whole;
  n -= whole;
  for (int width = kLanes / 2; width >= 16; width /= 2) {
    for (int j = 0; j < width; ++j) lane[j] = Op::Fold(lane[j], lane[j + width]);
  }
  typename Op::Total total[16];
  for (int j = 0; j < 16; ++j) total[j] = lane[j];
  for (int width = 8; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) total[j] = Op::Merge(total[j], total[j + width]);
  }
  return total[0];
}

// At most kReduceBlock consecutive elements.
template <class Op>
DYGRAPH_INLINE typename Op::Total ReduceRun(const typename Op::In* x, int64_t n) {
  typename Op::Total total = Op::kInit;
  while (n >= 512) {
    int64_t part = std::min<int64_t>(n, 4096), rest = n - part;
    total = Op::Merge(total, ReduceLanes<Op, 64>(x, part));
    n = rest + part;
  }
  if (n >= 16) total = Op::Merge(total, ReduceLanes<Op, 16>(x, n));
  typename Op::Lane lane = Op::kInit;
  for (int64_t i = 0; i < n; ++i) lane = Op::Add(lane, x[i]);
  return Op::Merge(total, static_cast<typename Op::Total>(lane));
}

// Neighbours joined, until one is left of each kRowLanes.
template <class Op, int kSize>
DYGRAPH_INLINE void JoinNeighbours(const typename Op::Lane* from, typename Op::Lane* to) {
  typename Op::Lane half[kSize / 2];
  DYGRAPH_ROLLED
  for (int i = 0; i < kSize / 2; ++i) half[i] = Op::Fold(from[2 * i], from[2 * i + 1]);
  if constexpr (kSize / 2 == kRowsTogether) {
    DYGRAPH_ROLLED
    for (int i = 0; i < kRowsTogether; ++i) to[i] = half[i];
  } else {
    JoinNeighbours<Op, kSize / 2>(half, to);
  }
}

// total[r] of the `n` <= kReduceRowLength elements at first + r step, r < count <= kRowsTogether.
// Several rows at once, so that whole vectors join the lanes of all of them. Where n < kRowLanes,
// kRowLanes elements of each row must be readable.
template <class Op>
DYGRAPH_INLINE void ReduceRows(const typename Op::In* first, int64_t step, int count, int64_t n,
                               typename Op::Lane* total) {
  using In = typename Op::In;
  using Lane = typename Op::Lane;
  using Mask = std::conditional_t<sizeof(In) == 8, int64_t, int32_t>;
  constexpr int kWide = 4 * kRowLanes;
  int64_t wide_end = n / kWide * kWide, end = n / kRowLanes * kRowLanes;
  int64_t last = std::max<int64_t>(n - kRowLanes, 0);
  Mask fresh[kRowLanes];  // of the last kRowLanes elements, those that no whole step takes
  DYGRAPH_ROLLED
  for (int j = 0; j < kRowLanes; ++j) {
    fresh[j] = static_cast<Mask>(last + j >= end && last + j < n ? -1 : 0);
  }
  Lane all[kRowsTogether * kRowLanes];
  for (int r = 0; r < count; ++r) {
    const In* x = first + r * step;
    Lane* lane = all + r * kRowLanes;
    DYGRAPH_ROLLED
    for (int j = 0; j < kRowLanes; ++j) {
      lane[j] = fresh[j] ? Op::Add(Op::kInit, x[last + j]) : static_cast<Lane>(Op::kInit);
    }
    if (wide_end > 0) {
      Lane wide[kWide];
      for (int j = 0; j < kWide; ++j) wide[j] = Op::Add(Op::kInit, x[j]);
      for (int64_t i = kWide; i < wide_end; i += kWide) {
        for (int j = 0; j < kWide; ++j) wide[j] = Op::Add(wide[j], x[i + j]);
      }
      for (int j = 0; j < kWide / 2; ++j) wide[j] = Op::Fold(wide[j], wide[j + kWide / 2]);
      DYGRAPH_ROLLED
      for (int j = 0; j < kRowLanes; ++j) {
        lane[j] = Op::Fold(lane[j], Op::Fold(wide[j], wide[j + kRowLanes]));
      }
    }
    for (int64_t i = wide_end; i < end; i += kRowLanes) {
      DYGRAPH_ROLLED
      for (int j = 0; j < kRowLanes; ++j) lane[j] = Op::Add(lane[j], x[i + j]);
    }
  }
  for (int i = count * kRowLanes; i < kRowsTogether * kRowLanes; ++i) all[i] = Op::kInit;
  JoinNeighbours<Op, kRowsTogether * kRowLanes>(all, total);
}

template <class Op>
constexpr bool kRowsPay = sizeof(typename Op::Lane) == 4 && sizeof(typename Op::In) == 4;

// y[r] of the rows first <= r < last of [rows, n]. Which way a row goes follows from its number
// alone, and with which others it goes does not change its bits.
template <class Op, class Out>
DYGRAPH_INLINE void ReduceDenseRows(const typename Op::In* x, int64_t n, int64_t rows,
                                    int64_t first, int64_t last, Out* y) {
  using Total = typename Op::Total;
  int64_t r = first;
  if constexpr (kRowsPay<Op>) {
    int64_t whole = n >= kRowLanes ? rows : rows - kRowLanes + 1;
    if (rows < 4 || (n < kRowLanes && Op::kCheap)) whole = 0;
    for (int64_t stop = std::min(last, whole); r < stop;) {
      typename Op::Lane found[kRowsTogether];
      int count = static_cast<int>(std::min<int64_t>(stop - r, kRowsTogether));
      ReduceRows<Op>(x + r * n, n, count, n, found);
      for (int i = 0; i < count; ++i) {
        y[r + i] = static_cast<Out>(Op::Finish(Op::Merge(Op::kInit, found[i]), n));
      }
      r += count;
    }
  }
  for (; r < last; ++r) {
    const typename Op::In* row = x + r * n;
    Total found = Op::kInit;
    if (n < kRowLanes) {
      typename Op::Lane lane = Op::kInit;
      for (int64_t i = 0; i < n; ++i) lane = Op::Add(lane, row[i]);
      found = Op::Merge(found, static_cast<Total>(lane));
    } else {
      found = Op::Merge(found, ReduceRun<Op>(row, n));
    }
    y[r] = static_cast<Out>(Op::Finish(found, n));
  }
}

// Columns of `rows` rows of `width` <= kReduceTile elements, `stride` apart, merged into
// total[0..width).
template <class Op>
DYGRAPH_INLINE void ReduceColumns(const typename Op::In* x, int64_t rows, int64_t stride,
                                  int64_t width, typename Op::Total* total) {
  typename Op::Lane lane[kReduceTile];
  int64_t fold =
      stride == width && width <= 32 ? 64 / width : 1;  // narrow rows: several make one wide row
  int64_t wide = fold * width;
  for (int64_t r = 0; r < rows;) {
    int64_t stop = std::min(rows, r + kReduceRows * fold);
    for (int64_t j = 0; j < wide; ++j) lane[j] = Op::kInit;
    for (; Op::kCheap && r + 4 * fold <= stop;
         r += 4 * fold) {  // the lanes are read and written less often
      const typename Op::In *row = x + r * stride, *second = row + fold * stride,
                            *third = second + fold * stride, *fourth = third + fold * stride;
      DYGRAPH_IVDEP
      for (int64_t j = 0; j < wide; ++j) {
        lane[j] =
            Op::Add(Op::Add(Op::Add(Op::Add(lane[j], row[j]), second[j]), third[j]), fourth[j]);
      }
    }
    for (; r + fold <= stop; r += fold) {
      const typename Op::In* row = x + r * stride;
      DYGRAPH_IVDEP
      for (int64_t j = 0; j < wide; ++j) lane[j] = Op::Add(lane[j], row[j]);
    }
    for (; r < stop; ++r) {
      for (int64_t j = 0; j < width; ++j) lane[j] = Op::Add(lane[j], x[r * stride + j]);
    }
    for (int64_t f = 0; f < fold; ++f) {
      for (int64_t j = 0; j < width; ++j) {
        total[j] = Op::Merge(total[j], static_cast<typename Op::Total>(lane[f * width + j]));
      }
    }
  }
}

// One reduction: `kept` walks the outputs (array 0: x, array 1: y), `runs` the reduced dimensions
// but the innermost, which has `count` elements `stride` apart; `width` outputs lie side by side (1
// when the inner axis is reduced).
struct ReducePlan {
  Walk<2> kept;
  Walk<1> runs;
  int64_t kept_count = 1, run_count = 1;
  int64_t count = 1, stride = 1, width = 1;
  int64_t run_blocks = 1, block = 1;  // blocks of one run, and elements (or rows) of each
  int64_t group = 1, groups = 1;      // blocks of one group: what a thread computes at least
};

template <class Op>
DYGRAPH_INLINE void ReduceGroup(const ReducePlan& p, const typename Op::In* x, int64_t column,
                                int64_t width, int64_t group, typename Op::Total* total) {
  for (int64_t j = 0; j < width; ++j) total[j] = static_cast<typename Op::Total>(Op::kInit);
  int64_t begin = group * p.group;
  int64_t end = std::min(begin + p.group, p.run_count * p.run_blocks);
  if constexpr (kRowsPay<Op>) {
    if (p.width == 1 && p.stride == 1 && p.runs.rank == 1 && p.count >= kRowLanes &&
        p.count <= kReduceRowLength) {  // runs evenly apart, one block each
      int64_t step = p.runs.strides[0][0];
      for (int64_t b = begin; b < end; b += kRowsTogether) {
        typename Op::Lane found[kRowsTogether];
        int count = static_cast<int>(std::min<int64_t>(end - b, kRowsTogether));
        ReduceRows<Op>(x + b * step, step, count, p.count, found);
        for (int i = 0; i < count; ++i) {
          *total = Op::Merge(*total, static_cast<typename Op::Total>(found[i]));
        }
      }
      return;
    }
  }
  Odometer<1> run(p.runs, p.runs.rank, begin / p.run_blocks);
  int64_t at = begin % p.run_blocks;
  for (int64_t b = begin; b < end; ++b) {
    int64_t first = at * p.block;
    int64_t n = std::min(p.block, p.count - first);
    const typename Op::In* from = x + run.offset[0] + first * p.stride + column;
    if (p.width == 1 && p.stride == 1) {
      *total = Op::Merge(*total, ReduceRun<Op>(from, n));
    } else {
      ReduceColumns<Op>(from, n, p.stride, width, total);
    }
    if (++at == p.run_blocks) {
      at = 0;
      run.Next();
    }
  }
}

ReducePlan MakeReducePlan(Span<const int64_t> dims, Span<const bool> reduced);

struct ReducePart {
  int64_t first_task, last_task, first_group, last_group;  // the last ones are excluded
};

// Tiles of outputs, folded over some groups: finished into y or, where `totals` is given, left
// there as they are. The only place whose loops are compiled for each instruction set.
template <class Op, class Out>
void ReduceTasks(const ReducePlan& plan, const typename Op::In* x, ReducePart part, int64_t count,
                 Out* y, typename Op::Total* totals) {
  using Total = typename Op::Total;
  const ReducePlan* p = &plan;
  auto body = [=] {
    if (p->stride == 1 && p->width == 1 && p->run_count == 1 && p->count <= kReduceRowLength) {
      // Dense rows, each of one group and one tile.
      return ReduceDenseRows<Op>(x, p->count, p->kept_count, part.first_task, part.last_task, y);
    }
    int64_t tiles = (p->width + kReduceTile - 1) / kReduceTile;
    Odometer<2> at(p->kept, p->kept.rank, part.first_task / tiles);
    int64_t tile = part.first_task % tiles;
    for (int64_t t = part.first_task; t < part.last_task; ++t) {
      int64_t column = tile * kReduceTile;
      int64_t width = std::min(p->width - column, kReduceTile);
      Total total[kReduceTile], next[kReduceTile];
      for (int64_t g = part.first_group; g < part.last_group; ++g) {
        bool first = g == part.first_group;
        ReduceGroup<Op>(*p, x + at.offset[0], column, width, g, first ? total : next);
        if (first) continue;
        for (int64_t j = 0; j < width; ++j) total[j] = Op::Merge(total[j], next[j]);
      }
      if (totals) {
        Total* to = totals + t / tiles * p->width + column;
        for (int64_t j = 0; j < width; ++j) to[j] = total[j];
      } else {
        Out* to = y + at.offset[1] + column;
        for (int64_t j = 0; j < width; ++j) to[j] = static_cast<Out>(Op::Finish(total[j], count));
      }
      if (++tile == tiles) {
        tile = 0;
        at.Next();
      }
    }
  };
  if constexpr (sizeof(typename Op::In) >= 4) {  // int64 has no vector maximum in the baseline
    Simd(body);
  } else {
    RunBase(body);
  }
}

}  // namespace detail

// y, dense over the dimensions that are not reduced, gets Op over the others (an empty reduction
// gives Op's neutral element). Op: SumOp<float>, MaxOp<int>, ... or one like them.
template <class Op, class Out>
void Reduce(const typename Op::In* x, Span<const int64_t> dims, Span<const bool> reduced, Out* y) {
  using Total = typename Op::Total;
  int64_t elements = 1, outputs = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    elements *= dims[i];
    if (!reduced[i]) outputs *= dims[i];
  }
  if (outputs == 0) return;
  int64_t count = elements / outputs;
  if (count == 0) {
    for (int64_t i = 0; i < outputs; ++i) y[i] = static_cast<Out>(Op::Finish(Total(Op::kInit), 0));
    return;
  }
  const detail::ReducePlan plan = detail::MakeReducePlan(dims, reduced);
  int64_t tiles = (plan.width + detail::kReduceTile - 1) / detail::kReduceTile;
  int64_t tasks = plan.kept_count * tiles;
  // Enough outputs for every thread, or too little work: each task folds its groups as they come.
  if (plan.groups == 1 || tasks >= 64 || elements < 4 * Grain() || NumThreads() == 1) {
    ParallelRows(tasks, std::max<int64_t>(elements / tasks / 2, 1),
                 [&](int64_t begin, int64_t end) {
                   detail::ReduceTasks<Op>(plan, x, {begin, end, 0, plan.groups}, count, y,
                                           static_cast<Total*>(nullptr));
                 });
    return;
  }
  // Few outputs: groups run in parallel and are folded in the same order as above.
  std::vector<Total> parts(plan.kept_count * plan.width * plan.groups);
  Total* part = parts.data();
  int64_t groups = plan.groups;
  ParallelBlocks(tasks * groups, [&](int64_t i) {
    int64_t task = i / groups, g = i % groups;
    detail::ReduceTasks<Op>(plan, x, {task, task + 1, g, g + 1}, count, y,
                            part + g * plan.kept_count * plan.width);
  });
  Odometer<2> at(plan.kept, plan.kept.rank, 0);
  for (int64_t k = 0; k < plan.kept_count; ++k, at.Next()) {
    for (int64_t j = 0; j < plan.width; ++j) {
      Total total = part[k * plan.width + j];
      for (int64_t g = 1; g < groups; ++g) {
        total = Op::Merge(total, part[(g * plan.kept_count + k) * plan.width + j]);
      }
      y[at.offset[1] + j] = static_cast<Out>(Op::Finish(total, count));
    }
  }
}

// Compiled in reduce.cc: every gradient of a broadcast operand needs the sums, and the loops of all
// are worth -O3.
extern template void Reduce<SumOp<float>, float>(const float*, Span<const int64_t>,
                                                 Span<const bool>, float*);
extern template void Reduce<SumOp<double>, double>(const double*, Span<const int64_t>,
                                                   Span<const bool>, double*);
extern template void Reduce<MeanOp<float>, float>(const float*, Span<const int64_t>,
                                                  Span<const bool>, float*);
extern template void Reduce<MeanOp<double>, double>(const double*, Span<const int64_t>,
                                                    Span<const bool>, double*);
extern template void Reduce<MaxOp<float>, float>(const float*, Span<const int64_t>,
                                                 Span<const bool>, float*);
extern template void Reduce<MaxOp<double>, double>(const double*, Span<const int64_t>,
                                                   Span<const bool>, double*);
extern template void Reduce<MinOp<float>, float>(const float*, Span<const int64_t>,
                                                 Span<const bool>, float*);
extern template void Reduce<MinOp<double>, double>(const double*, Span<const int64_t>,
                                                   Span<const bool>, double*);

// Index of the largest (smallest) element along the middle axis of [outer, n, inner]; the first of
// equals, the first NaN before all. n > 0.
template <bool kMax, class T, class Index>
void ArgReduce(const T* x, int64_t outer, int64_t n, int64_t inner, Index* y) {
  using Op = std::conditional_t<kMax, MaxOp<T>, MinOp<T>>;
  if (inner == 1) {
    ParallelRows(outer, n, [=](int64_t begin, int64_t end) {
      Simd([=] {
        for (int64_t r = begin; r < end; ++r) {
          const T* row = x + r * n;
          int64_t best = 0;
          T value = row[0];
          for (int64_t at = 0; at < n && value == value;
               at += 1024) {  // the first block that holds the best
            int64_t size = std::min<int64_t>(1024, n - at);
            T found = detail::ReduceRun<Op>(row + at, size);
            bool better = found != found || (kMax ? found > value : found < value);
            if (!better) continue;
            int64_t i = at;
            while (row[i] != found && (found == found || row[i] == row[i])) ++i;
            value = found;
            best = i;
          }
          y[r] = static_cast<Index>(best);
        }
      });
    });
    return;
  }
  constexpr int64_t kTile = 256;
  int64_t tiles = (inner + kTile - 1) / kTile;
  ParallelRows(outer * tiles, n * std::min(inner, kTile), [=](int64_t begin, int64_t end) {
    Simd([=] {
      for (int64_t t = begin; t < end; ++t) {
        int64_t o = t / tiles, column = t % tiles * kTile;
        int64_t width = std::min(kTile, inner - column);
        const T* from = x + o * n * inner + column;
        T value[kTile];
        Index best[kTile];
        for (int64_t j = 0; j < width; ++j) {
          value[j] = from[j];
          best[j] = 0;
        }
        for (int64_t i = 1; i < n; ++i) {
          const T* row = from + i * inner;
          for (int64_t j = 0; j < width; ++j) {
            bool better = ((kMax ? row[j] > value[j] : row[j] < value[j]) | (row[j] != row[j])) &
                          (value[j] == value[j]);
            value[j] = better ? row[j] : value[j];
            best[j] = better ? static_cast<Index>(i) : best[j];
          }
        }
        Index* to = y + o * inner + column;
        for (int64_t j = 0; j < width; ++j) to[j] = best[j];
      }
    });
  });
}
template <class T, class Index>
void ArgMax(const T* x, int64_t outer, int64_t n, int64_t inner, Index* y) {
  ArgReduce<true>(x, outer, n, inner, y);
}
template <class T, class Index>
void ArgMin(const T* x, int64_t outer, int64_t n, int64_t inner, Index* y) {
  ArgReduce<false>(x, outer, n, inner, y);
}

}  // namespace dygraph::kernels
