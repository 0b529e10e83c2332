// max_pool2d_with_index and max_pool3d_with_index. An operator is a struct with kName, kGrad,
// kAxes, its axes in space.
#pragma once

#include "kernels/pool_volume.h"
#include "kernels/positions.h"
#include "op/gradient_call.h"
#include "operators/conv/pooling.h"

namespace dygraph::pool_with_index {

constexpr int kX = 0, kOut = 0, kMask = 1;

template <class Op>
kernels::PoolVolume ShapeOf(const Dims& x, const pool::Attrs<Op::kAxes>& a) {
  auto axes = pool::Describe(x, a);
  kernels::PoolVolume s = {x[0] * x[1], kernels::AdaptiveWindows(1, 1), {}, {}};
  if (Op::kAxes == 3) s.d = pool::Windows(axes[0], a);
  s.h = pool::Windows(axes[Op::kAxes - 2], a);
  s.w = pool::Windows(axes[Op::kAxes - 1], a);
  return s;
}

template <class Op>
void InferShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  Dims out = pool::OutDims(x, ctx.attrs<pool::Attrs<Op::kAxes>>());
  ENFORCE(!ctx.runtime() || Numel(x, 2, x.rank()) <= std::numeric_limits<int32_t>::max(),
          InvalidArgument, "Mask counts the elements of a channel in int32, got X of shape ", x);
  ctx.SetOutput(kOut, out);
  ctx.SetOutput(kMask, out, DType::kInt32);
}

template <class Op>
void Define(OpDef& op) {
  op.Comment(
        "Out = max of X over windows, Mask where in its channel each maximum lies, counted row by "
        "row; the first of equals.")
      .Example(Op::kExample)
      .Input(kX, "X", Op::kAxes == 2 ? "[N, C, H, W]" : "[N, C, D, H, W]")
      .Output(kOut, "Out", Op::kAxes == 2 ? "[N, C, H', W']" : "[N, C, D', H', W']")
      .Output(kMask, "Mask", "shape of Out, int32")
      .ShareLoD(kX);
  pool::WindowAttrs<Op::kAxes>(op).Shape(InferShape<Op>).Grad(CallGradient);
}

template <class Op>
struct Forward {
  template <class T>
  struct Kernel {
    static void Compute(KernelContext& ctx) {
      const Tensor& x = ctx.In(kX);
      auto s = ShapeOf<Op>(x.dims(), ctx.attrs<pool::Attrs<Op::kAxes>>());
      Tensor *out = ctx.OutOrNull(kOut), *mask = ctx.OutOrNull(kMask);
      Scratch spare = ctx.Workspace(mask ? 0 : static_cast<size_t>(out->numel()) * sizeof(int32_t));
      kernels::MaxPoolVolume<T>(x.data<T>(), s, out ? out->mutable_data<T>() : nullptr,
                                mask ? mask->mutable_data<int32_t>() : spare.as<int32_t>());
    }
  };
};

// Positions come from outside as well: each must lie in its channel.
inline kernels::Positions PositionsIn(const Tensor& mask, int64_t size) {
  return kernels::Positions(mask.data<int32_t>(), mask.numel(), size, true,
                            "pooling with an index", "Mask");
}

namespace grad {
constexpr int kX = 0, kMask = 1, kOutGrad = 2, kXGrad = 0;

template <class Op>
void Define(OpDef& op) {
  op.Comment("X@GRAD: each Out@GRAD goes where Mask says.")
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kMask, "Mask", "as the forward call gave it")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf(Op::kName)
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .Shape([](InferContext& ctx) {
        const Dims& x = ctx.dims(kX);
        Dims out = pool::OutDims(x, ctx.attrs<pool::Attrs<Op::kAxes>>());
        for (int slot : {kMask, kOutGrad}) {
          const Dims& d = ctx.dims(slot);
          ENFORCE(d == out || d.HasUnknown() || out.HasUnknown(), InvalidArgument,
                  slot == kMask ? "Mask" : "Out@GRAD", " must have the shape of Out ", out,
                  ", got ", d);
        }
        ENFORCE(ctx.dtype(kMask) == DType::kInt32, Type, "Mask must be of int32, got ",
                ctx.dtype(kMask));
        ctx.SetOutput(kXGrad, x);
      })
      .Grad(CallGradient);
}

template <class Op>
struct Backward {
  template <class T>
  struct Kernel {
    static void Compute(KernelContext& ctx) {
      const Tensor &mask = ctx.In(kMask), &dy = ctx.In(kOutGrad);
      auto s = ShapeOf<Op>(ctx.In(kX).dims(), ctx.attrs<pool::Attrs<Op::kAxes>>());
      kernels::ScatterVolume(dy.data<T>(), PositionsIn(mask, s.In()), s,
                             ctx.Out(kXGrad).mutable_data<T>());
    }
  };
};
}  // namespace grad

namespace grad_grad {
constexpr int kX = 0, kMask = 1, kV = 2, kResult = 0;

template <class Op>
void Define(OpDef& op) {
  op.Comment("What the gradient operator gives Out@GRAD: V where Mask says.")
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kMask, "Mask", "as the forward call gave it")
      .Input(kV, "X@GRAD@GRAD", "shape of X")
      .Output(kResult, "Out@GRAD@GRAD", "shape of Out")
      .AttrsOf(Op::kName)
      .KernelDTypeOf(kV)
      .MixedDTypes()
      .Shape([](InferContext& ctx) {
        const Dims &x = ctx.dims(kX), &v = ctx.dims(kV);
        Dims out = pool::OutDims(x, ctx.attrs<pool::Attrs<Op::kAxes>>());
        const Dims& mask = ctx.dims(kMask);
        ENFORCE(mask == out || mask.HasUnknown() || out.HasUnknown(), InvalidArgument,
                "Mask must have the shape of Out ", out, ", got ", mask);
        ENFORCE(x == v || x.HasUnknown() || v.HasUnknown(), InvalidArgument,
                "X@GRAD@GRAD must have the shape of X ", x, ", got ", v);
        ENFORCE(ctx.dtype(kMask) == DType::kInt32, Type, "Mask must be of int32, got ",
                ctx.dtype(kMask));
        ctx.SetOutput(kResult, out);
      })
      .Grad([](GradBuilder& g) {
        g.Call(Op::kGrad, {g.InputShape(kX), g.Input(kMask), g.OutputGrad(kResult)},
               {g.InputGrad(kV)})
            .SameAttrs();
      });
}

template <class Op>
struct BackwardTwice {
  template <class T>
  struct Kernel {
    static void Compute(KernelContext& ctx) {
      const Tensor& mask = ctx.In(kMask);
      auto s = ShapeOf<Op>(ctx.In(kX).dims(), ctx.attrs<pool::Attrs<Op::kAxes>>());
      kernels::GatherVolume(ctx.In(kV).data<T>(), PositionsIn(mask, s.In()), s,
                            ctx.Out(kResult).mutable_data<T>());
    }
  };
};
}  // namespace grad_grad

}  // namespace dygraph::pool_with_index
