// bilinear_interp, nearest_interp and trilinear_interp. An operator is a struct with kName,
// kAxes (in space) and kNearest.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/interp.h"
#include "op/gradient_call.h"
#include "operators/arguments.h"
#include "operators/channels.h"

namespace dygraph::interp {

constexpr int kX = 0, kOutSize = 1, kSizeTensor = 2, kScale = 3, kOut = 0;

struct Attrs {
  std::string data_layout = "NCHW";
  int32_t out_d = 0;
  int32_t out_h = 0;
  int32_t out_w = 0;
  double scale = 0;
  std::string interp_method = "bilinear";
  bool align_corners = true;
  int32_t align_mode = 1;
  bool channels_last() const { return data_layout == "NHWC" || data_layout == "NDHWC"; }
};

inline int64_t Scaled(int64_t size, float scale) {
  if (size < 0) return -1;
  float out = static_cast<float>(size) * scale;
  ENFORCE(out >= 1 && out < 2147483648.0f, InvalidArgument,
          "scale must give sizes of at least 1, got ", scale, " times ", size);
  return static_cast<int64_t>(out);
}

// Output sizes in space: those of SizeTensor, OutSize, Scale, scale or the attributes, the first
// that is there.
template <class Op>
std::vector<int64_t> OutSizes(InferContext& ctx) {
  const Attrs& a = ctx.attrs<Attrs>();
  const Dims& x = ctx.dims(kX);
  ENFORCE(x.rank() == Op::kAxes + 2, InvalidArgument, "X must have ", Op::kAxes + 2,
          " axes, got shape ", x);
  int first = a.channels_last() ? 1 : 2;
  for (int i = 0; i < Op::kAxes; ++i) {
    ENFORCE(x[first + i] != 0, InvalidArgument, "X must not be empty in space, got shape ", x);
  }
  std::vector<int32_t> attrs = {a.out_d, a.out_h, a.out_w};
  attrs.erase(attrs.begin(), attrs.begin() + 3 - Op::kAxes);
  std::vector<int64_t> out;
  if (ctx.HasInput(kSizeTensor) || ctx.HasInput(kOutSize)) {
    IntList given = ReadIntList(ctx.call(), kOutSize, kSizeTensor, attrs);
    ENFORCE(static_cast<int>(given.values.size()) == Op::kAxes, InvalidArgument,
            ctx.HasInput(kSizeTensor) ? "SizeTensor" : "OutSize", " must hold ", Op::kAxes,
            " integers, got ", given.values.size());
    if (!given.known) return std::vector<int64_t>(Op::kAxes, -1);
    out.assign(given.values.begin(), given.values.end());
  } else {
    float scale = static_cast<float>(a.scale);  // the same sizes for every type of elements
    if (ctx.HasInput(kScale)) {
      const Tensor& t = ctx.value(kScale).tensor();
      if (!t.has_data()) return std::vector<int64_t>(Op::kAxes, -1);
      ENFORCE(t.numel() == 1, InvalidArgument, "Scale must hold one number, got shape ", t.dims());
      scale = static_cast<float>(Item(t));
    }
    if (scale > 0) {
      for (int i = 0; i < Op::kAxes; ++i) out.push_back(Scaled(x[first + i], scale));
      return out;
    }
    ENFORCE(!std::isnan(scale) && !ctx.HasInput(kScale), InvalidArgument,
            "Scale must be positive, got ", scale);
    out.assign(attrs.begin(), attrs.end());
  }
  for (int64_t size : out) {
    ENFORCE(size > 0 && size <= std::numeric_limits<int32_t>::max(), InvalidArgument,
            "the sizes of Out must be positive, got ", size,
            ". Give scale, OutSize or the attributes out_h and out_w");
  }
  return out;
}

template <class Op>
void InferShape(InferContext& ctx) {
  const Attrs& a = ctx.attrs<Attrs>();
  Dims out = ctx.dims(kX);
  std::vector<int64_t> sizes = OutSizes<Op>(ctx);
  for (int i = 0; i < Op::kAxes; ++i) out[(a.channels_last() ? 1 : 2) + i] = sizes[i];
  ctx.SetOutput(kOut, out, ctx.dtype(kX));
}

template <class Op>
kernels::InterpShape ShapeOf(const Dims& x, const Dims& out, const Attrs& a) {
  kernels::InterpShape s;
  bool last = a.channels_last();
  s.volumes = x[0] * (last ? x.back() : x[1]);
  kernels::InterpAxis axes[3];
  for (int i = 0; i < 3; ++i) {
    int at = i - (3 - Op::kAxes) + (last ? 1 : 2);
    int64_t in = i < 3 - Op::kAxes ? 1 : x[at], size = i < 3 - Op::kAxes ? 1 : out[at];
    axes[i] = Op::kNearest ? kernels::NearestAxis(in, size, a.align_corners)
                           : kernels::LinearAxis(in, size, a.align_corners, a.align_mode == 0);
  }
  s.d = std::move(axes[0]);
  s.h = std::move(axes[1]);
  s.w = std::move(axes[2]);
  return s;
}

template <class Op>
void Define(OpDef& op) {
  op.Input(kX, "X",
           Op::kAxes == 2 ? "[N, C, H, W], or the channels last"
                          : "[N, C, D, H, W], or the channels last")
      .Input(kOutSize, "OutSize", "Out's sizes in space, in place of the attributes", kDispensable)
      .Input(kSizeTensor, "SizeTensor", "the same as one integer each, in place of OutSize",
             kDispensable | kDuplicable)
      .Input(kScale, "Scale", "[1], in place of scale", kDispensable)
      .Output(kOut, "Out", "X with other sizes in space")
      .Attr(&Attrs::data_layout, "data_layout", "the order of X's axes",
            OneOf({"NCHW", "NHWC", "NCDHW", "NDHWC"}))
      .Attr(&Attrs::out_d, "out_d", "depth of Out", AtLeast(0))
      .Attr(&Attrs::out_h, "out_h", "height of Out", AtLeast(0))
      .Attr(&Attrs::out_w, "out_w", "width of Out", AtLeast(0))
      .Attr(&Attrs::scale, "scale", "Out's sizes over X's; 0: not said")
      .Attr(&Attrs::interp_method, "interp_method", "of programs: the operator decides",
            OneOf({"bilinear", "nearest", "trilinear"}))
      .Attr(&Attrs::align_corners, "align_corners", "X's and Out's corners lie on each other")
      .Attr(&Attrs::align_mode, "align_mode",
            "without align_corners: 0 compares middles, 1 beginnings of pixels", Between(0, 1))
      .MixedDTypes()
      .ShareLoD(kX)
      .Shape(InferShape<Op>)
      .Grad(CallGradient);
}

template <class Op>
struct Forward {
  template <class T>
  struct Kernel {
    static void Compute(KernelContext& ctx) {
      const Attrs& a = ctx.attrs<Attrs>();
      Tensor& out = ctx.Out(kOut);
      Tensor x = channels::Second(ctx.In(kX), a.channels_last());
      channels::Result<T> y(&out, a.channels_last());
      kernels::Interpolate<T>(x.data<T>(), ShapeOf<Op>(ctx.In(kX).dims(), out.dims(), a), y.data());
      y.Finish();
    }
  };
};

namespace grad {
constexpr int kX = 0, kOutSize = 1, kSizeTensor = 2, kScale = 3, kOutGrad = 4, kXGrad = 0;

template <class Op>
void Define(OpDef& op) {
  op.Comment("X@GRAD: each Out@GRAD goes to the elements it was made of, by their weights.")
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kOutSize, "OutSize", "as of the forward call", kDispensable)
      .Input(kSizeTensor, "SizeTensor", "as of the forward call", kDispensable | kDuplicable)
      .Input(kScale, "Scale", "as of the forward call", kDispensable)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf(Op::kName)
      .KernelDType([](const Call& call) { return call.in.at(kOutGrad)->dtype(); })
      .MixedDTypes()
      .Shape([](InferContext& ctx) {
        std::vector<int64_t> sizes = OutSizes<Op>(ctx);
        Dims out = ctx.dims(kX);
        int first = ctx.attrs<Attrs>().channels_last() ? 1 : 2;
        for (int i = 0; i < Op::kAxes; ++i) out[first + i] = sizes[i];
        const Dims& g = ctx.dims(kOutGrad);
        ENFORCE(g == out || g.HasUnknown() || out.HasUnknown(), InvalidArgument,
                "Out@GRAD must have the shape of Out ", out, ", got ", g);
        ctx.SetOutput(kXGrad, ctx.dims(kX));
      })
      .Grad([](GradBuilder& g) {  // linear: the operator itself
        g.Call(Op::kName,
               {g.OutputGrad(kXGrad), g.Input(kOutSize), g.Inputs(kSizeTensor), g.Input(kScale)},
               {g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class Op>
struct Backward {
  template <class T>
  struct Kernel {
    static void Compute(KernelContext& ctx) {
      const Attrs& a = ctx.attrs<Attrs>();
      const Tensor& g = ctx.In(kOutGrad);
      Tensor dy = channels::Second(g, a.channels_last());
      channels::Result<T> dx(&ctx.Out(kXGrad), a.channels_last());
      kernels::InterpolateBackward<T>(dy.data<T>(), ShapeOf<Op>(ctx.In(kX).dims(), g.dims(), a),
                                      dx.data());
      dx.Finish();
    }
  };
};
}  // namespace grad

}  // namespace dygraph::interp
