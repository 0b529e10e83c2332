// kernels/interp.h on the device: a thread for each output, or for each input, which adds up the
// outputs made of it.
#pragma once

#include <cstdint>

#include "cuda/launch.h"
#include "kernels/interp_rule.h"

namespace dygraph::kernels {

namespace detail {
// The first output in [0, outputs) for which reached(o), which holds from some output on.
template <class F>
DYGRAPH_INLINE int64_t FirstOutput(int64_t outputs, F reached) {
  int64_t low = 0, high = outputs;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (reached(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}
}  // namespace detail

struct InterpAxis : InterpRule {
  int64_t out() const { return outputs; }
  // The outputs [begin, end) made of input p.
  DYGRAPH_INLINE int64_t Begin(int64_t p) const {
    return detail::FirstOutput(outputs, [&](int64_t o) { return At(o).low >= p - 1; });
  }
  DYGRAPH_INLINE int64_t End(int64_t p) const {
    return detail::FirstOutput(outputs, [&](int64_t o) { return At(o).low > p; });
  }
  // How much of input p output o has.
  DYGRAPH_INLINE double Share(int64_t o, int64_t p) const {
    const InterpSpot s = At(o);
    return (s.low == p ? 1 - s.weight : 0) + (s.high == p ? s.weight : 0);
  }
};

inline InterpAxis LinearAxis(int64_t in, int64_t out, bool corners, bool middles, double step = 0) {
  return {{in, out, false, corners, middles, step}};
}
inline InterpAxis NearestAxis(int64_t in, int64_t out, bool corners, double step = 0) {
  return {{in, out, true, corners, false, step}};
}

struct InterpShape {
  int64_t volumes = 0;
  InterpAxis d, h, w;
  int64_t In() const { return d.in * h.in * w.in; }
  int64_t Out() const { return d.out() * h.out() * w.out(); }
};

template <class T>
void Interpolate(const T* x, const InterpShape& s, T* y) {
  using C = detail::InterpSum<T>;
  const int64_t out = s.Out();
  cuda::EachIndex(s.volumes * out, [=] DYGRAPH_FN(int64_t i) {
    const int64_t v = i / out, oh = s.h.outputs, ow = s.w.outputs;
    const InterpSpot d = s.d.At(i / (oh * ow) % s.d.outputs), h = s.h.At(i / ow % oh),
                     w = s.w.At(i % ow);
    C sum = 0;
    for (int k = 0; k < 4; ++k) {
      const double weight = (k & 2 ? d.weight : 1 - d.weight) * (k & 1 ? h.weight : 1 - h.weight);
      if (weight == 0) continue;
      const int64_t z = k & 2 ? d.high : d.low, row = k & 1 ? h.high : h.low;
      const T* from = x + ((v * s.d.in + z) * s.h.in + row) * s.w.in;
      const C part = static_cast<C>(w.weight), one = from[w.low], other = from[w.high];
      sum += static_cast<C>(weight) * (part == 0 ? one : (C(1) - part) * one + part * other);
    }
    y[i] = detail::InterpResult<T>(sum);
  });
}

template <class T>
void InterpolateBackward(const T* dy, const InterpShape& s, T* dx) {
  const int64_t in = s.In();
  cuda::EachIndex(s.volumes * in, [=] DYGRAPH_FN(int64_t i) {
    const int64_t v = i / in, x = i % s.w.in, y = i / s.w.in % s.h.in,
                  z = i / (s.w.in * s.h.in) % s.d.in;
    const int64_t end_d = s.d.End(z), end_h = s.h.End(y), begin_h = s.h.Begin(y),
                  begin_w = s.w.Begin(x), end_w = s.w.End(x);
    T sum = 0;
    for (int64_t k = s.d.Begin(z); k < end_d; ++k) {
      const double share_d = s.d.Share(k, z);
      for (int64_t j = begin_h; j < end_h; ++j) {
        const double share = share_d * s.h.Share(j, y);
        if (share == 0) continue;
        const T* from = dy + ((v * s.d.outputs + k) * s.h.outputs + j) * s.w.outputs;
        T line = 0;
        for (int64_t o = begin_w; o < end_w; ++o) line += static_cast<T>(s.w.Share(o, x)) * from[o];
        sum += static_cast<T>(share) * line;
      }
    }
    dx[i] = sum;
  });
}

}  // namespace dygraph::kernels
