// Numbers as text, for what operators print and say.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>

#include "tensor/tensor.h"

namespace dygraph {

// The fewest digits that say which number it is.
template <class T>
std::string TextOf(T v) {
  if constexpr (std::is_same_v<T, bool>) {
    return v ? "True" : "False";
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(static_cast<int64_t>(v));
  } else if constexpr (kIsComplex<T>) {  // as Python writes it
    return "(" + TextOf(v.real()) + (std::signbit(v.imag()) ? "" : "+") + TextOf(v.imag()) + "j)";
  } else {
    double wide = static_cast<double>(v);
    if (std::isnan(wide)) return "nan";
    if (std::isinf(wide)) return wide < 0 ? "-inf" : "inf";
    char text[40];
    for (int digits = 3; digits <= 17; ++digits) {
      std::snprintf(text, sizeof(text), "%.*g", digits, wide);
      double read = std::strtod(text, nullptr);
      bool same = std::is_same_v<T, double>
                      ? read == wide
                      : static_cast<double>(T(static_cast<float>(read))) == wide;
      if (same) break;
    }
    return text;
  }
}

// The first `most` numbers of `t`, all where it is below 0.
template <class T>
std::string DataText(const Tensor& t, int64_t most) {
  int64_t shown = most < 0 ? t.numel() : std::min(t.numel(), most);
  std::string text = "[";
  for (int64_t i = 0; i < shown; ++i) text += (i ? " " : "") + TextOf(t.data<T>()[i]);
  return text + (shown < t.numel() ? (shown ? " ...]" : "...]") : "]");
}

}  // namespace dygraph
