// operators/arithmetic/cumulative.h on the device: a thread for each line, and scans in which the
// threads of a block, and blocks, share one.
#pragma once

#include <algorithm>

#include "cuda/launch.h"
#include "kernels/integer.h"
#include "kernels/loops.h"
#include "operators/arithmetic/lines.h"
#include "tensor/scratch.h"

namespace dygraph::cumulative {

// f(offset of the first element) for each line; its elements are `inner` apart.
template <class F>
void ForLines(const Lines& l, int64_t, F f) {
  if (l.n == 0) return;
  const Lines lines = l;
  kernels::ForEach(l.Count(), [=] DYGRAPH_FN(int64_t i) { f(lines.First(i)); });
}

// Room for the values of a line: those of neighbouring lines lie side by side.
template <class V>
struct Room {
  V* of;
  int64_t apart;
  DYGRAPH_INLINE V& operator[](int64_t i) const { return of[i * apart]; }
};

template <class V, class F>
void ForLinesWithRoom(KernelContext& ctx, const Lines& l, int64_t, F f) {
  if (l.n == 0) return;
  const Lines lines = l;
  const int64_t count = l.Count();
  Scratch scratch = ctx.Workspace(count * l.n * sizeof(V));
  V* room = scratch.as<V>();
  kernels::ForEach(count,
                   [=] DYGRAPH_FN(int64_t i) { f(lines.First(i), Room<V>{room + i, count}); });
}

namespace detail {

// Each line is cut into `parts` parts of `part` elements.
struct ScanShape {
  Lines lines;
  bool reverse;
  int64_t part, parts;
  DYGRAPH_INLINE int64_t At(int64_t line, int64_t i) const {
    return lines.First(line) + (reverse ? lines.n - 1 - i : i) * lines.inner;
  }
};

template <class Op>
struct ScanLine {
  Op op;
  ScanShape s;
  DYGRAPH_INLINE void operator()(int64_t line) const {
    const int64_t step = s.reverse ? -s.lines.inner : s.lines.inner;
    int64_t at = s.At(line, 0);
    typename Op::State sum = op.None();
    for (int64_t i = 0; i < s.lines.n; ++i, at += step) {
      const typename Op::State before = sum;
      sum = op.Next(sum, op.Load(at, i));
      op.Store(at, before, sum);
    }
  }
};

// A block for each part. With kStores it begins with the total of the parts before, which stands in
// `totals`, else it puts its own total there.
template <bool kStores, class Op>
__global__ void __launch_bounds__(cuda::kThreads)
    ScanKernel(Op op, const __grid_constant__ ScanShape s, typename Op::State* totals) {
  using State = typename Op::State;
  constexpr int kEach = 4;
  __shared__ State sums[cuda::kThreads];
  const int thread = threadIdx.x;
  const int64_t items = s.lines.Count() * s.parts;
  for (int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const int64_t line = item / s.parts, which = item % s.parts;
    const int64_t end = std::min(s.lines.n, (which + 1) * s.part);
    State carried = kStores && which > 0 ? totals[item - 1] : op.None();
    for (int64_t tile = which * s.part; tile < end; tile += kEach * cuda::kThreads) {
      const int64_t first = tile + kEach * thread;
      State mine[kEach];
      State sum = op.None();
      DYGRAPH_UNROLL
      for (int k = 0; k < kEach; ++k) {
        if (first + k < end) sum = op.Next(sum, op.Load(s.At(line, first + k), first + k));
        mine[k] = sum;
      }
      sums[thread] = sum;
      __syncthreads();
      for (int by = 1; by < cuda::kThreads; by *= 2) {
        if (thread >= by) sum = op.Merge(sums[thread - by], sum);
        __syncthreads();
        sums[thread] = sum;
        __syncthreads();
      }
      if constexpr (kStores) {
        const State before = thread > 0 ? op.Merge(carried, sums[thread - 1]) : carried;
        DYGRAPH_UNROLL
        for (int k = 0; k < kEach; ++k) {
          if (first + k >= end) break;
          op.Store(s.At(line, first + k), k > 0 ? op.Merge(before, mine[k - 1]) : before,
                   op.Merge(before, mine[k]));
        }
      }
      carried = op.Merge(carried, sums[cuda::kThreads - 1]);
      __syncthreads();  // all have read the sums
    }
    if (!kStores && thread == 0) totals[item] = carried;
  }
}

// Each part gets the total of all up to it.
template <class Op>
struct ScanTotals {
  Op op;
  int64_t parts;
  typename Op::State* totals;
  DYGRAPH_INLINE void operator()(int64_t line) const {
    typename Op::State* of = totals + line * parts;
    for (int64_t p = 1; p < parts; ++p) of[p] = op.Merge(of[p - 1], of[p]);
  }
};

}  // namespace detail

template <class Op>
void Scan(const Lines& l, bool reverse, Op op, int64_t) {
  if (l.Count() * l.n == 0) return;
  // A thread for each line where that keeps the device busy and neighbours read neighbours.
  constexpr int64_t kShort = 32, kManyLines = 16384, kEnoughBlocks = 264, kLeast = 4096;
  detail::ScanShape s{l, reverse, l.n, 1};
  if (l.n <= kShort || (l.inner > 1 && l.Count() >= kManyLines)) {
    const detail::ScanLine<Op> scan{op, s};
    return kernels::ForEach(l.Count(), scan);
  }
  if (l.Count() < kEnoughBlocks) {
    s.parts = std::min(2 * kEnoughBlocks / l.Count(), (l.n + kLeast - 1) / kLeast);
    s.part = (l.n + s.parts - 1) / s.parts;
  }
  const dim3 grid(static_cast<unsigned>(std::min(l.Count() * s.parts, cuda::kMostBlocks)));
  using State = typename Op::State;
  Scratch totals(cuda::CurrentPlace(), s.parts > 1 ? l.Count() * s.parts * sizeof(State) : 0);
  State* of_parts = s.parts > 1 ? totals.as<State>() : nullptr;
  if (s.parts > 1) {
    cuda::Run(detail::ScanKernel<false, Op>, grid, op, s, of_parts);
    kernels::ForEach(l.Count(), detail::ScanTotals<Op>{op, s.parts, of_parts});
  }
  cuda::Run(detail::ScanKernel<true, Op>, grid, op, s, of_parts);
}

namespace detail {

template <class T>
struct SumsOp {
  using State = T;
  const T* x;
  T* out;
  bool exclusive;
  DYGRAPH_INLINE T None() const { return T(0); }
  DYGRAPH_INLINE T Load(int64_t at, int64_t) const { return x[at]; }
  DYGRAPH_INLINE T Next(T a, T b) const { return kernels::Plus(a, b); }
  DYGRAPH_INLINE T Merge(T a, T b) const { return Next(a, b); }
  DYGRAPH_INLINE void Store(int64_t at, T before, T sum) const {
    out[at] = exclusive ? before : sum;
  }
};

template <class T>
struct ProductsOp {
  using State = T;
  const T* x;
  T* out;
  DYGRAPH_INLINE T None() const { return T(1); }
  DYGRAPH_INLINE T Load(int64_t at, int64_t) const { return x[at]; }
  DYGRAPH_INLINE T Next(T a, T b) const { return kernels::Times(a, b); }
  DYGRAPH_INLINE T Merge(T a, T b) const { return Next(a, b); }
  DYGRAPH_INLINE void Store(int64_t at, T, T product) const { out[at] = product; }
};

}  // namespace detail

// The sums along each line; `exclusive` leaves out an element's own value.
template <class T>
void Sums(const T* x, T* out, const Lines& l, bool exclusive, bool reverse) {
  Scan(l, reverse, detail::SumsOp<T>{x, out, exclusive}, 1);
}

// The products along each line.
template <class T>
void Products(const T* x, T* out, const Lines& l) {
  Scan(l, false, detail::ProductsOp<T>{x, out}, 1);
}

}  // namespace dygraph::cumulative
