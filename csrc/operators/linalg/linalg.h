// Loops over stacks of matrices on the host, by LAPACK.
#pragma once

#include "kernels/lapack.h"
#include "kernels/parallel.h"
#include "kernels/transpose.h"
#include "operators/linalg/stacks.h"

namespace dygraph::linalg {

// Index of the first that is not 0; -1: all are.
int64_t FirstOf(const std::vector<int64_t>& infos);
// The first of NaN and infinity would make LAPACK's iterations fail or not end.
template <class T>
void EnforceFinite(const Stack& s, const T* x, const char* slot);

// to = x^-1 of each matrix; one that is singular raises.
template <class T>
void Invert(const Stack& s, const T* x, const char* slot, T* to);

// body(i) for each matrix, some on each thread, each worth `cost` multiplications. `make()` gives
// each thread's working memory, which body takes too.
template <class Make, class Body>
void ForEach(int64_t count, double cost, const Make& make, const Body& body) {
  LapackOnOneThread alone(Lapack());
  const auto each = static_cast<int64_t>(std::min(cost + 256, 1e12));
  kernels::ParallelRows(count, each, [&](int64_t begin, int64_t end) {
    auto memory = make();
    for (int64_t i = begin; i < end; ++i) body(i, *memory);
  });
}

inline double Cube(const Stack& s) {
  return static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k());
}

// to [n, m] = the transpose of from [m, n].
template <class T>
void TransposeInto(const T* from, int64_t m, int64_t n, T* to) {
  const int64_t dims[] = {m, n};
  const int order[] = {1, 0};
  kernels::Permute(from, {dims, 2}, {order, 2}, to, sizeof(T));
}

}  // namespace dygraph::linalg
