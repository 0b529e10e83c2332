// Functions that give float32 of integers, as NumPy's and Paddle's do: exp, log, log1p.
#pragma once

#include <type_traits>

#include "kernels/elementwise.h"
#include "op/op_registry.h"

namespace dygraph {

inline bool IsFloat(DType t) { return t == DType::kFloat32 || t == DType::kFloat64; }

// Slot 0 goes in and comes out, integers as float32.
inline void InferFloat(InferContext& ctx) {
  DType type = ctx.dtype(0);
  ctx.SetOutput(0, ctx.dims(0), IsFloat(type) ? type : DType::kFloat32);
}

// The type that f computes in.
template <class T>
using FloatOf = std::conditional_t<std::is_integral_v<T>, float, T>;

template <class T, class F>
void MapFloat(KernelContext& ctx, int64_t cost, F f) {
  const Tensor& x = ctx.In(0);
  kernels::Map(
      x.data<T>(), ctx.Out(0).mutable_data<FloatOf<T>>(), x.numel(),
      [f](T v) { return f(static_cast<FloatOf<T>>(v)); }, cost);
}

}  // namespace dygraph
