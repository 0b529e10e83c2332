// kernels/batch_norm.h on the device: channels are cut into parts, whose sums are added in order,
// in doubles. `mean` and the like are arrays of the device.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/scratch.h"
#include "kernels/channel_shape.h"
#include "kernels/convert.h"
#include "kernels/loops.h"
#include "kernels/walk.h"

namespace dygraph::kernels {

namespace detail {

struct TwoSums {
  double a, b;
  DYGRAPH_INLINE TwoSums operator+(TwoSums other) const { return {a + other.a, b + other.b}; }
};
struct AddTwoSums {
  DYGRAPH_INLINE TwoSums operator()(TwoSums a, TwoSums b) const { return a + b; }
};

// put(c, the sum over channel c of term(i, c), i the number of the element).
template <class F, class P>
void SumChannels(const ChannelShape& s, F term, P put) {
  const int64_t channels = s.channels, outer = s.outer, inner = s.inner;
  if (s.numel() == 0) {
    return ForEach(channels, [=] DYGRAPH_FN(int64_t c) { put(c, TwoSums{0, 0}); });
  }
  // Enough teams, or where the channels lie side by side enough threads, to fill the device.
  const int64_t enough = inner > 1 ? 2112 : 262144;
  const int64_t parts =
      std::max<int64_t>(std::min(enough / channels, inner > 1 ? s.count() / 4096 : outer / 8), 1);
  cuda::Workspace<TwoSums> room(parts * channels);
  TwoSums* sums = room.data();
  if (inner > 1) {
    const Divisor by_inner(inner);
    const int64_t count = s.count(), size = (count + parts - 1) / parts;
    ForEachRow(parts * channels, size, [=] DYGRAPH_FN(int64_t r, Team team) {
      const int64_t c = r % channels, first = r / channels * size;
      const int64_t n = count - first < size ? count - first : size;
      const TwoSums sum = team.Merge(
          n, TwoSums{0, 0},
          [=](int64_t j) {
            const int64_t o = by_inner.Quotient(first + j), k = first + j - o * inner;
            return term((o * channels + c) * inner + k, c);
          },
          AddTwoSums());
      team.Once([=] { sums[r] = sum; });
    });
  } else {
    const int64_t size = (outer + parts - 1) / parts;
    ForEach(parts * channels, [=] DYGRAPH_FN(int64_t r) {
      const int64_t c = r % channels, first = r / channels * size;
      const int64_t end = outer < first + size ? outer : first + size;
      TwoSums sum{0, 0};
      for (int64_t o = first; o < end; ++o) sum = sum + term(o * channels + c, c);
      sums[r] = sum;
    });
  }
  ForEach(channels, [=] DYGRAPH_FN(int64_t c) {
    TwoSums sum{0, 0};
    for (int64_t p = 0; p < parts; ++p) sum = sum + sums[p * channels + c];
    put(c, sum);
  });
}

}  // namespace detail

// mean[c] and variance[c], the biased one, of each channel: from the deviations from its first
// element, so that channels far from zero lose nothing.
template <class T>
void ChannelMoments(const T* x, const ChannelShape& s, double* mean, double* variance) {
  const int64_t inner = s.inner;
  const double count = static_cast<double>(s.count());
  detail::SumChannels(
      s,
      [=] DYGRAPH_FN(int64_t i, int64_t c) {
        const double d = static_cast<double>(x[i]) - static_cast<double>(x[c * inner]);
        return detail::TwoSums{d, d * d};
      },
      [=] DYGRAPH_FN(int64_t c, detail::TwoSums sum) {
        const double rest = sum.a / count, v = sum.b / count - rest * rest;
        mean[c] = static_cast<double>(x[c * inner]) + rest;
        variance[c] = v < 0 ? 0 : v;  // a NaN stays
      });
}

// sum_g[c] = sum of g(i), sum_gx[c] = sum of g(i) (x[i] - mean[c]).
template <class T, class G>
void ChannelGradSums(const T* x, const G& g, const Wide<T>* mean, const ChannelShape& s,
                     double* sum_g, double* sum_gx) {
  detail::SumChannels(
      s,
      [=] DYGRAPH_FN(int64_t i, int64_t c) {
        const Wide<T> v = g(i);
        return detail::TwoSums{static_cast<double>(v), static_cast<double>(v * (x[i] - mean[c]))};
      },
      [=] DYGRAPH_FN(int64_t c, detail::TwoSums sum) {
        sum_g[c] = sum.a;
        sum_gx[c] = sum.b;
      });
}

// out = f(element, a[c], b[c], d[c], e[c]) for every element; `vectors` holds the four one after
// the other.
template <class T, class F>
void ChannelMap(const ChannelShape& s, const Wide<T>* vectors, T* out, F f) {
  const int64_t channels = s.channels;
  const detail::Divisor by_inner(s.inner), by_channels(channels);
  ForEach(s.numel(), [=] DYGRAPH_FN(int64_t i) {
    const int64_t row = by_inner.Quotient(i);
    const int64_t c = row - by_channels.Quotient(row) * channels;
    out[i] = f(i, vectors[c], vectors[channels + c], vectors[2 * channels + c],
               vectors[3 * channels + c]);
  });
}

}  // namespace dygraph::kernels
