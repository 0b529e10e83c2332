// The logarithm of |gamma(x)|.
#pragma once

#include <cmath>

namespace dygraph::kernels {

inline double LogGamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);  // std::lgamma writes the sign to a global variable
}

}  // namespace dygraph::kernels
