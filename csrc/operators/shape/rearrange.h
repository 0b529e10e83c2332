// Operators that put the elements of X in another order: X seen with more axes, these permuted,
// seen as Out. The gradient goes the way back, and its gradient there again. An operator is a
// struct
//
//   struct PixelShuffle {
//     static constexpr const char *kName, *kHelp;
//     using Attrs = ...;
//     static rearrange::Plan Describe(const Dims& x, const Attrs&);  // throws where X does not fit
//   };
#pragma once

#include "kernels/transpose.h"
#include "op/gradient_call.h"
#include "op/op_registry.h"

namespace dygraph::rearrange {

constexpr int kX = 0, kOut = 0;

// Sizes may be -1 while a program is built.
struct Plan {
  Dims view;                 // of X
  SmallVector<int, 8> perm;  // Out's view has axes view[perm[0]], ...
  Dims out;
};

// a / b of sizes that may be unknown; `what` must be a multiple.
inline int64_t Divide(int64_t a, int64_t b, const char* what) {
  if (a < 0) return -1;
  ENFORCE(a % b == 0, InvalidArgument, what, " must be a multiple of ", b, ", got ", a);
  return a / b;
}

template <class Op>
void Define(OpDef& op) {
  op.Input(kX, "X", Op::kHelp)
      .Output(kOut, "Out", "the elements of X")
      .ShareLoD(kX)
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOut, Op::Describe(ctx.dims(kX), ctx.attrs<typename Op::Attrs>()).out);
      })
      .Grad(CallGradient);
}

template <class Op>
struct Forward {
  template <class T>
  struct Kernel {
    static void Compute(KernelContext& ctx) {
      const Tensor& x = ctx.In(kX);
      Plan p = Op::Describe(x.dims(), ctx.attrs<typename Op::Attrs>());
      kernels::Permute(x.data<T>(), p.view, p.perm, ctx.Out(kOut).mutable_data<T>(), sizeof(T));
    }
  };
};

namespace grad {
constexpr int kX = 0, kOutGrad = 1, kXGrad = 0;

template <class Op>
void Define(OpDef& op) {
  op.Comment("X@GRAD: Out@GRAD put back in the order of X.")
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf(Op::kName)
      .KernelDTypeOf(kOutGrad)
      .SameShape(kX, kXGrad)
      .Grad([](GradBuilder& g) {
        g.Call(Op::kName, {g.OutputGrad(kXGrad)}, {g.InputGrad(kOutGrad)}).SameAttrs();
      });
}

template <class Op>
struct Backward {
  template <class T>
  struct Kernel {
    static void Compute(KernelContext& ctx) {
      Plan p = Op::Describe(ctx.In(kX).dims(), ctx.attrs<typename Op::Attrs>());
      Dims view = p.view;
      SmallVector<int, 8> inverse = p.perm;
      for (int i = 0; i < view.rank(); ++i) {
        view[i] = p.view[p.perm[i]];
        inverse[p.perm[i]] = i;
      }
      kernels::Permute(ctx.In(kOutGrad).data<T>(), view, inverse, ctx.Out(kXGrad).mutable_data<T>(),
                       sizeof(T));
    }
  };
};
}  // namespace grad

}  // namespace dygraph::rearrange
