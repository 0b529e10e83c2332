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

constexpr int64_t kShortRow = 16;  // that a thread works on alone

// f(r, first element of the row, team) for every row.
template <class F>
void ForSoftmaxRows(SoftmaxShape s, F f) {
  constexpr int64_t kMany = 16384;
  if (s.n <= kShortRow || (s.inner > 1 && s.rows() >= kMany)) {
    return ForEach(s.rows(), [=] DYGRAPH_FN(int64_t r) { f(r, s.First(r), Alone()); });
  }
  ForEachRow(s.rows(), s.n, [=] DYGRAPH_FN(int64_t r, Team team) { f(r, s.First(r), team); });
}

// What softmax and its logarithm differ in: y is Of(what is held of x - max and its exponential,
// Rest(sum of the exponentials)), dx is Slope(y, dy, sum of Term(y, dy)).
template <class C>
struct Probability {
  static DYGRAPH_INLINE C Held(C, C exponential) { return exponential; }
  static DYGRAPH_INLINE C Rest(C total) { return C(1) / total; }
  static DYGRAPH_INLINE C Of(C held, C rest) { return held * rest; }
  static DYGRAPH_INLINE C Term(C y, C dy) { return y * dy; }
  static DYGRAPH_INLINE C Slope(C y, C dy, C sum) { return y * (dy - sum); }
};

template <class C>
struct LogProbability {
  static DYGRAPH_INLINE C Held(C below, C) { return below; }
  static DYGRAPH_INLINE C Rest(C total) { return Log(total); }
  static DYGRAPH_INLINE C Of(C held, C rest) { return held - rest; }
  static DYGRAPH_INLINE C Term(C, C dy) { return dy; }
  static DYGRAPH_INLINE C Slope(C y, C dy, C sum) { return dy - Exp(y) * sum; }
};

template <class T, template <class> class Form>
struct SoftmaxRow {
  const T* x;
  T* y;
  T* log_total;
  int64_t n, step;
  template <class Threads>
  DYGRAPH_INLINE void operator()(int64_t r, int64_t first, const Threads& team) const {
    using C = Wide<T>;
    using F = Form<C>;
    const T* from = x + first;
    T* to = y + first;
    const int64_t by = step;
    const C top = team.template Max<C>(n, -std::numeric_limits<C>::infinity(),
                                       [=](int64_t j) -> C { return from[j * by]; });
    const C total =
        team.template Sum<C>(n, [=](int64_t j) { return ExpBelowZero(C(from[j * by]) - top); });
    const C rest = F::Rest(total);
    team.Each(n, [=](int64_t j) {
      const C below = C(from[j * by]) - top;
      to[j * by] = F::Of(F::Held(below, ExpBelowZero(below)), rest);
    });
    T* log = log_total;
    if (log) team.Once([=] { log[r] = top + Log(total); });
  }
};

template <class T, template <class> class Form>
struct SoftmaxGradRow {
  const T *y, *dy;
  T* dx;
  int64_t n, step;
  template <class Threads>
  DYGRAPH_INLINE void operator()(int64_t, int64_t first, const Threads& team) const {
    using C = Wide<T>;
    using F = Form<C>;
    const T *a = y + first, *g = dy + first;
    T* to = dx + first;
    const int64_t by = step;
    const C sum =
        team.template Sum<C>(n, [=](int64_t j) { return F::Term(C(a[j * by]), C(g[j * by])); });
    team.Each(n, [=](int64_t j) { to[j * by] = F::Slope(C(a[j * by]), C(g[j * by]), sum); });
  }
};

// Rows that the registers of their threads hold are read once: element k of a thread is threadIdx.x
// + k blockDim.x.
constexpr int kKept = 8;
constexpr int64_t kLongestKept = kKept * cuda::kThreads;

inline bool KeepsRows(const SoftmaxShape& s) {
  return s.inner == 1 && s.n > kShortRow && s.n <= kLongestKept;
}

template <class C>
struct KeptRow {
  C v[kKept];
  int64_t n;
  template <class T>
  DYGRAPH_INLINE KeptRow(const T* from, int64_t count, C outside) : n(count) {
    Each([&](int k, int64_t j) { v[k] = from[j]; }, [&](int k) { v[k] = outside; });
  }
  // f(k, j) for each element of this thread, none(k) for the places beyond the end.
  template <class F, class None>
  DYGRAPH_INLINE void Each(const F& f, const None& none) const {
    DYGRAPH_UNROLL
    for (int k = 0; k < kKept; ++k) {
      const int64_t j = threadIdx.x + k * int64_t{blockDim.x};
      if (j < n) {
        f(k, j);
      } else {
        none(k);
      }
    }
  }
  template <class F>
  DYGRAPH_INLINE void Each(const F& f) const {
    Each(f, [](int) {});
  }
  // The largest of all threads' elements; a NaN wins.
  DYGRAPH_INLINE C Max(const Team& team) const {
    C most = v[0];
    DYGRAPH_UNROLL
    for (int k = 1; k < kKept; ++k) most = most > v[k] || most != most ? most : v[k];
    return team.Max<C>(blockDim.x, most, [=](int64_t) { return most; });
  }
  // The sum of what each thread has worked out.
  static DYGRAPH_INLINE C Sum(const Team& team, C mine) {
    return team.Sum<C>(blockDim.x, [=](int64_t) { return mine; });
  }
};

