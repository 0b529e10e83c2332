// Eigenvalues and singular values of stacks of matrices, which several operators read.
#pragma once

#include <cstring>

#include "operators/linalg/linalg.h"

namespace dygraph::linalg {

// The eigenvalues w, rising, of symmetric matrices, of which one triangle is read. Vectors go to
// `v`, unless it is nullptr.
template <class T>
void DecomposeSymmetric(const Tensor& x, bool lower, T* w, T* v) {
  const Stack s = SquareOf(x.dims());
  const int64_t n = s.n;
  if (s.count * n == 0) return;
  struct Memory {
    Memory(int64_t n, int64_t size, int64_t integers)
        : a(n * n), work(size), w(n), integers(integers) {}
    lapack::Numbers<T> a, work, w;
    lapack::Integers integers;
  };
  const char job = v ? 'V' : 'N', uplo = lower ? 'U' : 'L';  // the transpose of the triangle
  T ask = 0;
  lapack::Integers asked(1);
  asked.Clear(1);
  lapack::Syevd<T>(job, uplo, n, nullptr, nullptr, &ask, -1, asked, -1);
  const auto size = lapack::SizeOf(ask);
  const int64_t integers = asked[0];
  std::vector<int64_t> infos(s.count);
  ForEach(
      s.count, (v ? 9 : 2) * Cube(s), [&] { return std::make_unique<Memory>(n, size, integers); },
      [&](int64_t i, Memory& memory) {
        T *a = memory.a.data(), sum = 0;
        for (int64_t r = 0; r < n; ++r) {
          const int64_t first = lower ? 0 : r, last = lower ? r + 1 : n;
          const T* row = x.data<T>() + (i * n + r) * n;
          for (int64_t c = first; c < last; ++c) {
            a[r * n + c] = row[c];
            sum += row[c] * T(0);
          }
        }
        if (sum != T(0)) {  // NaN or infinity
          infos[i] = -1;
          return;
        }
        infos[i] = lapack::Syevd(job, uplo, n, a, w ? w + i * n : memory.w.data(),
                                 memory.work.data(), size, memory.integers, integers);
        if (v) TransposeInto(a, n, n, v + i * n * n);
      });
  const int64_t i = FirstOf(infos);
  if (i < 0) return;
  ENFORCE(infos[i] > 0, InvalidArgument, "X must be finite, but ", NameOf(s, i),
          " has NaN or infinity");
  THROW(InvalidArgument, "the eigenvalues of X did not converge in ", NameOf(s, i));
}

// x = u diag(s) vh; job is gesdd's, 'N' for s alone.
template <class T>
void DecomposeSingular(const Tensor& x, char job, T* u, T* s, T* vh) {
  const Stack stack = StackOf(x.dims());
  const int64_t m = stack.m, n = stack.n, k = stack.k();
  const bool full = job == 'A';
  if (stack.count == 0) return;
  if (k == 0) {  // any basis is a complement of none
    for (auto [to, size] : {std::pair<T*, int64_t>{u, m}, {vh, n}}) {
      if (!full || !to) continue;
      std::fill_n(to, stack.count * size * size, T(0));
      for (int64_t i = 0; i < stack.count * size; ++i) to[i * size + i % size] = 1;
    }
    return;
  }
  EnforceFinite(stack, x.data<T>(), "X");
  struct Memory {
    Memory(int64_t mn, int64_t k, int64_t size) : integers(8 * k), a(mn), work(size) {}
    lapack::Integers integers;
    lapack::Numbers<T> a, work;
  };
  // X^T = V diag(S) U^T in columns: its left vectors in columns are VH in rows
  T ask = 0;
  {
    lapack::Integers none(8 * k);
    lapack::Gesdd<T>(job, n, m, nullptr, nullptr, nullptr, nullptr, &ask, -1, none);
  }
  const auto size = lapack::SizeOf(ask);
  const int64_t u_size = m * (full ? m : k), vh_size = n * (full ? n : k);
  std::vector<int64_t> infos(stack.count);
  ForEach(
      stack.count, (job == 'N' ? 4 : 12) * Cube(stack),
      [&] { return std::make_unique<Memory>(m * n, k, size); },
      [&](int64_t i, Memory& memory) {
        std::memcpy(memory.a.data(), x.data<T>() + i * m * n, m * n * sizeof(T));
        infos[i] = lapack::Gesdd(job, n, m, memory.a.data(), s + i * k, vh ? vh + i * vh_size : vh,
                                 u ? u + i * u_size : u, memory.work.data(), size, memory.integers);
      });
  const int64_t i = FirstOf(infos);
  if (i >= 0) {
    THROW(InvalidArgument, "the singular values of X did not converge in ", NameOf(stack, i));
  }
}

}  // namespace dygraph::linalg
