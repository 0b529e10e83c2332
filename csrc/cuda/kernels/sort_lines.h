// Lines of keys in ascending order, with where each stood: equal ones keep their order, so the
// result does not depend on the order in which threads run. Short lines are sorted in the memory of
// a block, the others together, by digits from the lowest up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "cuda/launch.h"
#include "cuda/scratch.h"
#include "cuda/sort_cuda.h"
#include "kernels/team.h"

namespace dygraph::kernels {

namespace detail {

// A bitonic network over kSize places: those behind the line hold the greatest keys.
template <int kSize, class K, class F>
__global__ void __launch_bounds__(cuda::kThreads)
    SortShortLines(int64_t lines, int64_t n, F key, K* keys, uint32_t* at) {
  __shared__ K k[kSize];
  __shared__ uint32_t p[kSize];
  for (int64_t line = blockIdx.x; line < lines; line += gridDim.x) {
    for (int i = threadIdx.x; i < kSize; i += blockDim.x) {
      k[i] = i < n ? key(line, i) : static_cast<K>(~K(0));
      p[i] = static_cast<uint32_t>(i);
    }
    __syncthreads();
    for (int size = 2; size <= kSize; size *= 2) {
      for (int step = size / 2; step > 0; step /= 2) {
        for (int t = threadIdx.x; t < kSize / 2; t += blockDim.x) {
          const int i = 2 * t - (t & (step - 1)), j = i + step;
          const bool up = (i & size) == 0;
          const bool after = k[i] > k[j] || (k[i] == k[j] && p[i] > p[j]);
          if (after == up) {
            const K other_key = k[i];
            k[i] = k[j];
            k[j] = other_key;
            const uint32_t other = p[i];
            p[i] = p[j];
            p[j] = other;
          }
        }
        __syncthreads();
      }
    }
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
      keys[line * n + i] = k[i];
      at[line * n + i] = p[i];
    }
    __syncthreads();
  }
}

constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits;
static_assert(kDigits == cuda::kThreads, "a thread for each digit");

// The digit to sort by: of the key, or of the number of the line.
template <class K>
struct Digit {
  int shift;
  bool of_line;
  int64_t n;
  DYGRAPH_INLINE int operator()(K key, uint32_t place) const {
    const uint64_t number = of_line ? place / n : static_cast<uint64_t>(key);
    return static_cast<int>(number >> shift) & (kDigits - 1);
  }
};

// counts[d * blocks + b]: the keys of block b's share whose digit is d.
template <class K>
__global__ void __launch_bounds__(cuda::kThreads)
    CountDigits(const K* keys, const uint32_t* places, int64_t total, int64_t share, Digit<K> digit,
                int64_t* counts) {
  __shared__ int found[kDigits];
  found[threadIdx.x] = 0;
  __syncthreads();
  const int64_t begin = blockIdx.x * share;
  const int64_t end = total < begin + share ? total : begin + share;
  for (int64_t i = begin + threadIdx.x; i < end; i += cuda::kThreads)
    atomicAdd(&found[digit(keys[i], places[i])], 1);
  __syncthreads();
  counts[int64_t{threadIdx.x} * gridDim.x + blockIdx.x] = found[threadIdx.x];
}

// A block takes its share a key a thread at a time: those of equal digit stand in the order of
// their warps, and of the lanes within.
template <class K>
__global__ void __launch_bounds__(cuda::kThreads)
    PlaceDigits(const K* keys, const uint32_t* places, int64_t total, int64_t share, Digit<K> digit,
                const int64_t* starts, K* to_keys, uint32_t* to_places) {
  constexpr int kWarps = cuda::kThreads / kWarp;
  __shared__ int64_t next[kDigits];
  __shared__ int before[kWarps][kDigits];
  const int t = threadIdx.x, warp = t / kWarp, lane = t % kWarp;
  next[t] = starts[int64_t{t} * gridDim.x + blockIdx.x];
  const int64_t begin = blockIdx.x * share;
  const int64_t end = total < begin + share ? total : begin + share;
  for (int64_t first = begin; first < end; first += cuda::kThreads) {
    for (int w = 0; w < kWarps; ++w) before[w][t] = 0;
    __syncthreads();
    const int64_t i = first + t;
    const bool has = i < end;
    const K key = has ? keys[i] : K(0);
    const uint32_t place = has ? places[i] : 0;
    const int d = digit(key, place);
    unsigned same = __ballot_sync(0xffffffffu, has);
    for (int bit = 0; bit < kDigitBits; ++bit) {
      const unsigned set = __ballot_sync(0xffffffffu, d >> bit & 1);
      same &= d >> bit & 1 ? set : ~set;
    }
    const int rank = __popc(same & ((1u << lane) - 1));
    if (has && rank == 0) before[warp][d] = __popc(same);
    __syncthreads();
    int sum = 0;
    for (int w = 0; w < kWarps; ++w) {
      const int count = before[w][t];
      before[w][t] = sum;
      sum += count;
    }
    __syncthreads();
    if (has) {
      const int64_t to = next[d] + before[warp][d] + rank;
      to_keys[to] = key;
      to_places[to] = place;
    }
    __syncthreads();
    next[t] += sum;
  }
}

template <class K, class F>
void SortShort(int64_t lines, int64_t n, F key, K* keys, uint32_t* at) {
  const dim3 grid(static_cast<unsigned>(std::min(lines, cuda::kMostBlocks)));
  if (n <= 128) return cuda::Run(SortShortLines<128, K, F>, grid, lines, n, key, keys, at);
  if (n <= 512) return cuda::Run(SortShortLines<512, K, F>, grid, lines, n, key, keys, at);
  cuda::Run(SortShortLines<2048, K, F>, grid, lines, n, key, keys, at);
}

}  // namespace detail

