// Index arithmetic shared by the kernels that walk several strided arrays at once.
#pragma once

#include <cstdint>

#include "base/bounds.h"
#include "base/enforce.h"
#include "base/span.h"
#include "tensor/dims.h"

namespace dygraph::kernels {

// An iteration space and the element strides of `kArrays` arrays over it.
template <int kArrays>
struct Walk {
  int rank = 0;
  int64_t dims[kMaxRank];
  int64_t strides[kArrays][kMaxRank];

  // Adds an inner dimension, joined with the one before where every array allows.
  void Push(int64_t dim, const int64_t (&stride)[kArrays]) {
    if (dim == 1) return;
    if (rank > 0) {
      bool join = true;
      for (int a = 0; a < kArrays; ++a) join &= strides[a][rank - 1] == stride[a] * dim;
      if (join) {
        dims[rank - 1] *= dim;
        for (int a = 0; a < kArrays; ++a) strides[a][rank - 1] = stride[a];
        return;
      }
    }
    ENFORCE(rank < kMaxRank, InvalidArgument, "the rank must be at most ", kMaxRank, ", got more");
    dims[rank] = dim;
    for (int a = 0; a < kArrays; ++a) strides[a][rank] = stride[a];
    ++rank;
  }
  int64_t Count(int begin, int end) const {
    int64_t n = 1;
    for (int i = begin; i < end; ++i) n *= dims[i];
    return n;
  }
};

// A position in the first `rank` dimensions of a Walk, with each array's offset.
template <int kArrays>
struct Odometer {
  const Walk<kArrays>& walk;
  int rank;
  int64_t index[kMaxRank];
  int64_t offset[kArrays];

  Odometer(const Walk<kArrays>& w, int r, int64_t linear) : walk(w), rank(r) {
    ENFORCE(r <= w.rank, OutOfRange, "a walk of ", w.rank, " dimensions has no ", r);
    for (int a = 0; a < kArrays; ++a) offset[a] = 0;
    for (int i = rank - 1; i >= 0; --i) {
      index[i] = 0;
      if (linear == 0) continue;  // the start, also of a walk over nothing
      index[i] = linear % walk.dims[i];
      linear /= walk.dims[i];
      for (int a = 0; a < kArrays; ++a) offset[a] += index[i] * walk.strides[a][i];
    }
  }
  void Next() {
    for (int i = rank - 1; i >= 0; --i) {
      for (int a = 0; a < kArrays; ++a) offset[a] += walk.strides[a][i];
      if (++index[i] < walk.dims[i]) return;
      for (int a = 0; a < kArrays; ++a) offset[a] -= walk.dims[i] * walk.strides[a][i];
      index[i] = 0;
    }
  }
};

}  // namespace dygraph::kernels
