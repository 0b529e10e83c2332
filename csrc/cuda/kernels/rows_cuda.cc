#include <type_traits>

#include "cuda/scratch.h"
#include "cuda/sort_cuda.h"
#include "kernels/convert.h"
#include "kernels/elementwise.h"
#include "kernels/loops.h"
#include "kernels/pack.h"
#include "kernels/rows.h"
#include "kernels/walk.h"
#include "platform/device_flags.h"
#include "tensor/scratch.h"

namespace dygraph::kernels {

namespace {

using detail::Divisor;
using detail::Pack;

// The number of bytes, up to 16, that rows of `bytes` bytes at x and y can be moved in.
inline int64_t UnitBytes(int64_t bytes, const void* x, const void* y) {
  const uintptr_t places = reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y) |
                           static_cast<uintptr_t>(bytes) | 16;
  return static_cast<int64_t>(places & (~places + 1));
}

// Position i of [outer, n, units] of the listed rows, and where it lies in the array.
struct ListedRows {
  const int64_t* rows;
  int64_t height;
  Divisor n, units;

  struct Place {
    int64_t row, item, in_array;
  };
  DYGRAPH_INLINE Place At(int64_t i) const {
    const int64_t line = units.Quotient(i), k = i - line * units.by;
    const int64_t o = n.Quotient(line), item = line - o * n.by, row = rows[item];
    return {row, item, (o * height + row) * units.by + k};
  }
};

template <class U>
struct TakeUnits {
  ListedRows listed;
  const U* x;
  U* out;
  DYGRAPH_INLINE void operator()(int64_t i) const { out[i] = x[listed.At(i).in_array]; }
};
template <class U>
struct PutUnits {
  ListedRows listed;
  const U* values;  // zeros where it is null
  const int32_t* last;
  U* x;
  DYGRAPH_INLINE void operator()(int64_t i) const {
    const ListedRows::Place at = listed.At(i);
    if (!values) {
      x[at.in_array] = U{};
    } else if (last[at.row] == static_cast<int32_t>(at.item)) {
      x[at.in_array] = values[i];
    }
  }
};
struct NoteLast {
  const int64_t* rows;
  int32_t* last;
  __device__ void operator()(int64_t i) const {
    atomicMax(last + rows[i], static_cast<int32_t>(i));
  }
};

// Unsigned integers wrap.
template <class T>
using Addend = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                           std::common_type<T>>::type;

// Element k of a row of line o, for item p of the sorted list: the first of a row adds what all
// items of that row have.
template <class U>
struct AddSorted {
  const int64_t *sorted, *order;
  int64_t n, height;
  Divisor items, width;
  const U* values;
  U* x;
  DYGRAPH_INLINE void operator()(int64_t i) const {
    const int64_t line = width.Quotient(i), k = i - line * width.by;
    const int64_t o = items.Quotient(line), p = line - o * items.by, row = sorted[p];
    if (p > 0 && sorted[p - 1] == row) return;
    U& to = x[(o * height + row) * width.by + k];
    Wide<U> sum = to;
    for (int64_t q = p; q < n && sorted[q] == row; ++q)
      sum = static_cast<Wide<U>>(sum + values[(o * n + order[q]) * width.by + k]);
    to = sum;
  }
};

template <class T>
constexpr bool kHasAtomicAdd = std::is_floating_point_v<T> || sizeof(T) >= 4;

template <class U>
struct AddAtomically {
  using Word =
      std::conditional_t<std::is_floating_point_v<U>, U,
                         std::conditional_t<sizeof(U) == 8, unsigned long long, unsigned int>>;
  ListedRows listed;
  const U* values;
  U* x;
  __device__ void operator()(int64_t i) const {
    atomicAdd(reinterpret_cast<Word*>(x + listed.At(i).in_array), static_cast<Word>(values[i]));
  }
};

template <template <class> class F, class... A>
void EachUnit(const RowShape& s, const int64_t* rows, int64_t n, int64_t bytes, int64_t unit,
              A... arrays) {
  const int64_t units = bytes / unit;
  const ListedRows listed{rows, s.height, Divisor(n), Divisor(units)};
  auto run = [&](auto* type) {
    using U = std::remove_pointer_t<decltype(type)>;
    ForEach(s.outer * n * units, F<U>{listed, arrays.template As<U>()...});
  };
  switch (unit) {
    case 1: return run(static_cast<uint8_t*>(nullptr));
    case 2: return run(static_cast<uint16_t*>(nullptr));
    case 4: return run(static_cast<uint32_t*>(nullptr));
    case 8: return run(static_cast<uint64_t*>(nullptr));
    default: return run(static_cast<Pack<uint64_t, 2>*>(nullptr));
  }
}

// Arrays of the units that EachUnit chooses, and one that stays as it is.
struct Source {
  const void* at;
  template <class U>
  const U* As() const {
    return static_cast<const U*>(at);
  }
};
struct Target {
  void* at;
  template <class U>
  U* As() const {
    return static_cast<U*>(at);
  }
};
struct Numbers {
  const int32_t* at;
  template <class U>
  const int32_t* As() const {
    return at;
  }
};

}  // namespace

