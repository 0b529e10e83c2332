// unpool and unpool3d. An operator is a struct with kName, kAxes (in space) and Attrs.
#pragma once

#include <vector>

#include "kernels/elementwise.h"
#include "kernels/positions.h"
#include "kernels/unpool.h"
#include "op/gradient_call.h"
#include "op/open_attr.h"
#include "operators/conv/window.h"

namespace dygraph::unpooling {

constexpr int kX = 0, kIndices = 1, kOut = 0;

template <class Op>
Dims OutDims(const InferContext& ctx) {
  constexpr int kAxes = Op::kAxes;
  const Dims &x = ctx.dims(kX), &indices = ctx.dims(kIndices);
  const auto& a = ctx.attrs<typename Op::Attrs>();
  ENFORCE(x.rank() == kAxes + 2, InvalidArgument, "X must have ", kAxes + 2, " axes, ",
          "the channels second, got shape ", x);
  ENFORCE(indices == x || indices.HasUnknown() || x.HasUnknown(), InvalidArgument,
          "Indices must have the shape of X ", x, ", got ", indices);
  ENFORCE(ctx.dtype(kIndices) == DType::kInt32, Type, "Indices must be of int32, got ",
          ctx.dtype(kIndices), ". Convert with astype('int32')");
  window::CheckCount("ksize", a.ksize, kAxes);
  window::CheckCount("strides", a.strides, kAxes);
  window::CheckCount("paddings", a.paddings, kAxes);
  if (!a.output_size.empty()) window::CheckCount("output_size", a.output_size, kAxes);
  Dims out = x;
  for (int i = 0; i < kAxes; ++i) {
    int64_t size = x[2 + i];
    if (!a.output_size.empty() && IsOpen(a.output_size[i])) {
      out[2 + i] = -1;
      continue;
    }
    if (!a.output_size.empty() && a.output_size[i] > 0) {
      out[2 + i] = a.output_size[i];
      continue;
    }
    if (size < 0) continue;
    out[2 + i] = (size - 1) * a.strides[i] - 2 * int64_t{a.paddings[i]} + a.ksize[i];
    ENFORCE(out[2 + i] > 0, InvalidArgument, "Out must have a positive ",
            window::AxisName(i, kAxes), ", got ", out[2 + i], " from (", size, " - 1) * ",
            a.strides[i], " - 2 * ", a.paddings[i], " + ", a.ksize[i]);
  }
  return out;
}

template <class Op>
void Define(OpDef& op) {
  using Attrs = typename Op::Attrs;
  constexpr bool kFlat = Op::kAxes == 2;
  const char* axes = kFlat ? "[height, width]" : "[depth, height, width]";
  op.Input(kX, "X", Op::kAxes == 2 ? "[N, C, H, W]" : "[N, C, D, H, W]")
      .Input(kIndices, "Indices", "shape of X, int32: places in a channel of Out")
      .Output(kOut, "Out", "X with other sizes in space")
      .Attr(&Attrs::ksize, "ksize",
            kFlat ? "the window, [height, width]" : "the window, [depth, height, width]",
            EachAtLeast(1))
      .Attr(&Attrs::strides, "strides", "of the window", EachAtLeast(1))
      .Attr(&Attrs::paddings, "paddings", axes, EachAtLeast(0))
      .Attr(&Attrs::output_size, "output_size",
            kFlat ? "of Out, [height, width]" : "of Out, [depth, height, width]", EachAtLeast(0))
      .MixedDTypes()
      .ShareLoD(kX)
      .Shape([](InferContext& ctx) { ctx.SetOutput(kOut, OutDims<Op>(ctx)); })
      .Grad(CallGradient);
}

inline kernels::Positions PositionsIn(const Tensor& indices, int64_t size) {
  return kernels::Positions(indices.data<int32_t>(), indices.numel(), size, false,
                            "unpool", "Indices");
}

template <class T>
struct ForwardKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &indices = ctx.In(kIndices);
    Tensor& out = ctx.Out(kOut);
    if (out.numel() == 0) return;
    const int64_t in = Numel(x.dims(), 2, x.rank()), size = Numel(out.dims(), 2, out.rank());
    T* to = out.mutable_data<T>();
    kernels::Fill(to, out.numel(), T(0));
    kernels::Unpool(x.data<T>(), PositionsIn(indices, size), x.dim(0) * x.dim(1), in, size, to);
  }
};

namespace grad {
constexpr int kX = 0, kIndices = 1, kOutGrad = 2, kXGrad = 0;

template <class Op>
void Define(OpDef& op) {
  op.Comment("X@GRAD: Out@GRAD where Indices says, for what was not overwritten.")
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kIndices, "Indices", "as of the forward call")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf(Op::kName)
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .Shape([](InferContext& ctx) {
        Dims out = OutDims<Op>(ctx);
        const Dims& g = ctx.dims(kOutGrad);
        ENFORCE(g == out || g.HasUnknown() || out.HasUnknown(), InvalidArgument,
                "Out@GRAD must have the shape of Out ", out, ", got ", g);
        ctx.SetOutput(kXGrad, ctx.dims(kX));
      })
      .Grad([](GradBuilder& g) {
        g.Call(Op::kName, {g.OutputGrad(kXGrad), g.Input(kIndices)}, {g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct Kernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &indices = ctx.In(kIndices), &g = ctx.In(kOutGrad);
    const Dims& d = ctx.In(kX).dims();
    Tensor& out = ctx.Out(kXGrad);
    if (out.numel() == 0) return;
    const int64_t in = Numel(d, 2, d.rank()), size = Numel(g.dims(), 2, g.rank());
    kernels::UnpoolBackward(g.data<T>(), PositionsIn(indices, size), d[0] * d[1], in, size,
                            out.mutable_data<T>());
  }
};
}  // namespace grad

}  // namespace dygraph::unpooling
