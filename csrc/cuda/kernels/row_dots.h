// kernels/row_dots.h on the device: a team for each row.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/loops.h"

namespace dygraph::kernels {

template <class T, class Begin, class Finish>
void RowDots(const T* a, int64_t a_row, const T* b, int64_t b_row, int64_t rows, int64_t n,
             Begin begin, Finish finish) {
  ForEachRow(rows, n, [=] DYGRAPH_FN(int64_t r, Team team) {
    const T *x = a + r * a_row, *y = b + r * b_row;
    const double sum = team.Sum<double>(
        n, [=](int64_t i) { return static_cast<double>(x[i]) * static_cast<double>(y[i]); });
    team.Once([=] { finish(r, begin(r) + sum); });
  });
}

template <class T>
void Dots(const T* a, const T* b, int64_t rows, int64_t n, T* to) {
  using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
  ForEachRow(rows, n, [=] DYGRAPH_FN(int64_t r, Team team) {
    const T *x = a + r * n, *y = b + r * n;
    const Sum sum = team.Sum<Sum>(
        n, [=](int64_t i) { return static_cast<Sum>(x[i]) * static_cast<Sum>(y[i]); });
    team.Once([=] { to[r] = static_cast<T>(sum); });
  });
}

}  // namespace dygraph::kernels
