// The loops of deformable convolutions, image by image.
#pragma once

#include <algorithm>

#include "kernels/matmul.h"
#include "kernels/parallel.h"
#include "operators/detection/deformable.h"

namespace dygraph::deformable {

// Those of an image, [moved, places].
template <class T>
void FindSpots(const Problem<T>& q, int64_t image, std::vector<Spot<T>>* spots) {
  const int64_t places = q.places;
  spots->resize(static_cast<size_t>(q.moved() * places));
  const T* from = q.offset + image * q.moved() * 2 * places;
  kernels::ParallelRows(q.moved(), places * 20, [=, &q](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k) {
      const T *down = from + 2 * k * places, *across = down + places;
      Spot<T>* to = spots->data() + k * places;
      for (int64_t p = 0; p < places; ++p) {
        to[p] = SpotAt(static_cast<T>(q.RowAt(k, p)) + down[p],
                       static_cast<T>(q.ColumnAt(k, p)) + across[p], q.height, q.width);
      }
    }
  });
}

// Row (channel, tap) of the columns: [c * taps, places].
template <class T>
void FillColumns(const Problem<T>& q, int64_t image, const std::vector<Spot<T>>& spots,
                 T* columns) {
  const int64_t c = q.c, taps = q.taps, places = q.places;
  kernels::ParallelRows(c * taps, places * 8, [=, &q, &spots](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const int64_t channel = row / taps;
      const int64_t k = channel / q.channels_of_offset() * taps + row % taps;
      const T *x = q.input + (image * c + channel) * q.plane, *m = q.MaskOf(image, k);
      const Spot<T>* at = spots.data() + k * places;
      T* to = columns + row * places;
      for (int64_t p = 0; p < places; ++p) {
        const Spot<T>& s = at[p];
        T sum = 0;
        if (s.at[0] >= 0) {
          for (int j = 0; j < 4; ++j) sum += s.weight[j] * x[s.at[j]];
        }
        to[p] = m ? sum * m[p] : sum;
      }
    }
  });
}

template <class T>
void Forward(KernelContext& ctx, bool masked) {
  const Problem<T> q(ctx, masked);
  T* out = ctx.Out(kOutput).mutable_data<T>();
  const int64_t g = q.a.groups, rows = q.c / g * q.taps, oc = q.out_c / g;
  std::vector<Spot<T>> spots;
  std::vector<T> columns(static_cast<size_t>(q.c * q.taps * q.places));
  for (int64_t i = 0; i < q.n; ++i) {
    FindSpots(q, i, &spots);
    FillColumns(q, i, spots, columns.data());
    for (int64_t k = 0; k < g; ++k) {
      kernels::MatMul<T>(false, false, oc, q.places, rows, T(1), q.filter + k * oc * rows, rows,
                         columns.data() + k * rows * q.places, q.places, T(0),
                         out + (i * g + k) * oc * q.places, q.places);
    }
  }
}

// The outputs of the gradient; nullptr: not wanted.
template <class T>
struct Wanted {
  T *input, *offset, *filter, *mask;
};

template <class T>
void Backward(KernelContext& ctx, bool masked, int top_slot) {
  const Problem<T> q(ctx, masked);
  const T* top = ctx.In(top_slot).data<T>();
  auto cleared = [&](int slot) {
    Tensor* t = ctx.OutOrNull(slot);
    if (!t) return static_cast<T*>(nullptr);
    return std::fill_n(t->mutable_data<T>(), t->numel(), T(0)) - t->numel();
  };
  const Wanted<T> to = {cleared(kInput), cleared(kOffset), cleared(kFilter),
                        masked && q.mask ? cleared(kMask) : nullptr};
  const int64_t g = q.a.groups, rows = q.c / g * q.taps, oc = q.out_c / g;
  std::vector<Spot<T>> spots;
  std::vector<T> columns(static_cast<size_t>(q.c * q.taps * q.places));
  for (int64_t i = 0; i < q.n; ++i) {
    FindSpots(q, i, &spots);
    if (to.filter) {
      FillColumns(q, i, spots, columns.data());
      for (int64_t k = 0; k < g; ++k) {
        kernels::MatMul<T>(false, true, oc, rows, q.places, T(1), top + (i * g + k) * oc * q.places,
                           q.places, columns.data() + k * rows * q.places, q.places, T(1),
                           to.filter + k * oc * rows, rows);
      }
    }
    if (!to.input && !to.offset && !to.mask) continue;
    for (int64_t k = 0; k < g; ++k) {
      kernels::MatMul<T>(true, false, rows, q.places, oc, T(1), q.filter + k * oc * rows, rows,
                         top + (i * g + k) * oc * q.places, q.places, T(0),
                         columns.data() + k * rows * q.places, q.places);
    }
    const int64_t share = q.channels_of_offset();
    if (to.input) {
      kernels::ParallelRows(q.c, q.taps * q.places * 10, [&](int64_t first, int64_t last) {
        for (int64_t row = first * q.taps; row < last * q.taps; ++row) {
          const int64_t channel = row / q.taps, k = channel / share * q.taps + row % q.taps;
          const T *from = columns.data() + row * q.places, *m = q.MaskOf(i, k);
          const Spot<T>* at = spots.data() + k * q.places;
          T* dx = to.input + (i * q.c + channel) * q.plane;
          for (int64_t p = 0; p < q.places; ++p) {
            if (at[p].at[0] < 0) continue;
            const T v = m ? from[p] * m[p] : from[p];
            for (int j = 0; j < 4; ++j) dx[at[p].at[j]] += at[p].weight[j] * v;
          }
        }
      });
    }
    if (!to.offset && !to.mask) continue;
    kernels::ParallelRows(q.moved(), share * q.places * 16, [&](int64_t first, int64_t last) {
      for (int64_t k = first; k < last; ++k) {
        const T* m = q.MaskOf(i, k);
        const Spot<T>* at = spots.data() + k * q.places;
        std::vector<T> sums(static_cast<size_t>(3 * q.places));
        T *down = sums.data(), *across = down + q.places, *value = across + q.places;
        for (int64_t channel = k / q.taps * share; channel < (k / q.taps + 1) * share; ++channel) {
          const T* from = columns.data() + (channel * q.taps + k % q.taps) * q.places;
          const T* x = q.input + (i * q.c + channel) * q.plane;
          for (int64_t p = 0; p < q.places; ++p) {
            if (at[p].at[0] < 0) continue;
            T d = 0, a = 0, v = 0;
            for (int j = 0; j < 4; ++j) {
              const T pixel = x[at[p].at[j]];
              d += at[p].down[j] * pixel, a += at[p].across[j] * pixel;
              v += at[p].weight[j] * pixel;
            }
            down[p] += d * from[p], across[p] += a * from[p], value[p] += v * from[p];
          }
        }
        for (int64_t p = 0; p < q.places; ++p) {
          const T weight = m ? m[p] : T(1);
          const int64_t row = i * q.moved() + k;
          if (to.offset) {
            to.offset[2 * row * q.places + p] = down[p] * weight;
            to.offset[(2 * row + 1) * q.places + p] = across[p] * weight;
          }
          if (to.mask) to.mask[row * q.places + p] = value[p];
        }
      }
    });
  }
}

}  // namespace dygraph::deformable
