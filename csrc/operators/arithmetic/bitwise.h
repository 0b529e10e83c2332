// Bits combined: the loops run on unsigned numbers of the same size, bool on bytes of 0 and 1.
#pragma once

#include "operators/arithmetic/binary.h"

namespace dygraph::bitwise {

using elementwise::kOut;
using elementwise::kX;
using elementwise::kY;

template <class T>
struct BitsOf {
  using Type = std::make_unsigned_t<T>;
};
template <>
struct BitsOf<bool> {
  using Type = uint8_t;
};

inline void InferShape(InferContext& ctx) {
  ctx.SetOutput(kOut, BroadcastDims(ctx.dims(kX), ctx.dims(kY)));
}

inline void Define(OpDef& op, const char* comment, const char* example) {
  op.Comment(comment)
      .Example(example)
      .Input(kX, "X", "any shape, of integers or bool")
      .Input(kY, "Y", "broadcasts with X")
      .Output(kOut, "Out", "the common shape, the type of X")
      .ShareLoD(kX)
      .Shape(InferShape)
      .KeepsLayout()
      .NoGrad();
}

template <class P, class T>
struct Kernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    Tensor& out = ctx.Out(kOut);
    if (out.numel() == 0) return;
    using U = typename BitsOf<T>::Type;
    auto bits = [](const Tensor& t) { return reinterpret_cast<const U*>(t.data<T>()); };
    elementwise::Plan p =
        elementwise::MakePlan(x, x.dims(), y, y.dims(), out.dims(), out.layout() == Layout::kNHWC);
    kernels::Broadcast(p.dims, bits(x), p.x, bits(y), p.y,
                       reinterpret_cast<U*>(out.mutable_data<T>()),
                       [] DYGRAPH_FN(U a, U b) { return static_cast<U>(P::F(a, b)); });
  }
};

}  // namespace dygraph::bitwise
