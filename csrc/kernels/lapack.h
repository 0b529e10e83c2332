// The routines of LAPACK as functions of row-major callers: matrices lie in columns, `info` is the
// result, working memory is theirs. Work sizes are asked for once and passed by ...Work.
//
// A row-major matrix is its transpose to LAPACK. Callers use that where they can, so that few
// matrices are copied in another order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/enforce.h"
#include "memory/memory.h"
#include "platform/lapack.h"
#include "tensor/scratch.h"

namespace dygraph::lapack {

template <class T>
void* Address(LapackRoutine routine) {
  const LapackApi& api = Lapack();
  const int i = static_cast<int>(routine);
  return sizeof(T) == sizeof(float) ? api.single[i] : api.dual[i];
}

// A routine of 32 bits would read the low half.
inline void CheckWidth(const int64_t* n) {
  ENFORCE(*n <= std::numeric_limits<int32_t>::max(), Unimplemented,
          "LAPACK must have integers of 64 bits for a size of ", *n, ", those of ", Lapack().file,
          " have 32. Set FLAGS_lapack to the file of such a library, as NumPy's");
}
inline void CheckWidth(const void*) {}

// Fortran takes addresses; behind the arguments stand the lengths of texts, which C callees ignore.
template <class T, class... Args>
void Invoke(LapackRoutine routine, Args... args) {
  constexpr size_t kOne = 1;
  if (!Lapack().wide) (CheckWidth(args), ...);
  auto f = reinterpret_cast<void (*)(Args..., size_t, size_t, size_t, size_t)>(Address<T>(routine));
  f(args..., kOne, kOne, kOne, kOne);
}

// Integers that LAPACK writes or reads as a list, in its own width.
class Integers {
 public:
  explicit Integers(int64_t n)
      : wide_(Lapack().wide), memory_(CPUPlace(), std::max<int64_t>(n, 1) * sizeof(int64_t)) {}
  void* data() { return memory_.as<void>(); }
  int64_t operator[](int64_t i) {
    return wide_ ? memory_.as<int64_t>()[i] : memory_.as<int32_t>()[i];
  }
  void Clear(int64_t n) { std::fill_n(memory_.as<int64_t>(), n, 0); }

 private:
  bool wide_;
  Scratch memory_;
};

// Elements of T for a kernel's own use.
template <class T>
class Numbers {
 public:
  explicit Numbers(int64_t n) : memory_(CPUPlace(), std::max<int64_t>(n, 1) * sizeof(T)) {}
  T* data() { return memory_.as<T>(); }

