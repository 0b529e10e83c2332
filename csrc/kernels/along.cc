#include "kernels/along.h"

#include <atomic>
#include <cstring>
#include <type_traits>

#include "kernels/elementwise.h"
#include "kernels/owners.h"
#include "tensor/dtype.h"

namespace dygraph::kernels {

namespace {

constexpr int64_t kChunk = 2048;  // numbers that are checked, and then still in the first cache
constexpr int64_t kCost = 4;

enum class Numbers { kOutside, kSigned, kUnsigned };  // some outside, some negative, none negative

template <class I>
Numbers Check(const I* index, int64_t n, int64_t height) {
  uint64_t found[2] = {0, 0}, *signs = found;
  Simd([=] {
    const uint64_t bound = static_cast<uint64_t>(height);
    uint64_t outside = 0, negative = 0;  // their sign bits
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t v = static_cast<uint64_t>(static_cast<int64_t>(index[i]));
      outside |= (v + bound) | (bound - 1 - v);
      negative |= v;
    }
    signs[0] = outside;
    signs[1] = negative;
  });
  if (static_cast<int64_t>(found[0]) < 0) return Numbers::kOutside;
  return static_cast<int64_t>(found[1]) < 0 ? Numbers::kSigned : Numbers::kUnsigned;
}

// Numbers as places from 0 up.
template <class I>
struct Signed {
  const I* index;
  int64_t height;
  int64_t operator[](int64_t i) const {
    const int64_t v = index[i];
    return v + (v >> 63 & height);
  }
};
template <class I>
struct Unsigned {
  const I* index;
  int64_t operator[](int64_t i) const { return static_cast<int64_t>(index[i]); }
};

// Checks a run of numbers, then calls f(places), which are as many; false where one lies outside.
template <class I, class F>
bool WithPlaces(const I* index, int64_t n, int64_t height, F f) {
  switch (Check(index, n, height)) {
    case Numbers::kOutside: return false;
    case Numbers::kSigned: f(Signed<I>{index, height}); return true;
    case Numbers::kUnsigned: f(Unsigned<I>{index}); return true;
  }
  return false;
}

// Elements i to i + n of `out`; their places are places[0] to places[n - 1].
template <class U, class P>
void TakeRange(const AlongShape& s, const U* x, P places, U* out, int64_t i, int64_t n) {
  int64_t row = i / s.inner, k = i % s.inner, j = row % s.count, at = 0;
  const U* line = x + row / s.count * s.height * s.inner;
  out += i;
  if (s.inner == 1) {
    for (; at < n; j = 0, line += s.height) {
      const int64_t stop = std::min(n, at + s.count - j);
#pragma GCC unroll 4
      for (; at < stop; ++at) out[at] = line[places[at]];
    }
    return;
  }
  for (; at < n; k = 0) {
    for (const int64_t stop = std::min(n, at + s.inner - k); at < stop; ++at, ++k)
      out[at] = line[places[at] * s.inner + k];
    if (++j == s.count) {
      j = 0;
      line += s.height * s.inner;
    }
  }
}

// f(element of the index, element of the array) for columns begin to end of all rows j of line o;
// false at the first number outside.
template <class I, class F>
bool EachOfLine(const AlongShape& s, const I* index, int64_t o, int64_t begin, int64_t end, F f) {
  const int64_t line = o * s.height * s.inner, first = o * s.count * s.inner, inner = s.inner;
  if (begin == 0 && end == inner) {  // rows follow each other
    const int64_t step = std::max<int64_t>(1, kChunk / inner);
    for (int64_t j = 0; j < s.count; j += step) {
      const int64_t n = std::min(step, s.count - j) * inner, at = first + j * inner;
      const bool inside = WithPlaces(index + at, n, s.height, [=](auto places) {
        if (inner == 1) {
#pragma GCC unroll 4
          for (int64_t i = 0; i < n; ++i) f(at + i, line + places[i]);
          return;
        }
        for (int64_t i = 0; i < n;) {
          for (int64_t k = 0; k < inner; ++k, ++i) f(at + i, line + places[i] * inner + k);
        }
      });
      if (!inside) return false;
    }
    return true;
  }
  for (int64_t j = 0; j < s.count; ++j) {
    const int64_t at = first + j * inner + begin, n = end - begin;
    const bool inside = WithPlaces(index + at, n, s.height, [=](auto places) {
      for (int64_t i = 0; i < n; ++i) f(at + i, line + places[i] * inner + begin + i);
    });
    if (!inside) return false;
  }
  return true;
}

template <class U>
void Begin(const U* start, U* out, int64_t n) {
  if (n == 0) return;
  if (!start) {
    std::memset(static_cast<void*>(out), 0, n * sizeof(U));
  } else if (start != out) {
    std::memcpy(out, start, n * sizeof(U));
  }
}

// out = start, or 0; then f(element of the index, element of out) in order, those of one element of
// out on one thread.
template <class U, class I, class F>
bool Write(const AlongShape& s, const U* start, const I* index, U* out, F f) {
  if (s.inner == 0) return true;
  const int64_t size = s.height * s.inner, work = s.outer * (s.count * s.inner * kCost + size);
  std::atomic<bool> inside{true};
  if (s.outer >= NumThreads() || work <= 2 * Grain()) {  // whole lines
    ParallelRows(s.outer, work / std::max<int64_t>(s.outer, 1), [&](int64_t first, int64_t last) {
      for (int64_t o = first; o < last && inside; ++o) {
        Begin(start ? start + o * size : nullptr, out + o * size, size);
        if (!EachOfLine(s, index, o, 0, s.inner, f)) inside = false;
      }
    });
    return inside;
  }
  constexpr int64_t kColumns = 64;
  if (s.inner >= kColumns * NumThreads()) {  // columns of lines
    ParallelRows(s.inner / kColumns, work / (s.inner / kColumns), [&](int64_t first, int64_t last) {
      const int64_t begin = first * kColumns;
      const int64_t end = last == s.inner / kColumns ? s.inner : last * kColumns;
      for (int64_t o = 0; o < s.outer && inside; ++o) {
        for (int64_t i = 0; i < s.height; ++i) {
          const int64_t at = (o * s.height + i) * s.inner + begin;
          Begin(start ? start + at : nullptr, out + at, end - begin);
        }
        if (!EachOfLine(s, index, o, begin, end, f)) inside = false;
      }
    });
    return inside;
  }
  ParallelFor(s.outer * size, Grain(), [=](int64_t begin, int64_t end) {
    Begin(start ? start + begin : nullptr, out + begin, end - begin);
  });
  const Owners owners(sizeof(U));
  ParallelBlocks(owners.pieces(), [&](int64_t piece) {
    const Owners::Share share = owners.ShareOf(piece);
    for (int64_t o = 0; o < s.outer && inside; ++o) {
      const bool all = EachOfLine(s, index, o, 0, s.inner, [=](int64_t from, int64_t to) {
        if (share.Has(to)) f(from, to);
      });
      if (!all) inside = false;
    }
  });
  return inside;
}

// f(a pointer to the unsigned type of this size).
template <class F>
bool WithUnit(size_t size, F f) {
  switch (size) {
    case 1: return f(static_cast<uint8_t*>(nullptr));
    case 2: return f(static_cast<uint16_t*>(nullptr));
    case 4: return f(static_cast<uint32_t*>(nullptr));
    case 16: return f(static_cast<complex128*>(nullptr));
    default: return f(static_cast<uint64_t*>(nullptr));
  }
}

}  // namespace

