// The right side of products that are repeated with it, such as the weight of a layer: packed once
// into the panels that a product would pack each time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dygraph::kernels {

// How the k products of an element are summed.
enum class SumOrder : char {
  kOther,  // not known
  kWhole,  // one after the other
  kParts,  // so in each kSumDepth of them, and these sums one after the other
};
constexpr int64_t kSumDepth = 256;
// Of the float32 product [m, k] [k, n] as MatMul computes it.
SumOrder OrderOfSums(int64_t m, int64_t n, int64_t k);
SumOrder GemmOrder(int64_t m, int64_t n, int64_t k);  // the same of Gemm

// What follows the sums, each step rounded.
struct ProductEnd {
  const float* bias = nullptr;  // [n]
  bool relu = false;
};

// b [k, n] of float32, for the instruction set of CpuLevel().
class PackedMatrix {
 public:
  PackedMatrix(int64_t k, int64_t n);
  size_t bytes() const;
  bool fits() const;  // CpuLevel() is what it was
  void Pack(const float* b, float* packed) const;
  void Unpack(const float* packed, float* b) const;

  // c [m, n] = end(a [m, k] b): the bits of MatMul where it sums in this order,
  // kWhole or kParts.
  void Multiply(const float* packed, int64_t m, const float* a, SumOrder order,
                const ProductEnd& end, float* c) const;

 private:
  int level_;
  int64_t k_, n_, columns_, panels_;  // columns of a panel
};

}  // namespace dygraph::kernels
