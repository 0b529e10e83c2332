// kernels/reduce.h on the device, for the same Ops.
//
// Which thread adds what depends on the shape alone, and results are combined in a fixed order: the
// bits are the same from run to run. Floating sums add at most 64 values per lane before they move
// to a double.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cuda/launch.h"
#include "kernels/elementwise.h"
#include "kernels/reduce_ops.h"
#include "kernels/strides.h"
#include "kernels/team.h"
#include "kernels/walk.h"
#include "tensor/scratch.h"

namespace dygraph::kernels {

namespace detail {

// Op::Add, with the position of the element where Op asks for it.
template <class Op, class = void>
struct AddElement {
  DYGRAPH_INLINE static typename Op::Lane To(typename Op::Lane lane, typename Op::In x, int64_t) {
    return Op::Add(lane, x);
  }
};
template <class Op>
struct AddElement<Op, std::void_t<decltype(Op::kTakesPosition)>> {
  DYGRAPH_INLINE static typename Op::Lane To(typename Op::Lane lane, typename Op::In x, int64_t i) {
    return Op::Add(lane, x, i);
  }
};

// Elements begin, begin + step, ... below end of the runs at x. Four lanes hide the way to memory.
// kEven: one run, whose elements lie evenly apart.
template <class Op, bool kEven>
DYGRAPH_INLINE typename Op::Total ReduceShare(const typename Op::In* x, const Steps<1>& runs,
                                              int64_t begin, int64_t end, int step) {
  using Total = typename Op::Total;
  using Lane = typename Op::Lane;
  constexpr int kLanes = 4, kRounds = 16;
  const int64_t apart = step * runs.strides[0][0];
  const typename Op::In* p = x + begin * runs.strides[0][0];
  Total total = static_cast<Total>(Op::kInit);
  int64_t i = begin;
  while (i + (kLanes - 1) * int64_t{step} < end) {
    Lane lane[kLanes] = {Op::kInit, Op::kInit, Op::kInit, Op::kInit};
    for (int round = 0; round < kRounds && i + (kLanes - 1) * int64_t{step} < end; ++round) {
      typename Op::In v[kLanes];
      DYGRAPH_UNROLL
      for (int k = 0; k < kLanes; ++k) {
        v[k] = kEven ? p[k * apart] : x[runs.At(i + k * int64_t{step}).of[0]];
      }
      DYGRAPH_UNROLL
      for (int k = 0; k < kLanes; ++k) {
        lane[k] = AddElement<Op>::To(lane[k], v[k], i + k * int64_t{step});
      }
      i += kLanes * int64_t{step};
      p += kLanes * apart;
    }
    lane[0] = Op::Fold(lane[0], lane[1]);
    lane[2] = Op::Fold(lane[2], lane[3]);
    total = Op::Merge(total, static_cast<Total>(Op::Fold(lane[0], lane[2])));
  }
  Lane lane = Op::kInit;
  for (; i < end; i += step, p += apart) {
    lane = AddElement<Op>::To(lane, kEven ? *p : x[runs.At(i).of[0]], i);
  }
  return Op::Merge(total, static_cast<Total>(lane));
}

// `results` results of `count` elements each. One result has `lanes` threads of a block, and its
// elements are cut into gridDim.y parts of `part` elements. Where there is more than one part,
// totals[part * results + result] is written in place of y.
struct ReduceShape {
  Steps<2> kept;  // of x and y
  Steps<1> runs;  // of x
  int64_t results, count, part;
  int lanes;
};

template <class Op, class Out>
DYGRAPH_INLINE void PutResult(const ReduceShape& s, int64_t result, typename Op::Total total,
                              Out* y, typename Op::Total* totals) {
  if (totals) {
    totals[blockIdx.y * s.results + result] = total;
  } else {
    y[s.kept.At(result).of[1]] = static_cast<Out>(Op::Finish(total, s.count));
  }
}

// For elements of one result that lie more densely than the results: neighbouring threads have
// neighbouring elements. A result has a power of two up to a warp of them, or the whole block.
template <class Op, class Out, bool kEven>
__global__ void __launch_bounds__(cuda::kThreads)
    ReduceRowsKernel(const typename Op::In* x, Out* y, typename Op::Total* totals,
                     const __grid_constant__ ReduceShape s) {
  using Total = typename Op::Total;
  __shared__ Total warps[cuda::kThreads / kWarp];
  const int lane = threadIdx.x % s.lanes, together = cuda::kThreads / s.lanes;
  const int64_t begin = blockIdx.y * s.part, end = std::min(begin + s.part, s.count);
  auto merge = [](Total a, Total b) { return Op::Merge(a, b); };
  for (int64_t first = blockIdx.x * int64_t{together}; first < s.results;
       first += int64_t{together} * gridDim.x) {
    const int64_t result = first + threadIdx.x / s.lanes;
    Total total = static_cast<Total>(Op::kInit);
    if (result < s.results) {
      total =
          ReduceShare<Op, kEven>(x + s.kept.At(result).of[0], s.runs, begin + lane, end, s.lanes);
    }
    total = MergeLanes(total, s.lanes < kWarp ? s.lanes : kWarp, merge);
    if (s.lanes > kWarp) {
      if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = total;
      __syncthreads();
      if (threadIdx.x == 0) {
        for (int w = 1; w < cuda::kThreads / kWarp; ++w) total = Op::Merge(total, warps[w]);
      }
      __syncthreads();
    }
    if (lane == 0 && result < s.results) PutResult<Op>(s, result, total, y, totals);
  }
}

// For results that lie side by side: neighbouring threads have neighbouring results.
template <class Op, class Out, bool kEven>
__global__ void __launch_bounds__(cuda::kThreads)
    ReduceColumnsKernel(const typename Op::In* x, Out* y, typename Op::Total* totals,
                        const __grid_constant__ ReduceShape s) {
  using Total = typename Op::Total;
  __shared__ Total shares[cuda::kThreads];
  const int together = cuda::kThreads / s.lanes;
  const int column = threadIdx.x % together, lane = threadIdx.x / together;
  const int64_t begin = blockIdx.y * s.part, end = std::min(begin + s.part, s.count);
  for (int64_t first = blockIdx.x * int64_t{together}; first < s.results;
       first += int64_t{together} * gridDim.x) {
    const int64_t result = first + column;
    Total total = static_cast<Total>(Op::kInit);
    if (result < s.results) {
      total =
          ReduceShare<Op, kEven>(x + s.kept.At(result).of[0], s.runs, begin + lane, end, s.lanes);
    }
    for (int half = s.lanes / 2; half > 0; half /= 2) {
      shares[threadIdx.x] = total;
      __syncthreads();
      if (lane < half) total = Op::Merge(total, shares[threadIdx.x + half * together]);
      __syncthreads();
    }
    if (lane == 0 && result < s.results) PutResult<Op>(s, result, total, y, totals);
  }
}

// Merges the totals of all parts, a warp for each result.
template <class Op, class Out>
__global__ void __launch_bounds__(cuda::kThreads)
    ReducePartsKernel(const typename Op::Total* totals, Out* y, int parts,
                      const __grid_constant__ ReduceShape s) {
  using Total = typename Op::Total;
  constexpr int kTogether = cuda::kThreads / kWarp;
  const int lane = threadIdx.x % kWarp;
  auto merge = [](Total a, Total b) { return Op::Merge(a, b); };
  for (int64_t first = blockIdx.x * int64_t{kTogether}; first < s.results;
       first += int64_t{kTogether} * gridDim.x) {
    const int64_t result = first + threadIdx.x / kWarp;
    Total total = static_cast<Total>(Op::kInit);
    if (result < s.results) {
      for (int p = lane; p < parts; p += kWarp) {
        total = Op::Merge(total, totals[p * s.results + result]);
      }
    }
    total = MergeLanes(total, kWarp, merge);
    if (lane == 0 && result < s.results) PutResult<Op>(s, result, total, y, nullptr);
  }
}

inline int PowerOfTwoUpTo(int64_t n, int most) {
  int power = 1;
  while (power < most && 2 * power <= n) power *= 2;
  return power;
}

// y[kept] = Op over the runs. The second array of `kept` is y; that of `runs` is not used.
template <class Op, class Out>
void ReduceWalks(const Walk<2>& kept, const Walk<2>& runs, const typename Op::In* x, Out* y) {
  using Total = typename Op::Total;
  Walk<1> inner;
  for (int i = 0; i < runs.rank; ++i) inner.Push(runs.dims[i], {runs.strides[0][i]});
  ReduceShape s{
      Steps<2>(kept), Steps<1>(inner), kept.Count(0, kept.rank), inner.Count(0, inner.rank), 0, 1};
  if (s.results == 0) return;
  const int64_t run_step = inner.rank ? inner.strides[0][inner.rank - 1] : 0;
  const int64_t kept_step = kept.rank ? kept.strides[0][kept.rank - 1] : 0;
  const bool columns = kept_step != 0 && (inner.rank == 0 || kept_step < run_step);
  if (columns) {  // at least a warp of results side by side, where there are as many
    const int across = std::min(2 * PowerOfTwoUpTo(s.results - 1, kWarp / 2), kWarp);
    s.lanes = PowerOfTwoUpTo(s.count / 4, cuda::kThreads / across);
  } else {
    s.lanes = s.count >= 1024 ? cuda::kThreads : PowerOfTwoUpTo(s.count, kWarp);
  }
  // A second pass where the blocks would be too few for the device.
  constexpr int64_t kEnoughBlocks = 264, kElementsOfThread = 16;
  const int64_t together = cuda::kThreads / s.lanes;
  const int64_t blocks = (s.results + together - 1) / together;
  int64_t parts = 1;
  if (blocks < kEnoughBlocks) {
    parts = std::min(2 * kEnoughBlocks / blocks, s.count / (s.lanes * kElementsOfThread));
    parts = std::max<int64_t>(parts, 1);
  }
  s.part = (s.count + parts - 1) / parts;
  Scratch totals(cuda::CurrentPlace(), parts > 1 ? parts * s.results * sizeof(Total) : 0);
  Total* to = parts > 1 ? totals.as<Total>() : nullptr;
  const dim3 grid(static_cast<unsigned>(std::min(blocks, cuda::kMostBlocks)),
                  static_cast<unsigned>(parts));
  const bool even = inner.rank <= 1;
  if (columns) {
    cuda::Run(even ? ReduceColumnsKernel<Op, Out, true> : ReduceColumnsKernel<Op, Out, false>, grid,
              x, y, to, s);
  } else {
    cuda::Run(even ? ReduceRowsKernel<Op, Out, true> : ReduceRowsKernel<Op, Out, false>, grid, x, y,
              to, s);
  }
  if (parts > 1) {
    cuda::Run(ReducePartsKernel<Op, Out>, cuda::Blocks(s.results, cuda::kThreads / kWarp),
              static_cast<const Total*>(to), y, static_cast<int>(parts), s);
  }
}

// The position of the largest (smallest) element, of its first one; a NaN is before all.
template <class T, bool kMax>
struct ArgOp {
  struct Found {
    T value;
    int64_t at;  // -1 before the first element
  };
  using In = T;
  using Lane = Found;
  using Total = Found;
  static constexpr bool kTakesPosition = true;
  static constexpr Found kInit{T(), -1};
  DYGRAPH_INLINE static Found Merge(Found a, Found b) {
    if (a.at < 0 || b.at < 0) return a.at < 0 ? b : a;
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    const bool better =
        a_nan || b_nan ? b_nan && !a_nan : (kMax ? b.value > a.value : b.value < a.value);
    const bool equal = a_nan || b_nan ? a_nan && b_nan : a.value == b.value;
    return better || (equal && b.at < a.at) ? b : a;
  }
  DYGRAPH_INLINE static Found Fold(Found a, Found b) { return Merge(a, b); }
  DYGRAPH_INLINE static Found Add(Found a, T x, int64_t i) { return Merge(a, Found{x, i}); }
  DYGRAPH_INLINE static int64_t Finish(Found a, int64_t) { return a.at; }
};

}  // namespace detail

// y, dense over the dimensions that are not reduced, gets Op over the others (an empty reduction
// gives Op's neutral element). Op: SumOp<float>, MaxOp<int>, ... or one like them.
template <class Op, class Out>
void Reduce(const typename Op::In* x, Span<const int64_t> dims, Span<const bool> reduced, Out* y) {
  int64_t x_strides[kMaxRank + 1], y_strides[kMaxRank + 1], x_stride = 1, y_stride = 1;
  ENFORCE(dims.size() <= kMaxRank + 1, InvalidArgument, "the rank must be at most ", kMaxRank,
          ", got ", dims.size());
  for (int64_t i = static_cast<int64_t>(dims.size()) - 1; i >= 0; --i) {
    x_strides[i] = x_stride;
    y_strides[i] = y_stride;
    x_stride *= dims[i];
    if (!reduced[i]) y_stride *= dims[i];
  }
  Walk<2> kept, runs;
  for (size_t i = 0; i < dims.size(); ++i) {
    (reduced[i] ? runs : kept).Push(dims[i], {x_strides[i], reduced[i] ? 0 : y_strides[i]});
  }
  detail::ReduceWalks<Op>(kept, runs, x, y);
}

// Index of the largest (smallest) element along the middle axis of [outer, n, inner]; the first of
// equals, the first NaN before all. n > 0.
template <bool kMax, class T, class Index>
void ArgReduce(const T* x, int64_t outer, int64_t n, int64_t inner, Index* y) {
  const int64_t dims[] = {outer, n, inner};
  const bool reduced[] = {false, true, false};
  Reduce<detail::ArgOp<T, kMax>>(x, {dims, 3}, {reduced, 3}, y);
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
