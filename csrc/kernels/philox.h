// Counter-based random numbers (Philox4x32-10; Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", 2011). Element i depends only on (seed, stream, i): the same numbers for any thread
// count and any cut of the work.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/math.h"
#include "kernels/parallel.h"
#include "kernels/simd.h"

namespace dygraph::kernels {

// One block: counter and key to four words, in place.
DYGRAPH_INLINE void Philox4x32(uint32_t& c0, uint32_t& c1, uint32_t& c2, uint32_t& c3, uint32_t k0,
                               uint32_t k1) {
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t{0xD2511F53} * c0, p1 = uint64_t{0xCD9E8D57} * c2;
    uint32_t high0 = static_cast<uint32_t>(p0 >> 32), high1 = static_cast<uint32_t>(p1 >> 32);
    c0 = high1 ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(p1);
    c2 = high0 ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
}

class Philox {
 public:
  Philox(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}

  // Each writes elements first .. first + n - 1 of its sequence.
  void Raw(uint32_t* out, int64_t n, int64_t first = 0) const {
    Fill<64>(out, n, first, RawWords{});
  }
  void Raw(uint64_t* out, int64_t n, int64_t first = 0) const {
    Fill<32>(out, n, first, RawPairs{});
  }
  // [0, 1): 24 random bits for float, 53 for double.
  void Uniform(float* out, int64_t n, int64_t first = 0) const {
    Fill<64>(out, n, first, UniformFloat{});
  }
  void Uniform(double* out, int64_t n, int64_t first = 0) const {
    Fill<32>(out, n, first, UniformDouble{});
  }
  // Mean 0, variance 1 (Box-Muller).
  void Normal(float* out, int64_t n, int64_t first = 0) const {
    Fill<64>(out, n, first, NormalFloat{});
  }
  void Normal(double* out, int64_t n, int64_t first = 0) const {
    Fill<32>(out, n, first, NormalDouble{});
  }

 private:
  // A batch is kWide blocks side by side, word w of block j at w[w][j]: what the vector units like.
  static constexpr int kWide = 16;
  struct Words {
    uint32_t w[4][kWide];
  };
  DYGRAPH_INLINE static uint64_t Pair(const Words& x, int pair, int j) {
    return x.w[2 * pair][j] | uint64_t{x.w[2 * pair + 1][j]} << 32;
  }

  struct RawWords {
    DYGRAPH_INLINE void operator()(const Words& x, uint32_t* out) const {
      for (int w = 0; w < 4; ++w) {
        for (int j = 0; j < kWide; ++j) out[w * kWide + j] = x.w[w][j];
      }
    }
  };
  struct RawPairs {
    DYGRAPH_INLINE void operator()(const Words& x, uint64_t* out) const {
      for (int p = 0; p < 2; ++p) {
        for (int j = 0; j < kWide; ++j) out[p * kWide + j] = Pair(x, p, j);
      }
    }
  };
  struct UniformFloat {
    DYGRAPH_INLINE void operator()(const Words& x, float* out) const {
      for (int w = 0; w < 4; ++w) {
        for (int j = 0; j < kWide; ++j) out[w * kWide + j] = ToUnit(x.w[w][j]);
      }
    }
  };
  struct UniformDouble {
    DYGRAPH_INLINE void operator()(const Words& x, double* out) const {
      for (int p = 0; p < 2; ++p) {
        for (int j = 0; j < kWide; ++j) out[p * kWide + j] = ToUnit(Pair(x, p, j));
      }
    }
  };
  struct NormalFloat {
    DYGRAPH_INLINE void operator()(const Words& x, float* out) const {
      for (int p = 0; p < 2; ++p) {
        for (int j = 0; j < kWide; ++j) {
          // (0, 1], with all 31 bits near 0, where the tail comes from
          float u =
              static_cast<float>(static_cast<int32_t>(x.w[2 * p][j] >> 1)) * 0x1p-31f + 0x1p-32f;
          float radius = Sqrt(-2.0f * Log(u)), s, c;
          SinCosTurn(ToUnit(x.w[2 * p + 1][j]), &s, &c);
          out[(2 * p) * kWide + j] = radius * c;
          out[(2 * p + 1) * kWide + j] = radius * s;
        }
      }
    }
  };
  struct NormalDouble {
    DYGRAPH_INLINE void operator()(const Words& x, double* out) const {
      for (int j = 0; j < kWide; ++j) {
        double u = ToUnit(Pair(x, 0, j)) + 0x1p-54;
        double radius = Sqrt(-2.0 * Log(u)), s, c;
        SinCosTurn(ToUnit(Pair(x, 1, j)), &s, &c);
        out[j] = radius * c;
        out[kWide + j] = radius * s;
      }
    }
  };
  DYGRAPH_INLINE static float ToUnit(uint32_t x) {
    return static_cast<float>(static_cast<int32_t>(x >> 8)) * 0x1p-24f;
  }
  // 53 bits as two halves whose conversions every instruction set has; both are exact.
  DYGRAPH_INLINE static double ToUnit(uint64_t x) {
    double high = FromBits<double>((x >> 32) | 0x4330000000000000) - 0x1p52;
    double low = FromBits<double>(((x >> 11) & 0x1FFFFF) | 0x4330000000000000) - 0x1p52;
    return high * 0x1p-32 + low * 0x1p-53;
  }

  template <int kPerBatch, class T, class Convert>
  void Fill(T* out, int64_t n, int64_t first, Convert convert) const {
    if (n <= 0) return;
    int64_t begin = first / kPerBatch, end = (first + n + kPerBatch - 1) / kPerBatch;
    uint64_t seed = seed_, stream = stream_;
    ParallelRows(end - begin, kPerBatch * 8, [=](int64_t from, int64_t to) {
      Simd([=] {
        for (int64_t b = begin + from; b < begin + to; ++b) {
          Words x;
          for (int j = 0; j < kWide; ++j) {
            uint64_t counter = static_cast<uint64_t>(b) * kWide + j;
            uint32_t c0 = static_cast<uint32_t>(counter), c1 = static_cast<uint32_t>(counter >> 32);
            uint32_t c2 = static_cast<uint32_t>(stream), c3 = static_cast<uint32_t>(stream >> 32);
            Philox4x32(c0, c1, c2, c3, static_cast<uint32_t>(seed),
                       static_cast<uint32_t>(seed >> 32));
            x.w[0][j] = c0;
            x.w[1][j] = c1;
            x.w[2][j] = c2;
            x.w[3][j] = c3;
          }
          int64_t at = b * kPerBatch - first;
          if (at >= 0 && at + kPerBatch <= n) {
            convert(x, out + at);
          } else {
            T part[kPerBatch];
            convert(x, part);
            int64_t stop = std::min<int64_t>(kPerBatch, n - at);
            for (int64_t j = std::max<int64_t>(0, -at); j < stop; ++j) out[at + j] = part[j];
          }
        }
      });
    });
  }

  uint64_t seed_;
  uint64_t stream_;
};

}  // namespace dygraph::kernels
