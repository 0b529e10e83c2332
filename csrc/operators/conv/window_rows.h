// The windows of images as rows of sequences, and back.
#pragma once

#include "operators/conv/patches.h"

namespace dygraph::patches {

// Calls body(image, first row, counts) for each image; `col` is a matrix [taps, windows].
template <class Body>
void ForImages(const std::vector<Count>& counts, const Body& body) {
  int64_t row = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    body(static_cast<int64_t>(i), row, counts[i]);
    row += counts[i].h * counts[i].w;
  }
}

// Each row of `to` is a window of x: channels first, then the taps.
template <class T>
void WindowsToRows(KernelContext& ctx, const Geometry& g, const std::vector<Count>& counts,
                   const T* x, T* to) {
  const kernels::Im2ColShape s = g.Shape();
  const int64_t taps = g.Taps(), width = g.w.Out();
  Scratch scratch = ctx.Workspace(static_cast<size_t>(taps * g.Count()) * sizeof(T));
  T* col = scratch.as<T>();
  ForImages(counts, [&](int64_t i, int64_t row, Count n) {
    kernels::Im2Col(x + i * g.c * g.h.size * g.w.size, s, col);
    for (int64_t h = 0; h < n.h; ++h) {
      for (int64_t w = 0; w < n.w; ++w) {
        T* line = to + (row + h * n.w + w) * taps;
        for (int64_t t = 0; t < taps; ++t) line[t] = col[t * g.Count() + h * width + w];
      }
    }
  });
}

// x gets the sums of the rows where they were cut out.
template <class T>
void RowsToWindows(KernelContext& ctx, const Geometry& g, const std::vector<Count>& counts,
                   const T* rows, T* x) {
  const kernels::Im2ColShape s = g.Shape();
  const int64_t taps = g.Taps(), width = g.w.Out();
  Scratch scratch = ctx.Workspace(static_cast<size_t>(taps * g.Count()) * sizeof(T));
  T* col = scratch.as<T>();
  ForImages(counts, [&](int64_t i, int64_t row, Count n) {
    std::fill_n(col, taps * g.Count(), T(0));
    for (int64_t h = 0; h < n.h; ++h) {
      for (int64_t w = 0; w < n.w; ++w) {
        const T* line = rows + (row + h * n.w + w) * taps;
        for (int64_t t = 0; t < taps; ++t) col[t * g.Count() + h * width + w] = line[t];
      }
    }
    kernels::Col2Im(col, s, x + i * g.c * g.h.size * g.w.size);
  });
}

}  // namespace dygraph::patches
