// kernels/interp_cubic.h on the device.
#pragma once

#include "kernels/interp.h"

namespace dygraph::kernels {

struct CubicAxis : CubicRule {
  int64_t out() const { return outputs; }
  // The outputs [begin, end) made of input p, to which the borders stand for what lies beyond.
  DYGRAPH_INLINE int64_t Begin(int64_t p) const {
    if (p == 0) return 0;
    return detail::FirstOutput(outputs, [&](int64_t o) { return Low(o) >= p - 2; });
  }
  DYGRAPH_INLINE int64_t End(int64_t p) const {
    if (p == in - 1) return outputs;
    return detail::FirstOutput(outputs, [&](int64_t o) { return Low(o) > p + 1; });
  }
  DYGRAPH_INLINE double Share(int64_t o, int64_t p) const {
    const CubicSpot s = At(o);
    double share = 0;
    for (int t = 0; t < 4; ++t) share += s.From(t) == p ? s.weights[t] : 0;
    return share;
  }

 private:
  DYGRAPH_INLINE int64_t Low(int64_t o) const { return static_cast<int64_t>(floor(Place(o))); }
};

inline CubicAxis MakeCubicAxis(int64_t in, int64_t out, bool corners, double step) {
  return {CubicRule::Of(in, out, corners, step)};
}

struct CubicShape {
  int64_t volumes = 0;
  CubicAxis h, w;
  int64_t In() const { return h.in * w.in; }
  int64_t Out() const { return h.out() * w.out(); }
};

template <class T>
void Interpolate(const T* x, const CubicShape& s, T* y) {
  const int64_t out = s.Out();
  cuda::EachIndex(s.volumes * out, [=] DYGRAPH_FN(int64_t i) {
    const T* image = x + i / out * s.h.in * s.w.in;
    const CubicSpot h = s.h.At(i / s.w.outputs % s.h.outputs), w = s.w.At(i % s.w.outputs);
    T sum = 0;
    for (int t = 0; t < 4; ++t) {
      const T* row = image + h.From(t) * s.w.in;
      T line = 0;
      for (int u = 0; u < 4; ++u) line += static_cast<T>(w.weights[u]) * row[w.From(u)];
      sum += static_cast<T>(h.weights[t]) * line;
    }
    y[i] = sum;
  });
}

template <class T>
void InterpolateBackward(const T* dy, const CubicShape& s, T* dx) {
  const int64_t in = s.In(), out = s.Out();
  cuda::EachIndex(s.volumes * in, [=] DYGRAPH_FN(int64_t i) {
    const int64_t x = i % s.w.in, y = i / s.w.in % s.h.in;
    const T* image = dy + i / in * out;
    const int64_t end_h = s.h.End(y), begin_w = s.w.Begin(x), end_w = s.w.End(x);
    T sum = 0;
    for (int64_t j = s.h.Begin(y); j < end_h; ++j) {
      T line = 0;
      for (int64_t o = begin_w; o < end_w; ++o)
        line += static_cast<T>(s.w.Share(o, x)) * image[j * s.w.outputs + o];
      sum += static_cast<T>(s.h.Share(j, y)) * line;
    }
    dx[i] = sum;
  });
}

}  // namespace dygraph::kernels
