// What elementwise_floordiv and elementwise_mod share: Python's signs, X = Y * (X // Y) + X % Y
// with the remainder on Y's side.
#pragma once

#include <cmath>

#include "operators/arithmetic/divisors.h"

namespace dygraph::elementwise {

constexpr int64_t kFloorDivisionCost = 20;

struct FloorDiv {
  template <class T>
  DYGRAPH_BOTH static T F(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      b = kernels::CheckedDivisor(b);
      if constexpr (std::is_unsigned_v<T>) {
        return static_cast<T>(a / b);
      } else {
        if (b == -1) return static_cast<T>(-static_cast<uint64_t>(a));  // the lowest number wraps
        T q = static_cast<T>(a / b), r = static_cast<T>(a % b);
        return static_cast<T>(q - (r != 0 && (r < 0) != (b < 0)));
      }
    } else {
      T r = std::fmod(a, b);  // NaN for a zero or an infinite dividend
      if (b == T(0)) return a / b;
      T q = (a - r) / b;
      if (r != T(0) && (r < T(0)) != (b < T(0))) q -= T(1);
      if (q == T(0)) return std::copysign(T(0), a / b);
      T whole = std::floor(q);
      return q - whole > T(0.5) ? whole + T(1) : whole;
    }
  }
};

struct Mod {
  template <class T>
  DYGRAPH_BOTH static T F(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      b = kernels::CheckedDivisor(b);
      if constexpr (std::is_unsigned_v<T>) {
        return static_cast<T>(a % b);
      } else {
        if (b == -1) return 0;
        T r = static_cast<T>(a % b);
        return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
      }
    } else {
      T r = std::fmod(a, b);
      if (r == T(0)) return std::copysign(T(0), b);
      return r == r && (r < T(0)) != (b < T(0)) ? r + b : r;
    }
  }
};

template <class P, class T>
struct FloorDivisionKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& y = ctx.In(kY);
    Tensor& out = ctx.Out(kOut);
    if constexpr (std::is_integral_v<T>) {
      if (out.numel() > 0) CheckDivisors<T>(y);
    }
    Apply<T, T>(
        ctx.In(kX), y, ctx.attrs<ElementwiseAttrs>().axis, &out,
        [] DYGRAPH_FN(T a, T b) { return P::F(a, b); }, kFloorDivisionCost);
  }
};

}  // namespace dygraph::elementwise
