// Philox4x32-10, the generator by counters (Salmon et al., "Parallel random numbers: as easy as 1,
// 2, 3", 2011), and numbers made of its bits.
#pragma once

#include <cstdint>

#include "kernels/math.h"

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

// [0, 1): 24 random bits for float, 53 for double.
DYGRAPH_INLINE float ToUnit(uint32_t x) {
  return static_cast<float>(static_cast<int32_t>(x >> 8)) * 0x1p-24f;
}
// 53 bits as two halves whose conversions every instruction set has; both are exact.
DYGRAPH_INLINE double ToUnit(uint64_t x) {
  double high = FromBits<double>((x >> 32) | 0x4330000000000000) - 0x1p52;
  double low = FromBits<double>(((x >> 11) & 0x1FFFFF) | 0x4330000000000000) - 0x1p52;
  return high * 0x1p-32 + low * 0x1p-53;
}

// Two independent numbers of mean 0 and variance 1 (Box and Muller).
DYGRAPH_INLINE void ToNormal(uint32_t x, uint32_t y, float* first, float* second) {
  // (0, 1], with all 31 bits near 0, where the tail comes from
  float u = static_cast<float>(static_cast<int32_t>(x >> 1)) * 0x1p-31f + 0x1p-32f;
  float radius = Sqrt(-2.0f * Log(u)), s, c;
  SinCosTurn(ToUnit(y), &s, &c);
  *first = radius * c;
  *second = radius * s;
}
DYGRAPH_INLINE void ToNormal(uint64_t x, uint64_t y, double* first, double* second) {
  double u = ToUnit(x) + 0x1p-54;
  double radius = Sqrt(-2.0 * Log(u)), s, c;
  SinCosTurn(ToUnit(y), &s, &c);
  *first = radius * c;
  *second = radius * s;
}

}  // namespace dygraph::kernels
