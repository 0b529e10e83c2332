// Binary elementwise loops with broadcasting: a stride of 0 repeats an operand along a dimension.
#pragma once

#include <cstdint>

#include "kernels/elementwise.h"
#include "kernels/reduce.h"
#include "kernels/strides.h"

namespace dygraph::kernels {

// Element strides of a dense operand of shape `in`, whose first dimension meets dimension `axis` of
// `out`, over the shape `out`; 0 where it is broadcast. Shapes were checked by the caller.
inline void BroadcastStrides(Span<const int64_t> in, Span<const int64_t> out, int64_t axis,
                             int64_t* strides) {
  for (size_t i = 0; i < out.size(); ++i) strides[i] = 0;
  int64_t stride = 1;
  for (int64_t i = static_cast<int64_t>(in.size()) - 1; i >= 0; --i) {
    if (in[i] != 1) strides[axis + i] = stride;
    stride *= in[i];
  }
}

namespace detail {

template <int kX, int kY, class A, class B, class Out, class F>
DYGRAPH_INLINE void BroadcastRow(const A* x, int64_t sx, const B* y, int64_t sy, Out* out,
                                 int64_t n, F f) {
  if constexpr (kX == 0) {
    const A x0 = *x;
    DYGRAPH_IVDEP
    for (int64_t i = 0; i < n; ++i) out[i] = f(x0, y[i * (kY < 0 ? sy : kY)]);
  } else if constexpr (kY == 0) {
    const B y0 = *y;
    DYGRAPH_IVDEP
    for (int64_t i = 0; i < n; ++i) out[i] = f(x[i * (kX < 0 ? sx : kX)], y0);
  } else {
    DYGRAPH_IVDEP
    for (int64_t i = 0; i < n; ++i)
      out[i] = f(x[i * (kX < 0 ? sx : kX)], y[i * (kY < 0 ? sy : kY)]);
  }
}

// kX, kY: inner strides known when compiled, or -1.
template <int kX, int kY, class A, class B, class Out, class F>
void BroadcastRows(const Walk<2>& walk, const A* x, const B* y, Out* out, F f, int64_t cost) {
  int outer = walk.rank - 1;
  int64_t n = walk.dims[outer];
  int64_t sx = walk.strides[0][outer], sy = walk.strides[1][outer];
  ParallelRows(walk.Count(0, outer), n * cost, [=, &walk](int64_t begin, int64_t end) {
    const Walk<2>* w = &walk;
    SimdFor<A>([=] {
      Odometer<2> at(*w, outer, begin);
      for (int64_t r = begin; r < end; ++r, at.Next()) {
        BroadcastRow<kX, kY>(x + at.offset[0], sx, y + at.offset[1], sy, out + r * n, n, f);
      }
    });
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
  const B* repeated = tile;
  ParallelRows((rows + copies - 1) / copies, width * cost, [=](int64_t begin, int64_t end) {
    SimdFor<A>([=] {
      for (int64_t r = begin; r < end; ++r) {
        int64_t start = r * width, length = total - start < width ? total - start : width;
        BroadcastRow<1, 1>(x + start, 1, repeated, 1, out + start, length, f);
      }
    });
  });
}

}  // namespace detail

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
  if (walk.rank == 1) {  // one run: split by elements
    int64_t n = walk.dims[0];
    if (sx == 1 && sy == 1) return Zip(x, y, out, n, f, cost);
    if (sx == 1 && sy == 0) return ZipScalar(x, *y, out, n, f, cost);
    if (sx == 0 && sy == 1) return ScalarZip(*x, y, out, n, f, cost);
  }
  if constexpr (std::is_floating_point_v<A>) {  // the other types make do with the general loop
    int64_t rows = walk.dims[0], n = walk.dims[last];
    if (walk.rank == 2 && sx == 1 && sy == 1 && walk.strides[0][0] == n &&
        walk.strides[1][0] == 0 && n <= detail::kShortRow && rows * n >= 2 * detail::kRowTile) {
      return detail::BroadcastShortRows(rows, n, x, y, out, f, cost);
    }
    if (sx == 1 && sy == 1) return detail::BroadcastRows<1, 1>(walk, x, y, out, f, cost);
    if (sx == 1 && sy == 0) return detail::BroadcastRows<1, 0>(walk, x, y, out, f, cost);
    if (sx == 0 && sy == 1) return detail::BroadcastRows<0, 1>(walk, x, y, out, f, cost);
  }
  detail::BroadcastRows<-1, -1>(walk, x, y, out, f, cost);
}

// The gradient of broadcasting: sums g, of shape `dims` with strides `g_strides`, over the
// dimensions where `out_strides` is 0. `out` must be dense over the others.
template <class T>
void SumTo(Span<const int64_t> dims, const T* g, Span<const int64_t> g_strides, T* out,
           Span<const int64_t> out_strides) {
  bool reduced[kMaxRank];
  bool dense = true;
  int64_t stride = 1;
  for (int64_t i = static_cast<int64_t>(dims.size()) - 1; i >= 0; --i) {
    reduced[i] = out_strides[i] == 0;
    dense &= dims[i] == 1 || g_strides[i] == stride;
    stride *= dims[i];
  }
  if (dense) {
    Reduce<SumOp<T>>(g, dims, Span<const bool>(reduced, dims.size()), out);
    return;
  }
  Walk<2> kept;
  Walk<1> inner;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (reduced[i]) {
      inner.Push(dims[i], {g_strides[i]});
    } else {
      kept.Push(dims[i], {g_strides[i], out_strides[i]});
    }
  }
  int64_t runs = inner.Count(0, inner.rank);
  ParallelRows(kept.Count(0, kept.rank), runs * 2, [&](int64_t begin, int64_t end) {
    Odometer<2> at(kept, kept.rank, begin);
    for (int64_t k = begin; k < end; ++k, at.Next()) {
      typename SumOp<T>::Total total{};
      Odometer<1> in(inner, inner.rank, 0);
      for (int64_t r = 0; r < runs; ++r, in.Next()) total += g[at.offset[0] + in.offset[0]];
      out[at.offset[1]] = static_cast<T>(total);
    }
  });
}

}  // namespace dygraph::kernels
