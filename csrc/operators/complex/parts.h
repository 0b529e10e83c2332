// What operators on complex numbers and their parts share. Gradients follow one convention: that of
// a real loss L with respect to z is dL/dRe z + i dL/dIm z, so that a step against it lowers L. An
// operator that is linear over the complex numbers, y = a z, gives z the gradient conj(a) times
// y's.
#pragma once

#include "kernels/complex.h"
#include "kernels/elementwise.h"
#include "op/op_registry.h"

namespace dygraph::complex {

constexpr int kX = 0, kOut = 0;

inline void CheckComplex(DType dtype, const char* slot) {
  ENFORCE(IsComplex(dtype) || dtype == DType::kUnset, Type, slot,
          " must be complex64 or complex128, got ", dtype);
}
inline void CheckReal(DType dtype, const char* slot) {
  ENFORCE(!IsComplex(dtype), Type, slot, " must be float32 or float64, got ", dtype);
}

// Out has the shape of X and the type of its parts.
inline void InferReal(InferContext& ctx) {
  CheckComplex(ctx.dtype(kX), "X");
  ctx.SetOutput(kOut, ctx.dims(kX), RealOf(ctx.dtype(kX)));
}
// X@GRAD has the shape of Out@GRAD, whose numbers are parts of its own.
inline void InferComplex(InferContext& ctx) {
  CheckReal(ctx.dtype(kX), "Out@GRAD");
  ctx.SetOutput(kOut, ctx.dims(kX), ComplexOf(ctx.dtype(kX)));
}

inline void DefineRealOf(OpDef& op, const char* comment, const char* example) {
  op.Comment(comment)
      .Example(example)
      .Input(kX, "X", "any shape, complex")
      .Output(kOut, "Out", "shape of X; float32 of complex64, float64 of complex128")
      .Shape(InferReal)
      .KeepsLayout()
      .ShareLoD(kX);
}

inline void DefinePartGrad(OpDef& op, const char* comment, GradMaker recipe) {
  op.Comment(comment)
      .Input(kX, "Out@GRAD", "any shape")
      .Output(kOut, "X@GRAD", "shape of Out@GRAD; complex64 of float32, complex128 of float64")
      .Shape(InferComplex)
      .KeepsLayout()
      .Grad(recipe);
}

// Out = f(X), number by number.
template <class From, class To, class F>
void MapTo(KernelContext& ctx, F f, int64_t cost = 1) {
  const Tensor& x = ctx.In(kX);
  kernels::Map(x.data<From>(), ctx.Out(kOut).mutable_data<To>(), x.numel(), f, cost);
}

}  // namespace dygraph::complex
