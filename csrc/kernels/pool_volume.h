// Pooling of volumes [depth, height, width], plain loops; images have depth 1. Positions count the
// elements of a volume.
#pragma once

#include "kernels/pool.h"

namespace dygraph::kernels {

namespace detail {

// Calls body(volume, output) for every window with each(f), which calls f(position) for every
// element of it in order. One thread sees all windows of a volume.
template <class Body>
void ForWindows(const PoolVolume& s, const Body& body) {
  ParallelRows(s.volumes, s.In() * 4, [&](int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; ++v) {
      int64_t o = 0;
      for (int64_t k = 0; k < s.d.out(); ++k) {
        for (int64_t i = 0; i < s.h.out(); ++i) {
          for (int64_t j = 0; j < s.w.out(); ++j, ++o) {
            auto each = [&](auto f) {
              for (int64_t z = s.d.begin[k]; z < s.d.end[k]; ++z) {
                for (int64_t y = s.h.begin[i]; y < s.h.end[i]; ++y) {
                  int64_t row = (z * s.h.in + y) * s.w.in;
                  for (int64_t x = s.w.begin[j]; x < s.w.end[j]; ++x) f(row + x);
                }
              }
            };
            body(v, o, s.d.size[k] * s.h.size[i] * s.w.size[j], each);
          }
        }
      }
    }
  });
}

}  // namespace detail

// The maximum of each window and its position: the first of equals, NaN wins; 0 and -1 where a
// window is empty.
template <class T>
void MaxPoolVolume(const T* x, const PoolVolume& s, T* y, int32_t* at) {
  int64_t in = s.In(), out = s.Out();
  detail::ForWindows(s, [=](int64_t v, int64_t o, int64_t, auto each) {
    const T* from = x + v * in;
    T best = 0;
    int64_t found = -1;
    each([&](int64_t i) {
      T value = from[i];
      if (found < 0 || value > best || (value != value && best == best)) {
        best = value;
        found = i;
      }
    });
    if (y) y[v * out + o] = best;
    at[v * out + o] = static_cast<int32_t>(found);
  });
}

template <class T>
void AvgPoolVolume(const T* x, const PoolVolume& s, T* y) {
  int64_t in = s.In(), out = s.Out();
  detail::ForWindows(s, [=](int64_t v, int64_t o, int64_t size, auto each) {
    const T* from = x + v * in;
    double sum = 0;
    each([&](int64_t i) { sum += static_cast<double>(from[i]); });
    y[v * out + o] = static_cast<T>(sum / static_cast<double>(size));
  });
}

template <class T>
void AvgPoolVolumeBackward(const T* dy, const PoolVolume& s, T* dx) {
  int64_t in = s.In(), out = s.Out();
  std::fill_n(dx, s.volumes * in, T(0));
  detail::ForWindows(s, [=](int64_t v, int64_t o, int64_t size, auto each) {
    T share = dy[v * out + o] / static_cast<T>(size);
    each([&](int64_t i) { dx[v * in + i] += share; });
  });
}

// dx, zeros, gets each dy added at its position; y[o] = x[position of o]. Positions below 0 stand
// for nothing.
template <class T, class At>
void ScatterVolume(const T* dy, const At& at, const PoolVolume& s, T* dx) {
  const int64_t in = s.In(), out = s.Out();
  std::fill_n(dx, s.volumes * in, T(0));
  ParallelRows(s.volumes, out * 2, [=](int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; ++v) {
      for (int64_t o = v * out; o < (v + 1) * out; ++o) {
        if (at[o] >= 0) dx[v * in + at[o]] += dy[o];
      }
    }
  });
}
template <class T, class At>
void GatherVolume(const T* x, const At& at, const PoolVolume& s, T* y) {
  const int64_t in = s.In(), out = s.Out();
  ParallelRows(s.volumes, out * 2, [=](int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; ++v) {
      for (int64_t o = v * out; o < (v + 1) * out; ++o)
        y[o] = at[o] >= 0 ? x[v * in + at[o]] : T(0);
    }
  });
}

}  // namespace dygraph::kernels
