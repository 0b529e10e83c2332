#include <algorithm>
#include <cstring>

#include "kernels/loops.h"
#include "op/lod_rule.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct HashAttrs {
  int32_t num_hash = 1;
  int64_t mod_by = 100000;
};

void DefineHash(OpDef& op) {
  op.Comment(
        "Out[..., k, 0] = XXH64(the bytes of a row of X, seed k) mod mod_by, with Collet's 64-bit "
        "hash.")
      .Example(
          ">>> F.hash(to_variable(np.array([[5], [8]], 'int32')), num_hash=2, mod_by=10000)"
          ".tolist()\n"
          "[[[3481], [7475]], [[1719], [5986]]]")
      .Input(kX, "X", "integers, [..., row]")
      .Output(kOut, "Out", "[..., num_hash, 1], int64")
      .Attr(&HashAttrs::num_hash, "num_hash", "how many hashes of each row", AtLeast(1))
      .Attr(&HashAttrs::mod_by, "mod_by", "hashes lie below it", AtLeast(1))
      .Shape([](InferContext& ctx) {
        const Dims& x = ctx.dims(kX);
        ENFORCE(x.rank() >= 2, InvalidArgument, "X must have 2 axes or more, got shape ", x);
        Dims out(x.begin(), x.end() - 1);
        out.push_back(ctx.attrs<HashAttrs>().num_hash);
        out.push_back(1);
        ctx.SetOutput(kOut, out, DType::kInt64);
      })
      .ShareLoD(kX)
      .NoGrad();
}

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F,
                   kPrime3 = 0x165667B19E3779F9, kPrime4 = 0x85EBCA77C2B2AE63,
                   kPrime5 = 0x27D4EB2F165667C5;

DYGRAPH_INLINE uint64_t Rotated(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }
DYGRAPH_INLINE uint64_t Stirred(uint64_t lane, uint64_t word) {
  return Rotated(lane + word * kPrime2, 31) * kPrime1;
}
DYGRAPH_INLINE uint64_t Merged(uint64_t sum, uint64_t lane) {
  return (sum ^ Stirred(0, lane)) * kPrime1 + kPrime4;
}

template <class Word>
DYGRAPH_INLINE Word Load(const unsigned char* p) {
  Word word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}

// Of `size` bytes, as read by a little-endian machine.
DYGRAPH_INLINE uint64_t XxHash64(const unsigned char* p, size_t size, uint64_t seed) {
  const unsigned char* end = p + size;
  uint64_t h = seed + kPrime5;
  if (size >= 32) {
    uint64_t lane[] = {seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1};
    for (; end - p >= 32; p += 32) {
      for (int i = 0; i < 4; ++i) lane[i] = Stirred(lane[i], Load<uint64_t>(p + 8 * i));
    }
    h = Rotated(lane[0], 1) + Rotated(lane[1], 7) + Rotated(lane[2], 12) + Rotated(lane[3], 18);
    for (uint64_t l : lane) h = Merged(h, l);
  }
  h += size;
  for (; end - p >= 8; p += 8)
    h = Rotated(h ^ Stirred(0, Load<uint64_t>(p)), 27) * kPrime1 + kPrime4;
  for (; end - p >= 4; p += 4) h = Rotated(h ^ Load<uint32_t>(p) * kPrime1, 23) * kPrime2 + kPrime3;
  for (; p < end; ++p) h = Rotated(h ^ *p * kPrime5, 11) * kPrime1;
  h = (h ^ h >> 33) * kPrime2;
  h = (h ^ h >> 29) * kPrime3;
  return h ^ h >> 32;
}

template <class T>
struct HashRowsKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<HashAttrs>();
    const Tensor& x = ctx.In(kX);
    int64_t width = x.dim(x.rank() - 1), rows = Numel(x.dims(), 0, x.rank() - 1);
    const T* from = x.data<T>();
    int64_t* to = ctx.Out(kOut).mutable_data<int64_t>();
    const auto mod = static_cast<uint64_t>(a.mod_by);
    const int64_t hashes = a.num_hash;
    kernels::ForEach(
        rows * hashes,
        [=] DYGRAPH_FN(int64_t i) {
          const int64_t r = i / hashes, k = i - r * hashes;
          const auto* row = reinterpret_cast<const unsigned char*>(from + r * width);
          const uint64_t h = XxHash64(row, static_cast<size_t>(width) * sizeof(T), k);
          to[i] = static_cast<int64_t>(h % mod);
        },
        std::max<int64_t>(width, 1));
  }
};

REGISTER_OPERATOR(hash, DefineHash);
REGISTER_LOD_RULE(hash, RowsOfFirstAxis);
REGISTER_KERNELS(hash, HashRowsKernel, int32_t, int64_t);

}  // namespace
}  // namespace dygraph