template <class T, template <class> class Form>
struct SoftmaxKeptRow {
  const T* x;
  T* y;
  T* log_total;
  int64_t n;
  DYGRAPH_INLINE void operator()(int64_t r, const Team& team) const {
    using C = Wide<T>;
    using F = Form<C>;
    KeptRow<C> row(x + r * n, n, -std::numeric_limits<C>::infinity());
    const C top = row.Max(team);
    C mine = 0;
    row.Each([&](int k, int64_t) {
      const C below = row.v[k] - top, exponential = ExpBelowZero(below);
      mine += exponential;
      row.v[k] = F::Held(below, exponential);
    });
    const C total = row.Sum(team, mine), rest = F::Rest(total);
    T *to = y + r * n, *log = log_total;
    row.Each([&](int k, int64_t j) { to[j] = F::Of(row.v[k], rest); });
    if (log) team.Once([=] { log[r] = top + Log(total); });
  }
};

template <class T, template <class> class Form>
struct SoftmaxGradKeptRow {
  const T *y, *dy;
  T* dx;
  int64_t n;
  DYGRAPH_INLINE void operator()(int64_t r, const Team& team) const {
    using C = Wide<T>;
    using F = Form<C>;
    const KeptRow<C> a(y + r * n, n, C(0)), g(dy + r * n, n, C(0));
    C mine = 0;
    a.Each([&](int k, int64_t) { mine += F::Term(a.v[k], g.v[k]); });
    const C sum = a.Sum(team, mine);
    T* to = dx + r * n;
    a.Each([&](int k, int64_t j) { to[j] = F::Slope(a.v[k], g.v[k], sum); });
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

template <template <class> class Form, class T>
void SoftmaxRows(const T* x, const SoftmaxShape& s, T* y, T* log_total = nullptr) {
  if (s.n == 0) return;
  if (KeepsRows(s)) {
    return ForEachRow(s.outer, s.n, SoftmaxKeptRow<T, Form>{x, y, log_total, s.n});
  }
  ForSoftmaxRows(s, SoftmaxRow<T, Form>{x, y, log_total, s.n, s.inner});
}

template <template <class> class Form, class T>
void SoftmaxGradRows(const T* y, const T* dy, const SoftmaxShape& s, T* dx) {
  if (KeepsRows(s)) {
    return ForEachRow(s.outer, s.n, SoftmaxGradKeptRow<T, Form>{y, dy, dx, s.n});
  }
  ForSoftmaxRows(s, SoftmaxGradRow<T, Form>{y, dy, dx, s.n, s.inner});
}

}  // namespace detail

// y = softmax(x); `log_total`, where given, gets log(sum(exp(x))) of each row.
template <class T>
void Softmax(const T* x, const SoftmaxShape& s, T* y, T* log_total = nullptr) {
  detail::SoftmaxRows<detail::Probability>(x, s, y, log_total);
}

// dx = y (dy - sum(dy y)).
template <class T>
void SoftmaxGrad(const T* y, const T* dy, const SoftmaxShape& s, T* dx) {
  detail::SoftmaxGradRows<detail::Probability>(y, dy, s, dx);
}

// The gradient of sum(v * dx) of softmax with respect to y: v (dy - sum(dy y)) - dy sum(v y).
template <class T>
void SoftmaxGradGrad(const T* y, const T* dy, const T* v, const SoftmaxShape& s, T* out) {
  detail::ForSoftmaxRows(s, detail::SoftmaxGradGradRow<T>{y, dy, v, out, s.n, s.inner});
}

// y = x - log(sum(exp(x))). A row of -inf alone gives NaN, as softmax does.
template <class T>
void LogSoftmax(const T* x, const SoftmaxShape& s, T* y) {
  detail::SoftmaxRows<detail::LogProbability>(x, s, y);
}

// dx = dy - exp(y) sum(dy).
template <class T>
void LogSoftmaxGrad(const T* y, const T* dy, const SoftmaxShape& s, T* dx) {
  detail::SoftmaxGradRows<detail::LogProbability>(y, dy, s, dx);
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
