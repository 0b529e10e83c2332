#include "kernels/transpose.h"

#include <algorithm>

#include "kernels/even_rows.h"
#include "kernels/parallel.h"
#include "kernels/strides.h"

namespace dygraph::kernels {

namespace {

// Array 0: x, array 1: y; the last dimension is the innermost of y.
template <class T>
void PermuteWalk(const Walk<2>& walk, const T* x, T* y) {
  if (walk.rank == 0) {
    *y = *x;
    return;
  }
  int last = walk.rank - 1;
  int64_t n = walk.dims[last], step = walk.strides[0][last];
  if (step == 1) {  // rows stay whole
    if (walk.rank == 1) {
      ParallelFor(n, Grain(),
                  [=](int64_t b, int64_t e) { std::memcpy(y + b, x + b, (e - b) * sizeof(T)); });
      return;
    }
    return CopyDenseRows(walk, x, y);
  }
  int unit = -1;  // the dimension that is innermost in x
  for (int i = 0; i < last; ++i) {
    if (walk.strides[0][i] == 1) unit = i;
  }
  if (unit < 0) {  // none: x is itself a strided view
    ParallelRows(walk.Count(0, last), n, [&](int64_t begin, int64_t end) {
      Odometer<2> at(walk, last, begin);
      for (int64_t r = begin; r < end; ++r, at.Next()) {
        for (int64_t i = 0; i < n; ++i) y[at.offset[1] + i] = x[at.offset[0] + i * step];
      }
    });
    return;
  }
  // Matrices of n rows and m columns in x, in blocks that stay in the first cache.
  Walk<2> outer;
  for (int i = 0; i < last; ++i) {
    if (i != unit) outer.Push(walk.dims[i], {walk.strides[0][i], walk.strides[1][i]});
  }
  int64_t m = walk.dims[unit], ys = walk.strides[1][unit];
  constexpr int64_t kBlock = 64;
  int64_t row_blocks = (n + kBlock - 1) / kBlock, column_blocks = (m + kBlock - 1) / kBlock;
  int64_t blocks = row_blocks * column_blocks;
  const Walk<2>* w = &outer;
  ParallelRows(outer.Count(0, outer.rank) * blocks, std::min(n, kBlock) * std::min(m, kBlock),
               [=](int64_t begin, int64_t end) {
                 Simd([=] {
                   Odometer<2> at(*w, w->rank, begin / blocks);
                   int64_t b = begin % blocks;
                   for (int64_t t = begin; t < end; ++t) {
                     int64_t i = b % row_blocks * kBlock, j = b / row_blocks * kBlock;
                     detail::TransposeBlock(x + at.offset[0] + i * step + j, step,
                                            y + at.offset[1] + j * ys + i, ys,
                                            std::min(kBlock, n - i), std::min(kBlock, m - j));
                     if (++b == blocks) {
                       b = 0;
                       at.Next();
                     }
                   }
                 });
               });
}

}  // namespace

void Permute(const void* x, Span<const int64_t> dims, Span<const int> perm, void* y,
             size_t element_size) {
  int rank = static_cast<int>(dims.size());
  ENFORCE(rank <= kMaxRank, InvalidArgument, "the rank must be at most ", kMaxRank, ", got ", rank);
  FixedArray<int64_t, kMaxRank> x_strides, y_strides;
  int64_t x_stride = 1, y_stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    x_strides[i] = x_stride;
    y_strides[i] = y_stride;
    x_stride *= dims[i];
    y_stride *= dims[perm[i]];
  }
  if (x_stride == 0) return;
  Walk<2> walk;
  const int64_t units = element_size == 16 ? 2 : 1;  // 16 bytes are twice 8
  for (int i = 0; i < rank; ++i)
    walk.Push(dims[perm[i]], {units * x_strides[perm[i]], units * y_strides[i]});
  if (units == 2) walk.Push(2, {1, 1});
  switch (element_size) {
    case 1: return PermuteWalk(walk, static_cast<const uint8_t*>(x), static_cast<uint8_t*>(y));
    case 2: return PermuteWalk(walk, static_cast<const uint16_t*>(x), static_cast<uint16_t*>(y));
    case 4: return PermuteWalk(walk, static_cast<const uint32_t*>(x), static_cast<uint32_t*>(y));
    case 8:
    case 16: return PermuteWalk(walk, static_cast<const uint64_t*>(x), static_cast<uint64_t*>(y));
    default:
      THROW(InvalidArgument, "elements must be of 1, 2, 4, 8 or 16 bytes, got ", element_size);
  }
}

void NchwToNhwc(const void* x, int64_t n, int64_t c, int64_t hw, void* y, size_t element_size) {
  const int64_t dims[] = {n, c, hw};
  const int perm[] = {0, 2, 1};
  Permute(x, {dims, 3}, {perm, 3}, y, element_size);
}

void NhwcToNchw(const void* x, int64_t n, int64_t c, int64_t hw, void* y, size_t element_size) {
  const int64_t dims[] = {n, hw, c};
  const int perm[] = {0, 2, 1};
  Permute(x, {dims, 3}, {perm, 3}, y, element_size);
}

}  // namespace dygraph::kernels
