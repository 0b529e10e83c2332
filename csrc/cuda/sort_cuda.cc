#include "cuda/sort_cuda.h"

#include <algorithm>
#include <utility>

#include "cuda/launch.h"
#include "cuda/scratch.h"

namespace dygraph::cuda {
namespace {

constexpr int kDigitBits = 4, kDigits = 1 << kDigitBits;
constexpr int64_t kChunk = 16;  // keys of a thread, one after the other
constexpr int64_t kTile = kChunk * kThreads;
constexpr int64_t kMostInOneBlock = 4 * kTile;

__device__ __forceinline__ int DigitOf(int64_t key, int shift) {
  return static_cast<int>(key >> shift) & (kDigits - 1);
}

// The sum of the values of the threads before this one in the block, and that of all.
struct BlockSum {
  int64_t before, all;
};
__device__ __forceinline__ BlockSum SumOfBlock(int64_t mine) {
  __shared__ int64_t sums[2][kThreads];
  const int t = threadIdx.x;
  __syncthreads();  // what an earlier call left here has been read
  sums[0][t] = mine;
  __syncthreads();
  int now = 0;
  for (int step = 1; step < kThreads; step *= 2, now = 1 - now) {
    sums[1 - now][t] = sums[now][t] + (t >= step ? sums[now][t - step] : 0);
    __syncthreads();
  }
  return {sums[now][t] - mine, sums[now][kThreads - 1]};
}

// counts[d * tiles + tile]: the keys of the tile whose digit is d.
__global__ void __launch_bounds__(kThreads)
    CountDigits(const int64_t* keys, int64_t n, int shift, int64_t* counts) {
  __shared__ int of_digit[kDigits];
  if (threadIdx.x < kDigits) of_digit[threadIdx.x] = 0;
  __syncthreads();
  const int64_t begin = blockIdx.x * kTile;
  const int64_t end = n < begin + kTile ? n : begin + kTile;
  for (int64_t i = begin + threadIdx.x; i < end; i += kThreads)
    atomicAdd(&of_digit[DigitOf(keys[i], shift)], 1);
  __syncthreads();
  if (threadIdx.x < kDigits)
    counts[int64_t{threadIdx.x} * gridDim.x + blockIdx.x] = of_digit[threadIdx.x];
}

__global__ void __launch_bounds__(kThreads)
    SumBeforeKernel(int64_t* counts, int64_t n, int64_t* total) {
  int64_t base = 0;
  for (int64_t first = 0; first < n; first += kTile) {
    const int64_t begin = first + threadIdx.x * kChunk;
    const int64_t end = n < begin + kChunk ? n : begin + kChunk;
    int64_t mine = 0;
    for (int64_t i = begin; i < end; ++i) mine += counts[i];
    const BlockSum sum = SumOfBlock(mine);
    int64_t before = base + sum.before;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t count = counts[i];
      counts[i] = before;
      before += count;
    }
    base += sum.all;
  }
  if (total && threadIdx.x == 0) *total = base;
}

// The keys of one tile, `chunk` of a thread, to their places by one digit. base[d * tiles] is where
// those with digit d begin; null where the tile is all there is.
__device__ __forceinline__ void PlaceTile(const int64_t* keys, const int64_t* order, int64_t begin,
                                          int64_t end, int64_t chunk, int shift,
                                          const int64_t* base, int64_t tiles, int64_t* to_keys,
                                          int64_t* to_order) {
  __shared__ int places[kDigits * kThreads];  // [digit, thread]: first counts, then places
  const int t = threadIdx.x;
  __syncthreads();
  for (int d = 0; d < kDigits; ++d) places[d * kThreads + t] = 0;
  const int64_t first = begin + t * chunk;
  const int64_t last = end < first + chunk ? end : first + chunk;
  for (int64_t i = first; i < last; ++i) ++places[DigitOf(keys[i], shift) * kThreads + t];
  __syncthreads();
  int mine = 0;
  for (int k = 0; k < kDigits; ++k) mine += places[t * kDigits + k];
  int before = static_cast<int>(SumOfBlock(mine).before);
  for (int k = 0; k < kDigits; ++k) {
    const int count = places[t * kDigits + k];
    places[t * kDigits + k] = before;
    before += count;
  }
  __syncthreads();
  __shared__ int64_t shifts[kDigits];  // from a place in the tile to one in the whole
  if (t < kDigits) shifts[t] = begin + (base ? base[t * tiles] - places[t * kThreads] - begin : 0);
  __syncthreads();
  for (int64_t i = first; i < last; ++i) {
    const int d = DigitOf(keys[i], shift);
    const int64_t to = shifts[d] + places[d * kThreads + t]++;
    to_keys[to] = keys[i];
    to_order[to] = order ? order[i] : i;
  }
}

__global__ void __launch_bounds__(kThreads)
    PlaceDigits(const int64_t* keys, const int64_t* order, int64_t n, int shift,
                const int64_t* bases, int64_t* to_keys, int64_t* to_order) {
  const int64_t begin = blockIdx.x * kTile;
  PlaceTile(keys, order, begin, n < begin + kTile ? n : begin + kTile, kChunk, shift,
            bases + blockIdx.x, gridDim.x, to_keys, to_order);
}

// All digits of few keys, between two pairs of arrays.
__global__ void __launch_bounds__(kThreads)
    SortInBlock(const int64_t* keys, int64_t n, int passes, int64_t* sorted, int64_t* order,
                int64_t* other_keys, int64_t* other_order) {
  const int64_t chunk = (n + kThreads - 1) / kThreads;
  const int64_t* from_order = nullptr;
  bool to_result = passes % 2 == 1;
  for (int p = 0; p < passes; ++p, to_result = !to_result) {
    int64_t *to_keys = to_result ? sorted : other_keys, *to_order = to_result ? order : other_order;
    PlaceTile(keys, from_order, 0, n, chunk, p * kDigitBits, nullptr, 1, to_keys, to_order);
    __syncthreads();
    keys = to_keys;
    from_order = to_order;
  }
}

}  // namespace

void SumBefore(int64_t* counts, int64_t n, int64_t* total) {
  Run(SumBeforeKernel, 1, counts, n, total);
}

void SortKeys(const int64_t* keys, int64_t n, int64_t most, int64_t* sorted, int64_t* order) {
  if (n == 0) return;
  int passes = 1;
  while (passes * kDigitBits < 63 && most >> passes * kDigitBits) ++passes;
  Workspace<int64_t> other(2 * n);
  if (n <= kMostInOneBlock) {
    return Run(SortInBlock, 1, keys, n, passes, sorted, order, other.data(), other.data() + n);
  }
  const int64_t tiles = (n + kTile - 1) / kTile;
  Workspace<int64_t> counts(kDigits * tiles);
  const int64_t* from_order = nullptr;
  bool to_result = passes % 2 == 1;
  for (int p = 0; p < passes; ++p, to_result = !to_result) {
    int64_t *to_keys = to_result ? sorted : other.data(),
            *to_order = to_result ? order : other.data() + n;
    const dim3 grid(static_cast<unsigned>(tiles));
    Run(CountDigits, grid, keys, n, p * kDigitBits, counts.data());
    SumBefore(counts.data(), kDigits * tiles, nullptr);
    Run(PlaceDigits, grid, keys, from_order, n, p * kDigitBits,
        static_cast<const int64_t*>(counts.data()), to_keys, to_order);
    keys = to_keys;
    from_order = to_order;
  }
}

}  // namespace dygraph::cuda
