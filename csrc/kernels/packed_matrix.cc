#include "kernels/packed_matrix.h"

#include <algorithm>

#include "kernels/gemm_tile.h"
#include "kernels/parallel.h"
#include "platform/interrupt.h"
#include "tensor/scratch.h"

namespace dygraph::kernels {
namespace {

// Rows of a whose part stays in the second cache while all panels pass.
constexpr int64_t kBlockRows = 192;
// Multiplications worth a thread. A matrix is read as fast for one row as for some.
constexpr int64_t kThreadVolume = 1 << 18, kLeastRows = 4;
constexpr int64_t kFewRows = 13;    // at most: rows that need no packing
constexpr int64_t kPacksFrom = 4;   // panels, for which packed rows are read often enough

int64_t PanelColumns(int level) {
  if (level >= 4) return tile::kColumnsOf<float, tile::TileV4>;
  if (level >= 3) return tile::kColumnsOf<float, tile::TileV3>;
  return tile::kColumnsOf<float, tile::TileBase>;
}

template <class Tile>
using Vec = typename tile::VecOf<float, Tile::kBytes>::type;

// Where a tile reads and writes.
struct Spot {
  const float* a;
  int64_t a_row, a_column;
  const float* panel;
  int64_t panel_step;  // to the next one
  float* c;
  int64_t ldc;
};

template <class Tile>
DYGRAPH_INLINE void StoreVector(Vec<Tile> value, bool add, const float* bias, bool relu,
                                float* to) {
  Vec<Tile> other;
  if (add) {
    std::memcpy(&other, to, sizeof(other));
    value += other;
  }
  if (bias) {
    std::memcpy(&other, bias, sizeof(other));
    value += other;
  }
  if (relu) value = value <= Vec<Tile>{} ? Vec<Tile>{} : value;  // NaN passes
  std::memcpy(to, &value, sizeof(value));
}

// c = end((add ? c : 0) + a b) for kRows rows and kPanels panels, the last of which has `columns`.
template <class Tile, int kRows, int kPanels>
DYGRAPH_INLINE void MultiplyTile(int64_t k, const Spot& at, int64_t columns, bool add,
                                 const ProductEnd& end) {
  constexpr int kVecs = Tile::kVecs, kLanes = Tile::kBytes / sizeof(float);
  constexpr int64_t kColumns = tile::kColumnsOf<float, Tile>;
  Vec<Tile> acc[kPanels][kRows][kVecs];
  if constexpr (kPanels == 1) {
    tile::Multiply<float, Tile::kBytes, kRows, kVecs>(k, at.a, at.a_row, at.a_column, at.panel,
                                                      kColumns, acc[0]);
  } else {
#pragma GCC unroll 8
    for (int s = 0; s < kPanels; ++s) {
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
        for (int v = 0; v < kVecs; ++v) acc[s][i][v] = Vec<Tile>{};
      }
    }
    const int64_t a_row = at.a_row, a_column = at.a_column, panel_step = at.panel_step;
    const float *a = at.a, *b = at.panel;
    for (int64_t p = 0; p < k; ++p) {
#pragma GCC unroll 8
      for (int s = 0; s < kPanels; ++s) {
        Vec<Tile> row[kVecs];
#pragma GCC unroll 8
        for (int v = 0; v < kVecs; ++v)
          std::memcpy(&row[v], b + s * panel_step + v * kLanes, Tile::kBytes);
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i) {
          float x = a[i * a_row];
#pragma GCC unroll 8
          for (int v = 0; v < kVecs; ++v) acc[s][i][v] += x * row[v];
        }
      }
      a += a_column;
      b += kColumns;
    }
  }
#pragma GCC unroll 8
  for (int s = 0; s < kPanels; ++s) {
    float* c = at.c + s * kColumns;
    const float* bias = end.bias ? end.bias + s * kColumns : nullptr;
    if (s + 1 < kPanels || columns == kColumns) {
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
        for (int v = 0; v < kVecs; ++v)
          StoreVector<Tile>(acc[s][i][v], add, bias ? bias + v * kLanes : nullptr, end.relu,
                            c + i * at.ldc + v * kLanes);
      }
      continue;
    }
    float edge[kRows * kColumns], edge_bias[kColumns];  // through a full tile
    for (int64_t q = 0; q < kColumns; ++q) edge_bias[q] = bias && q < columns ? bias[q] : 0;
    for (int i = 0; i < kRows && add; ++i) {
      for (int64_t q = 0; q < kColumns; ++q)
        edge[i * kColumns + q] = q < columns ? c[i * at.ldc + q] : 0;
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < kVecs; ++v)
        StoreVector<Tile>(acc[s][i][v], add, bias ? edge_bias + v * kLanes : nullptr, end.relu,
                          edge + i * kColumns + v * kLanes);
    }
    for (int i = 0; i < kRows; ++i) {
      for (int64_t q = 0; q < columns; ++q) c[i * at.ldc + q] = edge[i * kColumns + q];
    }
  }
}

