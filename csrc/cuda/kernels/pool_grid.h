// Pooling on the device: a thread for each output, or for each input that gathers from the windows
// around it in their order.
#pragma once

#include <cstdint>

#include "cuda/launch.h"
#include "cuda/scratch.h"
#include "kernels/convert.h"
#include "kernels/loops.h"
#include "kernels/pool_shape.h"
#include "kernels/walk.h"

namespace dygraph::kernels::detail {

// [images, depth, height, width, channels].
struct PoolOrder {
  int64_t images, d, h, w, channels;
  Divisor by_d, by_h, by_w, by_channels;
  PoolOrder(int64_t images, int64_t d, int64_t h, int64_t w, int64_t channels)
      : images(images),
        d(d),
        h(h),
        w(w),
        channels(channels),
        by_d(d),
        by_h(h),
        by_w(w),
        by_channels(channels) {}

  struct Place {
    int64_t image, z, y, x, channel;
  };
  int64_t Size() const { return images * d * h * w * channels; }
  DYGRAPH_INLINE Place Of(int64_t i) const {
    const int64_t pixel = by_channels.Quotient(i), row = by_w.Quotient(pixel);
    const int64_t plane = by_h.Quotient(row), image = by_d.Quotient(plane);
    return {image, plane - image * d, row - plane * h, pixel - row * w, i - pixel * channels};
  }
  // Position of a pixel in its image; the element of a channel there.
  DYGRAPH_INLINE int64_t Pixel(int64_t z, int64_t y, int64_t x) const {
    return (z * h + y) * w + x;
  }
  DYGRAPH_INLINE int64_t Element(const Place& p, int64_t pixel) const {
    return (p.image * d * h * w + pixel) * channels + p.channel;
  }
};

struct PoolGrid {
  PoolAxis d, h, w;
  PoolOrder in, out;
  PoolGrid(int64_t images, const PoolAxis& d, const PoolAxis& h, const PoolAxis& w,
           int64_t channels)
      : d(d),
        h(h),
        w(w),
        in(images, d.in, h.in, w.in, channels),
        out(images, d.out(), h.out(), w.out(), channels) {}
  explicit PoolGrid(const PoolShape& s)
      : PoolGrid(s.images, AdaptiveWindows(1, 1), s.h, s.w, s.channels) {}
  explicit PoolGrid(const PoolVolume& s) : PoolGrid(s.volumes, s.d, s.h, s.w, 1) {}

