// Four ways, chosen by shape alone: register tiles straight from the operands (tiny products, one
// row), strips of columns (few rows), dot products (matrix times vector along rows), and packed
// panels for the rest. Tiles are GCC vectors, one kernel per instruction set. Products are cut over
// m and n only.
#include "kernels/gemm.h"

#include <algorithm>

#include "kernels/gemm_tile.h"
#include "kernels/packed_matrix.h"
#include "kernels/parallel.h"
#include "memory/memory.h"
#include "platform/interrupt.h"

namespace dygraph::kernels {
namespace {

using tile::kColumnsOf;
using tile::Multiply;
using tile::PackPanel;
using tile::Store;
using tile::VecOf;

// Panels of kDepth rows of b stay in the first cache, a block of a in the second, a slab of b in
// the third.
constexpr int64_t kDepth = kSumDepth, kBlockRows = 192, kSlab = 2048;
// With one block of a: columns of b that are packed and used before the next, rows read at a time.
constexpr int64_t kShortSlab = 64, kShortRowsRead = 16;
constexpr int64_t kRowsRead = 4;                 // of b at a time, into panels
constexpr int64_t kDirectVolume = 48 * 48 * 48;  // packing does not pay below
constexpr int64_t kSmallOperand = 64 * 64;       // elements of a b that is transposed on the stack
constexpr int64_t kThreadVolume = 1 << 20;       // m n k worth a thread
constexpr int64_t kStripVolume = 1 << 18;        // the same of products with few rows
constexpr int64_t kLongVolume = 64;              // of these, worth pieces of their own

constexpr int64_t kFewRows = 24;                 // below, packing b takes longer than the product

template <class T>
struct Operand {  // element (i, j) of op(x) lies at x[i * row + j * column]
  const T* x;
  int64_t row, column;
};

template <class T, int kBytes, int kRows, int kVecs>
DYGRAPH_INLINE void DirectTile(int64_t k, T alpha, const Operand<T>& a, int64_t i, const T* b,
                               int64_t b_row, T beta, T* c, int64_t ldc) {
  typename VecOf<T, kBytes>::type acc[kRows][kVecs];
  Multiply<T, kBytes, kRows, kVecs>(k, a.x + i * a.row, a.row, a.column, b, b_row, acc);
  Store<T, kBytes, kRows, kVecs>(acc, alpha, beta, c + i * ldc, ldc);
}

// Columns [0, n) of kRows rows, in vectors of kBytes and then of ever half as much.
template <class T, int kBytes, int kRows, int kVecs>
DYGRAPH_INLINE void DirectColumns(int64_t n, int64_t k, T alpha, const Operand<T>& a, int64_t i,
                                  const T* b, int64_t b_row, T beta, T* c, int64_t ldc) {
  constexpr int kStep = kVecs * kBytes / static_cast<int>(sizeof(T));
  for (; n >= kStep; n -= kStep, b += kStep, c += kStep) {
    DirectTile<T, kBytes, kRows, kVecs>(k, alpha, a, i, b, b_row, beta, c, ldc);
  }
  if (n == 0) return;
  if constexpr (kVecs > 1) {
    DirectColumns<T, kBytes, kRows, kVecs / 2>(n, k, alpha, a, i, b, b_row, beta, c, ldc);
  } else if constexpr (kBytes > static_cast<int>(sizeof(T))) {
    DirectColumns<T, kBytes / 2, kRows, 1>(n, k, alpha, a, i, b, b_row, beta, c, ldc);
  }
}

template <class T, int kBytes, int kRows>
DYGRAPH_INLINE void DirectRows(int64_t i, int64_t m, int64_t n, int64_t k, T alpha,
                               const Operand<T>& a, const T* b, int64_t b_row, T beta, T* c,
                               int64_t ldc) {
  constexpr int kVecs = kRows >= 4 ? 2 : kRows == 2 ? 4 : 8;  // one row: long stretches of b's rows
  for (; i + kRows <= m; i += kRows) {
    DirectColumns<T, kBytes, kRows, kVecs>(n, k, alpha, a, i, b, b_row, beta, c, ldc);
  }
  if constexpr (kRows > 1) {
    if (i < m) DirectRows<T, kBytes, kRows / 2>(i, m, n, k, alpha, a, b, b_row, beta, c, ldc);
  }
}

template <class T, int kBytes, int kRows, int kVecs>
DYGRAPH_INLINE void StripTile(int64_t rows, int64_t k, T alpha, const T* a, int64_t lda, const T* b,
                              int64_t ldb, T beta, T* c, int64_t ldc) {
  if constexpr (kRows > 1) {
    if (rows < kRows) {
      return StripTile<T, kBytes, kRows - 1, kVecs>(rows, k, alpha, a, lda, b, ldb, beta, c, ldc);
    }
  }
  DirectTile<T, kBytes, kRows, kVecs>(k, alpha, Operand<T>{a, lda, 1}, 0, b, ldb, beta, c, ldc);
}

// All rows for some columns, then for the next ones: so b is read from memory once.
template <class T, int kBytes, int kRows, int kVecs>
DYGRAPH_INLINE void Strips(int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
                           const T* b, int64_t ldb, T beta, T* c, int64_t ldc) {
  constexpr int64_t kStep = kVecs * kBytes / static_cast<int>(sizeof(T));
  const int64_t tiles = (m + kRows - 1) / kRows;
  for (; n >= kStep; n -= kStep, b += kStep, c += kStep) {
    for (int64_t t = 0; t < tiles; ++t) {  // of nearly one height
      const int64_t r = m * t / tiles;
      StripTile<T, kBytes, kRows, kVecs>(m * (t + 1) / tiles - r, k, alpha, a + r * lda, lda, b,
                                         ldb, beta, c + r * ldc, ldc);
    }
  }
  if (n == 0) return;
  if constexpr (kVecs == 3) {
    Strips<T, kBytes, 6, 2>(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  } else if constexpr (kVecs > 1) {
    Strips<T, kBytes, kRows, kVecs / 2>(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  } else if constexpr (kBytes > static_cast<int>(sizeof(T))) {
    Strips<T, kBytes / 2, kRows, 1>(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  }
}

// The sums of Packed(), in its order.
template <class T, int kBytes>
DYGRAPH_INLINE void FewRowsStrips(int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
                                  const T* b, int64_t ldb, T beta, T* c, int64_t ldc) {
  for (int64_t p = 0; p < k; p += kDepth, beta = T(1)) {
    const int64_t np = std::min(kDepth, k - p);
    if (m <= 2) {
      Strips<T, kBytes, 2, 4>(m, n, np, alpha, a + p, lda, b + p * ldb, ldb, beta, c, ldc);
    } else if (m <= 4 || m == 7 || m == 8) {
      Strips<T, kBytes, 4, 3>(m, n, np, alpha, a + p, lda, b + p * ldb, ldb, beta, c, ldc);
    } else {
      Strips<T, kBytes, 6, 2>(m, n, np, alpha, a + p, lda, b + p * ldb, ldb, beta, c, ldc);
    }
  }
}

// c[i * stride] = alpha * (row i of x) . v + beta * c[i * stride]
template <class T, int kBytes>
DYGRAPH_INLINE void Dots(int64_t m, int64_t k, T alpha, const T* x, int64_t ldx, const T* v, T beta,
                         T* c, int64_t stride) {
  using Vec = typename VecOf<T, kBytes>::type;
  constexpr int kLanes = kBytes / sizeof(T);
  for (int64_t i = 0; i < m; ++i, x += ldx) {
    Vec acc[4] = {};
    int64_t p = 0;
    for (; p + 4 * kLanes <= k; p += 4 * kLanes) {
#pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        Vec a, b;
        std::memcpy(&a, x + p + u * kLanes, kBytes);
        std::memcpy(&b, v + p + u * kLanes, kBytes);
        acc[u] += a * b;
      }
    }
    for (; p + kLanes <= k; p += kLanes) {
      Vec a, b;
      std::memcpy(&a, x + p, kBytes);
      std::memcpy(&b, v + p, kBytes);
      acc[0] += a * b;
    }
    Vec sum = (acc[0] + acc[1]) + (acc[2] + acc[3]);
    T lane[kLanes];
    std::memcpy(lane, &sum, kBytes);
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int j = 0; j < width; ++j) lane[j] += lane[j + width];
    }
    T total = lane[0];
    for (; p < k; ++p) total += x[p] * v[p];
    c[i * stride] = beta == T(0) ? alpha * total : alpha * total + beta * c[i * stride];
  }
}

// The part of b that is packed next, asked for while the tiles before it are computed.
template <class T>
struct Ahead {
  const T* x;
  int64_t row, rows, columns;
  int64_t sent = 0;  // rows
  DYGRAPH_INLINE void Send(int64_t share, int64_t of) {
    for (const int64_t end = rows * share / of; sent < end; ++sent) {
      for (int64_t q = 0; q < columns; q += 64 / static_cast<int64_t>(sizeof(T)))
        __builtin_prefetch(x + sent * row + q, 0, 2);
    }
  }
};

template <class T, class Tile>
DYGRAPH_INLINE void Packed(int64_t m, int64_t n, int64_t k, T alpha, const Operand<T>& a,
                           const Operand<T>& b, T beta, T* c, int64_t ldc, T* a_pack, T* b_pack) {
  constexpr int kBytes = Tile::kBytes, kRows = Tile::kRows, kVecs = Tile::kVecs;
  constexpr int64_t kColumns = kColumnsOf<T, Tile>;
  // One block of a is packed once for all columns. Those of b then follow few at a time, packed and
  // read again within the second cache.
  const bool one_block = m <= kBlockRows;
  const int64_t slab = one_block ? kShortSlab : kSlab;
  const int64_t rows_read = one_block ? kShortRowsRead : kRowsRead;
  const auto pack_rows = [&](int64_t i0, int64_t p0, int64_t np) __attribute__((always_inline)) {
    int64_t ni = std::min(kBlockRows, m - i0);
    for (int64_t i = 0; i < ni; i += kRows) {
      PackPanel<T, kRows>(a.x + (i0 + i) * a.row + p0 * a.column, a.row, a.column,
                          std::min<int64_t>(kRows, ni - i), np, a_pack + i * np);
    }
  };
  for (int64_t p0 = 0; p0 < k; p0 += kDepth) {
    int64_t np = std::min(kDepth, k - p0);
    T scale = p0 == 0 ? beta : T(1);
    if (one_block) pack_rows(0, p0, np);
    for (int64_t j0 = 0; j0 < n; j0 += slab) {
      int64_t nj = std::min(slab, n - j0);
      // Rows of b as they lie are read some at a time, across all panels.
      const int64_t whole = b.column == 1 ? nj / kColumns * kColumns : 0;
      for (int64_t p = 0; whole > 0 && p < np; p += rows_read) {
        for (int64_t j = 0; j < whole; j += kColumns) {
          PackPanel<T, kColumns>(b.x + (p0 + p) * b.row + j0 + j, 1, b.row, kColumns,
                                 std::min(rows_read, np - p), b_pack + j * np + p * kColumns);
        }
      }
      for (int64_t j = whole; j < nj; j += kColumns) {
        PackPanel<T, kColumns>(b.x + p0 * b.row + (j0 + j) * b.column, b.column, b.row,
                               std::min<int64_t>(kColumns, nj - j), np, b_pack + j * np);
      }
      Ahead<T> ahead = {b.x + p0 * b.row + j0 + slab, b.row, np, std::min(slab, n - j0 - slab)};
      if (j0 + slab >= n) {
        ahead = {b.x + (p0 + np) * b.row, b.row, std::min(kDepth, k - p0 - np), std::min(slab, n)};
      }
      if (!one_block || b.column != 1) ahead.rows = 0;
      const int64_t tiles = (nj + kColumns - 1) / kColumns * ((m + kRows - 1) / kRows);
      int64_t tile = 0;
      for (int64_t i0 = 0; i0 < m; i0 += kBlockRows) {
        CheckInterrupt();
        int64_t ni = std::min(kBlockRows, m - i0);
        if (!one_block) pack_rows(i0, p0, np);
        for (int64_t j = 0; j < nj; j += kColumns) {
          for (int64_t i = 0; i < ni; i += kRows) {
            ahead.Send(++tile, tiles);
            T* to = c + (i0 + i) * ldc + j0 + j;
            int64_t rows = std::min<int64_t>(kRows, ni - i),
                    columns = std::min<int64_t>(kColumns, nj - j);
            for (int64_t r = 0; r < rows; ++r) {  // the sums take long enough for it to arrive
              __builtin_prefetch(to + r * ldc, 1);
              __builtin_prefetch(to + r * ldc + columns - 1, 1);
            }
            typename VecOf<T, kBytes>::type acc[kRows][kVecs];
            Multiply<T, kBytes, kRows, kVecs>(np, a_pack + i * np, 1, kRows, b_pack + j * np,
                                              kColumns, acc);
            if (rows == kRows && columns == kColumns) {
              Store<T, kBytes, kRows, kVecs>(acc, alpha, scale, to, ldc);
              continue;
            }
            T edge[kRows * kColumns];  // through a full tile, so that every element sees the same
                                       // arithmetic
            for (int64_t r = 0; r < rows && scale != T(0); ++r) {
              for (int64_t q = 0; q < columns; ++q) edge[r * kColumns + q] = to[r * ldc + q];
            }
            Store<T, kBytes, kRows, kVecs>(acc, alpha, scale, edge, kColumns);
            for (int64_t r = 0; r < rows; ++r) {
              for (int64_t q = 0; q < columns; ++q) to[r * ldc + q] = edge[r * kColumns + q];
            }
          }
        }
      }
    }
  }
}

// A block per thread, kept between calls.
struct PackBuffer {
  ~PackBuffer() {
    if (block) memory::Free(CPUPlace(), block, bytes);
  }
  void* block = nullptr;
  size_t bytes = 0;
};

// The block, taken while this lives. The handler of a signal, which runs between pieces of work,
// finds none and makes its own.
class Packing {
 public:
  Packing(PackBuffer* buffer, size_t bytes) : buffer_(*buffer) {
    std::swap(taken_.block, buffer_.block);
    std::swap(taken_.bytes, buffer_.bytes);
    if (bytes <= taken_.bytes) return;
    void* bigger = memory::Alloc(CPUPlace(), bytes);
    if (taken_.block) memory::Free(CPUPlace(), taken_.block, taken_.bytes);
    taken_.block = bigger;
    taken_.bytes = bytes;
  }
  ~Packing() {
    std::swap(taken_.block, buffer_.block);
    std::swap(taken_.bytes, buffer_.bytes);
  }
  Packing(const Packing&) = delete;
  Packing& operator=(const Packing&) = delete;
  void* get() const { return taken_.block; }

