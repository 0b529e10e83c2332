// The two 16-bit floats: storage and conversion (round to nearest even). Arithmetic happens in
// float.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/marks.h"

namespace dygraph {

namespace detail {
DYGRAPH_BOTH inline uint32_t BitsOf(float f) {
  uint32_t u;
  std::memcpy(&u, &f, 4);
  return u;
}
DYGRAPH_BOTH inline float FloatOf(uint32_t u) {
  float f;
  std::memcpy(&f, &u, 4);
  return f;
}
}  // namespace detail

struct bfloat16 {
  uint16_t bits;
  bfloat16() = default;
  DYGRAPH_BOTH bfloat16(float f) {
    uint32_t u = detail::BitsOf(f);
    if ((u & 0x7fffffffu) > 0x7f800000u) {
      bits = static_cast<uint16_t>((u >> 16) | 0x40);  // a NaN stays one
    } else {
      bits = static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
    }
  }
  DYGRAPH_BOTH operator float() const { return detail::FloatOf(static_cast<uint32_t>(bits) << 16); }
};

struct float16 {
  uint16_t bits;
  float16() = default;
  DYGRAPH_BOTH float16(float f) {
    uint32_t u = detail::BitsOf(f);
    uint32_t sign = (u >> 16) & 0x8000u;
    u &= 0x7fffffffu;
    if (u > 0x7f800000u) {
      bits = static_cast<uint16_t>(sign | 0x7e00u);
    } else if (u >= 0x477ff000u) {  // rounds to 65520 or more: infinity
      bits = static_cast<uint16_t>(sign | 0x7c00u);
    } else if (u < 0x38800000u) {  // subnormal: let the float adder round at 2^-24
      float shifted = detail::FloatOf(u) + 0.5f;
      bits = static_cast<uint16_t>(sign | (detail::BitsOf(shifted) - 0x3f000000u));
    } else {
      u += 0xc8000fffu + ((u >> 13) & 1);
      bits = static_cast<uint16_t>(sign | (u >> 13));
    }
  }
  DYGRAPH_BOTH operator float() const {
    uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    uint32_t exponent = (bits >> 10) & 0x1f;
    uint32_t mantissa = bits & 0x3ffu;
    if (exponent == 0) {
      float f = static_cast<float>(mantissa) * 5.9604644775390625e-8f;  // 2^-24
      return sign ? -f : f;
    }
    if (exponent == 31) return detail::FloatOf(sign | 0x7f800000u | (mantissa << 13));
    return detail::FloatOf(sign | ((exponent + 112) << 23) | (mantissa << 13));
  }
};

}  // namespace dygraph