  // f(pixel) for the inputs of an output's window.
  template <class F>
  DYGRAPH_INLINE void EachOf(const PoolOrder::Place& o, F f) const {
    const PoolSpan zs = d.At(o.z), ys = h.At(o.y), xs = w.At(o.x);
    for (int64_t z = zs.begin; z < zs.end; ++z) {
      for (int64_t y = ys.begin; y < ys.end; ++y) {
        for (int64_t x = xs.begin; x < xs.end; ++x) f(in.Pixel(z, y, x));
      }
    }
  }
  DYGRAPH_INLINE int64_t SizeOf(const PoolOrder::Place& o) const {
    return d.At(o.z).size * h.At(o.y).size * w.At(o.x).size;
  }
  // f(element, spans) for the outputs whose windows may cover an input.
  template <class F>
  DYGRAPH_INLINE void EachAround(const PoolOrder::Place& i, F f) const {
    const PoolSpan zs = d.Around(i.z), ys = h.Around(i.y), xs = w.Around(i.x);
    for (int64_t z = zs.begin; z < zs.end; ++z) {
      for (int64_t y = ys.begin; y < ys.end; ++y) {
        for (int64_t x = xs.begin; x < xs.end; ++x)
          f(out.Element(i, out.Pixel(z, y, x)), d.At(z), h.At(y), w.At(x));
      }
    }
  }
};

DYGRAPH_INLINE bool Covers(const PoolSpan& span, int64_t p) {
  return p >= span.begin && p < span.end;
}

// y: the maximum of each window, at: its pixel; either may be null. The first of equals, NaN wins;
// 0 and -1 where a window is empty.
template <class T>
void PoolMax(const T* x, const PoolGrid& g, T* y, int32_t* at) {
  cuda::EachIndex(g.out.Size(), [=] DYGRAPH_FN(int64_t i) {
    const PoolOrder::Place o = g.out.Of(i);
    Wide<T> best = 0;
    int64_t found = -1;
    g.EachOf(o, [&](int64_t pixel) {
      const Wide<T> v = x[g.in.Element(o, pixel)];
      if (found < 0 || v > best || (v != v && best == best)) {
        best = v;
        found = pixel;
      }
    });
    if (y) y[i] = best;
    if (at) at[i] = static_cast<int32_t>(found);
  });
}

// Each dy at its pixel, where that lies in its window.
template <class T, class At>
void PoolScatter(const T* dy, const At& at, const PoolGrid& g, T* dx) {
  cuda::EachIndex(g.in.Size(), [=] DYGRAPH_FN(int64_t i) {
    const PoolOrder::Place p = g.in.Of(i);
    const int64_t pixel = g.in.Pixel(p.z, p.y, p.x);
    Wide<T> sum = 0;
    g.EachAround(p, [&](int64_t o, const PoolSpan& z, const PoolSpan& y, const PoolSpan& x) {
      if (Covers(z, p.z) && Covers(y, p.y) && Covers(x, p.x) && at[o] == pixel) sum += dy[o];
    });
    dx[i] = sum;
  });
}

template <class T, class At>
void PoolGather(const T* x, const At& at, const PoolGrid& g, T* y) {
  cuda::EachIndex(g.out.Size(), [=] DYGRAPH_FN(int64_t i) {
    const int64_t pixel = at[i];
    y[i] = pixel >= 0 ? x[g.in.Element(g.out.Of(i), pixel)] : T(0);
  });
}

template <class T>
void PoolAverage(const T* x, const PoolGrid& g, T* y) {
  // Large windows of one channel have a team each.
  constexpr int64_t kLarge = 128;
  const int64_t outputs = g.out.d * g.out.h * g.out.w;
  const int64_t window = g.in.d * g.in.h * g.in.w / (outputs > 0 ? outputs : 1);
  if (g.in.channels == 1 && window >= kLarge) {
    return ForEachRow(g.out.Size(), window, [=] DYGRAPH_FN(int64_t i, Team team) {
      const PoolOrder::Place o = g.out.Of(i);
      const PoolSpan zs = g.d.At(o.z), ys = g.h.At(o.y), xs = g.w.At(o.x);
      const int64_t width = xs.end - xs.begin, height = ys.end - ys.begin;
      const int64_t count = (zs.end - zs.begin) * height * width;
      const double sum = team.Sum<double>(count, [=](int64_t k) {
        const int64_t row = k / width, z = zs.begin + row / height;
        const int64_t pixel = g.in.Pixel(z, ys.begin + row % height, xs.begin + k % width);
        return static_cast<double>(x[g.in.Element(o, pixel)]);
      });
      team.Once([=] { y[i] = static_cast<T>(sum / static_cast<double>(g.SizeOf(o))); });
    });
  }
  cuda::EachIndex(g.out.Size(), [=] DYGRAPH_FN(int64_t i) {
    const PoolOrder::Place o = g.out.Of(i);
    double sum = 0;
    g.EachOf(o, [&](int64_t pixel) { sum += static_cast<double>(x[g.in.Element(o, pixel)]); });
    y[i] = static_cast<T>(sum / static_cast<double>(g.SizeOf(o)));
  });
}

template <class T>
void PoolSpread(const T* dy, const PoolGrid& g, T* dx) {
  cuda::EachIndex(g.in.Size(), [=] DYGRAPH_FN(int64_t i) {
    const PoolOrder::Place p = g.in.Of(i);
    Wide<T> sum = 0;
    g.EachAround(p, [&](int64_t o, const PoolSpan& z, const PoolSpan& y, const PoolSpan& x) {
      if (Covers(z, p.z) && Covers(y, p.y) && Covers(x, p.x))
        sum += dy[o] / static_cast<Wide<T>>(z.size * y.size * x.size);
    });
    dx[i] = sum;
  });
}

}  // namespace dygraph::kernels::detail