 private:
  PackBuffer& buffer_;
  PackBuffer taken_;  // frees what the handler left
};

template <class Body>
void InTile(const Body& body) {
  tile::WithTile(CpuLevel(), body);
}

template <class T>
void GemmDirect(int64_t m, int64_t n, int64_t k, T alpha, Operand<T> a, const T* b, int64_t b_row,
                T beta, T* c, int64_t ldc) {
  InTile([=](auto tile) __attribute__((always_inline)) {
    using Tile = decltype(tile);
    if (a.column == 1) {  // known to the loops, which are twice as fast for it
      const Operand<T> rows{a.x, a.row, 1};
      DirectRows<T, Tile::kBytes, Tile::kDirectRows>(0, m, n, k, alpha, rows, b, b_row, beta, c,
                                                     ldc);
    } else {
      DirectRows<T, Tile::kBytes, Tile::kDirectRows>(0, m, n, k, alpha, a, b, b_row, beta, c, ldc);
    }
  });
}

template <class T>
void GemmStrips(int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda, const T* b,
                int64_t ldb, T beta, T* c, int64_t ldc) {
  constexpr int64_t kUnit = 96;  // columns, a multiple of every strip
  const int64_t units = (n + kUnit - 1) / kUnit;
  const int64_t pieces = std::min({m * n * k / kStripVolume, int64_t{NumThreads()}, units});
  auto some = [=](int64_t begin, int64_t end) {
    InTile([=](auto tile) __attribute__((always_inline)) {
      FewRowsStrips<T, decltype(tile)::kBytes>(m, end - begin, k, alpha, a, lda, b + begin, ldb,
                                               beta, c + begin, ldc);
    });
  };
  if (pieces <= 1) return some(0, n);
  ParallelBlocks(pieces, [&](int64_t i) {
    some(units * i / pieces * kUnit, std::min(units * (i + 1) / pieces * kUnit, n));
  });
}

// The same for a small b that lies transposed.
template <class T>
__attribute__((noinline)) void GemmTurned(int64_t m, int64_t n, int64_t k, T alpha, Operand<T> a,
                                          const T* b, int64_t b_column, T beta, T* c,
                                          int64_t ldc) {
  T rows[kSmallOperand];
  for (int64_t p = 0; p < k; ++p) {
    for (int64_t j = 0; j < n; ++j) rows[p * n + j] = b[j * b_column + p];
  }
  GemmDirect(m, n, k, alpha, a, rows, n, beta, c, ldc);
}

template <class T>
void GemmPacked(int64_t m, int64_t n, int64_t k, T alpha, Operand<T> a, Operand<T> b, T beta, T* c,
                int64_t ldc) {
  constexpr int64_t kRowUnit = 12, kColumnUnit = 32;  // multiples of every tile
  // The grid of pieces with the least packing, which goes with m / rows + n / columns. Long
  // products have several for each thread: what one does not get to, because another process has
  // its core, the others take.
  const int64_t volume = m * n * k / kThreadVolume;
  int64_t threads = NumThreads();
  if (threads > 1) threads *= std::clamp<int64_t>(volume / (threads * kLongVolume), 1, 4);
  threads = std::min(threads, volume);
  int64_t rows = 1, columns = 1;
  for (int64_t r = 1; r <= threads; ++r) {
    int64_t q = threads / r;
    if (r * q == threads && (r == 1 || m / r + n / q < m / rows + n / columns)) {
      rows = r;
      columns = q;
    }
  }
  int64_t step_m = ((m + rows - 1) / rows + kRowUnit - 1) / kRowUnit * kRowUnit;
  int64_t step_n = ((n + columns - 1) / columns + kColumnUnit - 1) / kColumnUnit * kColumnUnit;
  rows = (m + step_m - 1) / step_m;
  columns = (n + step_n - 1) / step_n;
  ParallelBlocks(rows * columns, [=](int64_t t) {
    int64_t i = t % rows * step_m, j = t / rows * step_n;
    int64_t mi = std::min(step_m, m - i), nj = std::min(step_n, n - j);
    int64_t depth = std::min(k, kDepth);
    int64_t a_size = (std::min(mi, kBlockRows) + kRowUnit) * depth;
    int64_t b_size = (std::min(nj, kSlab) + kColumnUnit) * depth;
    static thread_local PackBuffer buffer;
    Packing packing(&buffer, (a_size + b_size + 64) * sizeof(T));
    T* pack = static_cast<T*>(packing.get());
    T* b_pack = pack;
    T* a_pack = pack + (b_size + 63) / 64 * 64;
    Operand<T> a_part{a.x + i * a.row, a.row, a.column},
        b_part{b.x + j * b.column, b.row, b.column};
    T* c_part = c + i * ldc + j;
    InTile([=](auto tile) __attribute__((always_inline)) {
      Packed<T, decltype(tile)>(mi, nj, k, alpha, a_part, b_part, beta, c_part, ldc, a_pack,
                                b_pack);
    });
  });
}

template <class T>
void GemmDots(int64_t m, int64_t k, T alpha, const T* x, int64_t ldx, const T* v, int64_t v_stride,
              T beta, T* c, int64_t stride) {
  static thread_local PackBuffer buffer;
  Packing packing(&buffer, v_stride == 1 ? 0 : k * sizeof(T));
  if (v_stride != 1) {
    T* copy = static_cast<T*>(packing.get());
    for (int64_t p = 0; p < k; ++p) copy[p] = v[p * v_stride];
    v = copy;
  }
  ParallelRows(m, k, [=](int64_t begin, int64_t end) {
    InTile([=](auto tile) __attribute__((always_inline)) {
      Dots<T, decltype(tile)::kBytes>(end - begin, k, alpha, x + begin * ldx, ldx, v, beta,
                                      c + begin * stride, stride);
    });
  });
}

}  // namespace

namespace {
inline bool IsTiny(int64_t m, int64_t n, int64_t k) {
  return m * n * k <= kDirectVolume && k * n <= kSmallOperand;
}
}  // namespace

SumOrder GemmOrder(int64_t m, int64_t n, int64_t k) {
  if (n < 2 || k < 1) return SumOrder::kOther;
  return m == 1 || IsTiny(m, n, k) ? SumOrder::kWhole : SumOrder::kParts;
}

template <class T>
void Gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
          const T* b, int64_t ldb, T beta, T* c, int64_t ldc) {
  if (m <= 0 || n <= 0) return;
  if (k <= 0) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) c[i * ldc + j] = beta == T(0) ? T(0) : beta * c[i * ldc + j];
    }
    return;
  }
  Operand<T> x{a, ta ? 1 : lda, ta ? lda : 1}, y{b, tb ? 1 : ldb, tb ? ldb : 1};
  if (n == 1 && x.column == 1) return GemmDots(m, k, alpha, a, lda, b, y.row, beta, c, ldc);
  if (m == 1 && y.row == 1) return GemmDots(n, k, alpha, b, ldb, a, x.column, beta, c, int64_t{1});
  if (n == 1 && ldc == 1) {  // the transposed product has one row: its b is a
    return GemmDirect(int64_t{1}, m, k, alpha, Operand<T>{b, 0, y.row}, a, lda, beta, c, m);
  }
  const bool tiny = IsTiny(m, n, k);
  if (!tb && (tiny || m == 1)) {
    if (m > 1 || n * k <= kThreadVolume / 8)
      return GemmDirect(m, n, k, alpha, x, b, ldb, beta, c, ldc);
    int64_t step = 256;
    ParallelRows((n + step - 1) / step, step * k, [=](int64_t begin, int64_t end) {
      int64_t from = begin * step, to = std::min(n, end * step);
      GemmDirect(m, to - from, k, alpha, x, b + from, ldb, beta, c + from, ldc);
    });
    return;
  }
  if (tiny) return GemmTurned(m, n, k, alpha, x, b, ldb, beta, c, ldc);
  if (!ta && !tb && m < kFewRows) return GemmStrips(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  GemmPacked(m, n, k, alpha, x, y, beta, c, ldc);
}

template void Gemm<float>(bool, bool, int64_t, int64_t, int64_t, float, const float*, int64_t,
                          const float*, int64_t, float, float*, int64_t);
template void Gemm<double>(bool, bool, int64_t, int64_t, int64_t, double, const double*, int64_t,
                           const double*, int64_t, double, double*, int64_t);

}  // namespace dygraph::kernels
