// What the operators share that fill a tensor with one value.
#pragma once

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "kernels/cast.h"
#include "kernels/elementwise.h"
#include "op/op_registry.h"

namespace dygraph {

template <class T>
T Parsed(const std::string& text) {
  if (text == "True" || text == "true") return Parsed<T>("1");
  if (text == "False" || text == "false") return Parsed<T>("0");
  char* end = nullptr;
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    errno = 0;
    int64_t whole = std::strtoll(text.c_str(), &end, 10);
    if (!text.empty() && *end == 0) {
      ENFORCE(errno == 0 && whole >= std::numeric_limits<T>::min() &&
                  whole <= std::numeric_limits<T>::max(),
              OutOfRange, "str_value must fit into ", DTypeOf<T>::value, ", got '", text, "'");
      return static_cast<T>(whole);
    }
  }
  double v = std::strtod(text.c_str(), &end);
  ENFORCE(!text.empty() && *end == 0, InvalidArgument, "str_value must be a number, got '", text,
          "'");
  const T parsed = kernels::Convert<T>(v);
  if constexpr (!std::is_integral_v<T>) {
    double made;
    if constexpr (kIsComplex<T>)
      made = parsed.real();
    else
      made = static_cast<double>(parsed);
    ENFORCE(std::isfinite(made) || !std::isfinite(v), OutOfRange, "str_value must fit into ",
            DTypeOf<T>::value, ", got '", text, "'. Pass dtype='float64'");
  }
  return parsed;
}

// The value of the attributes value and str_value, of which the second wins.
template <class T>
T FillValue(double value, const std::string& str_value) {
  return str_value.empty() ? kernels::Convert<T>(NumberFor<T>(value)) : Parsed<T>(str_value);
}

}  // namespace dygraph
