// What the Fourier transforms share. On the axes a_1 ... a_k of X,
//
//   Out[f] = scale * sum over t of X[t] exp(-+ 2 pi i (t_1 f_1 / n_1 + ... + t_k f_k / n_k)),
//
// - where forward is true, + where it is false. A transform is linear, and its matrix symmetric:
// the gradient of a loss goes back through the transform of the other direction with the same
// scale.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "kernels/fft.h"
#include "op/lod_rule.h"
#include "op/op_registry.h"

namespace dygraph::fourier {

constexpr int kX = 0, kOut = 0;

struct FftAttrs {
  std::vector<int64_t> axes = {-1};
  std::string normalization = "backward";
  bool forward = true;
};

// The axes counted from 0, each once.
std::vector<int> AxesOf(const FftAttrs& a, const Dims& dims);
// Throws where an axis of X has no elements.
void CheckSizes(const Dims& dims, const std::vector<int>& axes);
// The scale of transforms over so many numbers.
double ScaleOf(const FftAttrs& a, double numbers);
// Out's rows are X's where the first axis is not transformed.
bool KeepsRows(const LoDCall& c);

// Declares X, Out and the attributes that all have.
template <class A>
OpDef& DefineFft(OpDef& op, const char* x, const char* out) {
  return op.Input(kX, "X", x)
      .Output(kOut, "Out", out)
      .Attr(static_cast<std::vector<int64_t> A::*>(&A::axes), "axes",
            "the axes, each once; on real numbers the last one named is the halved one")
      .Attr(static_cast<std::string A::*>(&A::normalization), "normalization",
            "which direction is divided by the number of elements n: 'backward', 'forward', or "
            "'ortho', both by its root",
            OneOf({"backward", "forward", "ortho"}))
      .Attr(static_cast<bool A::*>(&A::forward), "forward",
            "exp(-2 pi i ...); false: exp(+2 pi i ...)")
      .ShareLoD(kX);
}

// Complex transforms along the axes, one after the other; y may be x.
template <class T>
void Along(const std::complex<T>* x, std::complex<T>* y, const Dims& dims,
           const std::vector<int>& axes, bool forward, double scale);

// y, of `dims` but the halved axis, from the real x; and the way back. `doubled` counts the numbers
// of the half that stand for two twice over, which the gradients need: to a half they give back
// what both got, of a half they take what one gets.
template <class T>
void RealToHalf(const T* x, std::complex<T>* y, const Dims& dims, const std::vector<int>& axes,
                bool forward, double scale, bool doubled);
template <class T>
void HalfToReal(const std::complex<T>* x, T* y, const Dims& dims, const std::vector<int>& axes,
                bool forward, double scale, bool halved);

// `dims` with the half of one axis.
inline Dims Halved(const Dims& dims, int axis) {
  Dims half = dims;
  if (half[axis] >= 0) half[axis] = half[axis] / 2 + 1;
  return half;
}

}  // namespace dygraph::fourier
