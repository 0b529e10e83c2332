// Factors of matrices and systems of equations.
#pragma once

#include <cmath>
#include <cstring>

#include "operators/linalg/solving.h"

namespace dygraph::linalg {

// to = x^-1 of each matrix; one that is singular raises.
template <class T>
void InvertAll(const Stack& s, const T* x, const char* slot, T* to) {
  Invert(s, x, slot, to);
}

template <class T>
struct FactorMemory {
  explicit FactorMemory(int64_t n) : pivots(n), a(n * n) {}
  lapack::Integers pivots;
  lapack::Numbers<T> a;
};

// give(i, diagonal of U, odd number of exchanges) for each matrix. That of the transpose is the
// same.
template <class T, class F>
void Factor(const Stack& s, const T* x, const F& give) {
  const int64_t size = s.n * s.n;
  ForEach(
      s.count, Cube(s) / 3, [&] { return std::make_unique<FactorMemory<T>>(s.n); },
      [&](int64_t i, FactorMemory<T>& memory) {
        T* a = memory.a.data();
        bool odd = false;
        if (size > 0) {
          std::memcpy(a, x + i * size, size * sizeof(T));
          lapack::Getrf(s.n, s.n, a, memory.pivots);
        }
        for (int64_t k = 0; k < s.n; ++k) odd ^= memory.pivots[k] != k + 1;
        give(i, a, odd);
      });
}

template <class T>
void Determinants(const Stack& s, const T* x, T* to) {
  Factor<T>(s, x, [&](int64_t i, const T* a, bool odd) {
    T product = odd ? -1 : 1;
    for (int64_t k = 0; k < s.n; ++k) product *= a[k * (s.n + 1)];
    to[i] = product;
  });
}

// Signs and logarithms of the absolute values.
template <class T>
void LogDeterminants(const Stack& s, const T* x, T* sign, T* logarithm) {
  Factor<T>(s, x, [&](int64_t i, const T* a, bool odd) {
    T product = odd ? -1 : 1, sum = 0;
    for (int64_t k = 0; k < s.n; ++k) {
      const T pivot = a[k * (s.n + 1)];
      product *= pivot > 0 ? T(1) : pivot < 0 ? T(-1) : pivot;  // 0 and NaN stay
      sum += std::log(std::abs(pivot));
    }
    sign[i] = product;
    logarithm[i] = sum;
  });
}

// The lower or upper factors of positive definite matrices, of which that triangle is read.
template <class T>
void FactorPositive(const Stack& s, bool upper, const T* x, T* to) {
  const int64_t n = s.n;
  if (s.count * n == 0) return;
  std::vector<int64_t> infos(s.count);
  ForEach(
      s.count, Cube(s) / 6, [] { return std::make_unique<char>(); },
      [&](int64_t i, char&) {
        T* a = to + i * n * n;
        for (int64_t r = 0; r < n; ++r) {
          const int64_t first = upper ? r : 0, last = upper ? n : r + 1;
          std::fill_n(a + r * n, first, T(0));
          std::copy_n(x + (i * n + r) * n + first, last - first, a + r * n + first);
          std::fill_n(a + r * n + last, n - last, T(0));
        }
        infos[i] = lapack::Potrf(upper ? 'L' : 'U', n, a);  // the transpose of the triangle
        for (int64_t r = 0; infos[i] == 0 && r < n; ++r) {
          if (!(a[r * n + r] > 0)) infos[i] = r + 1;  // NaN, which LAPACK may pass
        }
      });
  const int64_t i = FirstOf(infos);
  if (i >= 0) {
    THROW(InvalidArgument, "X must be positive definite, but ", NameOf(s, i),
          " is not: its leading minor of order ", infos[i], " is not positive");
  }
}

template <class T>
struct SolveMemory {
  SolveMemory(int64_t n, int64_t k) : pivots(n), a(n * n), b(k == 1 ? 0 : n * k) {}
  lapack::Integers pivots;
  lapack::Numbers<T> a, b;
  int64_t factored = -1;  // which matrix is in a
};

// x to = y
template <class T>
void SolveSystems(const matmul::Product& p, const T* x, const T* y, T* to) {
  const int64_t n = p.m, k = p.n;
  if (n == 0 || Numel(p.batch) == 0) return;
  std::vector<int64_t> infos(Numel(p.batch)), which(infos.size());
  ForEachSystem(
      p, [&] { return std::make_unique<SolveMemory<T>>(n, k); },
      [&](int64_t i, int64_t xi, int64_t yi, SolveMemory<T>& memory) {
        T* a = memory.a.data();
        which[i] = xi;
        if (memory.factored != xi) {  // a is X^T = P L U in columns
          std::memcpy(a, x + xi * n * n, n * n * sizeof(T));
          infos[i] = lapack::Getrf(n, n, a, memory.pivots);
          memory.factored = infos[i] == 0 ? xi : -1;
        }
        if (infos[i] != 0) return;
        T* out = to + i * n * k;
        if (k == 1) {
          std::memcpy(out, y + yi * n, n * sizeof(T));
          return lapack::Getrs('T', n, k, a, memory.pivots, out);
        }
        T* b = memory.b.data();
        TransposeInto(y + yi * n * k, n, k, b);
        lapack::Getrs('T', n, k, a, memory.pivots, b);
        TransposeInto(b, k, n, out);
      });
  const int64_t i = FirstOf(infos);
  if (i < 0) return;
  THROW(InvalidArgument, "X must be regular, but ", NameOf(MatricesOf(p), which[i]),
        " is singular: pivot ", infos[i] - 1, " is 0");
}

// op(x) to = y for triangular x
template <class T>
void SolveTriangular(const matmul::Product& p, bool upper, bool transpose, bool unit, const T* x,
                     const T* y, T* to) {
  const int64_t n = p.m, k = p.n;
  const Stack s = MatricesOf(p);
  for (int64_t i = 0; i < s.count && !unit; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      ENFORCE(x[(i * n + j) * n + j] != T(0), InvalidArgument, "X must be regular, but ",
              NameOf(s, i), " is singular: element ", j, " of its diagonal is 0");
    }
  }
  if (Numel(p.batch) * n * k == 0) return;
  // in columns: Out^T op(X)^T = Y^T, and X^T is what lies in memory
  const char uplo = upper ? 'L' : 'U', trans = transpose ? 'T' : 'N', diag = unit ? 'U' : 'N';
  ForEachSystem(
      p, [] { return std::make_unique<char>(); },
      [&](int64_t i, int64_t xi, int64_t yi, char&) {
        T* b = to + i * n * k;
        std::memcpy(b, y + yi * n * k, n * k * sizeof(T));
        lapack::Trsm('R', uplo, trans, diag, k, n, x + xi * n * n, b);
      });
}

