#include "cuda/launch.h"
#include "kernels/pack.h"
#include "kernels/strided_copy.h"
#include "kernels/walk.h"

namespace dygraph::kernels {

namespace {

using detail::Pack;
using detail::Steps;

template <class U>
__global__ void __launch_bounds__(cuda::kThreads)
    CopyKernel(const U* x, U* y, int64_t n, const __grid_constant__ Steps<2> walk) {
  constexpr int kAtOnce = 4;
  const int64_t step = int64_t{cuda::kThreads} * gridDim.x;
  for (int64_t i = blockIdx.x * int64_t{cuda::kThreads} + threadIdx.x; i < n; i += kAtOnce * step) {
    U value[kAtOnce];
    int64_t to[kAtOnce];
    DYGRAPH_UNROLL
    for (int k = 0; k < kAtOnce; ++k) {
      if (i + k * step >= n) break;
      const auto at = walk.At(i + k * step);
      value[k] = x[at.of[0]];
      to[k] = at.of[1];
    }
    DYGRAPH_UNROLL
    for (int k = 0; k < kAtOnce; ++k) {
      if (i + k * step < n) y[to[k]] = value[k];
    }
  }
}

template <class U>
void CopyWalk(const Walk<2>& walk, const void* x, void* y) {
  const int64_t n = walk.Count(0, walk.rank);
  cuda::Run(CopyKernel<U>, cuda::Blocks(n), static_cast<const U*>(x), static_cast<U*>(y), n,
            Steps<2>(walk));
}

// Elements joined to larger ones while both arrays allow it; returns their size in bytes.
inline size_t Widen(Walk<2>* walk, const void* x, const void* y, size_t size) {
  const uintptr_t places = reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y);
  const int last = walk->rank - 1;
  while (last >= 0 && size < 16 && walk->strides[0][last] == 1 && walk->strides[1][last] == 1 &&
         walk->dims[last] % 2 == 0 && places % (2 * size) == 0) {
    for (int i = 0; i < last; ++i) {
      if (walk->strides[0][i] % 2 != 0 || walk->strides[1][i] % 2 != 0) return size;
    }
    for (int i = 0; i < last; ++i) {
      walk->strides[0][i] /= 2;
      walk->strides[1][i] /= 2;
    }
    walk->dims[last] /= 2;
    size *= 2;
  }
  return size;
}

inline void CopyAnyWalk(Walk<2> walk, const void* x, void* y, size_t element_size) {
  switch (Widen(&walk, x, y, element_size)) {
    case 1: return CopyWalk<uint8_t>(walk, x, y);
    case 2: return CopyWalk<uint16_t>(walk, x, y);
    case 4: return CopyWalk<uint32_t>(walk, x, y);
    case 8: return CopyWalk<uint64_t>(walk, x, y);
    default: return CopyWalk<Pack<uint64_t, 2>>(walk, x, y);
  }
}

}  // namespace

void CopyStrided(Span<const int64_t> dims, const void* x, Span<const int64_t> x_strides, void* y,
                 Span<const int64_t> y_strides, size_t element_size) {
  Walk<2> walk;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) return;
    walk.Push(dims[i], {x_strides[i], y_strides[i]});
  }
  CopyAnyWalk(walk, x, y, element_size);
}

void CopyRows(int64_t rows, int64_t width, const void* x, int64_t x_step, void* y, int64_t y_step,
              size_t element_size) {
  const int64_t dims[] = {rows, width}, from[] = {x_step, 1}, to[] = {y_step, 1};
  CopyStrided({dims, 2}, x, {from, 2}, y, {to, 2}, element_size);
}

}  // namespace dygraph::kernels