// The same for a number of rows that the caller knows when it runs.
template <class Tile, int kRows>
DYGRAPH_INLINE void MultiplyRows(int64_t rows, int64_t k, const Spot& at, int64_t columns, bool add,
                                 const ProductEnd& end) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return MultiplyRows<Tile, kRows - 1>(rows, k, at, columns, add, end);
  }
  MultiplyTile<Tile, kRows, 1>(k, at, columns, add, end);
}

// Some rows of all panels, several panels at a time, so that enough sums are under way.
template <class Tile, int kRows, int kPanels>
DYGRAPH_INLINE void MultiplyBeside(int64_t k, Spot at, int64_t panels, int64_t last_columns,
                                   bool add, ProductEnd end) {
  constexpr int64_t kColumns = tile::kColumnsOf<float, Tile>;
  for (; panels >= kPanels; panels -= kPanels) {
    MultiplyTile<Tile, kRows, kPanels>(k, at, panels == kPanels ? last_columns : kColumns, add,
                                       end);
    at.panel += kPanels * at.panel_step;
    at.c += kPanels * kColumns;
    if (end.bias) end.bias += kPanels * kColumns;
  }
  if constexpr (kPanels > 1) {
    if (panels > 0) MultiplyBeside<Tile, kRows, 1>(k, at, panels, last_columns, add, end);
  }
}

// Few rows, which are read as they lie: sums of `depth` at a time.
template <class Tile>
DYGRAPH_INLINE void MultiplyFew(int64_t m, int64_t k, int64_t depth, Spot at, int64_t panels,
                                int64_t last_columns, ProductEnd end) {
  constexpr int64_t kColumns = tile::kColumnsOf<float, Tile>;
  at.a_column = 1;  // known where the loops are compiled
  if (m <= 3) {
    for (int64_t p = 0; p < k; p += depth) {
      const ProductEnd then = p + depth < k ? ProductEnd() : end;
      const int64_t np = std::min(depth, k - p);
      if (m == 1) MultiplyBeside<Tile, 1, 4>(np, at, panels, last_columns, p > 0, then);
      if (m == 2) MultiplyBeside<Tile, 2, 2>(np, at, panels, last_columns, p > 0, then);
      if (m == 3) MultiplyBeside<Tile, 3, 2>(np, at, panels, last_columns, p > 0, then);
      at.a += np;
      at.panel += np * kColumns;
    }
    return;
  }
  const int64_t tiles = (m + Tile::kRows - 1) / Tile::kRows;
  for (int64_t j = 0; j < panels; ++j) {
    const int64_t columns = j + 1 == panels ? last_columns : kColumns;
    for (int64_t p = 0; p < k; p += depth) {
      const ProductEnd then = p + depth < k ? ProductEnd() : end;
      for (int64_t t = 0; t < tiles; ++t) {  // of nearly one height
        const int64_t r = m * t / tiles;
        Spot here = at;
        here.a += r * at.a_row + p;
        here.panel += p * kColumns;
        here.c += r * at.ldc;
        MultiplyRows<Tile, Tile::kRows>(m * (t + 1) / tiles - r, std::min(depth, k - p), here,
                                        columns, p > 0, then);
      }
    }
    at.panel += at.panel_step;
    at.c += kColumns;
    if (end.bias) end.bias += kColumns;
  }
}

