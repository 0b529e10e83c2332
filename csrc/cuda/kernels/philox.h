// kernels/philox.h on the device: a thread for each block of the generator, which makes four words
// or two pairs of them. They stand where the host puts them.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/launch.h"
#include "kernels/philox_numbers.h"
#include "platform/recorded_draws.h"

namespace dygraph::kernels {

namespace detail {

// A seed and a stream. In recorded work both count from what stands at `at` when it runs.
struct RandomSource {
  uint64_t seed, stream;
  const uint64_t* at = nullptr;

  DYGRAPH_BOTH uint64_t Seed() const { return at ? seed + at[0] : seed; }
  DYGRAPH_BOTH uint64_t Stream() const { return at ? stream + at[1] : stream; }
};

// The four words of a block, alone or as two pairs. Word w of block b is element
// b / 16 * 64 + w * 16 + b % 16 of its sequence, pair p element b / 16 * 32 + p * 16 + b % 16.
struct PhiloxBlock {
  static constexpr int64_t kWide = 16;
  uint32_t w[4];

  DYGRAPH_INLINE PhiloxBlock(const RandomSource& source, uint64_t block) {
    const uint64_t seed = source.Seed(), stream = source.Stream();
    w[0] = static_cast<uint32_t>(block);
    w[1] = static_cast<uint32_t>(block >> 32);
    w[2] = static_cast<uint32_t>(stream);
    w[3] = static_cast<uint32_t>(stream >> 32);
    Philox4x32(w[0], w[1], w[2], w[3], static_cast<uint32_t>(seed),
               static_cast<uint32_t>(seed >> 32));
  }
  DYGRAPH_INLINE uint32_t Get(int i, uint32_t) const { return w[i]; }
  DYGRAPH_INLINE uint64_t Get(int i, uint64_t) const {
    return w[2 * i] | uint64_t{w[2 * i + 1]} << 32;
  }
};

// How many numbers of these bits a block has.
template <class Bits>
constexpr int kPerBlock = 16 / sizeof(Bits);

// f(j, bits) for the elements first + j of a sequence, 0 <= j < n, from the block `at` further on
// than the first one of `first`'s batch.
template <class Bits, class F>
struct EachBits {
  RandomSource source;
  int64_t first, n;
  F f;

  DYGRAPH_BOTH void operator()(int64_t at) const {
    constexpr int64_t kWide = PhiloxBlock::kWide, kBatch = kWide * kPerBlock<Bits>;
    const int64_t block = first / kBatch * kWide + at;
    const int64_t begin = block / kWide * kBatch + block % kWide - first;
    const PhiloxBlock bits(source, static_cast<uint64_t>(block));
    for (int k = 0; k < kPerBlock<Bits>; ++k) {
      const int64_t j = begin + k * kWide;
      if (j >= 0 && j < n) f(j, bits.Get(k, Bits()));
    }
  }
};

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

template <class T>
struct StoreBits {
  T* out;
  DYGRAPH_BOTH void operator()(int64_t j, T bits) const { out[j] = bits; }
};
template <class T>
struct StoreUnit {
  T* out;
  DYGRAPH_BOTH void operator()(int64_t j, BitsOf<T> bits) const { out[j] = ToUnit(bits); }
};

struct StoreSource {
  RandomSource source;
  int64_t* out;
  DYGRAPH_BOTH void operator()(int64_t) const {
    out[0] = static_cast<int64_t>(source.Seed());
    out[1] = static_cast<int64_t>(source.Stream());
  }
};

// Numbers 2 p and 2 p + 1 of a block's words, in turn of 16, come together.
template <class T>
struct EachNormal {
  RandomSource source;
  int64_t first, n;
  T* out;

  DYGRAPH_BOTH void operator()(int64_t at) const {
    constexpr int64_t kWide = PhiloxBlock::kWide, kBatch = kWide * kPerBlock<BitsOf<T>>;
    const int64_t block = first / kBatch * kWide + at;
    const int64_t begin = block / kWide * kBatch + block % kWide - first;
    const PhiloxBlock bits(source, static_cast<uint64_t>(block));
    for (int k = 0; k < kPerBlock<BitsOf<T>>; k += 2) {
      T pair[2];
      ToNormal(bits.Get(k, BitsOf<T>()), bits.Get(k + 1, BitsOf<T>()), pair, pair + 1);
      const int64_t j = begin + k * kWide;
      if (j >= 0 && j < n) out[j] = pair[0];
      if (j + kWide >= 0 && j + kWide < n) out[j + kWide] = pair[1];
    }
  }
};

}  // namespace detail

class Philox {
 public:
  Philox(uint64_t seed, uint64_t stream) : source_{seed, stream} {}
  static Philox OfCall(uint64_t seed, uint64_t stream) {
    Philox made(seed, stream);
    if (const RecordedDraws* recorded = RecordedDraws::On(cuda::CurrentPlace()))
      made.source_.at = recorded->at();
    return made;
  }

  void Store(int64_t* seed_and_stream) const {
    cuda::EachIndex(1, detail::StoreSource{source_, seed_and_stream});
  }

  void Raw(uint32_t* out, int64_t n, int64_t first = 0) const {
    Each<uint32_t>(n, first, detail::StoreBits<uint32_t>{out});
  }
  void Raw(uint64_t* out, int64_t n, int64_t first = 0) const {
    Each<uint64_t>(n, first, detail::StoreBits<uint64_t>{out});
  }
  void Uniform(float* out, int64_t n, int64_t first = 0) const {
    Each<uint32_t>(n, first, detail::StoreUnit<float>{out});
  }
  void Uniform(double* out, int64_t n, int64_t first = 0) const {
    Each<uint64_t>(n, first, detail::StoreUnit<double>{out});
  }
  template <class T>
  void Normal(T* out, int64_t n, int64_t first = 0) const {
    using Bits = detail::BitsOf<T>;
    cuda::EachIndex(Blocks<Bits>(n, first), detail::EachNormal<T>{source_, first, n, out});
  }
  template <class Bits, class F>
  void EachRaw(int64_t n, F f) const {
    Each<Bits>(n, 0, f);
  }

  // One element of Normal, in a loop.
  template <class T>
  DYGRAPH_BOTH T NormalAt(int64_t i) const {
    using Bits = detail::BitsOf<T>;
    constexpr int64_t kWide = detail::PhiloxBlock::kWide, kBatch = kWide * detail::kPerBlock<Bits>;
    const int64_t in_batch = i % kBatch;
    const int k = static_cast<int>(in_batch / kWide) & ~1;
    const detail::PhiloxBlock block(source_,
                                    static_cast<uint64_t>(i / kBatch * kWide + in_batch % kWide));
    T pair[2];
    ToNormal(block.Get(k, Bits()), block.Get(k + 1, Bits()), pair, pair + 1);
    return pair[in_batch / kWide & 1];
  }

 private:
  // Blocks that the elements [first, first + n) touch, whole batches of them.
  template <class Bits>
  static int64_t Blocks(int64_t n, int64_t first) {
    constexpr int64_t kWide = detail::PhiloxBlock::kWide, kBatch = kWide * detail::kPerBlock<Bits>;
    return n <= 0 ? 0 : ((first + n + kBatch - 1) / kBatch - first / kBatch) * kWide;
  }
  template <class Bits, class F>
  void Each(int64_t n, int64_t first, F f) const {
    cuda::EachIndex(Blocks<Bits>(n, first), detail::EachBits<Bits, F>{source_, first, n, f});
  }

  detail::RandomSource source_;
};

}  // namespace dygraph::kernels
