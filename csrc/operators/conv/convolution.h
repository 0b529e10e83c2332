// Definition and kernels of the convolution operators. An operator is a struct
//
//   struct Conv2d {
//     static constexpr const char *kName = "conv2d", *kGrad = "conv2d_grad";
//     static constexpr int kAxes = 2;                      // in space
//     static constexpr bool kTransposed, kBias, kResidual;  // Bias, ResidualData: has these slots
//   };
#pragma once

#include "kernels/conv.h"
#include "operators/channels.h"
#include "operators/conv/channels_last.h"
#include "operators/conv/conv_geometry.h"

namespace dygraph::conv {

constexpr int kInput = 0, kFilter = 1, kOutput = 0;
// Slots that not every operator has; they count from these.
template <class Op>
constexpr int kBiasSlot = 2;
template <class Op>
constexpr int kResidualSlot = Op::kBias ? 3 : 2;

template <class Op>
Geometry DescribeOp(const Dims& input, const Dims& filter, const Attrs<Op::kAxes>& a) {
  if constexpr (Op::kTransposed) return DescribeTransposed(input, filter, a);
  return Describe(input, filter, a);
}

// Output's shape.
template <class Op>
Dims OutputDims(const Geometry& g, const Attrs<Op::kAxes>& a) {
  window::Axis axes[3] = {g.d, g.h, g.w};
  for (window::Axis& axis : axes) axis.size = Op::kTransposed ? axis.size : axis.Out();
  return window::MakeImageDims(g.n, Op::kTransposed ? g.c : g.out_c, axes + 3 - Op::kAxes,
                               Op::kAxes, a.channels_last());
}

template <class Op>
void InferShape(InferContext& ctx) {
  const Attrs<Op::kAxes>& a = ctx.attrs<Attrs<Op::kAxes>>();
  Geometry g = DescribeOp<Op>(ctx.dims(kInput), ctx.dims(kFilter), a);
  Dims out = OutputDims<Op>(g, a);
  if constexpr (Op::kBias) {
    if (ctx.HasInput(kBiasSlot<Op>)) {
      const Dims& bias = ctx.dims(kBiasSlot<Op>);
      int64_t channels = Op::kTransposed ? g.c : g.out_c;
      ENFORCE(bias.rank() == 1 && (bias[0] == channels || !BothKnown(bias[0], channels)),
              InvalidArgument, "Bias must have one number for each of the ", channels,
              " output channels, got shape ", bias);
    }
  }
  if constexpr (Op::kResidual) {
    if (ctx.HasInput(kResidualSlot<Op>)) {
      const Dims& residual = ctx.dims(kResidualSlot<Op>);
      ENFORCE(residual == out || residual.HasUnknown() || out.HasUnknown(), InvalidArgument,
              "ResidualData must have the shape of Output ", out, ", got ", residual);
    }
  }
  ctx.SetOutput(kOutput, out);
}

template <class Op>
void Define(OpDef& op) {
  using A = Attrs<Op::kAxes>;
  constexpr bool kImage = Op::kAxes == 2;
  const char* sizes = kImage ? "[height, width]" : "[depth, height, width]";
  op.Input(kInput, "Input",
           kImage ? "[N, C, H, W], or [N, H, W, C] with data_format NHWC"
                  : "[N, C, D, H, W], or [N, D, H, W, C] with data_format NDHWC")
      .Input(kFilter, "Filter",
             Op::kTransposed ? (kImage ? "[C, M / groups, kernel height, kernel width]"
                                       : "[C, M / groups, kernel depth, height, width]")
                             : (kImage ? "[M, C / groups, kernel height, kernel width]"
                                       : "[M, C / groups, kernel depth, height, width]"),
             kWeight);
  if (Op::kBias) op.Input(kBiasSlot<Op>, "Bias", "[M]", kDispensable);
  if (Op::kResidual) {
    op.Input(kResidualSlot<Op>, "ResidualData", "shape of Output", kDispensable);
  }
  op.Output(kOutput, "Output", "M channels, in the order of Input's axes")
      .Attr(&A::strides, "strides", sizes, EachAtLeast(1))
      .Attr(&A::paddings, "paddings",
            kImage ? "[height, width] or [top, bottom, left, right]"
                   : "[depth, height, width] or [front, back, top, bottom, left, right]",
            EachAtLeast(0))
      .Attr(&A::padding_algorithm, "padding_algorithm",
            "SAME and VALID replace paddings; with SAME dilations count as 1, as in Fluid",
            OneOf({"EXPLICIT", "SAME", "VALID"}))
      .Attr(&A::groups, "groups", "channels are split into so many independent convolutions",
            AtLeast(1))
      .Attr(&A::dilations, "dilations", "between the taps of the window", EachAtLeast(1))
      .Attr(&A::data_format, "data_format", "the order of Input's and Output's axes",
            kImage ? OneOf({"NCHW", "NHWC", "AnyLayout"})
                   : OneOf({"NCDHW", "NDHWC", "NCHW", "NHWC", "AnyLayout"}));
  if (Op::kTransposed) {
    op.Attr(&A::output_size, "output_size",
            "of Output in space, where several give Input's size; empty: the smallest",
            EachAtLeast(1))
        .Attr(&A::output_padding, "output_padding",
              "pixels that Output has more than the smallest, fewer than strides; not read beside "
              "output_size",
              EachAtLeast(0));
  }
  op.Shape(InferShape<Op>).ShareLoD(kInput).Grad([](GradBuilder& g) {
    RecipeSlot x = g.Wants(kFilter) ? g.Input(kInput) : g.InputShape(kInput);
    RecipeSlot filter = g.Wants(kInput) ? g.Input(kFilter) : g.InputShape(kFilter);
    if constexpr (Op::kBias) {
      g.Call(Op::kGrad, {x, filter, g.InputShape(kBiasSlot<Op>), g.OutputGrad(kOutput)},
             {g.InputGrad(kInput), g.InputGrad(kFilter), g.InputGrad(kBiasSlot<Op>)})
          .SameAttrs();
    } else {
      g.Call(Op::kGrad, {x, filter, g.OutputGrad(kOutput)},
             {g.InputGrad(kInput), g.InputGrad(kFilter)})
          .SameAttrs();
    }
    if constexpr (Op::kResidual) {
      g.Call("scale", {g.OutputGrad(kOutput)}, {g.InputGrad(kResidualSlot<Op>)});
    }
  });
}

// Whether the channels stand last in the memory of `image`, and whether they must be turned for the
// loops.
struct Order {
  bool last, turned;
  template <int kAxes>
  Order(const Tensor& image, const Attrs<kAxes>& a)
      : last(a.channels_last() ||
             (kernels::kConvTakesChannelsLast && image.layout() == Layout::kNHWC)),
        turned(last && !kernels::kConvTakesChannelsLast) {}
};

inline kernels::ConvShape ShapeOf(const Geometry& g, bool channels_last = false) {
  kernels::ConvShape s;
  s.channels_last = channels_last;
  s.patch.channels = g.c / g.groups;
  s.patch.depth = g.d.size;
  s.patch.kernel_d = g.d.kernel;
  s.patch.stride_d = g.d.stride;
  s.patch.front = g.d.before;
  s.patch.back = g.d.after;
  s.patch.dilation_d = g.d.dilation;
  s.patch.height = g.h.size;
  s.patch.width = g.w.size;
  s.patch.kernel_h = g.h.kernel;
  s.patch.kernel_w = g.w.kernel;
  s.patch.stride_h = g.h.stride;
  s.patch.stride_w = g.w.stride;
  s.patch.top = g.h.before;
  s.patch.bottom = g.h.after;
  s.patch.left = g.w.before;
  s.patch.right = g.w.after;
  s.patch.dilation_h = g.h.dilation;
  s.patch.dilation_w = g.w.dilation;
  s.n = g.n;
  s.groups = g.groups;
  s.out_c = g.out_c / g.groups;
  s.Complete();
  return s;
}

template <class Op>
struct Forward {
  template <class T>
  struct Kernel {
    static void Compute(KernelContext& ctx) {
      const Attrs<Op::kAxes>& a = ctx.attrs<Attrs<Op::kAxes>>();
      const Tensor &input = ctx.In(kInput), &filter = ctx.In(kFilter);
      const Order order(input, a);
      const kernels::ConvShape s =
          ShapeOf(DescribeOp<Op>(input.dims(), filter.dims(), a), order.last && !order.turned);
      Tensor& out = ctx.Out(kOutput);
      if (out.numel() == 0) return;
      Tensor x = channels::Second(input, order.turned), residual;
      const Tensor* bias = nullptr;
      if constexpr (Op::kBias) bias = ctx.InOrNull(kBiasSlot<Op>);
      if constexpr (Op::kResidual) {
        if (const Tensor* r = ctx.InOrNull(kResidualSlot<Op>))
          residual = channels::Second(*r, order.turned);
      }
      const T* b = bias ? bias->data<T>() : nullptr;
      channels::Result<T> y(&out, order.turned);
      if (Op::kTransposed) {
        kernels::ConvBackwardInput<T>(x.data<T>(), filter.data<T>(), b, s, y.data());
      } else {
        kernels::ConvForward<T>(x.data<T>(), filter.data<T>(), b,
                                residual.has_data() ? residual.data<T>() : nullptr, s, y.data());
      }
      y.Finish();
    }
  };
};

namespace grad {

constexpr int kInput = 0, kFilter = 1, kInputGrad = 0, kFilterGrad = 1, kBiasGrad = 2;
template <class Op>
constexpr int kOutputGrad = Op::kBias ? 3 : 2;

template <class Op>
void InferGradShape(InferContext& ctx) {
  ctx.SetOutput(kInputGrad, ctx.dims(kInput), ctx.dtype(kInput));
  ctx.SetOutput(kFilterGrad, ctx.dims(kFilter), ctx.dtype(kFilter));
  if constexpr (Op::kBias) {
    int bias = kBiasSlot<Op>;
    if (ctx.HasInput(bias)) ctx.SetOutput(kBiasGrad, ctx.dims(bias), ctx.dtype(bias));
  }
}

// The operator is linear in Input and in Filter, so the gradients of its gradients are made of it
// and of its gradient operator.
template <class Op>
void Recipe(GradBuilder& g) {
  constexpr int kTop = kOutputGrad<Op>;
  RecipeRef ddx = g.OutputGrad(kInputGrad), ddw = g.OutputGrad(kFilterGrad);
  RecipeRef a = g.Temp(), b = g.Temp(), c;
  g.Call(Op::kName, {ddx, g.Input(kFilter)}, {a}).SameAttrs();
  g.Call(Op::kName, {g.Input(kInput), ddw}, {b}).SameAttrs();
  if constexpr (Op::kBias) {
    if (g.HasInput(kBiasSlot<Op>)) {
      RecipeRef zero = g.Temp();
      c = g.Temp();
      int32_t axis = g.attrs<Attrs<Op::kAxes>>().channels_last() ? Op::kAxes + 1 : 1;
      g.Call("fill_any_like", {g.InputShape(kTop)}, {zero});
      g.Call("elementwise_add", {zero, g.OutputGrad(kBiasGrad)}, {c}).Attr("axis", axis);
    }
  }
  g.Call("sum", {RecipeSlot({a, b, c})}, {g.InputGrad(kTop)});
  if constexpr (Op::kBias) {
    g.Call(Op::kGrad, {g.InputShape(kInput), ddw, {}, g.Input(kTop)}, {g.InputGrad(kInput)})
        .SameAttrs();
    g.Call(Op::kGrad, {ddx, g.InputShape(kFilter), {}, g.Input(kTop)}, {{}, g.InputGrad(kFilter)})
        .SameAttrs();
  } else {
    g.Call(Op::kGrad, {g.InputShape(kInput), ddw, g.Input(kTop)}, {g.InputGrad(kInput)})
        .SameAttrs();
    g.Call(Op::kGrad, {ddx, g.InputShape(kFilter), g.Input(kTop)}, {{}, g.InputGrad(kFilter)})
        .SameAttrs();
  }
}

template <class Op>
void Define(OpDef& op) {
  op.Comment(Op::kTransposed
                 ? "Input@GRAD is the convolution of Output@GRAD with Filter, Filter@GRAD the "
                   "correlation of Output@GRAD with Input, Bias@GRAD the sum of Output@GRAD over "
                   "all but the channels."
                 : "Input@GRAD is the convolution of Output@GRAD with Filter turned around, "
                   "Filter@GRAD the correlation of Input with Output@GRAD, Bias@GRAD the sum of "
                   "Output@GRAD over all but the channels.")
      .Input(kInput, "Input", "its shape; its values for Filter@GRAD")
      .Input(kFilter, "Filter", "its shape; its values for Input@GRAD", kWeight);
  if (Op::kBias) op.Input(kBiasSlot<Op>, "Bias", "its shape", kDispensable);
  op.Input(kOutputGrad<Op>, "Output@GRAD", "shape of Output")
      .Output(kInputGrad, "Input@GRAD", "shape of Input")
      .Output(kFilterGrad, "Filter@GRAD", "shape of Filter", kWeight);
  if (Op::kBias) op.Output(kBiasGrad, "Bias@GRAD", "shape of Bias");
  op.AttrsOf(Op::kName).Shape(InferGradShape<Op>).KernelDTypeOf(kOutputGrad<Op>).Grad(Recipe<Op>);
}

template <class Op>
struct Backward {
  template <class T>
  struct Kernel {
    static void Compute(KernelContext& ctx) {
      const Attrs<Op::kAxes>& a = ctx.attrs<Attrs<Op::kAxes>>();
      const Tensor &input = ctx.In(kInput), &filter = ctx.In(kFilter);
      const Order order(ctx.In(kOutputGrad<Op>), a);
      const kernels::ConvShape s =
          ShapeOf(DescribeOp<Op>(input.dims(), filter.dims(), a), order.last && !order.turned);
      Tensor dy = channels::Second(ctx.In(kOutputGrad<Op>), order.turned);
      const T* top = dy.data<T>();
      if (Tensor* out = ctx.OutOrNull(kInputGrad)) {
        channels::Result<T> dx(out, order.turned);
        if (Op::kTransposed) {
          kernels::ConvForward<T>(top, filter.data<T>(), nullptr, nullptr, s, dx.data());
        } else {
          kernels::ConvBackwardInput<T>(top, filter.data<T>(), nullptr, s, dx.data());
        }
        dx.Finish();
      }
      if (Tensor* out = ctx.OutOrNull(kFilterGrad)) {
        Tensor x = channels::Second(input, order.turned);
        kernels::ConvBackwardFilter<T>(Op::kTransposed ? top : x.data<T>(),
                                       Op::kTransposed ? x.data<T>() : top, s,
                                       out->mutable_data<T>());
      }
      if constexpr (Op::kBias) {
        if (Tensor* out = ctx.OutOrNull(kBiasGrad)) {
          kernels::ConvBackwardBias<T>(top, s, Op::kTransposed, out->mutable_data<T>());
        }
      }
    }
  };
};

}  // namespace grad

}  // namespace dygraph::conv
