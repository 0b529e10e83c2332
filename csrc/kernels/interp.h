// Resampling of volumes [depth, height, width] along each axis by two neighbours and a weight;
// images have depth 1.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "kernels/interp_rule.h"
#include "kernels/parallel.h"
#include "kernels/simd.h"

namespace dygraph::kernels {

// Output o is (1 - weight[o]) * input[low[o]] + weight[o] * input[high[o]].
struct InterpAxis {
  int64_t in = 1;
  std::vector<int64_t> low, high;
  std::vector<double> weight;
  int64_t out() const { return static_cast<int64_t>(low.size()); }

  // How many outputs in a row each input gives, if all give as many and none is mixed; else 0.
  int64_t Times() const {
    if (out() % in != 0) return 0;
    const int64_t times = out() / in;
    for (int64_t o = 0; o < out(); ++o) {
      if (weight[o] != 0 || low[o] != o / times) return 0;
    }
    return times;
  }
};

inline InterpAxis MakeInterpAxis(const InterpRule& rule) {
  InterpAxis axis;
  axis.in = rule.in;
  for (int64_t o = 0; o < rule.outputs; ++o) {
    const InterpSpot spot = rule.At(o);
    axis.low.push_back(spot.low);
    axis.high.push_back(spot.high);
    axis.weight.push_back(spot.weight);
  }
  return axis;
}
inline InterpAxis LinearAxis(int64_t in, int64_t out, bool corners, bool middles, double step = 0) {
  return MakeInterpAxis({in, out, false, corners, middles, step});
}
inline InterpAxis NearestAxis(int64_t in, int64_t out, bool corners, double step = 0) {
  return MakeInterpAxis({in, out, true, corners, false, step});
}

struct InterpShape {
  int64_t volumes = 0;
  InterpAxis d, h, w;
  int64_t In() const { return d.in * h.in * w.in; }
  int64_t Out() const { return d.out() * h.out() * w.out(); }
};

namespace detail {

// Calls f(offset of an input row, its weight) for the up to four rows that make the output row (k,
// i).
template <class F>
void ForInterpRows(const InterpShape& s, int64_t k, int64_t i, const F& f) {
  for (int a = 0; a < 2; ++a) {
    double wd = a == 0 ? 1 - s.d.weight[k] : s.d.weight[k];
    int64_t z = a == 0 ? s.d.low[k] : s.d.high[k];
    for (int b = 0; b < 2; ++b) {
      double wh = b == 0 ? 1 - s.h.weight[i] : s.h.weight[i];
      int64_t y = b == 0 ? s.h.low[i] : s.h.high[i];
      if (wd * wh != 0) f((z * s.h.in + y) * s.w.in, wd * wh);
    }
  }
}

// to[i] = the sum of elements [i * times, (i + 1) * times).
template <class T>
DYGRAPH_INLINE void SumRuns(const T* from, int64_t n, int64_t times, T* to) {
  if (times == 2) {
    DYGRAPH_IVDEP
    for (int64_t i = 0; i < n; ++i) to[i] = from[2 * i] + from[2 * i + 1];
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    T sum = from[i * times];
    for (int64_t k = 1; k < times; ++k) sum += from[i * times + k];
    to[i] = sum;
  }
}

}  // namespace detail

template <class T>
void Interpolate(const T* x, const InterpShape& s, T* y) {
  using C = detail::InterpSum<T>;
  const std::vector<C> weights(s.w.weight.begin(), s.w.weight.end());
  const int64_t *low = s.w.low.data(), *high = s.w.high.data(), in = s.w.in, out = s.w.out();
  const C* weight = weights.data();
  ParallelRows(s.volumes, s.Out() * 6, [&](int64_t begin, int64_t end) {
    std::vector<C> line(in);
    for (int64_t v = begin; v < end; ++v) {
      T* to = y + v * s.Out();
      for (int64_t k = 0; k < s.d.out(); ++k) {
        for (int64_t i = 0; i < s.h.out(); ++i, to += out) {
          const C* row = line.data();
          int rows = 0;
          detail::ForInterpRows(s, k, i, [&](int64_t at, double row_weight) {
            const T* from = x + v * s.In() + at;
            if constexpr (std::is_same_v<C, T>) {
              if (row_weight == 1) {  // then it is the only one
                row = from;
                return;
              }
            }
            const C c = static_cast<C>(row_weight);
            if (rows++ == 0) {
              for (int64_t j = 0; j < in; ++j) line[j] = c * from[j];
            } else {
              for (int64_t j = 0; j < in; ++j) line[j] += c * from[j];
            }
          });
          for (int64_t j = 0; j < out; ++j) {
            const C c = weight[j], one = row[low[j]], other = row[high[j]];
            to[j] = detail::InterpResult<T>(c == 0 ? one : (C(1) - c) * one + c * other);
          }
        }
      }
    }
  });
}

// The transpose of Interpolate as a linear map.
template <class T>
void InterpolateBackward(const T* dy, const InterpShape& s, T* dx) {
  std::fill_n(dx, s.volumes * s.In(), T(0));
  const std::vector<T> weight(s.w.weight.begin(), s.w.weight.end());
  const int64_t times = s.w.Times();
  ParallelRows(s.volumes, s.Out() * 6, [&](int64_t begin, int64_t end) {
    std::vector<T> line(s.w.in);
    for (int64_t v = begin; v < end; ++v) {
      const T* from = dy + v * s.Out();
      for (int64_t k = 0; k < s.d.out(); ++k) {
        for (int64_t i = 0; i < s.h.out(); ++i, from += s.w.out()) {
          if (times > 0) {
            SimdFor<T>([&] { detail::SumRuns(from, s.w.in, times, line.data()); });
          } else {
            std::fill(line.begin(), line.end(), T(0));
            for (int64_t j = 0; j < s.w.out(); ++j) {
              const T c = weight[j];
              line[s.w.low[j]] += (T(1) - c) * from[j];
              if (c != 0) line[s.w.high[j]] += c * from[j];
            }
          }
          detail::ForInterpRows(s, k, i, [&](int64_t at, double row_weight) {
            T* to = dx + v * s.In() + at;
            const T c = static_cast<T>(row_weight);
            for (int64_t j = 0; j < s.w.in; ++j) to[j] += c * line[j];
          });
        }
      }
    }
  });
}

}  // namespace dygraph::kernels
