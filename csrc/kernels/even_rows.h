// Copies of many rows that lie evenly apart. Elements are 1, 2, 4 or 8 bytes: the loops are compiled
// for these sizes, in even_rows.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/strides.h"

namespace dygraph::kernels {

// The unsigned number of T's size.
template <class T>
using BitsOf = std::conditional_t<
    sizeof(T) == 1, uint8_t,
    std::conditional_t<sizeof(T) == 2, uint16_t,
                       std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;

namespace detail {
template <class Bits>
void CopyEvenRows(const Bits* x, int64_t xs, Bits* y, int64_t ys, int64_t rows, int64_t n);
}

// y[r * ys + i] = x[r * xs + i] for r < rows, i < n. Rows of a few cache lines are moved in place
// of calls of memcpy, which cost more; so are longer ones whose ends lie differently in their cache
// lines, for which memcpy takes twice as long on some processors.
template <class T>
void CopyEvenRows(const T* x, int64_t xs, T* y, int64_t ys, int64_t rows, int64_t n) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
  detail::CopyEvenRows(reinterpret_cast<const BitsOf<T>*>(x), xs, reinterpret_cast<BitsOf<T>*>(y),
                       ys, rows, n);
}

// The same for all rows of a walk of two arrays, whose innermost dimension is dense in both and has
// `n` elements; there are others. Of uint8_t to
// uint64_t.
template <class Bits>
void CopyDenseRows(const Walk<2>& walk, const Bits* x, Bits* y);

}  // namespace dygraph::kernels
