// kernels/log_gamma.h on the device.
#pragma once

#include <cmath>

#include "kernels/simd.h"

namespace dygraph::kernels {

DYGRAPH_BOTH inline double LogGamma(double x) { return ::lgamma(x); }

}  // namespace dygraph::kernels