// keys[line * n + i] becomes the i-th of the key(line, j), j in [0, n), in ascending order, and at
// that j.
template <class K, class F>
void SortLines(int64_t lines, int64_t n, F key, K* keys, uint32_t* at) {
  const int64_t total = lines * n;
  if (total == 0) return;
  if (n <= 2048) return detail::SortShort(lines, n, key, keys, at);
  ENFORCE(total <= UINT32_MAX, Unimplemented, "at most ", UINT32_MAX,
          " elements are sorted on a device in one call, got ", total, ". Sort them in parts");
  cuda::Workspace<K> key_room(total);
  cuda::Workspace<uint32_t> place_room(total);
  // Places are numbered over all lines until the end.
  constexpr int kKeyPasses = 8 * sizeof(K) / detail::kDigitBits;
  int passes = kKeyPasses;
  while ((lines - 1) >> (passes - kKeyPasses) * detail::kDigitBits) ++passes;
  K *from = passes % 2 ? key_room.data() : keys, *to = passes % 2 ? keys : key_room.data();
  uint32_t *places = passes % 2 ? place_room.data() : at,
           *to_places = passes % 2 ? at : place_room.data();
  cuda::EachIndex(total, [=] DYGRAPH_FN(int64_t i) {
    from[i] = key(i / n, i % n);
    places[i] = static_cast<uint32_t>(i);
  });
  constexpr int64_t kShare = 16 * cuda::kThreads, kMost = 528;
  const int64_t blocks = std::min((total + kShare - 1) / kShare, kMost);
  const int64_t share = (total + blocks - 1) / blocks;
  cuda::Workspace<int64_t> counts(detail::kDigits * blocks);
  const dim3 grid(static_cast<unsigned>(blocks));
  for (int pass = 0; pass < passes; ++pass) {
    const bool of_line = pass >= kKeyPasses;
    const detail::Digit<K> digit{(of_line ? pass - kKeyPasses : pass) * detail::kDigitBits, of_line,
                                 n};
    cuda::Run(detail::CountDigits<K>, grid, static_cast<const K*>(from),
              static_cast<const uint32_t*>(places), total, share, digit, counts.data());
    cuda::SumBefore(counts.data(), detail::kDigits * blocks, nullptr);
    cuda::Run(detail::PlaceDigits<K>, grid, static_cast<const K*>(from),
              static_cast<const uint32_t*>(places), total, share, digit,
              static_cast<const int64_t*>(counts.data()), to, to_places);
    std::swap(from, to);
    std::swap(places, to_places);
  }
  if (lines == 1) return;
  cuda::EachIndex(total, [=] DYGRAPH_FN(int64_t i) { at[i] -= static_cast<uint32_t>(i / n * n); });
}

// The first i in [0, n) whose key is not less, or with kAbove greater, than `key`; n for none.
template <bool kAbove, class K>
DYGRAPH_INLINE int64_t Bound(const K* keys, int64_t n, K key) {
  int64_t begin = 0, end = n;
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;
    if (kAbove ? keys[middle] <= key : keys[middle] < key) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

}  // namespace dygraph::kernels
