#include "kernels/rows.h"

#include <cstring>
#include <type_traits>

#include "kernels/owners.h"
#include "kernels/parallel.h"
#include "kernels/simd.h"
#include "tensor/dtype.h"

namespace dygraph::kernels {

namespace {

// fn(to, from) for each row; W is the width in bytes where it is known when compiled, else 0.
template <class Unit>
void CopyRow(void* to, const void* from, int64_t bytes) {
  if constexpr (std::is_void_v<Unit>) {
    std::memcpy(to, from, bytes);
  } else {
    std::memcpy(to, from, sizeof(Unit));
  }
}

template <class F>
void WithUnit(int64_t bytes, F&& f) {
  switch (bytes) {
    case 1: return f(static_cast<uint8_t*>(nullptr));
    case 2: return f(static_cast<uint16_t*>(nullptr));
    case 4: return f(static_cast<uint32_t*>(nullptr));
    case 8: return f(static_cast<uint64_t*>(nullptr));
    default: return f(static_cast<void*>(nullptr));
  }
}

// body(o, i) for each o and i, those of one row of x on one thread and in order of i.
template <class Body>
void EachOwned(const RowShape& shape, const int64_t* rows, int64_t n, size_t element_size,
               const Body& body) {
  int64_t work = shape.outer * n * shape.width;
  if (shape.outer >= NumThreads() || work <= Grain()) {
    ParallelRows(shape.outer, n * shape.width, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        for (int64_t i = 0; i < n; ++i) body(o, i);
      }
    });
    return;
  }
  const Owners owners(shape.width * static_cast<int64_t>(element_size));
  ParallelBlocks(owners.pieces(), [&](int64_t piece) {
    const Owners::Share share = owners.ShareOf(piece);
    for (int64_t o = 0; o < shape.outer; ++o) {
      for (int64_t i = 0; i < n; ++i) {
        if (share.Has(rows[i])) body(o, i);
      }
    }
  });
}

}  // namespace

void TakeRows(const RowShape& shape, const void* x, const int64_t* rows, int64_t n, void* out,
              size_t element_size) {
  int64_t bytes = shape.width * static_cast<int64_t>(element_size);
  if (bytes == 0 || n == 0 || shape.outer == 0) return;
  const char* from = static_cast<const char*>(x);
  char* to = static_cast<char*>(out);
  WithUnit(bytes, [&](auto* unit) {
    using Unit = std::remove_pointer_t<decltype(unit)>;
    ParallelRows(shape.outer * n, shape.width, [=](int64_t begin, int64_t end) {
      int64_t o = begin / n, i = begin % n;
      for (int64_t r = begin; r < end; ++r) {
        CopyRow<Unit>(to + r * bytes, from + (o * shape.height + rows[i]) * bytes, bytes);
        if (++i == n) i = 0, ++o;
      }
    });
  });
}

void PutRows(const RowShape& shape, void* x, const int64_t* rows, int64_t n, const void* values,
             size_t element_size) {
  int64_t bytes = shape.width * static_cast<int64_t>(element_size);
  if (bytes == 0 || n == 0 || shape.outer == 0) return;
  char* to = static_cast<char*>(x);
  const char* from = static_cast<const char*>(values);
  WithUnit(bytes, [&](auto* unit) {
    using Unit = std::remove_pointer_t<decltype(unit)>;
    EachOwned(shape, rows, n, element_size, [=](int64_t o, int64_t i) {
      CopyRow<Unit>(to + (o * shape.height + rows[i]) * bytes, from + (o * n + i) * bytes, bytes);
    });
  });
}

void ClearRows(const RowShape& shape, void* x, const int64_t* rows, int64_t n,
               size_t element_size) {
  int64_t bytes = shape.width * static_cast<int64_t>(element_size);
  if (bytes == 0 || n == 0 || shape.outer == 0) return;
  char* to = static_cast<char*>(x);
  EachOwned(shape, rows, n, element_size, [=](int64_t o, int64_t i) {
    std::memset(to + (o * shape.height + rows[i]) * bytes, 0, bytes);
  });
}

template <class T>
void AddRows(const RowShape& shape, T* x, const int64_t* rows, int64_t n, const T* values) {
  using U = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                        std::common_type<T>>::type;  // unsigned wraps
  int64_t width = shape.width, height = shape.height;
  if (width == 0 || n == 0 || shape.outer == 0) return;
  U* to = reinterpret_cast<U*>(x);
  const U* from = reinterpret_cast<const U*>(values);
  if (width == 1) {
    EachOwned(shape, rows, n, sizeof(T),
              [=](int64_t o, int64_t i) { to[o * height + rows[i]] += from[o * n + i]; });
    return;
  }
  EachOwned(shape, rows, n, sizeof(T), [=](int64_t o, int64_t i) {
    U* row = to + (o * height + rows[i]) * width;
    const U* add = from + (o * n + i) * width;
    DYGRAPH_IVDEP
    for (int64_t k = 0; k < width; ++k) row[k] += add[k];
  });
}

template void AddRows(const RowShape&, float*, const int64_t*, int64_t, const float*);
template void AddRows(const RowShape&, double*, const int64_t*, int64_t, const double*);
template void AddRows(const RowShape&, complex64*, const int64_t*, int64_t, const complex64*);
template void AddRows(const RowShape&, complex128*, const int64_t*, int64_t, const complex128*);
template void AddRows(const RowShape&, uint8_t*, const int64_t*, int64_t, const uint8_t*);
template void AddRows(const RowShape&, int8_t*, const int64_t*, int64_t, const int8_t*);
template void AddRows(const RowShape&, int16_t*, const int64_t*, int64_t, const int16_t*);
template void AddRows(const RowShape&, int32_t*, const int64_t*, int64_t, const int32_t*);
template void AddRows(const RowShape&, int64_t*, const int64_t*, int64_t, const int64_t*);

}  // namespace dygraph::kernels
