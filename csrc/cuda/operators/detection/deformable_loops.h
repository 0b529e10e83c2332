// operators/detection/deformable_loops.h on the device, image by image: a thread for each number.
// What a pixel gets from moved taps is added in the order of the taps and places, which are sorted
// by pixel.
#pragma once

#include "cuda/scratch.h"
#include "cuda/sort_cuda.h"
#include "kernels/elementwise.h"
#include "kernels/loops.h"
#include "kernels/matmul.h"
#include "operators/detection/deformable.h"

namespace dygraph::deformable {

namespace detail {

// The taps of an image: `down` and `across` of tap k at place p are offset[2 k places + p] and
// offset[(2 k + 1) places + p].
template <class T>
struct Taps {
  const T *offset, *mask;  // mask: nullptr for ones
  int64_t height, width, kernel_w, taps, out_w, places, share;
  int64_t stride_h, stride_w, top, left, dilation_h, dilation_w;

  Taps(const Problem<T>& q, int64_t image)
      : offset(q.offset + image * q.moved() * 2 * q.places),
        mask(q.MaskOf(image, 0)),
        height(q.height),
        width(q.width),
        kernel_w(q.kernel_w),
        taps(q.taps),
        out_w(q.out_w),
        places(q.places),
        share(q.channels_of_offset()),
        stride_h(q.a.strides[0]),
        stride_w(q.a.strides[1]),
        top(q.a.paddings[0]),
        left(q.a.paddings[1]),
        dilation_h(q.a.dilations[0]),
        dilation_w(q.a.dilations[1]) {}
  // The moved tap that row (channel, tap) of the columns reads.
  DYGRAPH_INLINE int64_t TapOf(int64_t row) const { return row / taps / share * taps + row % taps; }
  DYGRAPH_INLINE Spot<T> At(int64_t k, int64_t p) const {
    const int64_t y = p / out_w * stride_h - top + k % taps / kernel_w * dilation_h;
    const int64_t x = p % out_w * stride_w - left + k % kernel_w * dilation_w;
    const T* moves = offset + 2 * k * places + p;
    return SpotAt(static_cast<T>(y) + moves[0], static_cast<T>(x) + moves[places], height, width);
  }
  DYGRAPH_INLINE T Mask(int64_t k, int64_t p) const { return mask ? mask[k * places + p] : T(1); }
};

// Row (channel, tap) of the columns: [rows, places], of the image x.
template <class T>
void FillColumns(const Taps<T>& t, const T* x, int64_t rows, T* columns) {
  const int64_t plane = t.height * t.width;
  kernels::ForEach(rows * t.places, [=] DYGRAPH_FN(int64_t i) {
    const int64_t row = i / t.places, p = i % t.places, k = t.TapOf(row);
    const Spot<T> s = t.At(k, p);
    const T* from = x + row / t.taps * plane;
    T sum = 0;
    if (s.at[0] >= 0) {
      for (int j = 0; j < 4; ++j) sum += s.weight[j] * from[s.at[j]];
    }
    columns[i] = sum * t.Mask(k, p);
  });
}

// Where the shares of pixels come from: entry (k * places + p) * 4 + j is pixel j of moved tap k at
// place p. They are sorted by the group of channels that the tap moves in, and by pixel.
class Shares {
 public:
  template <class T>
  Shares(const Taps<T>& t, int64_t moved)
      : entries_(moved * t.places * 4),
        pixels_(moved / t.taps * t.height * t.width),
        lists_(3 * entries_),
        begins_(pixels_ + 1) {
    Sort(t, lists_.data(), entries_, pixels_, begins_.data());
  }
  const int64_t* order() { return lists_.data() + 2 * entries_; }
  const int64_t* begin() { return begins_.data(); }  // of a group's pixel

  template <class T>
  static void Sort(const Taps<T>& t, int64_t* lists, int64_t entries, int64_t pixels,
                   int64_t* begin) {
    int64_t *keys = lists, *sorted = lists + entries, *order = sorted + entries;
    kernels::ForEach(entries / 4, [=] DYGRAPH_FN(int64_t i) {
      const int64_t k = i / t.places;
      const Spot<T> s = t.At(k, i % t.places);
      for (int j = 0; j < 4; ++j)
        keys[i * 4 + j] = s.at[0] < 0 ? pixels : k / t.taps * t.height * t.width + s.at[j];
    });
    cuda::SortKeys(keys, entries, pixels, sorted, order);
    kernels::ForEach(pixels + 1, [=] DYGRAPH_FN(int64_t pixel) {
      int64_t low = 0, high = entries;
      while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (sorted[middle] < pixel) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      begin[pixel] = low;
    });
  }

