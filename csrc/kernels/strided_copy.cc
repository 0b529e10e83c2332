#include "kernels/strided_copy.h"

#include <cstring>

#include "kernels/even_rows.h"
#include "kernels/parallel.h"

namespace dygraph::kernels {

namespace {

template <class T>
void CopyWalk(const Walk<2>& walk, const T* x, T* y) {
  if (walk.rank == 0) {
    *y = *x;
    return;
  }
  int last = walk.rank - 1;
  int64_t n = walk.dims[last], xs = walk.strides[0][last], ys = walk.strides[1][last];
  constexpr int64_t kShort = 16;  // a call of memcpy costs more than so many moves
  auto copy_row = [=](const T* from, T* to, int64_t count) {
    if (xs == 1 && ys == 1 && count > kShort) {
      std::memcpy(to, from, count * sizeof(T));
    } else {
      for (int64_t i = 0; i < count; ++i) to[i * ys] = from[i * xs];
    }
  };
  if (walk.rank == 1) {
    ParallelFor(n, Grain(), [=](int64_t b, int64_t e) { copy_row(x + b * xs, y + b * ys, e - b); });
    return;
  }
  if (xs == 1 && ys == 1) return CopyDenseRows(walk, x, y);
  ParallelRows(walk.Count(0, last), n, [&](int64_t begin, int64_t end) {
    Odometer<2> at(walk, last, begin);
    for (int64_t r = begin; r < end; ++r, at.Next())
      copy_row(x + at.offset[0], y + at.offset[1], n);
  });
}

}  // namespace

void CopyStrided(Span<const int64_t> dims, const void* x, Span<const int64_t> x_strides, void* y,
                 Span<const int64_t> y_strides, size_t element_size) {
  const int64_t units = element_size == 16 ? 2 : 1;  // 16 bytes are twice 8
  Walk<2> walk;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) return;
    walk.Push(dims[i], {units * x_strides[i], units * y_strides[i]});
  }
  if (units == 2) walk.Push(2, {1, 1});
  switch (element_size) {
    case 1: return CopyWalk(walk, static_cast<const uint8_t*>(x), static_cast<uint8_t*>(y));
    case 2: return CopyWalk(walk, static_cast<const uint16_t*>(x), static_cast<uint16_t*>(y));
    case 4: return CopyWalk(walk, static_cast<const uint32_t*>(x), static_cast<uint32_t*>(y));
    case 8:
    case 16: return CopyWalk(walk, static_cast<const uint64_t*>(x), static_cast<uint64_t*>(y));
    default:
      THROW(InvalidArgument, "elements must be of 1, 2, 4, 8 or 16 bytes, got ", element_size);
  }
}

void CopyRows(int64_t rows, int64_t width, const void* x, int64_t x_step, void* y, int64_t y_step,
              size_t element_size) {
  const int64_t dims[] = {rows, width}, xs[] = {x_step, 1}, ys[] = {y_step, 1};
  CopyStrided({dims, 2}, x, {xs, 2}, y, {ys, 2}, element_size);
}

}  // namespace dygraph::kernels
