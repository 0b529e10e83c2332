#include "tensor/dims.h"

#include <algorithm>

namespace dygraph {

std::ostream& operator<<(std::ostream& out, const Dims& dims) {
  out << '[';
  for (size_t i = 0; i < dims.size(); ++i) out << (i ? ", " : "") << dims[i];
  return out << ']';
}

int64_t Numel(const Dims& dims, int begin, int end) {
  int64_t n = 1;
  bool overflow = false;
  for (int i = begin; i < end; ++i) {
    if (dims[i] == 0) return 0;
    overflow |= __builtin_mul_overflow(n, dims[i], &n);
  }
  ENFORCE(!overflow, OutOfRange,
          "the number of elements of a shape must fit into 64 bits, got shape ", dims);
  return n;
}

int64_t Numel(const Dims& dims) { return Numel(dims, 0, dims.rank()); }

void FailRank(const Dims& dims) {
  THROW(InvalidArgument, "a tensor has at most ", kMaxRank, " axes, got ", dims.rank(),
        ": shape ", dims);
}

size_t ByteSize(const Dims& dims, DType dtype) {
  CheckRank(dims);
  for (int64_t d : dims) {
    ENFORCE(d >= 0, InvalidArgument, "the sizes of a shape must not be negative, got shape ", dims);
  }
  int64_t bytes = 0;
  ENFORCE(!__builtin_mul_overflow(Numel(dims), static_cast<int64_t>(SizeOf(dtype)), &bytes),
          OutOfRange, "the bytes of a tensor must fit into 64 bits, got shape ", dims, " of ",
          dtype);
  return static_cast<size_t>(bytes);
}

Dims Strides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (int i = dims.rank() - 2; i >= 0; --i) strides[i] = strides[i + 1] * dims[i + 1];
  return strides;
}

int NormalizeAxis(int64_t axis, int rank, const char* name) {
  int64_t size = std::max(rank, 1);
  ENFORCE(axis >= -size && axis < size, OutOfRange, name, " must be in [", -size, ", ", size,
          ") for a tensor of ", rank, " axes, got ", axis);
  return static_cast<int>(axis < 0 ? axis + size : axis);
}

namespace {
template <class T>
SmallVector<int, 8> NormalizeList(Span<const T> axes, int rank, const char* name) {
  SmallVector<int, 8> result;
  for (T a : axes) result.push_back(NormalizeAxis(a, rank, name));
  std::sort(result.begin(), result.end());
  for (size_t i = 1; i < result.size(); ++i) {
    ENFORCE(result[i] != result[i - 1], InvalidArgument, name,
            " must not name an axis twice, got axis ", result[i], " more than once");
  }
  return result;
}
}  // namespace

SmallVector<int, 8> NormalizeAxes(Span<const int64_t> axes, int rank, const char* name) {
  return NormalizeList(axes, rank, name);
}
SmallVector<int, 8> NormalizeAxes(Span<const int32_t> axes, int rank, const char* name) {
  return NormalizeList(axes, rank, name);
}

Dims BroadcastDims(const Dims& x, const Dims& y, const char* x_name, const char* y_name) {
  const Dims& longer = x.size() >= y.size() ? x : y;
  const Dims& shorter = x.size() >= y.size() ? y : x;
  Dims out = longer;
  size_t shift = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t a = longer[i + shift], b = shorter[i];
    if (a == b) continue;
    ENFORCE(a == 1 || b == 1 || a < 0 || b < 0, InvalidArgument, "the shapes of ", x_name, " ", x,
            " and ", y_name, " ", y,
            " must be equal or 1 axis by axis, counted from the last, got ", a, " and ", b);
    // An unknown size against 1 stays unknown; against a larger one it can only be that one (or 1).
    out[i + shift] = a == 1 ? b : b == 1 ? a : std::max(a, b);
  }
  return out;
}

}  // namespace dygraph
