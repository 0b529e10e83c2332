// Which elements an element of a resized axis is made of, and by which weights.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/simd.h"

namespace dygraph::kernels {

// (1 - weight) * input[low] + weight * input[high].
struct InterpSpot {
  int64_t low, high;
  double weight;
};

// Where output o lies among the inputs is a fraction, so that whole numbers are met exactly.
struct InterpRule {
  int64_t in = 1, outputs = 1;
  bool nearest = false;
  bool corners = false;  // first and last elements lie on each other; else elements are cells,
  bool middles = false;  // compared by their middles or by their beginnings
  double step = 0;       // where it is not 0: how far apart outputs lie, in place of in / outputs

  DYGRAPH_INLINE InterpSpot At(int64_t o) const { return nearest ? Nearest(o) : Linear(o); }

 private:
  DYGRAPH_INLINE InterpSpot Linear(int64_t o) const {
    if (step != 0 && !corners) {
      double at = static_cast<double>(o) * step;
      if (middles) at = std::max(at + 0.5 * step - 0.5, 0.0);
      const int64_t low = std::min(static_cast<int64_t>(at), in - 1);
      const bool inside = low + 1 < in;
      return {low, inside ? low + 1 : low, inside ? at - static_cast<double>(low) : 0};
    }
    int64_t over = 0, under = 1;
    if (corners && outputs > 1) {
      over = o * (in - 1);
      under = outputs - 1;
    } else if (!corners) {
      over = middles ? std::max<int64_t>((2 * o + 1) * in - outputs, 0) : o * in;
      under = middles ? 2 * outputs : outputs;
    }
    const int64_t low = std::min(over / under, in - 1);
    const double weight = static_cast<double>(over % under) / static_cast<double>(under);
    const bool exact = over % under == 0 || low == in - 1;
    return {low, exact ? low : low + 1, exact ? 0 : weight};
  }
  DYGRAPH_INLINE InterpSpot Nearest(int64_t o) const {
    int64_t at = 0;
    if (corners && outputs > 1) {
      at = (2 * o * (in - 1) + outputs - 1) / (2 * (outputs - 1));  // halves go up
    } else if (!corners) {
      at = step != 0 ? static_cast<int64_t>(static_cast<double>(o) * step) : o * in / outputs;
    }
    at = std::min(at, in - 1);
    return {at, at, 0};
  }
};

// The sum of weights[t] * input[from(t)] over t < 4: Keys' cubic convolution with a = -0.75.
struct CubicSpot {
  int64_t low;  // the second of the four, which may lie beyond the border
  int64_t in;
  double weights[4];
  // Neighbours beyond the border are the border.
  DYGRAPH_INLINE int64_t From(int t) const {
    return std::min(std::max<int64_t>(low - 1 + t, 0), in - 1);
  }
};

// `corners`, `step`: as above; else elements are compared by their middles.
struct CubicRule {
  int64_t in = 1, outputs = 1;
  bool corners = false;
  double step = 0;

  static CubicRule Of(int64_t in, int64_t out, bool corners, double step) {
    const double size = static_cast<double>(in), count = static_cast<double>(out);
    if (corners) {
      step = out > 1 ? (size - 1) / (count - 1) : 0;
    } else if (step == 0) {
      step = size / count;
    }
    return {in, out, corners, step};
  }
  DYGRAPH_INLINE double Place(int64_t o) const {
    return corners ? static_cast<double>(o) * step : (static_cast<double>(o) + 0.5) * step - 0.5;
  }
  DYGRAPH_INLINE CubicSpot At(int64_t o) const {
    const double at = Place(o), low = std::floor(at), part = at - low;
    return {static_cast<int64_t>(low), in, {Far(part + 1), Near(part), Near(1 - part),
                                            Far(2 - part)}};
  }

 private:
  DYGRAPH_INLINE static double Near(double x) {
    constexpr double a = -0.75;
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  }
  DYGRAPH_INLINE static double Far(double x) {
    constexpr double a = -0.75;
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  }
};

namespace detail {

// Integer pixels are averaged in double and cut off, as Fluid does; a whole number that the sums
// miss by a rounding is met.
template <class T>
using InterpSum = std::conditional_t<std::is_integral_v<T>, double, T>;
template <class T>
DYGRAPH_INLINE T InterpResult(InterpSum<T> v) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(v + 1e-9);
  return static_cast<T>(v);
}

}  // namespace detail

}  // namespace dygraph::kernels