 private:
  Scratch memory_;
};

// 0, or what failed, from 1.
inline int64_t InfoOf(int64_t info) {
  const int32_t low = static_cast<int32_t>(info);
  ENFORCE(low >= 0, PreconditionNotMet, "LAPACK must accept every argument, but ", Lapack().file,
          " refused number ", -low, ". Set FLAGS_lapack to the file of another library");
  return low;
}
// A work size that was asked for. It comes as a number of T: old LAPACKs round a float down.
template <class T>
int64_t SizeOf(T asked) {
  return static_cast<int64_t>(std::nextafter(asked, std::numeric_limits<T>::infinity()));
}
inline int64_t Leading(int64_t n) { return std::max<int64_t>(n, 1); }

// a (m x n) = P L U in place. Where a pivot is NaN all is: LAPACK's comparisons pass it over, and
// numbers that depend on it could look finite.
template <class T>
int64_t Getrf(int64_t m, int64_t n, T* a, Integers& pivots) {
  int64_t lda = Leading(m), info = 0;
  Invoke<T>(LapackRoutine::kGetrf, &m, &n, a, &lda, pivots.data(), &info);
  for (int64_t i = 0; i < std::min(m, n); ++i) {
    if (!std::isnan(a[i * (m + 1)])) continue;
    std::fill_n(a, m * n, std::numeric_limits<T>::quiet_NaN());
    return 0;
  }
  return InfoOf(info);
}

// b (n x k) = op(a)^-1 b from getrf's result.
template <class T>
void Getrs(char trans, int64_t n, int64_t k, const T* a, Integers& pivots, T* b) {
  int64_t ld = Leading(n), info = 0;
  Invoke<T>(LapackRoutine::kGetrs, &trans, &n, &k, a, &ld, pivots.data(), b, &ld, &info);
  InfoOf(info);
}

template <class T>
int64_t GetriWork(int64_t n) {
  int64_t lda = Leading(n), query = -1, info = 0, pivot = 0;
  T a = 0, size = 0;
  Invoke<T>(LapackRoutine::kGetri, &n, &a, &lda, &pivot, &size, &query, &info);
  return SizeOf(size);
}
// a = a^-1 from getrf's result.
template <class T>
int64_t Getri(int64_t n, T* a, Integers& pivots, T* work, int64_t size) {
  int64_t lda = Leading(n), info = 0;
  Invoke<T>(LapackRoutine::kGetri, &n, a, &lda, pivots.data(), work, &size, &info);
  return InfoOf(info);
}

template <class T>
int64_t Potrf(char uplo, int64_t n, T* a) {
  int64_t lda = Leading(n), info = 0;
  Invoke<T>(LapackRoutine::kPotrf, &uplo, &n, a, &lda, &info);
  return InfoOf(info);
}

// b (m x n) = op(a)^-1 b with side 'L', b op(a)^-1 with 'R', for triangular a.
template <class T>
void Trsm(char side, char uplo, char trans, char diag, int64_t m, int64_t n, const T* a, T* b) {
  int64_t lda = Leading(side == 'L' ? m : n), ldb = Leading(m);
  T one = 1;
  Invoke<T>(LapackRoutine::kTrsm, &side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb);
}

// Work sizes of both steps of a QR factorisation whose Q has `columns` columns.
template <class T>
int64_t QrWork(int64_t m, int64_t n, int64_t columns) {
  int64_t lda = Leading(m), query = -1, info = 0, k = std::min(m, n);
  T a = 0, tau = 0, first = 0, second = 0;
  Invoke<T>(LapackRoutine::kGeqrf, &m, &n, &a, &lda, &tau, &first, &query, &info);
  Invoke<T>(LapackRoutine::kOrgqr, &m, &columns, &k, &a, &lda, &tau, &second, &query, &info);
  return SizeOf(std::max(first, second));
}
template <class T>
void Geqrf(int64_t m, int64_t n, T* a, T* tau, T* work, int64_t size) {
  int64_t lda = Leading(m), info = 0;
  Invoke<T>(LapackRoutine::kGeqrf, &m, &n, a, &lda, tau, work, &size, &info);
  InfoOf(info);
}
template <class T>
void Orgqr(int64_t m, int64_t columns, int64_t k, T* a, const T* tau, T* work, int64_t size) {
  int64_t lda = Leading(m), info = 0;
  Invoke<T>(LapackRoutine::kOrgqr, &m, &columns, &k, a, &lda, tau, work, &size, &info);
  InfoOf(info);
}

// Eigenvalues w, rising, and with job 'V' the eigenvectors in place of a. A work size of -1 asks:
// work[0] and integers[0] are the sizes.
template <class T>
int64_t Syevd(char job, char uplo, int64_t n, T* a, T* w, T* work, int64_t size, Integers& integers,
              int64_t integer_size) {
  int64_t lda = Leading(n), info = 0;
  Invoke<T>(LapackRoutine::kSyevd, &job, &uplo, &n, a, &lda, w, work, &size, integers.data(),
            &integer_size, &info);
  return InfoOf(info);
}

// Eigenvalues re + i im of any square a, which is overwritten, and with job 'V' the right
// eigenvectors: a column of `v` for a real value, two, the real and the imaginary part, for a pair.
// A work size of -1 asks.
template <class T>
int64_t Geev(char job, int64_t n, T* a, T* re, T* im, T* v, T* work, int64_t size) {
  int64_t ld = Leading(n), one = 1, info = 0;
  char left = 'N';
  T unused = 0;
  Invoke<T>(LapackRoutine::kGeev, &left, &job, &n, a, &ld, re, im, &unused, &one, v, &ld, work,
            &size, &info);
  return InfoOf(info);
}

// a (m x n) = u diag(s) vt; job 'S' for thin, 'A' for square u and vt, 'N' for s alone. A work size
// of -1 asks. `integers` has 8 min(m, n).
template <class T>
int64_t Gesdd(char job, int64_t m, int64_t n, T* a, T* s, T* u, T* vt, T* work, int64_t size,
              Integers& integers) {
  int64_t lda = Leading(m), ldvt = Leading(job == 'A' ? n : std::min(m, n)), info = 0;
  Invoke<T>(LapackRoutine::kGesdd, &job, &m, &n, a, &lda, s, u, &lda, vt, &ldvt, work, &size,
            integers.data(), &info);
  return InfoOf(info);
}

}  // namespace dygraph::lapack
