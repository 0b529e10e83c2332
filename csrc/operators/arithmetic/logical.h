// Truth values combined: a policy has static bool F(bool, bool). Numbers other than bool count as
// true where they are not 0, a NaN too, as in NumPy.
#pragma once

#include "kernels/cast.h"
#include "operators/arithmetic/binary.h"

namespace dygraph::logical {

using elementwise::kOut;
using elementwise::kX;
using elementwise::kY;

inline Tensor AsBool(const Tensor& t) {
  if (t.dtype() == DType::kBool) return t;
  Tensor b(t.dims(), DType::kBool, t.place(), t.layout());
  kernels::Cast(t.dtype(), t.raw_data(), DType::kBool, b.mutable_raw_data(), t.numel());
  return b;
}

inline void InferShape(InferContext& ctx) {
  ctx.SetOutput(kOut, BroadcastDims(ctx.dims(kX), ctx.dims(kY)), DType::kBool);
}

inline void Define(OpDef& op, const char* comment, const char* example) {
  op.Comment(comment)
      .Example(example)
      .Input(kX, "X", "any shape and type; numbers are true where they are not 0")
      .Input(kY, "Y", "broadcasts with X")
      .Output(kOut, "Out", "the common shape, bool")
      .ShareLoD(kX)
      .Shape(InferShape)
      .KeepsLayout()
      .NoGrad();
}

template <class P, class T>
struct Kernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kOut);
    if (out.numel() == 0) return;
    Tensor x = AsBool(ctx.In(kX)), y = AsBool(ctx.In(kY));
    // as bytes of 0 and 1, whose loops the compiler knows how to widen
    auto bytes = [](const Tensor& t) { return reinterpret_cast<const uint8_t*>(t.data<bool>()); };
    auto* to = reinterpret_cast<uint8_t*>(out.mutable_data<bool>());
    elementwise::Plan p =
        elementwise::MakePlan(x, x.dims(), y, y.dims(), out.dims(), out.layout() == Layout::kNHWC);
    kernels::Broadcast(p.dims, bytes(x), p.x, bytes(y), p.y, to,
                       [] DYGRAPH_FN(uint8_t a, uint8_t b) { return P::F(a, b); });
  }
};

}  // namespace dygraph::logical
