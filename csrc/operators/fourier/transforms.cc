#include "operators/fourier/transforms.h"

#include <algorithm>

#include "kernels/complex.h"
#include "kernels/elementwise.h"
#include "kernels/transpose.h"
#include "tensor/scratch.h"

namespace dygraph::fourier {

std::vector<int> AxesOf(const FftAttrs& a, const Dims& dims) {
  std::vector<int> axes;
  for (int64_t given : a.axes) {
    const int axis = NormalizeAxis(given, dims.rank(), "axes");
    ENFORCE(std::find(axes.begin(), axes.end(), axis) == axes.end(), InvalidArgument,
            "axes must not name an axis twice, got axis ", axis, " more than once");
    axes.push_back(axis);
  }
  return axes;
}

void CheckSizes(const Dims& dims, const std::vector<int>& axes) {
  for (int axis : axes) {
    ENFORCE(dims[axis] != 0, InvalidArgument,
            "an axis that is transformed must have elements, got shape ", dims, ", axis ", axis);
  }
}

double ScaleOf(const FftAttrs& a, double numbers) {
  if (a.normalization == "ortho") return 1 / std::sqrt(numbers);
  return (a.normalization == "forward") == a.forward ? 1 / numbers : 1;
}

bool KeepsRows(const LoDCall& c) {
  const std::vector<int64_t>& axes = c.attrs<FftAttrs>().axes;
  return std::all_of(axes.begin(), axes.end(), [&](int64_t axis) { return c.IsBehindFirst(axis); });
}

template <class T>
void Along(const std::complex<T>* x, std::complex<T>* y, const Dims& dims,
           const std::vector<int>& axes, bool forward, double scale) {
  const int64_t n = Numel(dims);
  if (n == 0) return;
  T factor = static_cast<T>(scale);  // of the first transform
  for (int axis : axes) {
    int64_t outer = Numel(dims, 0, axis), inner = Numel(dims, axis + 1, dims.rank());
    kernels::Fft<T>(x, y, outer, dims[axis], inner, forward, factor);
    x = y;
    factor = 1;
  }
  if (axes.empty()) kernels::Map(x, y, n, [factor](std::complex<T> v) { return v * factor; });
}

namespace {

// The order of axes that has one at the end, and the way back.
struct AxisLast {
  SmallVector<int, 8> to, back;
  AxisLast(int rank, int axis) {
    for (int i = 0; i < rank; ++i) {
      if (i != axis) to.push_back(i);
    }
    to.push_back(axis);
    for (int i = 0; i < rank; ++i) back.push_back(i < axis ? i : i == axis ? rank - 1 : i - 1);
  }
  static Dims Ordered(const Dims& dims, const SmallVector<int, 8>& order) {
    Dims ordered;
    for (int i : order) ordered.push_back(dims[i]);
    return ordered;
  }
};

template <class T>
void Permuted(const T* x, const Dims& dims, const SmallVector<int, 8>& order, T* y) {
  kernels::Permute(x, dims, Span<const int>(order.data(), order.size()), y, sizeof(T));
}

template <class T>
size_t BytesOf(int64_t n) {
  return static_cast<size_t>(std::max<int64_t>(n, 1)) * sizeof(T);
}

// Numbers of the half that stand for two, times a factor, in rows of n / 2 + 1.
template <class T>
void ScaleTwins(std::complex<T>* y, int64_t rows, int64_t n, T factor) {
  const int64_t half = n / 2 + 1, last = (n - 1) / 2;
  kernels::ParallelRows(rows, half, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      for (int64_t k = 1; k <= last; ++k) y[r * half + k] *= factor;
    }
  });
}

std::vector<int> Others(const std::vector<int>& axes) { return {axes.begin(), axes.end() - 1}; }

}  // namespace

template <class T>
void RealToHalf(const T* x, std::complex<T>* y, const Dims& dims, const std::vector<int>& axes,
                bool forward, double scale, bool doubled) {
  const int axis = axes.back();
  const Dims half = Halved(dims, axis);
  const int64_t n = dims[axis], numbers = Numel(dims), halves = Numel(half);
  if (numbers == 0) return;
  auto rows = [&](const T* from, std::complex<T>* to) {
    kernels::FftOfReal<T>(from, to, numbers / n, n, forward, static_cast<T>(scale));
    if (doubled) ScaleTwins<T>(to, numbers / n, n, 2);
  };
  if (axis == dims.rank() - 1) {
    rows(x, y);
  } else {
    const AxisLast last(dims.rank(), axis);
    Scratch before(CPUPlace(), BytesOf<T>(numbers)),
        after(CPUPlace(), BytesOf<std::complex<T>>(halves));
    Permuted(x, dims, last.to, before.as<T>());
    rows(before.as<T>(), after.as<std::complex<T>>());
    Permuted(after.as<std::complex<T>>(), AxisLast::Ordered(half, last.to), last.back, y);
  }
  if (axes.size() > 1) Along<T>(y, y, half, Others(axes), forward, 1);
}

template <class T>
void HalfToReal(const std::complex<T>* x, T* y, const Dims& dims, const std::vector<int>& axes,
                bool forward, double scale, bool halved) {
  using C = std::complex<T>;
  const int axis = axes.back();
  const Dims half = Halved(dims, axis);
  const int64_t n = dims[axis], numbers = Numel(dims), halves = Numel(half);
  if (numbers == 0) return;
  const bool is_last = axis == dims.rank() - 1;
  const AxisLast last(dims.rank(), axis);
  // copies where x is changed on the way
  Scratch own(CPUPlace(), BytesOf<C>(halved || axes.size() > 1 ? halves : 1)),
      turned(CPUPlace(), BytesOf<C>(is_last ? 1 : halves)),
      result(CPUPlace(), BytesOf<T>(is_last ? 1 : numbers));
  C* copy = own.as<C>();
  if (axes.size() > 1) {
    Along<T>(x, copy, half, Others(axes), forward, 1);
    x = copy;
  }
  if (!is_last) {
    Permuted(x, half, last.to, turned.as<C>());
    x = turned.as<C>();
  }
  if (halved) {
    C* to = is_last ? copy : turned.as<C>();
    if (x != to) std::copy_n(x, halves, to);
    ScaleTwins<T>(to, numbers / n, n, T(0.5));
    x = to;
  }
  T* to = is_last ? y : result.as<T>();
  kernels::FftToReal<T>(x, to, numbers / n, n, forward, static_cast<T>(scale));
  if (!is_last) Permuted(to, AxisLast::Ordered(dims, last.to), last.back, y);
}

#define REGISTER_TYPE(T)                                                                        \
  template void Along<T>(const std::complex<T>*, std::complex<T>*, const Dims&,                 \
                         const std::vector<int>&, bool, double);                                \
  template void RealToHalf<T>(const T*, std::complex<T>*, const Dims&, const std::vector<int>&, \
                              bool, double, bool);                                              \
  template void HalfToReal<T>(const std::complex<T>*, T*, const Dims&, const std::vector<int>&, \
                              bool, double, bool)
REGISTER_TYPE(float);
REGISTER_TYPE(double);
#undef REGISTER_TYPE

}  // namespace dygraph::fourier
