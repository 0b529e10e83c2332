// operators/linalg/factor_loops.h on the device: a team for each matrix. What is wrong with one is
// reported.
#pragma once

#include <cmath>
#include <vector>

#include "cuda/errors_cuda.h"
#include "cuda/scratch.h"
#include "kernels/elementwise.h"
#include "kernels/loops.h"
#include "kernels/table.h"
#include "operators/linalg/systems.h"

namespace dygraph::linalg {

namespace detail {

// A value and its row; the largest wins, of equal ones the lower row. A NaN wins.
template <class T>
struct Pivot {
  T size;
  int64_t row;
  DYGRAPH_INLINE bool Before(const Pivot& other) const {
    if (size != size || other.size != other.size) return size != size;
    return size > other.size || (size == other.size && row < other.row);
  }
};

// a [n, n] = its factors L, of a diagonal of ones, and U; row k was exchanged with row pivots[k].
// Gives whether all of U's diagonal is other than 0. For all threads of the team.
template <class T>
DYGRAPH_INLINE bool Factor(T* a, int64_t n, int32_t* pivots, kernels::Team team) {
  bool regular = true;
  for (int64_t k = 0; k < n; ++k) {
    const Pivot<T> best = team.Merge(
        n - k, Pivot<T>{T(-1), n},
        [=](int64_t i) {
          const T v = a[(k + i) * n + k];
          return Pivot<T>{v < 0 ? -v : v, k + i};
        },
        [](const Pivot<T>& p, const Pivot<T>& q) { return q.Before(p) ? q : p; });
    const int64_t other = best.row;
    team.Once([=] { pivots[k] = static_cast<int32_t>(other); });
    team.Sync();
    if (other != k) {
      team.Each(n, [=](int64_t j) {
        const T v = a[k * n + j];
        a[k * n + j] = a[other * n + j];
        a[other * n + j] = v;
      });
      team.Sync();
    }
    const T pivot = a[k * n + k];
    if (pivot == T(0)) {
      regular = false;
      continue;
    }
    team.Each(n - k - 1, [=](int64_t i) { a[(k + 1 + i) * n + k] /= pivot; });
    team.Sync();
    const int64_t rest = n - k - 1;
    team.Each(rest * rest, [=](int64_t at) {
      const int64_t i = k + 1 + at / rest, j = k + 1 + at % rest;
      a[i * n + j] -= a[i * n + k] * a[k * n + j];
    });
    team.Sync();
  }
  return regular;
}

// b [n, k] = op(a)^-1 b for a triangle of a; op(a) is lower where `lower`.
template <class T>
DYGRAPH_INLINE void Substitute(const T* a, int64_t n, bool lower, bool transpose, bool unit,
                               int64_t k, T* b, kernels::Team team) {
  const int64_t row = transpose ? 1 : n, column = transpose ? n : 1;
  for (int64_t step = 0; step < n; ++step) {
    const int64_t r = lower ? step : n - 1 - step, first = lower ? r + 1 : 0;
    if (!unit) {
      const T pivot = a[r * n + r];
      team.Each(k, [=](int64_t j) { b[r * k + j] /= pivot; });
      team.Sync();
    }
    team.Each((n - 1 - step) * k, [=](int64_t at) {
      const int64_t i = first + at / k, j = at % k;
      b[i * k + j] -= a[i * row + r * column] * b[r * k + j];
    });
    team.Sync();
  }
}

// b [n, k] with its rows exchanged as those of the matrix were.
template <class T>
DYGRAPH_INLINE void Exchange(const int32_t* pivots, int64_t n, int64_t k, T* b,
                             kernels::Team team) {
  team.Each(k, [=](int64_t j) {
    for (int64_t r = 0; r < n; ++r) {
      const T v = b[r * k + j];
      b[r * k + j] = b[pivots[r] * k + j];
      b[pivots[r] * k + j] = v;
    }
  });
  team.Sync();
}

// The factors of a stack.
template <class T>
class Factors {
 public:
  Factors(const Stack& s, const T* x, const char* singular)
      : memory_(s.count * s.n * s.n), pivots_(s.count * s.n) {
    Run(s.count, s.n, x, singular, memory_.data(), pivots_.data());
  }
  const T* a() { return memory_.data(); }
  const int32_t* pivots() { return pivots_.data(); }