// y y^T to = x for lower y, y^T y to = x for upper y
template <class T>
void SolveFactored(const matmul::Product& p, bool upper, const T* y, const T* x, T* to) {
  const int64_t n = p.m, k = p.n;
  const Stack s = MatricesOf(p);
  for (int64_t i = 0; i < s.count; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      ENFORCE(y[(i * n + j) * n + j] != T(0), InvalidArgument, "Y must be regular, but ",
              NameOf(s, i), " is singular: element ", j, " of its diagonal is 0");
    }
  }
  if (Numel(p.batch) * n * k == 0) return;
  // in columns: Out^T = X^T L^-T L^-1; L^T lies in memory, or L itself with upper
  const char uplo = upper ? 'L' : 'U';
  ForEachSystem(
      p, [] { return std::make_unique<char>(); },
      [&](int64_t i, int64_t yi, int64_t xi, char&) {
        T* b = to + i * n * k;
        const T* a = y + yi * n * n;
        std::memcpy(b, x + xi * n * k, n * k * sizeof(T));
        lapack::Trsm('R', uplo, upper ? 'T' : 'N', 'N', k, n, a, b);
        lapack::Trsm('R', uplo, upper ? 'N' : 'T', 'N', k, n, a, b);
      });
}

}  // namespace dygraph::linalg
