// kernels/softmax.h on the device: a team of threads for each row; short rows and rows that lie
// side by side have a thread each. 16-bit numbers are computed with as floats.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/convert.h"
#include "kernels/loops.h"
#include "kernels/math.h"

namespace dygraph::kernels {

struct SoftmaxShape {
  int64_t outer, n, inner;
  DYGRAPH_INLINE int64_t rows() const { return outer * inner; }  // of independent distributions
  // The first element of row r; the others follow, `inner` apart.
  DYGRAPH_INLINE int64_t First(int64_t r) const { return r / inner * n * inner + r % inner; }
};

namespace detail {

// A thread that has a row for itself, in the words of Team.
class Alone {
 public:
  template <class F>
  DYGRAPH_INLINE void Each(int64_t n, F f) const {
    for (int64_t j = 0; j < n; ++j) f(j);
  }
  template <class T, class F>
  DYGRAPH_INLINE T Sum(int64_t n, F f) const {
    using Total = std::conditional_t<std::is_same_v<T, float>, double, T>;
    Total sum = 0;
    for (int64_t j = 0; j < n;) {
      T part = 0;
      for (int k = 0; k < 64 && j < n; ++k, ++j) part += f(j);
      sum += part;
    }
    return static_cast<T>(sum);
  }
  template <class T, class F>
  DYGRAPH_INLINE T Max(int64_t n, T low, F f) const {
    T most = low;
    for (int64_t j = 0; j < n; ++j) {
      const T v = f(j);
      most = most > v || most != most ? most : v;
    }
    return most;
  }
  template <class F>
  DYGRAPH_INLINE void Once(F f) const {
    f();
  }
};

// f(r, first element of the row, team) for every row.
template <class F>
void ForSoftmaxRows(SoftmaxShape s, F f) {
  constexpr int64_t kShort = 16, kMany = 16384;
  if (s.n <= kShort || (s.inner > 1 && s.rows() >= kMany)) {
    return ForEach(s.rows(), [=] DYGRAPH_FN(int64_t r) { f(r, s.First(r), Alone()); });
  }
  ForEachRow(s.rows(), s.n, [=] DYGRAPH_FN(int64_t r, Team team) { f(r, s.First(r), team); });
}

template <class T>
struct SoftmaxRow {
  const T* x;
  T* y;
  T* log_total;
  int64_t n, step;
  template <class Threads>
  DYGRAPH_INLINE void operator()(int64_t r, int64_t first, const Threads& team) const {
    using C = Wide<T>;
    const T* from = x + first;
    T* to = y + first;
    const int64_t by = step;
    const C top = team.template Max<C>(n, -std::numeric_limits<C>::infinity(),
                                       [=](int64_t j) -> C { return from[j * by]; });
    const C total =
        team.template Sum<C>(n, [=](int64_t j) { return ExpBelowZero(C(from[j * by]) - top); });
    const C factor = C(1) / total;
    team.Each(n, [=](int64_t j) { to[j * by] = ExpBelowZero(C(from[j * by]) - top) * factor; });
    T* log = log_total;
    if (log) team.Once([=] { log[r] = top + Log(total); });
  }
};

template <class T>
struct SoftmaxGradRow {
  const T *y, *dy;
  T* dx;
  int64_t n, step;
  template <class Threads>
  DYGRAPH_INLINE void operator()(int64_t, int64_t first, const Threads& team) const {
    using C = Wide<T>;
    const T *a = y + first, *g = dy + first;
    T* to = dx + first;
    const int64_t by = step;
    const C dot = team.template Sum<C>(n, [=](int64_t j) { return C(a[j * by]) * C(g[j * by]); });
    team.Each(n, [=](int64_t j) { to[j * by] = C(a[j * by]) * (C(g[j * by]) - dot); });
  }
};

template <class T>
struct SoftmaxGradGradRow {
  const T *y, *dy, *v;
  T* out;
  int64_t n, step;
  template <class Threads>
  DYGRAPH_INLINE void operator()(int64_t, int64_t first, const Threads& team) const {
    using C = Wide<T>;
    const T *a = y + first, *g = dy + first, *w = v + first;
    T* to = out + first;
    const int64_t by = step;
    const C of_g = team.template Sum<C>(n, [=](int64_t j) { return C(a[j * by]) * C(g[j * by]); });
    const C of_v = team.template Sum<C>(n, [=](int64_t j) { return C(a[j * by]) * C(w[j * by]); });
    team.Each(n, [=](int64_t j) {
      const C d = g[j * by];
      to[j * by] = C(w[j * by]) * (d - of_g) - d * of_v;
    });
  }
};

template <class T>
struct LogSoftmaxRow {
  const T* x;
  T* y;
  int64_t n, step;
  template <class Threads>
  DYGRAPH_INLINE void operator()(int64_t, int64_t first, const Threads& team) const {
    using C = Wide<T>;
    const T* from = x + first;
    T* to = y + first;
    const int64_t by = step;
    const C top = team.template Max<C>(n, -std::numeric_limits<C>::infinity(),
                                       [=](int64_t j) -> C { return from[j * by]; });
    const C total = Log(
        team.template Sum<C>(n, [=](int64_t j) { return ExpBelowZero(C(from[j * by]) - top); }));
    team.Each(n, [=](int64_t j) { to[j * by] = (C(from[j * by]) - top) - total; });
  }
};

template <class T>
struct LogSoftmaxGradRow {
  const T *y, *dy;
  T* dx;
  int64_t n, step;
  template <class Threads>
  DYGRAPH_INLINE void operator()(int64_t, int64_t first, const Threads& team) const {
    using C = Wide<T>;
    const T *a = y + first, *g = dy + first;
    T* to = dx + first;
    const int64_t by = step;
    const C total = team.template Sum<C>(n, [=](int64_t j) -> C { return g[j * by]; });
    team.Each(n, [=](int64_t j) { to[j * by] = C(g[j * by]) - Exp(C(a[j * by])) * total; });
  }
};

template <class T>
struct LogSumExpRow {
  const T* x;
  T* y;
  int64_t n, step;
  template <class Threads>
  DYGRAPH_INLINE void operator()(int64_t r, int64_t first, const Threads& team) const {
    using C = Wide<T>;
    const T* from = x + first;
    const int64_t by = step;
    const C inf = std::numeric_limits<C>::infinity();
    const C top = team.template Max<C>(n, -inf, [=](int64_t j) -> C { return from[j * by]; });
    const C base = top == inf || top == -inf ? C(0) : top;  // inf - inf would be NaN
    const C total = team.template Sum<C>(n, [=](int64_t j) { return Exp(C(from[j * by]) - base); });
    T* to = y;
    team.Once([=] { to[r] = base + Log(total); });
  }
};

template <class T>
struct LogSumExpGradRow {
  const T *x, *y, *dy;
  T* dx;
  int64_t n, step;
  template <class Threads>
  DYGRAPH_INLINE void operator()(int64_t r, int64_t first, const Threads& team) const {
    using C = Wide<T>;
    const T* from = x + first;
    T* to = dx + first;
    const int64_t by = step;
    const C all = y[r], g = dy[r], base = all == -std::numeric_limits<C>::infinity() ? C(0) : all;
    team.Each(n, [=](int64_t j) { to[j * by] = g * Exp(C(from[j * by]) - base); });
  }
};

}  // namespace detail

// y = softmax(x); `log_total`, where given, gets log(sum(exp(x))) of each row.
template <class T>
void Softmax(const T* x, const SoftmaxShape& s, T* y, T* log_total = nullptr) {
  if (s.n == 0) return;
  detail::ForSoftmaxRows(s, detail::SoftmaxRow<T>{x, y, log_total, s.n, s.inner});
}

// dx = y (dy - sum(dy y)).
template <class T>
void SoftmaxGrad(const T* y, const T* dy, const SoftmaxShape& s, T* dx) {
  detail::ForSoftmaxRows(s, detail::SoftmaxGradRow<T>{y, dy, dx, s.n, s.inner});
}

// The gradient of sum(v * dx) of softmax with respect to y: v (dy - sum(dy y)) - dy sum(v y).
template <class T>
void SoftmaxGradGrad(const T* y, const T* dy, const T* v, const SoftmaxShape& s, T* out) {
  detail::ForSoftmaxRows(s, detail::SoftmaxGradGradRow<T>{y, dy, v, out, s.n, s.inner});
}

// y = x - log(sum(exp(x))). A row of -inf alone gives NaN, as softmax does.
template <class T>
void LogSoftmax(const T* x, const SoftmaxShape& s, T* y) {
  detail::ForSoftmaxRows(s, detail::LogSoftmaxRow<T>{x, y, s.n, s.inner});
}

// dx = dy - exp(y) sum(dy).
template <class T>
void LogSoftmaxGrad(const T* y, const T* dy, const SoftmaxShape& s, T* dx) {
  detail::ForSoftmaxRows(s, detail::LogSoftmaxGradRow<T>{y, dy, dx, s.n, s.inner});
}

// y = log(sum(exp(x))), one a row; -inf of -inf alone. Long sums go on in doubles.
template <class T>
void LogSumExp(const T* x, const SoftmaxShape& s, T* y) {
  if (s.n == 0) return;
  detail::ForSoftmaxRows(s, detail::LogSumExpRow<T>{x, y, s.n, s.inner});
}

// dx = dy exp(x - y), y and dy one a row.
template <class T>
void LogSumExpGrad(const T* x, const T* y, const T* dy, const SoftmaxShape& s, T* dx) {
  detail::ForSoftmaxRows(s, detail::LogSumExpGradRow<T>{x, y, dy, dx, s.n, s.inner});
}

}  // namespace dygraph::kernels
