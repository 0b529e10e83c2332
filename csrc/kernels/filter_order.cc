#include "kernels/filter_order.h"

#include <algorithm>
#include <cstring>

#include "kernels/parallel.h"
#include "kernels/transpose.h"

namespace dygraph::kernels {
namespace {

// A matrix of `rows` rows, `row_stride` apart, whose columns are dense in the plain filter and
// whose rows are dense in the packed one, where column j begins at offsets[j].
struct FilterMatrix {
  const float* plain;
  float* packed;
  const int64_t* offsets;
  int64_t rows, row_stride, columns;
};

constexpr int kTile = 4;
typedef uint32_t FilterTile __attribute__((vector_size(16)));  // bits of floats

// The transpose of four vectors.
DYGRAPH_INLINE void TurnTile(FilterTile* v) {
  FilterTile w[kTile];
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 2; ++i) {
      w[2 * i] = detail::Interleave<uint32_t>(v[i], v[i + 2], false);
      w[2 * i + 1] = detail::Interleave<uint32_t>(v[i], v[i + 2], true);
    }
    for (int i = 0; i < kTile; ++i) v[i] = w[i];
  }
}

template <bool kPack>
DYGRAPH_INLINE void TurnOne(const FilterMatrix& m, int64_t k, int64_t j) {
  float* packed = m.packed + m.offsets[j] + k;
  float* plain = const_cast<float*>(m.plain) + k * m.row_stride + j;
  if (kPack) {
    *packed = *plain;
  } else {
    *plain = *packed;
  }
}

// Sixteen columns, a cache line of every row, are taken before the next ones: rows are often a
// power of two apart, and would push each other out of the first cache.
template <bool kPack>
DYGRAPH_INLINE void TurnFilter(const FilterMatrix& m) {
  constexpr int64_t kStrip = 16, kAhead = 2;
  int64_t whole = m.rows / kTile * kTile;
  for (int64_t strip = 0; strip < m.columns; strip += kStrip) {
    int64_t end = std::min(strip + kStrip, m.columns);
    int64_t last = strip + (end - strip) / kTile * kTile;
    for (int64_t k = 0; k < whole; k += kTile) {
      if (kPack) {  // too many streams for the processor to see them
        for (int i = 0; i < kTile; ++i) {
          __builtin_prefetch(m.plain + (k + i) * m.row_stride + strip + kAhead * kStrip);
        }
      }
      for (int64_t j = strip; j < last; j += kTile) {
        FilterTile v[kTile];
        for (int i = 0; i < kTile; ++i) {
          std::memcpy(
              &v[i], kPack ? m.plain + (k + i) * m.row_stride + j : m.packed + m.offsets[j + i] + k,
              sizeof(FilterTile));
        }
        TurnTile(v);
        for (int i = 0; i < kTile; ++i) {
          std::memcpy(kPack ? m.packed + m.offsets[j + i] + k
                            : const_cast<float*>(m.plain) + (k + i) * m.row_stride + j,
                      &v[i], sizeof(FilterTile));
        }
      }
      for (int64_t j = last; j < end; ++j) {
        for (int64_t i = k; i < k + kTile; ++i) TurnOne<kPack>(m, i, j);
      }
    }
    for (int64_t k = whole; k < m.rows; ++k) {
      for (int64_t j = strip; j < end; ++j) TurnOne<kPack>(m, k, j);
    }
  }
}

// Rows that are dense in both.
template <bool kPack>
DYGRAPH_INLINE void CopyFilter(const FilterMatrix& m) {
  for (int64_t j = 0; j < m.columns; ++j) {
    float* packed = m.packed + m.offsets[j];
    float* plain = const_cast<float*>(m.plain) + j;
    std::memcpy(kPack ? packed : plain, kPack ? plain : packed, m.rows * sizeof(float));
  }
}

template <bool kPack>
void MoveFilter(const FilterOrder& order, const float* plain, float* packed) {
  int64_t taps = static_cast<int64_t>(order.taps.size()), line = order.in * taps;
  if (order.out_dense) {
    // Rows are outputs, columns all (input, tap) of the plain filter.
    std::vector<int64_t> offsets(line);
    for (int64_t i = 0; i < order.in; ++i) {
      int64_t at = i / order.in_block * order.in_stride + i % order.in_block * order.out_block;
      for (int64_t t = 0; t < taps; ++t) offsets[i * taps + t] = at + order.taps[t];
    }
    constexpr int64_t kChunk = 1024;
    int64_t blocks = (order.out + order.out_block - 1) / order.out_block;
    int64_t chunks = (line + kChunk - 1) / kChunk;
    const FilterOrder* p = &order;
    const int64_t* at = offsets.data();
    ParallelRows(blocks * chunks, std::min(line, kChunk) * order.out_block,
                 [=](int64_t begin, int64_t end) {
                   Simd([=] {
                     for (int64_t b = begin; b < end; ++b) {
                       int64_t o = b / chunks * p->out_block, j = b % chunks * kChunk;
                       TurnFilter<kPack>({plain + o * line + j, packed + b / chunks * p->out_stride,
                                          at + j, std::min(p->out_block, p->out - o), line,
                                          std::min(kChunk, line - j)});
                     }
                   });
                 });
    return;
  }
  // Rows are the inputs of a block, columns the taps of one output.
  int64_t blocks = (order.in + order.in_block - 1) / order.in_block;
  const FilterOrder* p = &order;
  ParallelRows(order.out * blocks, order.in_block * taps, [=](int64_t begin, int64_t end) {
    Simd([=] {
      for (int64_t b = begin; b < end; ++b) {
        int64_t o = b / blocks, i = b % blocks * p->in_block;
        FilterMatrix m = {plain + o * line + i * taps,
                          packed + o / p->out_block * p->out_stride +
                              o % p->out_block * p->in_block + b % blocks * p->in_stride,
                          p->taps.data(),
                          std::min(p->in_block, p->in - i),
                          taps,
                          taps};
        if (taps == 1) {
          CopyFilter<kPack>(m);
        } else {
          TurnFilter<kPack>(m);
        }
      }
    });
  });
}

}  // namespace

void FilterOrder::Pack(const float* plain, float* packed) const {
  if (out % out_block != 0 || in % in_block != 0) std::fill_n(packed, size, 0.0f);
  MoveFilter<true>(*this, plain, packed);
}

void FilterOrder::Unpack(const float* packed, float* plain) const {
  MoveFilter<false>(*this, const_cast<float*>(plain), const_cast<float*>(packed));
}

}  // namespace dygraph::kernels