 private:
  int64_t entries_, pixels_;
  cuda::Workspace<int64_t> lists_, begins_;
};

// dx, an image of `channels`, gets what its pixels gave the columns.
template <class T>
void SpreadColumns(const Taps<T>& t, int64_t moved, int64_t channels, const T* columns, T* dx) {
  Shares shares(t, moved);
  const int64_t *order = shares.order(), *begin = shares.begin();
  const int64_t plane = t.height * t.width;
  kernels::ForEach(channels * plane, [=] DYGRAPH_FN(int64_t i) {
    const int64_t channel = i / plane, pixel = channel / t.share * plane + i % plane;
    T sum = 0;
    for (int64_t e = begin[pixel]; e < begin[pixel + 1]; ++e) {
      const int64_t at = order[e] / 4, k = at / t.places, p = at % t.places;
      const T v = columns[(channel * t.taps + k % t.taps) * t.places + p] * t.Mask(k, p);
      sum += t.At(k, p).weight[order[e] % 4] * v;
    }
    dx[i] = sum;
  });
}

// The gradients of the offsets and the mask of the image x; each may be nullptr.
template <class T>
void MoveGradients(const Taps<T>& t, int64_t moved, const T* x, const T* columns, T* to_offset,
                   T* to_mask) {
  const int64_t plane = t.height * t.width;
  kernels::ForEach(moved * t.places, [=] DYGRAPH_FN(int64_t i) {
    const int64_t k = i / t.places, p = i % t.places;
    const Spot<T> s = t.At(k, p);
    T down = 0, across = 0, value = 0;
    if (s.at[0] >= 0) {
      const int64_t first = k / t.taps * t.share;
      for (int64_t channel = first; channel < first + t.share; ++channel) {
        const T from = columns[(channel * t.taps + k % t.taps) * t.places + p];
        T d = 0, a = 0, v = 0;
        for (int j = 0; j < 4; ++j) {
          const T pixel = x[channel * plane + s.at[j]];
          d += s.down[j] * pixel;
          a += s.across[j] * pixel;
          v += s.weight[j] * pixel;
        }
        down += d * from;
        across += a * from;
        value += v * from;
      }
    }
    if (to_offset) {
      to_offset[2 * k * t.places + p] = down * t.Mask(k, p);
      to_offset[(2 * k + 1) * t.places + p] = across * t.Mask(k, p);
    }
    if (to_mask) to_mask[i] = value;
  });
}

}  // namespace detail

template <class T>
void Forward(KernelContext& ctx, bool masked) {
  const Problem<T> q(ctx, masked);
  T* out = ctx.Out(kOutput).template mutable_data<T>();
  const int64_t g = q.a.groups, rows = q.c / g * q.taps, oc = q.out_c / g;
  cuda::Workspace<T> room(q.c * q.taps * q.places);
  T* columns = room.data();
  for (int64_t i = 0; i < q.n; ++i) {
    detail::FillColumns(detail::Taps<T>(q, i), q.input + i * q.c * q.plane, q.c * q.taps, columns);
    kernels::MatMulStack<T>(false, false, oc, q.places, rows, T(1), q.filter, rows, oc * rows,
                            columns, q.places, rows * q.places, T(0), out + i * q.out_c * q.places,
                            q.places, oc * q.places, g);
  }
}

template <class T>
void Backward(KernelContext& ctx, bool masked, int top_slot) {
  const Problem<T> q(ctx, masked);
  const T* top = ctx.In(top_slot).template data<T>();
  auto to = [&](int slot) {
    Tensor* t = ctx.OutOrNull(slot);
    return t ? t->template mutable_data<T>() : nullptr;
  };
  T *dx = to(kInput), *offset = to(kOffset), *filter = to(kFilter);
  T* mask = masked && q.mask ? to(kMask) : nullptr;
  const int64_t g = q.a.groups, rows = q.c / g * q.taps, oc = q.out_c / g;
  if (filter) kernels::Fill(filter, ctx.In(kFilter).numel(), T(0));
  cuda::Workspace<T> room(q.c * q.taps * q.places);
  T* columns = room.data();
  for (int64_t i = 0; i < q.n; ++i) {
    const detail::Taps<T> taps(q, i);
    const T *x = q.input + i * q.c * q.plane, *from = top + i * q.out_c * q.places;
    if (filter) {
      detail::FillColumns(taps, x, q.c * q.taps, columns);
      kernels::MatMulStack<T>(false, true, oc, rows, q.places, T(1), from, q.places, oc * q.places,
                              columns, q.places, rows * q.places, T(1), filter, rows, oc * rows, g);
    }
    if (!dx && !offset && !mask) continue;
    kernels::MatMulStack<T>(true, false, rows, q.places, oc, T(1), q.filter, rows, oc * rows, from,
                            q.places, oc * q.places, T(0), columns, q.places, rows * q.places, g);
    if (dx) detail::SpreadColumns(taps, q.moved(), q.c, columns, dx + i * q.c * q.plane);
    if (offset || mask) {
      detail::MoveGradients(taps, q.moved(), x, columns,
                            offset ? offset + i * q.moved() * 2 * q.places : nullptr,
                            mask ? mask + i * q.moved() * q.places : nullptr);
    }
  }
}

}  // namespace dygraph::deformable
