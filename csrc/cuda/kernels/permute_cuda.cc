#include "cuda/launch.h"
#include "kernels/pack.h"
#include "kernels/strided_copy.h"
#include "kernels/transpose.h"
#include "kernels/walk.h"

namespace dygraph::kernels {

namespace {

using detail::Steps;

constexpr int kTransposeTile = 32;

// y[b..., j * y_step + i] = x[b..., i * x_step + j] for i < rows, j < columns and every b of a
// walk: tiles are read along x and written along y.
template <class U>
__global__ void __launch_bounds__(cuda::kThreads)
    TransposeKernel(const U* x, int64_t x_step, U* y, int64_t y_step, int64_t rows, int64_t columns,
                    int64_t matrices, const __grid_constant__ Steps<2> walk) {
  constexpr int kLines = cuda::kThreads / kTransposeTile;
  __shared__ U tile[kTransposeTile][kTransposeTile + 1];
  const int across = threadIdx.x % kTransposeTile, line = threadIdx.x / kTransposeTile;
  const int64_t down = (rows + kTransposeTile - 1) / kTransposeTile;
  const int64_t side = (columns + kTransposeTile - 1) / kTransposeTile;
  for (int64_t t = blockIdx.x; t < down * side * matrices; t += gridDim.x) {
    const int64_t matrix = t / (down * side), at = t - matrix * (down * side);
    const int64_t row = at / side * kTransposeTile, column = at % side * kTransposeTile;
    const auto offset = walk.At(matrix);
    const U* from = x + offset.of[0] + row * x_step + column;
    U* to = y + offset.of[1] + column * y_step + row;
    for (int i = line; i < kTransposeTile; i += kLines) {
      if (row + i < rows && column + across < columns) tile[i][across] = from[i * x_step + across];
    }
    __syncthreads();
    for (int j = line; j < kTransposeTile; j += kLines) {
      if (column + j < columns && row + across < rows) to[j * y_step + across] = tile[across][j];
    }
    __syncthreads();
  }
}

// `inner`: the dimension along which x is dense; y is so along the last one.
template <class U>
void TransposeWalk(const Walk<2>& walk, int inner, const void* x, void* y) {
  const int last = walk.rank - 1;
  Walk<2> matrices;
  for (int i = 0; i < last; ++i) {
    if (i != inner) matrices.Push(walk.dims[i], {walk.strides[0][i], walk.strides[1][i]});
  }
  const int64_t rows = walk.dims[last], columns = walk.dims[inner];
  const int64_t count = matrices.Count(0, matrices.rank);
  const int64_t tiles = (rows + kTransposeTile - 1) / kTransposeTile *
                        ((columns + kTransposeTile - 1) / kTransposeTile) * count;
  cuda::Run(TransposeKernel<U>, cuda::Blocks(tiles, 1), static_cast<const U*>(x),
            walk.strides[0][last], static_cast<U*>(y), walk.strides[1][inner], rows, columns, count,
            Steps<2>(matrices));
}

}  // namespace

void Permute(const void* x, Span<const int64_t> dims, Span<const int> perm, void* y,
             size_t element_size) {
  const int rank = static_cast<int>(dims.size());
  ENFORCE(rank <= kMaxRank, InvalidArgument, "the rank must be at most ", kMaxRank, ", got ", rank);
  int64_t x_strides[kMaxRank], y_strides[kMaxRank], x_stride = 1, y_stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    x_strides[i] = x_stride;
    y_strides[i] = y_stride;
    x_stride *= dims[i];
    y_stride *= dims[perm[i]];
  }
  if (x_stride == 0) return;
  Walk<2> walk;
  for (int i = 0; i < rank; ++i) walk.Push(dims[perm[i]], {x_strides[perm[i]], y_strides[i]});
  int inner = 0;
  while (inner < walk.rank - 1 && walk.strides[0][inner] != 1) ++inner;
  if (inner >= walk.rank - 1) {
    return CopyStrided({walk.dims, static_cast<size_t>(walk.rank)}, x,
                       {walk.strides[0], static_cast<size_t>(walk.rank)}, y,
                       {walk.strides[1], static_cast<size_t>(walk.rank)}, element_size);
  }
  switch (element_size) {
    case 1: return TransposeWalk<uint8_t>(walk, inner, x, y);
    case 2: return TransposeWalk<uint16_t>(walk, inner, x, y);
    case 4: return TransposeWalk<uint32_t>(walk, inner, x, y);
    case 8: return TransposeWalk<uint64_t>(walk, inner, x, y);
    default: return TransposeWalk<detail::Pack<uint64_t, 2>>(walk, inner, x, y);
  }
}

void NchwToNhwc(const void* x, int64_t n, int64_t c, int64_t hw, void* y, size_t element_size) {
  const int64_t dims[] = {n, c, hw};
  const int perm[] = {0, 2, 1};
  Permute(x, {dims, 3}, {perm, 3}, y, element_size);
}
void NhwcToNchw(const void* x, int64_t n, int64_t c, int64_t hw, void* y, size_t element_size) {
  NchwToNhwc(x, n, hw, c, y, element_size);
}

}  // namespace dygraph::kernels