  // singular: what to report of a matrix that is, with a '%'; nullptr: nothing
  static void Run(int64_t count, int64_t n, const T* x, const char* singular, T* a,
                  int32_t* pivots) {
    const cuda::ValueReport report(singular ? singular : "a matrix is singular: %");
    const bool reports = singular;
    kernels::ForEachRow(count, n * n, [=] DYGRAPH_FN(int64_t m, kernels::Team team) {
      T* to = a + m * n * n;
      const T* from = x + m * n * n;
      team.Each(n * n, [=](int64_t i) { to[i] = from[i]; });
      team.Sync();
      const bool regular = Factor(to, n, pivots + m * n, team);
      if (reports && !regular) team.Once([=] { report(static_cast<double>(m)); });
    });
  }

 private:
  cuda::Workspace<T> memory_;
  cuda::Workspace<int32_t> pivots_;
};

struct System {
  int64_t a, b;  // which matrices
};
inline std::vector<System> SystemsOf(const matmul::Product& p) {
  std::vector<System> systems;
  matmul::Matrices(p, 0, Numel(p.batch),
                   [&](int64_t, int64_t a, int64_t b) { systems.push_back({a, b}); });
  return systems;
}

// Reports a 0 on the diagonal of one of the matrices.
template <class T>
void CheckDiagonals(const Stack& s, const T* x, const char* text) {
  const cuda::ValueReport report(text);
  const int64_t n = s.n;
  kernels::ForEach(s.count * n, [=] DYGRAPH_FN(int64_t i) {
    if (x[i / n * n * n + i % n * (n + 1)] == T(0)) report(static_cast<double>(i / n));
  });
}

}  // namespace detail

// to = x^-1 of each matrix.
template <class T>
void InvertAll(const Stack& s, const T* x, const char*, T* to) {
  const int64_t n = s.n;
  if (s.count * n == 0) return;
  detail::Factors<T> factors(s, x, "Input must be regular, but matrix % is singular");
  const T* a = factors.a();
  const int32_t* pivots = factors.pivots();
  kernels::ForEachRow(s.count, n * n, [=] DYGRAPH_FN(int64_t m, kernels::Team team) {
    T* b = to + m * n * n;
    team.Each(n * n, [=](int64_t i) { b[i] = i / n == i % n ? T(1) : T(0); });
    team.Sync();
    detail::Exchange(pivots + m * n, n, n, b, team);
    detail::Substitute(a + m * n * n, n, true, false, true, n, b, team);
    detail::Substitute(a + m * n * n, n, false, false, false, n, b, team);
  });
}

// Signs and logarithms of the absolute values; where `whole`, the determinants instead.
template <class T>
void DeterminantsOf(const Stack& s, const T* x, T* whole, T* sign, T* logarithm) {
  const int64_t n = s.n;
  detail::Factors<T> factors(s, x, nullptr);
  const T* a = factors.a();
  const int32_t* pivots = factors.pivots();
  kernels::ForEach(s.count, [=] DYGRAPH_FN(int64_t m) {
    T product = 1, signs = 1, sum = 0;
    for (int64_t k = 0; k < n; ++k) {
      const T pivot = a[m * n * n + k * (n + 1)];
      const T turn = pivots[m * n + k] != k ? T(-1) : T(1);
      product *= turn * pivot;
      signs *= turn * (pivot > 0 ? T(1) : pivot < 0 ? T(-1) : pivot);  // 0 and NaN stay
      sum += std::log(pivot < 0 ? -pivot : pivot);
    }
    if (whole) {
      whole[m] = product;
    } else {
      sign[m] = signs;
      logarithm[m] = sum;
    }
  });
}
template <class T>
void Determinants(const Stack& s, const T* x, T* to) {
  DeterminantsOf<T>(s, x, to, nullptr, nullptr);
}
template <class T>
void LogDeterminants(const Stack& s, const T* x, T* sign, T* logarithm) {
  DeterminantsOf<T>(s, x, nullptr, sign, logarithm);
}

// The lower or upper factors of positive definite matrices, of which that triangle is read.
template <class T>
void FactorPositive(const Stack& s, bool upper, const T* x, T* to) {
  const int64_t n = s.n, row = upper ? 1 : n, column = upper ? n : 1;
  const cuda::ValueReport indefinite("X must be positive definite, but matrix % is not");
  kernels::ForEachRow(s.count, n * n, [=] DYGRAPH_FN(int64_t m, kernels::Team team) {
    T* a = to + m * n * n;
    const T* from = x + m * n * n;
    team.Each(n * n, [=](int64_t i) {
      const bool kept = upper ? i / n <= i % n : i / n >= i % n;
      a[i] = kept ? from[i] : T(0);
    });
    team.Sync();
    for (int64_t c = 0; c < n; ++c) {  // as the lower factor, element (i, j) at i row + j column
      const T square = a[c * (n + 1)], root = std::sqrt(square);
      team.Sync();
      team.Once([=] {
        if (!(square > 0)) indefinite(static_cast<double>(m));
        a[c * (n + 1)] = root;
      });
      const int64_t rest = n - c - 1;
      team.Each(rest, [=](int64_t i) { a[(c + 1 + i) * row + c * column] /= root; });
      team.Sync();
      team.Each(rest * rest, [=](int64_t at) {
        const int64_t i = c + 1 + at / rest, j = c + 1 + at % rest;
        if (j <= i) a[i * row + j * column] -= a[i * row + c * column] * a[j * row + c * column];
      });
      team.Sync();
    }
  });
}

// x to = y
template <class T>
void SolveSystems(const matmul::Product& p, const T* x, const T* y, T* to) {
  const int64_t n = p.m, k = p.n, count = Numel(p.batch);
  if (n == 0 || count == 0) return;
  detail::Factors<T> factors(MatricesOf(p), x, "X must be regular, but matrix % is singular");
  kernels::Table<detail::System> table(detail::SystemsOf(p));
  const detail::System* systems = table.data();
  const T* a = factors.a();
  const int32_t* pivots = factors.pivots();
  kernels::ForEachRow(count, n * k, [=] DYGRAPH_FN(int64_t i, kernels::Team team) {
    const detail::System system = systems[i];
    const T *from = y + system.b * n * k, *lu = a + system.a * n * n;
    T* b = to + i * n * k;
    team.Each(n * k, [=](int64_t at) { b[at] = from[at]; });
    team.Sync();
    detail::Exchange(pivots + system.a * n, n, k, b, team);
    detail::Substitute(lu, n, true, false, true, k, b, team);
    detail::Substitute(lu, n, false, false, false, k, b, team);
  });
}

// op(x) to = y for triangular x
template <class T>
void SolveTriangular(const matmul::Product& p, bool upper, bool transpose, bool unit, const T* x,
                     const T* y, T* to) {
  const int64_t n = p.m, k = p.n;
  if (!unit)
    detail::CheckDiagonals(MatricesOf(p), x, "X must be regular, but matrix % is singular");
  kernels::Table<detail::System> table(detail::SystemsOf(p));
  const detail::System* systems = table.data();
  kernels::ForEachRow(Numel(p.batch), n * k, [=] DYGRAPH_FN(int64_t i, kernels::Team team) {
    const detail::System system = systems[i];
    const T* from = y + system.b * n * k;
    T* b = to + i * n * k;
    team.Each(n * k, [=](int64_t at) { b[at] = from[at]; });
    team.Sync();
    detail::Substitute(x + system.a * n * n, n, upper == transpose, transpose, unit, k, b, team);
  });
}

// y y^T to = x for lower y, y^T y to = x for upper y
template <class T>
void SolveFactored(const matmul::Product& p, bool upper, const T* y, const T* x, T* to) {
  const int64_t n = p.m, k = p.n;
  detail::CheckDiagonals(MatricesOf(p), y, "Y must be regular, but matrix % is singular");
  kernels::Table<detail::System> table(detail::SystemsOf(p));
  const detail::System* systems = table.data();
  kernels::ForEachRow(Numel(p.batch), n * k, [=] DYGRAPH_FN(int64_t i, kernels::Team team) {
    const detail::System system = systems[i];
    const T *from = x + system.b * n * k, *a = y + system.a * n * n;
    T* b = to + i * n * k;
    team.Each(n * k, [=](int64_t at) { b[at] = from[at]; });
    team.Sync();
    detail::Substitute(a, n, true, upper, false, k, b, team);
    detail::Substitute(a, n, false, !upper, false, k, b, team);
  });
}

}  // namespace dygraph::linalg
