// The numbers that the pretended libraries store, and the wide ones they compute with.
#pragma once

#include <cstdint>
#include <cstring>

namespace pretend {

struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};
template <class R>
struct Complex {
  R re, im;
};

template <class To, class From>
To Bits(From v) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &v, sizeof to);
  return to;
}

inline double Widen(float v) { return v; }
inline double Widen(double v) { return v; }
inline double Widen(BFloat v) { return Bits<float>(static_cast<uint32_t>(v.bits) << 16); }
inline double Widen(Half v) {
  uint32_t sign = static_cast<uint32_t>(v.bits & 0x8000) << 16;
  uint32_t exponent = v.bits >> 10 & 31, fraction = v.bits & 1023;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24
    float small = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -small : small;
  }
  exponent = exponent == 31 ? 255 : exponent + 112;
  return Bits<float>(sign | exponent << 23 | fraction << 13);
}
inline Complex<double> Widen(Complex<float> v) { return {v.re, v.im}; }
inline Complex<double> Widen(Complex<double> v) { return v; }

// Rounds to nearest, ties to even.
inline void Store(double v, float* to) { *to = static_cast<float>(v); }
inline void Store(double v, double* to) { *to = v; }
inline void Store(double v, BFloat* to) {
  uint32_t bits = Bits<uint32_t>(static_cast<float>(v));
  bool nan = (bits & 0x7fffffff) > 0x7f800000;
  if (!nan) bits += 0x7fff + (bits >> 16 & 1);
  to->bits = static_cast<uint16_t>(bits >> 16 | (nan ? 0x40 : 0));
}
inline void Store(double v, Half* to) {
  uint32_t bits = Bits<uint32_t>(static_cast<float>(v));
  uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff, result;
  if (rest > 0x7f800000) {
    result = 0x7e00;
  } else if (rest >= 0x47800000) {  // 65536 and more
    result = 0x7c00;
  } else if (rest < 0x38800000) {  // below the smallest normal number: the sum rounds
    result = Bits<uint32_t>(Bits<float>(rest) + 0.5f) - 0x3f000000;
  } else {
    result = (rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13;
  }
  to->bits = static_cast<uint16_t>(sign | result);
}
inline void Store(Complex<double> v, Complex<float>* to) {
  *to = {static_cast<float>(v.re), static_cast<float>(v.im)};
}
inline void Store(Complex<double> v, Complex<double>* to) { *to = v; }

}  // namespace pretend