// One block of rows, part by part of the sums.
template <class Tile>
DYGRAPH_INLINE void MultiplyParts(int64_t m, int64_t k, const Spot& at, int64_t panels,
                                  int64_t last_columns, const ProductEnd& end, float* a_pack) {
  constexpr int64_t kColumns = tile::kColumnsOf<float, Tile>;
  constexpr int kRows = Tile::kRows;
  const int64_t tiles = (m + kRows - 1) / kRows;
  for (int64_t p0 = 0; p0 < k; p0 += kSumDepth) {
    CheckInterrupt();
    const int64_t np = std::min(kSumDepth, k - p0);
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t r = m * t / tiles;
      tile::PackPanel<float, kRows>(at.a + r * at.a_row + p0, at.a_row, 1,
                                    m * (t + 1) / tiles - r, np, a_pack + t * kRows * np);
    }
    const bool is_last = p0 + np == k;
    for (int64_t j = 0; j < panels; ++j) {
      const int64_t columns = j + 1 == panels ? last_columns : kColumns;
      ProductEnd then;
      if (is_last) then = {end.bias ? end.bias + j * kColumns : nullptr, end.relu};
      // What is read next, asked for while this panel is in use.
      const float* next = j + 1 < panels ? at.panel + (j + 1) * at.panel_step + p0 * kColumns
                                         : at.panel + (p0 + np) * kColumns;
      const int64_t ahead = j + 1 < panels || !is_last ? np * kColumns : 0;
      for (int64_t t = 0; t < tiles; ++t) {
        const int64_t r = m * t / tiles, rows = m * (t + 1) / tiles - r;
        Spot here{a_pack + t * kRows * np, 1, kRows,
                  at.panel + j * at.panel_step + p0 * kColumns, 0,
                  at.c + r * at.ldc + j * kColumns, at.ldc};
        for (int64_t i = 0; i < rows; ++i) __builtin_prefetch(here.c + i * at.ldc, 1);
        for (int64_t q = ahead * t / tiles / 16 * 16; q < ahead * (t + 1) / tiles; q += 16)
          __builtin_prefetch(next + q, 0, 2);
        MultiplyRows<Tile, kRows>(rows, np, here, columns, p0 > 0, then);
      }
    }
  }
}

}  // namespace

PackedMatrix::PackedMatrix(int64_t k, int64_t n)
    : level_(CpuLevel()),
      k_(k),
      n_(n),
      columns_(PanelColumns(level_)),
      panels_((n + columns_ - 1) / columns_) {}

size_t PackedMatrix::bytes() const {
  return static_cast<size_t>(panels_ * columns_ * k_) * sizeof(float);
}

bool PackedMatrix::fits() const { return CpuLevel() == level_; }

void PackedMatrix::Pack(const float* b, float* packed) const {
  ParallelRows(panels_, k_ * columns_, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      const int64_t count = std::min(columns_, n_ - j * columns_);
      float* to = packed + j * k_ * columns_;
      for (int64_t p = 0; p < k_; ++p, to += columns_) {
        std::copy_n(b + p * n_ + j * columns_, count, to);
        std::fill(to + count, to + columns_, 0.0f);
      }
    }
  });
}

void PackedMatrix::Unpack(const float* packed, float* b) const {
  for (int64_t j = 0; j < panels_; ++j) {
    const int64_t count = std::min(columns_, n_ - j * columns_);
    const float* from = packed + j * k_ * columns_;
    for (int64_t p = 0; p < k_; ++p) std::copy_n(from + p * columns_, count, b + p * n_ + j * columns_);
  }
}

void PackedMatrix::Multiply(const float* packed, int64_t m, const float* a, SumOrder order,
                            const ProductEnd& end, float* c) const {
  const int64_t depth = order == SumOrder::kParts ? std::min(k_, kSumDepth) : k_;
  const bool packs = m > kFewRows && panels_ >= kPacksFrom && depth <= kSumDepth;
  const int64_t blocks = (m + kBlockRows - 1) / kBlockRows;
  // Columns are cut where rows do not give each thread its piece.
  const int64_t volume = std::max(m, kLeastRows) * n_ * k_ / kThreadVolume;
  const int64_t threads = std::clamp<int64_t>(volume, 1, NumThreads());
  const int64_t cuts = std::min((threads + blocks - 1) / blocks, panels_);
  ParallelBlocks(blocks * cuts, [&](int64_t piece) {
    const int64_t block = piece / cuts, cut = piece % cuts;
    const int64_t r = m * block / blocks, rows = m * (block + 1) / blocks - r;
    const int64_t first = panels_ * cut / cuts, last = panels_ * (cut + 1) / cuts;
    const int64_t last_columns = std::min(columns_, n_ - (last - 1) * columns_);
    const Spot at{a + r * k_,        k_,
                  1,                 packed + first * k_ * columns_,
                  k_ * columns_,     c + r * n_ + first * columns_,
                  n_};
    const ProductEnd then{end.bias ? end.bias + first * columns_ : nullptr, end.relu};
    const size_t room = packs ? (rows + 32) * depth * sizeof(float) : 0;
    Scratch pack(CPUPlace(), room);
    const int64_t k = k_;
    float* a_pack = pack.as<float>();
    tile::WithTile(level_, [=](auto kind) __attribute__((always_inline)) {
      using Tile = decltype(kind);
      if (packs) {
        MultiplyParts<Tile>(rows, k, at, last - first, last_columns, then, a_pack);
      } else {
        MultiplyFew<Tile>(rows, k, depth, at, last - first, last_columns, then);
      }
    });
  });
}

}  // namespace dygraph::kernels
