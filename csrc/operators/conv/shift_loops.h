// The loops of temporal_shift.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/parallel.h"

namespace dygraph::shift {

// Rows of `row` numbers, `pieces` of them in a frame. Numbers [0, first) of a row come from the
// frame before, [first, second) from the one after, the rest stays; where `way` is -1 the reverse.
struct Rows {
  int64_t rows, frames, pieces, row, first, second;
};

template <class T>
void Move(const T* from, const Rows& s, int way, T* to) {
  const int64_t ends[] = {s.first, s.second, s.row}, frame_size = s.pieces * s.row;
  kernels::ParallelRows(s.rows, s.row, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      int64_t frame = r / s.pieces % s.frames, at = 0;
      for (int run = 0; run < 3; ++run) {
        int64_t move = (run == 0 ? -1 : run == 1 ? 1 : 0) * way, length = ends[run] - at;
        T* piece = to + r * s.row + at;
        if (frame + move < 0 || frame + move >= s.frames) {
          std::fill_n(piece, length, T(0));
        } else {
          std::copy_n(from + r * s.row + move * frame_size + at, length, piece);
        }
        at = ends[run];
      }
    }
  });
}

}  // namespace dygraph::shift
