#include "kernels/winograd.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/parallel.h"
#include "kernels/simd.h"
#include "tensor/scratch.h"

namespace dygraph::kernels {
namespace {

// Bytes of a block's points and their products, and the tiles that it has at least and at most.
constexpr int64_t kBlockBytes = 512 << 10, kLeastTiles = 48, kMostTiles = 192;

// For each of `c` channels, the points of a tile of 4 x 4 pixels: B^T d B. `row` and `column` say
// where the pixels lie, null: zeros; the points lie `step` apart.
DYGRAPH_INLINE void TilePoints(const float* const (&pixel)[16], int64_t c, float* to,
                               int64_t step) {
  const float* d[16];
  for (int i = 0; i < 16; ++i) d[i] = pixel[i];
  DYGRAPH_IVDEP
  for (int64_t k = 0; k < c; ++k) {
    float t[16];
    for (int j = 0; j < 4; ++j) {  // down the columns
      const float a = d[j][k], b = d[4 + j][k], e = d[8 + j][k], f = d[12 + j][k];
      t[j] = a - e;
      t[4 + j] = b + e;
      t[8 + j] = e - b;
      t[12 + j] = b - f;
    }
    for (int i = 0; i < 4; ++i) {  // along the rows
      const float a = t[4 * i], b = t[4 * i + 1], e = t[4 * i + 2], f = t[4 * i + 3];
      to[(4 * i) * step + k] = a - e;
      to[(4 * i + 1) * step + k] = b + e;
      to[(4 * i + 2) * step + k] = e - b;
      to[(4 * i + 3) * step + k] = b - f;
    }
  }
}

// The 2 x 2 results of a tile: A^T m A, and what follows. A result that lies outside goes to
// `nowhere`.
template <bool kBias, bool kAdded>
DYGRAPH_INLINE void TileResults(const float* from, int64_t step, int64_t c, const float* bias,
                                const float* const (&added)[4], bool relu, float* const (&to)[4]) {
  float *y0 = to[0], *y1 = to[1], *y2 = to[2], *y3 = to[3];
  const float *r0 = added[0], *r1 = added[1], *r2 = added[2], *r3 = added[3];
  DYGRAPH_IVDEP
  for (int64_t k = 0; k < c; ++k) {
    float t[8];
    for (int j = 0; j < 4; ++j) {
      const float a = from[j * step + k], b = from[(4 + j) * step + k],
                  e = from[(8 + j) * step + k], f = from[(12 + j) * step + k];
      t[j] = a + b + e;
      t[4 + j] = b - e - f;
    }
    float y[4] = {t[0] + t[1] + t[2], t[1] - t[2] - t[3], t[4] + t[5] + t[6], t[5] - t[6] - t[7]};
    if (kBias) {
      for (float& v : y) v += bias[k];
    }
    if (kAdded) {
      y[0] += r0[k];
      y[1] += r1[k];
      y[2] += r2[k];
      y[3] += r3[k];
    }
    if (relu) {
      for (float& v : y) v = v <= 0.0f ? 0.0f : v;
    }
    y0[k] = y[0];
    y1[k] = y[1];
    y2[k] = y[2];
    y3[k] = y[3];
  }
}

// Floats from one point of the tiles to the next: 16 of them side by side meet in no set of a cache.
int64_t Apart(int64_t size) { return (size + 1023) / 1024 * 1024 + 80; }

}  // namespace

void Winograd::Pack(const float* filter, float* packed) const {
  const int64_t c = c_, out_c = out_c_;
  Scratch room(CPUPlace(), static_cast<size_t>(kPoints * c * out_c) * sizeof(float));
  float* points = room.as<float>();  // [16, c, out_c]
  ParallelRows(c, 100 * out_c, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t o = 0; o < out_c; ++o) {
        const float* g = filter + (o * c + i) * 9;
        float t[12];
        for (int j = 0; j < 3; ++j) {
          const float a = g[j], b = g[3 + j], e = g[6 + j];
          t[j] = a;
          t[3 + j] = 0.5f * (a + b + e);
          t[6 + j] = 0.5f * (a - b + e);
          t[9 + j] = e;
        }
        for (int r = 0; r < 4; ++r) {
          const float a = t[3 * r], b = t[3 * r + 1], e = t[3 * r + 2];
          const float row[4] = {a, 0.5f * (a + b + e), 0.5f * (a - b + e), e};
          for (int s = 0; s < 4; ++s) points[((4 * r + s) * c + i) * out_c + o] = row[s];
        }
      }
    }
  });
  for (int p = 0; p < kPoints; ++p) {
    matrix_.Pack(points + p * c * out_c,
                 packed + p * static_cast<int64_t>(matrix_.bytes() / sizeof(float)));
  }
}