void TakeRows(const RowShape& shape, const void* x, const int64_t* rows, int64_t n, void* out,
              size_t element_size) {
  const int64_t bytes = shape.width * static_cast<int64_t>(element_size);
  if (bytes == 0 || n == 0 || shape.outer == 0) return;
  EachUnit<TakeUnits>(shape, rows, n, bytes, UnitBytes(bytes, x, out), Source{x}, Target{out});
}

void PutRows(const RowShape& shape, void* x, const int64_t* rows, int64_t n, const void* values,
             size_t element_size) {
  const int64_t bytes = shape.width * static_cast<int64_t>(element_size);
  if (bytes == 0 || n == 0 || shape.outer == 0) return;
  Scratch last(cuda::CurrentPlace(), shape.height * sizeof(int32_t));
  Fill(last.as<int32_t>(), shape.height, -1);
  ForEach(n, NoteLast{rows, last.as<int32_t>()});
  EachUnit<PutUnits>(shape, rows, n, bytes, UnitBytes(bytes, x, values), Source{values},
                     Numbers{last.as<int32_t>()}, Target{x});
}

void ClearRows(const RowShape& shape, void* x, const int64_t* rows, int64_t n,
               size_t element_size) {
  const int64_t bytes = shape.width * static_cast<int64_t>(element_size);
  if (bytes == 0 || n == 0 || shape.outer == 0) return;
  EachUnit<PutUnits>(shape, rows, n, bytes, UnitBytes(bytes, x, x), Source{nullptr},
                     Numbers{nullptr}, Target{x});
}

template <class T>
void AddRows(const RowShape& shape, T* x, const int64_t* rows, int64_t n, const T* values) {
  using U = Addend<T>;
  const int64_t elements = shape.outer * n * shape.width;
  if (elements == 0) return;
  const U* from = reinterpret_cast<const U*>(values);
  U* to = reinterpret_cast<U*>(x);
  if constexpr (kHasAtomicAdd<T>) {
    if (FLAGS_cuda_atomics) {
      return ForEach(
          elements,
          AddAtomically<U>{{rows, shape.height, Divisor(n), Divisor(shape.width)}, from, to});
    }
  }
  cuda::Workspace<int64_t> lists(2 * n);
  int64_t *sorted = lists.data(), *order = sorted + n;
  cuda::SortKeys(rows, n, shape.height - 1, sorted, order);
  ForEach(elements,
          AddSorted<U>{sorted, order, n, shape.height, Divisor(n), Divisor(shape.width), from, to});
}

template void AddRows(const RowShape&, float*, const int64_t*, int64_t, const float*);
template void AddRows(const RowShape&, double*, const int64_t*, int64_t, const double*);
template void AddRows(const RowShape&, float16*, const int64_t*, int64_t, const float16*);
template void AddRows(const RowShape&, bfloat16*, const int64_t*, int64_t, const bfloat16*);
template void AddRows(const RowShape&, uint8_t*, const int64_t*, int64_t, const uint8_t*);
template void AddRows(const RowShape&, int8_t*, const int64_t*, int64_t, const int8_t*);
template void AddRows(const RowShape&, int16_t*, const int64_t*, int64_t, const int16_t*);
template void AddRows(const RowShape&, int32_t*, const int64_t*, int64_t, const int32_t*);
template void AddRows(const RowShape&, int64_t*, const int64_t*, int64_t, const int64_t*);

}  // namespace dygraph::kernels
