// operators/conv/shift_loops.h on the device.
#pragma once

#include <cstdint>

#include "kernels/pairs.h"

namespace dygraph::shift {

struct Rows {
  int64_t rows, frames, pieces, row, first, second;
};

template <class T>
void Move(const T* from, const Rows& s, int way, T* to) {
  kernels::ForEachPair(s.rows, s.row, [=] DYGRAPH_FN(int64_t r, int64_t i) {
    const int64_t move = (i < s.first ? -1 : i < s.second ? 1 : 0) * way;
    const int64_t frame = r / s.pieces % s.frames + move;
    const bool inside = frame >= 0 && frame < s.frames;
    to[r * s.row + i] = inside ? from[(r + move * s.pieces) * s.row + i] : T(0);
  });
}

}  // namespace dygraph::shift