void Winograd::Run(const WinogradShape& s, const float* x, const float* packed, const float* bias,
                   const float* added, bool relu, float* y) const {
  const int64_t c = c_, out_c = out_c_, across = (s.out_width + 1) / 2,
                down = (s.out_height + 1) / 2, tiles = s.n * down * across;
  const int64_t step = static_cast<int64_t>(matrix_.bytes() / sizeof(float));
  int64_t most = std::clamp<int64_t>(kBlockBytes / (4 * kPoints * (c + out_c)), kLeastTiles,
                                     kMostTiles);
  const int64_t threads = NumThreads();
  int64_t blocks = (tiles + most - 1) / most;
  const std::vector<float> zeros(std::max(c, out_c));
  ParallelBlocks(blocks >= threads ? blocks : 1, [&](int64_t piece) {
    std::vector<float> nowhere(out_c);
    const int64_t first_block = blocks >= threads ? piece : 0,
                  last_block = blocks >= threads ? piece + 1 : blocks;
    for (int64_t block = first_block; block < last_block; ++block) {
      const int64_t begin = tiles * block / blocks, count = tiles * (block + 1) / blocks - begin;
      const int64_t apart = Apart(count * c), apart_out = Apart(count * out_c);
      Scratch room(CPUPlace(), static_cast<size_t>(kPoints * (apart + apart_out)) * sizeof(float));
      float* points = room.as<float>();  // 16 of [count, c]
      float* products = points + kPoints * apart;
      ParallelRows(count, 40 * c, [&](int64_t t0, int64_t t1) {
        for (int64_t t = t0; t < t1; ++t) {
          const int64_t at = begin + t, image = at / (down * across);
          const int64_t top = at / across % down * 2 - s.top, left = at % across * 2 - s.left;
          const float* pixel[16];
          for (int i = 0; i < 16; ++i) {
            const int64_t h = top + i / 4, w = left + i % 4;
            const bool inside = h >= 0 && h < s.height && w >= 0 && w < s.width;
            pixel[i] = inside ? x + ((image * s.height + h) * s.width + w) * c : zeros.data();
          }
          float* to = points + t * c;
          Simd([=] { TilePoints(pixel, c, to, apart); });
        }
      });
      ParallelRows(kPoints, count * c * out_c / 8, [&](int64_t p0, int64_t p1) {
        for (int64_t p = p0; p < p1; ++p) {
          matrix_.Multiply(packed + p * step, count, points + p * apart, SumOrder::kParts, {},
                           products + p * apart_out);
        }
      });
      ParallelRows(count, 40 * out_c, [&](int64_t t0, int64_t t1) {
        for (int64_t t = t0; t < t1; ++t) {
          const int64_t at = begin + t, image = at / (down * across);
          const int64_t top = at / across % down * 2, left = at % across * 2;
          const float* from = products + t * out_c;
          const float* more[4];
          float* to[4];
          for (int i = 0; i < 4; ++i) {
            const int64_t h = top + i / 2, w = left + i % 2;
            const bool inside = h < s.out_height && w < s.out_width;
            const int64_t place = ((image * s.out_height + h) * s.out_width + w) * out_c;
            to[i] = inside ? y + place : nowhere.data();
            more[i] = inside && added ? added + place : zeros.data();
          }
          if (bias && added) {
            Simd([=] { TileResults<true, true>(from, apart_out, out_c, bias, more, relu, to); });
          } else if (bias) {
            Simd([=] { TileResults<true, false>(from, apart_out, out_c, bias, more, relu, to); });
          } else {
            const float* none = zeros.data();
            Simd([=] { TileResults<false, true>(from, apart_out, out_c, none, more, relu, to); });
          }
        }
      });
    }
  });
}

}  // namespace dygraph::kernels
