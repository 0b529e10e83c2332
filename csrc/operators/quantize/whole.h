// What quantize, dequantize and requantize share: numbers stored as integers of 8 bits.
#pragma once

#include <cmath>

#include "kernels/cast.h"
#include "kernels/elementwise.h"
#include "op/op_registry.h"

namespace dygraph::quantize {

// The nearest integer, halves to the even one; what does not fit goes to the end of the range, a
// NaN to 0.
template <class To>
struct ToWhole {
  float scale, shift;
  template <class From>
  DYGRAPH_INLINE To operator()(From x) const {
    return kernels::Convert<To>(std::nearbyint(static_cast<float>(x) * scale + shift));
  }
};

inline void CheckScale(const char* name, double scale) {
  ENFORCE(scale != 0, InvalidArgument, name, " must not be 0, got ", scale);
}

inline AttrCheck AByte() {
  return [](const std::string& name, const AttrValue& value) {
    const double v = NumberOf(value);
    ENFORCE(v >= 0 && v <= 255 && v == std::floor(v), InvalidArgument, name,
            " must be a whole number from 0 to 255, got ", ToString(value));
  };
}

}  // namespace dygraph::quantize
