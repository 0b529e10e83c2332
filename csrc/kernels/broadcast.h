// Binary elementwise loops with broadcasting: a stride of 0 repeats an operand along a dimension.
#pragma once

#include <cstdint>

#include "kernels/broadcast_plan.h"
#include "kernels/elementwise.h"
#include "kernels/reduce.h"
#include "kernels/strides.h"

namespace dygraph::kernels {

namespace detail {

extern const Walk<2> kNoWalk;

// Strides an operand of two rarely has: one plain loop, compiled once.
template <class A, class B, class Out, class F>
__attribute__((noinline)) void StridedRow(const A* x, int64_t sx, const B* y, int64_t sy, Out* out,
                                          int64_t n, F f) {
  for (int64_t i = 0; i < n; ++i) out[i] = f(x[i * sx], y[i * sy]);
}

template <class A, class B, class Out, class F>
DYGRAPH_INLINE void BroadcastRow(const A* x, int64_t sx, const B* y, int64_t sy, Out* out,
                                 int64_t n, F f) {
  if (sx == 1 && sy == 1) {
    DYGRAPH_IVDEP
    for (int64_t i = 0; i < n; ++i) out[i] = f(x[i], y[i]);
  } else if (sx == 1 && sy == 0) {
    const B y0 = *y;
    DYGRAPH_IVDEP
    for (int64_t i = 0; i < n; ++i) out[i] = f(x[i], y0);
  } else if (sx == 0 && sy == 1) {
    const A x0 = *x;
    DYGRAPH_IVDEP
    for (int64_t i = 0; i < n; ++i) out[i] = f(x0, y[i]);
  } else if (sx == 0 && sy == 0) {
    const Out value = f(*x, *y);
    for (int64_t i = 0; i < n; ++i) out[i] = value;
  } else {
    StridedRow(x, sx, y, sy, out, n, f);
  }
}

// Rows [begin, end) of the walk's outer dimensions, n elements each. The only loops there are for
// one f, so that each type costs one copy for every instruction set.
template <class A, class B, class Out, class F>
void BroadcastRows(const Walk<2>& walk, int outer, int64_t begin, int64_t end, const A* x,
                   int64_t sx, const B* y, int64_t sy, Out* out, int64_t n, F f) {
  const Walk<2>* w = &walk;
  SimdFor<A>([=] {
    Odometer<2> at(*w, outer, begin);
    for (int64_t r = begin; r < end; ++r, at.Next()) {
      BroadcastRow(x + at.offset[0], sx, y + at.offset[1], sy, out + r * n, n, f);
    }
  });
}

// Adding a short row vector to many rows (a bias of a few channels): the vector is repeated into a
// tile first, so that the loops are as long as for a wide one.
constexpr int64_t kShortRow = 64, kRowTile = 512;

template <class A, class B, class Out, class F>
void BroadcastShortRows(int64_t rows, int64_t n, const A* x, const B* y, Out* out, F f,
                        int64_t cost) {
  B tile[kRowTile];
  int64_t copies = kRowTile / n, width = copies * n, total = rows * n;
  for (int64_t i = 0; i < width; ++i) tile[i] = y[i % n];
  int64_t wide = rows / copies;
  Walk<2> walk;
  walk.rank = 1;
  walk.dims[0] = wide;
  walk.strides[0][0] = width;
  walk.strides[1][0] = 0;
  ParallelRows(wide, width * cost, [&](int64_t begin, int64_t end) {
    BroadcastRows(walk, 1, begin, end, x, 1, tile, 1, out, width, f);
  });
  int64_t done = wide * width;
  if (done < total) BroadcastRows(walk, 0, 0, 1, x + done, 1, tile, 1, out + done, total - done, f);
}

}  // namespace detail

// out[i] = f(x[i * sx], y[i * sy]).
template <class A, class B, class Out, class F>
void Binary(const A* x, int64_t sx, const B* y, int64_t sy, Out* out, int64_t n, F f,
            int64_t cost = 1) {
  ParallelFor(n, Grain(cost), [=](int64_t begin, int64_t end) {
    detail::BroadcastRows(detail::kNoWalk, 0, 0, 1, x + begin * sx, sx, y + begin * sy, sy,
                          out + begin, end - begin, f);
  });
}

// out[i] = f(x[...], y[...]) over the dense shape `dims`. `out` may be exactly x or y where that
// one is not broadcast.
template <class A, class B, class Out, class F>
void Broadcast(Span<const int64_t> dims, const A* x, Span<const int64_t> x_strides, const B* y,
               Span<const int64_t> y_strides, Out* out, F f, int64_t cost = 1) {
  Walk<2> walk;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) return;
    walk.Push(dims[i], {x_strides[i], y_strides[i]});
  }
  if (walk.rank == 0) {
    *out = f(*x, *y);
    return;
  }
  int last = walk.rank - 1;
  int64_t sx = walk.strides[0][last], sy = walk.strides[1][last];
  int64_t n = walk.dims[last];
  if (walk.rank == 1) return Binary(x, sx, y, sy, out, n, f, cost);  // one run: split by elements
  int64_t rows = walk.dims[0];
  if (walk.rank == 2 && sx == 1 && sy == 1 && walk.strides[0][0] == n && walk.strides[1][0] == 0 &&
      n <= detail::kShortRow && rows * n >= 2 * detail::kRowTile) {
    return detail::BroadcastShortRows(rows, n, x, y, out, f, cost);
  }
  ParallelRows(walk.Count(0, last), n * cost, [&](int64_t begin, int64_t end) {
    detail::BroadcastRows(walk, last, begin, end, x, sx, y, sy, out, n, f);
  });
}

// `x` with strides over the shape `dims`, laid out densely.
template <class T>
void Repeat(Span<const int64_t> dims, const T* x, Span<const int64_t> strides, T* out);

// The gradient of broadcasting: sums g, of shape `dims` with strides `g_strides`, over the
// dimensions where `out_strides` is 0. `out` must be dense over the others. Both exist for float,
// double and the complex types.
template <class T>
void SumTo(Span<const int64_t> dims, const T* g, Span<const int64_t> g_strides, T* out,
           Span<const int64_t> out_strides);

}  // namespace dygraph::kernels