template <class I>
int64_t FirstOutside(const I* index, int64_t n, int64_t height) {
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t end = std::min(n, i + kChunk);
    if (Check(index + i, end - i, height) != Numbers::kOutside) continue;
    while (index[i] >= -height && index[i] < height) ++i;
    return i;
  }
  return n;
}

template <class I>
bool TakeAlong(const AlongShape& s, const void* x, const I* index, void* out, size_t size) {
  return WithUnit(size, [=](auto* unit) {
    using U = std::remove_pointer_t<decltype(unit)>;
    std::atomic<bool> inside{true};
    ParallelFor(s.outer * s.count * s.inner, Grain(kCost), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end && inside; i += kChunk) {
        const int64_t stop = std::min(end, i + kChunk);
        const bool good = WithPlaces(index + i, stop - i, s.height, [=](auto places) {
          TakeRange(s, static_cast<const U*>(x), places, static_cast<U*>(out), i, stop - i);
        });
        if (!good) inside = false;
      }
    });
    return inside.load();
  });
}

template <class I>
bool PutAlong(const AlongShape& s, const void* start, const I* index, const void* values, void* out,
              size_t size) {
  return WithUnit(size, [=](auto* unit) {
    using U = std::remove_pointer_t<decltype(unit)>;
    const U *before = static_cast<const U*>(start), *v = static_cast<const U*>(values);
    U* y = static_cast<U*>(out);
    if (!v) return Write(s, before, index, y, [=](int64_t, int64_t to) { y[to] = 0; });
    return Write(s, before, index, y, [=](int64_t from, int64_t to) { y[to] = v[from]; });
  });
}

template <class T, class I>
bool AddAlong(const AlongShape& s, const T* start, const I* index, const T* values, T* out) {
  using U = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                        std::common_type<T>>::type;  // unsigned wraps
  const U* v = reinterpret_cast<const U*>(values);
  U* y = reinterpret_cast<U*>(out);
  return Write(s, reinterpret_cast<const U*>(start), index, y,
               [=](int64_t from, int64_t to) { y[to] += v[from]; });
}

template int64_t FirstOutside(const int32_t*, int64_t, int64_t);
template bool TakeAlong(const AlongShape&, const void*, const int32_t*, void*, size_t);
template bool PutAlong(const AlongShape&, const void*, const int32_t*, const void*, void*, size_t);
template bool AddAlong(const AlongShape&, const float*, const int32_t*, const float*, float*);
template bool AddAlong(const AlongShape&, const double*, const int32_t*, const double*, double*);
template bool AddAlong(const AlongShape&, const int32_t*, const int32_t*, const int32_t*, int32_t*);
template bool AddAlong(const AlongShape&, const int64_t*, const int32_t*, const int64_t*, int64_t*);
template bool AddAlong(const AlongShape&, const complex64*, const int32_t*, const complex64*,
                       complex64*);
template bool AddAlong(const AlongShape&, const complex128*, const int32_t*, const complex128*,
                       complex128*);
template int64_t FirstOutside(const int64_t*, int64_t, int64_t);
template bool TakeAlong(const AlongShape&, const void*, const int64_t*, void*, size_t);
template bool PutAlong(const AlongShape&, const void*, const int64_t*, const void*, void*, size_t);
template bool AddAlong(const AlongShape&, const float*, const int64_t*, const float*, float*);
template bool AddAlong(const AlongShape&, const double*, const int64_t*, const double*, double*);
template bool AddAlong(const AlongShape&, const int32_t*, const int64_t*, const int32_t*, int32_t*);
template bool AddAlong(const AlongShape&, const int64_t*, const int64_t*, const int64_t*, int64_t*);
template bool AddAlong(const AlongShape&, const complex64*, const int64_t*, const complex64*,
                       complex64*);
template bool AddAlong(const AlongShape&, const complex128*, const int64_t*, const complex128*,
                       complex128*);

}  // namespace dygraph::kernels
