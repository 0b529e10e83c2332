// Loops along an axis.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/integer.h"
#include "kernels/parallel.h"
#include "operators/arithmetic/lines.h"
#include "platform/interrupt.h"

namespace dygraph::cumulative {

// Calls f(offset of the first element) for each line; its elements are `inner` apart.
template <class F>
void ForLines(const Lines& l, int64_t cost, const F& f) {
  if (l.rows * l.n * l.inner == 0) return;
  kernels::ParallelRows(l.rows * l.inner, l.n * cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(l.First(i));
  });
}

// Room for the values of a line.
template <class V>
using Room = V*;

// The same with room for n values of a line: f(offset of the first element, room).
template <class V, class F>
void ForLinesWithRoom(const KernelContext&, const Lines& l, int64_t cost, const F& f) {
  ForLines(l, cost, [&](int64_t first) {
    std::vector<V> room(l.n);
    f(first, room.data());
  });
}

// What has been met of each line so far, with one element more at each step:
//
//   struct Op {
//     struct State;                                // or a number
//     State None() const;                          // before the first element
//     State Load(int64_t at, int64_t i) const;     // of element i, which lies at `at`
//     State Next(State so_far, State more) const;
//     State Merge(State so_far, State more) const; // the same where `more` may be None
//     void Store(int64_t at, State before, State after) const;
//   };
//
// Next must be associative: a device works out the parts of a line at once. `reverse` begins at
// the end.
template <class Op>
void Scan(const Lines& l, bool reverse, Op op, int64_t cost) {
  const int64_t n = l.n, step = reverse ? -l.inner : l.inner;
  ForLines(l, cost, [=](int64_t first) {
    int64_t at = reverse ? first - (n - 1) * step : first;
    auto sum = op.None();
    for (int64_t i = 0; i < n; ++i, at += step) {
      const auto before = sum;
      sum = op.Next(sum, op.Load(at, i));
      op.Store(at, before, sum);
    }
  });
}

namespace detail {

// A row of n elements, `step` apart.
template <class T>
void SumRow(const T* in, T* out, int64_t n, int64_t step, bool exclusive) {
  T sum = T(0);
  InPieces(n, 1 << 22, [&](int64_t begin, int64_t end) {
    T before = sum;
    for (int64_t i = begin, at = begin * step; i < end; ++i, at += step) {
      T next = kernels::Plus(before, in[at]);
      out[at] = exclusive ? before : next;
      before = next;
    }
    sum = before;
  });
}

// Four neighbouring rows: an addition need not wait for the one before. The sums are four
// variables, for an array of them is vectorised across the rows, at thrice the time.
template <class T>
void SumFourRows(const T* in, T* out, int64_t n, int64_t step, bool exclusive) {
  const T *in1 = in + n, *in2 = in1 + n, *in3 = in2 + n;
  T *out1 = out + n, *out2 = out1 + n, *out3 = out2 + n;
  T a = T(0), b = T(0), c = T(0), d = T(0);
  for (int64_t i = 0, at = 0; i < n; ++i, at += step) {
    T next_a = kernels::Plus(a, in[at]), next_b = kernels::Plus(b, in1[at]);
    T next_c = kernels::Plus(c, in2[at]), next_d = kernels::Plus(d, in3[at]);
    out[at] = exclusive ? a : next_a;
    out1[at] = exclusive ? b : next_b;
    out2[at] = exclusive ? c : next_c;
    out3[at] = exclusive ? d : next_d;
    a = next_a, b = next_b, c = next_c, d = next_d;
  }
}

}  // namespace detail

// The sums along each line; `exclusive` leaves out an element's own value.
template <class T>
void Sums(const T* from, T* to, const Lines& l, bool exclusive, bool reverse) {
  const int64_t n = l.n, inner = l.inner;
  if (l.rows * n * inner == 0) return;
  kernels::ParallelRows(l.rows, n * inner, [=](int64_t begin, int64_t end) {
    int64_t step = reverse ? -inner : inner, first = reverse ? (n - 1) * inner : 0;
    for (int64_t r = begin; r < end;) {
      const T* in = from + r * n * inner + first;
      T* out = to + (in - from);
      if (inner == 1) {
        bool four = r + 4 <= end;
        (four ? detail::SumFourRows<T> : detail::SumRow<T>)(in, out, n, step, exclusive);
        r += four ? 4 : 1;
        continue;
      }
      ++r;
      // lines of `inner` elements, each the one before plus a line of x
      for (int64_t k = 0; k < inner; ++k) out[k] = exclusive ? T(0) : in[k];
      for (int64_t i = 1; i < n; ++i) {
        if (i * inner % (1 << 16) < inner) CheckInterrupt();
        const T *last = out, *add = exclusive ? in : in + step;
        in += step;
        out += step;
        for (int64_t k = 0; k < inner; ++k) out[k] = kernels::Plus(last[k], add[k]);
      }
    }
  });
}

// The products along each line.
template <class T>
void Products(const T* x, T* out, const Lines& l) {
  if (l.inner == 1) {
    return ForLines(l, 1, [&](int64_t first) {
      T product = T(1);
      for (int64_t i = first; i < first + l.n; ++i)
        out[i] = product = kernels::Times(product, x[i]);
    });
  }
  if (l.rows * l.n * l.inner == 0) return;
  const int64_t n = l.n, inner = l.inner;
  // lines of `inner` elements, each the one before times a line of x
  kernels::ParallelRows(l.rows, n * inner, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* from = x + r * n * inner;
      T* to = out + r * n * inner;
      std::copy_n(from, inner, to);
      for (int64_t i = inner; i < n * inner; ++i) to[i] = kernels::Times(to[i - inner], from[i]);
    }
  });
}

}  // namespace dygraph::cumulative
