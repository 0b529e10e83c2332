// Counter-based random numbers. Element i depends only on (seed, stream, i): the same numbers for
// any thread count, any cut of the work and any device.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/parallel.h"
#include "kernels/philox_numbers.h"
#include "kernels/simd.h"

namespace dygraph::kernels {

class Philox {
 public:
  Philox(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}
  // The generator of a call, which draws otherwise where recorded work of a device is played.
  static Philox OfCall(uint64_t seed, uint64_t stream) { return {seed, stream}; }

  // Writes the two numbers.
  void Store(int64_t* seed_and_stream) const {
    seed_and_stream[0] = static_cast<int64_t>(seed_);
    seed_and_stream[1] = static_cast<int64_t>(stream_);
  }

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
  // One element of Normal.
  template <class T>
  T NormalAt(int64_t i) const {
    T value;
    Normal(&value, 1, i);
    return value;
  }

  // f(i, element i of Raw) for every i in [0, n), in any order. Bits is uint32_t or uint64_t.
  template <class Bits, class F>
  void EachRaw(int64_t n, F f) const {
    constexpr int64_t kBlock = 2048;
    const Philox generator = *this;
    ParallelRows((n + kBlock - 1) / kBlock, kBlock * 8, [=](int64_t begin, int64_t end) {
      Bits bits[kBlock];
      for (int64_t b = begin; b < end; ++b) {
        const int64_t first = b * kBlock, count = std::min(kBlock, n - first);
        generator.Raw(bits, count, first);
        const Bits* r = bits;
        Simd([=] {
          DYGRAPH_IVDEP
          for (int64_t i = 0; i < count; ++i) f(first + i, r[i]);
        });
      }
    });
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
          ToNormal(x.w[2 * p][j], x.w[2 * p + 1][j], out + (2 * p) * kWide + j,
                   out + (2 * p + 1) * kWide + j);
        }
      }
    }
  };
  struct NormalDouble {
    DYGRAPH_INLINE void operator()(const Words& x, double* out) const {
      for (int j = 0; j < kWide; ++j)
        ToNormal(Pair(x, 0, j), Pair(x, 1, j), out + j, out + kWide + j);
    }
  };

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
