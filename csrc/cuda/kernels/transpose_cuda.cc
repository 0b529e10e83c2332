// Images between the two orders, in tiles that pass through shared memory.
#include "cuda/context_cuda.h"
#include "cuda/launch.h"

namespace dygraph::cuda {
namespace {

constexpr int kTile = 32, kRows = 8;

template <class T>
__global__ void __launch_bounds__(kTile* kRows)
    TransposeTiles(const T* from, T* to, int64_t rows, int64_t cols, int64_t tiles_down,
                   int64_t tiles_across, int64_t tiles) {
  __shared__ T tile[kTile][kTile + 1];
  for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const int64_t image = t / (tiles_down * tiles_across);
    const int64_t row = t / tiles_across % tiles_down * kTile, col = t % tiles_across * kTile;
    const T* x = from + image * rows * cols;
    T* y = to + image * rows * cols;
    for (int k = threadIdx.y; k < kTile; k += kRows) {
      if (row + k < rows && col + threadIdx.x < cols)
        tile[k][threadIdx.x] = x[(row + k) * cols + col + threadIdx.x];
    }
    __syncthreads();
    for (int k = threadIdx.y; k < kTile; k += kRows) {
      if (col + k < cols && row + threadIdx.x < rows)
        y[(col + k) * rows + row + threadIdx.x] = tile[threadIdx.x][k];
    }
    __syncthreads();
  }
}

template <class T>
void Transpose(const void* from, void* to, int64_t n, int64_t rows, int64_t cols) {
  const int64_t down = (rows + kTile - 1) / kTile, across = (cols + kTile - 1) / kTile;
  const int64_t tiles = n * down * across;
  if (tiles == 0) return;
  Launch(TransposeTiles<T>, dim3(Blocks(tiles, 1)), dim3(kTile, kRows), 0, CurrentStream(),
         static_cast<const T*>(from), static_cast<T*>(to), rows, cols, down, across, tiles);
  Check(cudaPeekAtLastError(), "a launch");
}

}  // namespace

bool Context::TransposeImages(const void* from, void* to, int64_t n, int64_t rows, int64_t cols,
                              size_t element_size) {
  Enter();
  switch (element_size) {
    case 1: Transpose<uint8_t>(from, to, n, rows, cols); return true;
    case 2: Transpose<uint16_t>(from, to, n, rows, cols); return true;
    case 4: Transpose<uint32_t>(from, to, n, rows, cols); return true;
    case 8: Transpose<uint64_t>(from, to, n, rows, cols); return true;
    default: return false;
  }
}

}  // namespace dygraph::cuda
