#include "kernels/packed_weights.h"

#include "kernels/gemm_tile.h"
#include "kernels/parallel.h"

namespace dygraph::kernels {
namespace {

template <class T>
int64_t PanelColumns(int level) {
  return level >= 4   ? tile::kColumnsOf<T, tile::TileV4>
         : level >= 3 ? tile::kColumnsOf<T, tile::TileV3>
                      : tile::kColumnsOf<T, tile::TileBase>;
}

template <class T>
size_t PackedBytes(int64_t blocks, int64_t width, int64_t k, int64_t columns) {
  return static_cast<size_t>(blocks * ((width + columns - 1) / columns) * columns * k) * sizeof(T);
}

// `rows` rows of a against one panel, of which `columns` columns are wanted.
template <class T, class Tile, int kRows>
DYGRAPH_INLINE void PanelRows(int64_t k, const T* a, int64_t lda, const T* panel, int64_t columns,
                              T beta, T* c, int64_t ldc) {
  constexpr int64_t kColumns = tile::kColumnsOf<T, Tile>;
  constexpr int kBytes = Tile::kBytes, kVecs = Tile::kVecs;
  typename tile::VecOf<T, kBytes>::type acc[kRows][kVecs];
  tile::Multiply<T, kBytes, kRows, kVecs>(k, a, lda, 1, panel, kColumns, acc);
  if (columns == kColumns) return tile::Store<T, kBytes, kRows, kVecs>(acc, T(1), beta, c, ldc);
  T edge[kRows * kColumns];
  for (int r = 0; r < kRows && beta != T(0); ++r) {
    for (int64_t q = 0; q < kColumns; ++q)
      edge[r * kColumns + q] = q < columns ? c[r * ldc + q] : 0;
  }
  tile::Store<T, kBytes, kRows, kVecs>(acc, T(1), beta, edge, kColumns);
  for (int r = 0; r < kRows; ++r) {
    for (int64_t q = 0; q < columns; ++q) c[r * ldc + q] = edge[r * kColumns + q];
  }
}

template <class T, class Tile, int kRows>
DYGRAPH_INLINE void SomePanelRows(int64_t rows, int64_t k, const T* a, int64_t lda, const T* panel,
                                  int64_t columns, T beta, T* c, int64_t ldc) {
  if constexpr (kRows > 1) {
    if (rows < kRows) {
      return SomePanelRows<T, Tile, kRows - 1>(rows, k, a, lda, panel, columns, beta, c, ldc);
    }
  }
  PanelRows<T, Tile, kRows>(k, a, lda, panel, columns, beta, c, ldc);
}

}  // namespace

template <class T>
PackedWeights<T>::PackedWeights(bool tb, int64_t blocks, int64_t width, int64_t k, const T* x,
                                int64_t ldx)
    : level_(CpuLevel()),
      blocks_(blocks),
      width_(width),
      k_(k),
      columns_(PanelColumns<T>(level_)),
      panels_((width + columns_ - 1) / columns_),
      room_(CPUPlace(), PackedBytes<T>(blocks, width, k, columns_)),
      packed_(room_.as<T>()) {
  T* to = room_.as<T>();
  int64_t panels = panels_, i_stride = tb ? ldx : 1, p_stride = tb ? 1 : ldx;
  int level = level_;
  ParallelRows(blocks * panels, k * columns_, [=](int64_t begin, int64_t end) {
    tile::WithTile(level, [=](auto kind) __attribute__((always_inline)) {
      constexpr int64_t kColumns = tile::kColumnsOf<T, decltype(kind)>;
      for (int64_t i = begin; i < end; ++i) {
        int64_t j = i % panels * kColumns;
        tile::PackPanel<T, kColumns>(x + (i / panels * width + j) * i_stride, i_stride, p_stride,
                                     std::min<int64_t>(kColumns, width - j), k,
                                     to + i * k * kColumns);
      }
    });
  });
}

template <class T>
void PackedWeights<T>::Multiply(int64_t m, const T* a, int64_t lda, int64_t first, int64_t last,
                                bool add, T* c, int64_t ldc) const {
  const T* packed = packed_;
  // Rows half a page apart meet in a few sets of the first cache and drive each other out.
  constexpr int64_t kLine = 64 / sizeof(T), kHalfPage = 2048 / sizeof(T), kFewRows = 4;
  const bool apart = m > kFewRows && lda % kHalfPage == 0;
  Scratch room(CPUPlace(), apart ? static_cast<size_t>(m * (k_ + kLine)) * sizeof(T) : 0);
  if (apart) {
    for (int64_t i = 0; i < m; ++i) std::copy_n(a + i * lda, k_, room.as<T>() + i * (k_ + kLine));
    a = room.as<T>();
    lda = k_ + kLine;
  }
  const int64_t blocks = blocks_, width = width_, k = k_, panels = panels_;
  tile::WithTile(level_, [=](auto kind) __attribute__((always_inline)) {
    using Tile = decltype(kind);
    constexpr int64_t kColumns = tile::kColumnsOf<T, Tile>;
    const int64_t tiles = (m + Tile::kRows - 1) / Tile::kRows;
    for (int64_t i = 0; i < blocks * (last - first); ++i) {
      int64_t block = i / (last - first), panel = first + i % (last - first), j = panel * kColumns;
      const T* from = packed + (block * panels + panel) * k * kColumns;
      T* to = c + block * width + j;
      for (int64_t t = 0; t < tiles; ++t) {  // tiles of nearly one height
        int64_t r = m * t / tiles, rows = m * (t + 1) / tiles - r;
        SomePanelRows<T, Tile, Tile::kRows>(rows, k, a + r * lda, lda, from,
                                            std::min<int64_t>(kColumns, width - j), T(add),
                                            to + r * ldc, ldc);
      }
    }
  });
}

template <class T>
void FewRows(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb,
             bool add, T* c, int64_t ldc) {
  const int64_t piece = 2 * PanelColumns<T>(CpuLevel());  // small enough to stay in the caches
  ParallelRows((n + piece - 1) / piece, piece * k * m / 8, [=](int64_t begin, int64_t end) {
    for (int64_t j = begin * piece; j < std::min(end * piece, n); j += piece) {
      PackedWeights<T> part(true, 1, std::min(piece, n - j), k, b + j * ldb, ldb);
      part.Multiply(m, a, lda, 0, part.panels(), add, c + j, ldc);
    }
  });
}

template class PackedWeights<float>;
template class PackedWeights<double>;
template void FewRows<float>(int64_t, int64_t, int64_t, const float*, int64_t, const float*,
                             int64_t, bool, float*, int64_t);
template void FewRows<double>(int64_t, int64_t, int64_t, const double*, int64_t, const double*,
                              int64_t, bool, double*, int64_t);

}  // namespace dygraph::kernels
