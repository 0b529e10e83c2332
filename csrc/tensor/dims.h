// Shapes: the sizes of a tensor's axes, row-major. -1 stands for an unknown size while a program is
// built.
#pragma once

#include <cstdint>
#include <ostream>

#include "base/small_vector.h"
#include "tensor/dtype.h"

namespace dygraph {

constexpr int kMaxRank = 16;

constexpr int kInlineAxes = 6;

class Dims : public SmallVector<int64_t, kInlineAxes> {
 public:
  using SmallVector::SmallVector;
  Dims(Span<const int64_t> sizes) : SmallVector(sizes.begin(), sizes.end()) {}
  int rank() const { return static_cast<int>(size()); }
  bool HasUnknown() const {
    for (int64_t d : *this) {
      if (d < 0) return true;
    }
    return false;
  }
};

std::ostream& operator<<(std::ostream& out, const Dims& dims);  // [2, 3]

[[noreturn]] __attribute__((cold)) void FailRank(const Dims& dims);
// InvalidArgument above kMaxRank. Every shape passes here before a tensor takes it.
inline void CheckRank(const Dims& dims) {
  if (__builtin_expect(dims.size() > static_cast<size_t>(kMaxRank), 0)) FailRank(dims);
}

// Product of the sizes. OutOfRange on overflow; only for known sizes.
int64_t Numel(const Dims& dims);
// Product of axes [begin, end).
int64_t Numel(const Dims& dims, int begin, int end);
// The one byte count: checks rank, signs and overflow before anything is allocated.
size_t ByteSize(const Dims& dims, DType dtype);
// Row-major element strides.
Dims Strides(const Dims& dims);

// axis in [-rank, rank) -> [0, rank); OutOfRange names the attribute otherwise. A rank of 0 takes 0
// and -1.
int NormalizeAxis(int64_t axis, int rank, const char* name = "axis");
// The same for a list, which must not repeat. Sorted ascending.
SmallVector<int, 8> NormalizeAxes(Span<const int64_t> axes, int rank, const char* name = "axis");
SmallVector<int, 8> NormalizeAxes(Span<const int32_t> axes, int rank, const char* name = "axis");

// NumPy broadcasting of two shapes (unknown sizes pass); InvalidArgument names both slots.
Dims BroadcastDims(const Dims& x, const Dims& y, const char* x_name = "X",
                   const char* y_name = "Y");

}  // namespace dygraph
