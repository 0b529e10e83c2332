// The operators that resize: nearest_interp, linear_interp, bilinear_interp, trilinear_interp,
// bicubic_interp, and with _v2 what PaddlePaddle 2 calls so. An operator is a struct with kName,
// kAxes (in space), kBy and Attrs.
//
// The forms _v2 take a scale for each axis, and where it gives the sizes, elements lie 1 / scale
// apart, not size over size: 5 elements by 1.7 are 8.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/cast.h"
#include "kernels/interp.h"
#include "kernels/interp_cubic.h"
#include "op/gradient_call.h"
#include "operators/arguments.h"
#include "operators/channels.h"

namespace dygraph::interp {

constexpr int kX = 0, kOutSize = 1, kSizeTensor = 2, kScale = 3, kOut = 0;

enum class By { kNearest, kLinear, kCubic };

template <class Scale>  // double; of _v2 std::vector<float>
struct AttrsWith {
  std::string data_layout = "NCHW";
  int32_t out_d = 0;
  int32_t out_h = 0;
  int32_t out_w = 0;
  Scale scale{};
  std::string interp_method = "bilinear";
  bool align_corners = true;
  int32_t align_mode = 1;
  bool channels_last() const { return data_layout.back() == 'C'; }
};
using Attrs = AttrsWith<double>;
using AttrsV2 = AttrsWith<std::vector<float>>;

inline std::vector<float> ScalesOf(const Attrs& a) {
  return {static_cast<float>(a.scale)};  // the same sizes for every type of elements
}
inline std::vector<float> ScalesOf(const AttrsV2& a) { return a.scale; }

template <class Op>
constexpr bool kIsV2 = std::is_same_v<typename Op::Attrs, AttrsV2>;

// What the sizes are multiplied by, one number an axis; empty where none is said. `t`: the input
// Scale or nullptr.
template <class Op>
std::vector<float> Scales(const typename Op::Attrs& a, const Tensor* t) {
  std::vector<float> scales = ScalesOf(a);
  if (t) {
    ENFORCE(t->numel() == 1 || (kIsV2<Op> && t->numel() == Op::kAxes), InvalidArgument,
            "Scale must hold one number", kIsV2<Op> ? " or one for each axis" : "", ", got shape ",
            t->dims());
    scales.resize(t->numel());
    kernels::Cast(t->dtype(), t->raw_data(), DType::kFloat32, scales.data(), t->numel());
  }
  if (scales.size() == 1) scales.resize(Op::kAxes, scales[0]);
  ENFORCE(scales.empty() || static_cast<int>(scales.size()) == Op::kAxes, InvalidArgument,
          "scale must hold ", Op::kAxes, " numbers, got ", scales.size());
  bool positive = true, said = t != nullptr;
  for (float s : scales) {
    positive = positive && s > 0;
    said = said || s != 0;
    ENFORCE(s == s && (!t || s > 0), InvalidArgument, "Scale must be positive, got ", s);
  }
  ENFORCE(!kIsV2<Op> || positive || !said, InvalidArgument, "scale must be positive");
  return positive ? scales : std::vector<float>();
}

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
  const auto& a = ctx.attrs<typename Op::Attrs>();
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
    const Tensor* given = nullptr;
    if (ctx.HasInput(kScale)) {
      given = &ctx.value(kScale).tensor();
      if (!given->has_data()) return std::vector<int64_t>(Op::kAxes, -1);
    }
    std::vector<float> scales = Scales<Op>(a, given);
    if (!scales.empty()) {
      for (int i = 0; i < Op::kAxes; ++i) out.push_back(Scaled(x[first + i], scales[i]));
      return out;
    }
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
  const auto& a = ctx.attrs<typename Op::Attrs>();
  Dims out = ctx.dims(kX);
  std::vector<int64_t> sizes = OutSizes<Op>(ctx);
  for (int i = 0; i < Op::kAxes; ++i) out[(a.channels_last() ? 1 : 2) + i] = sizes[i];
  ctx.SetOutput(kOut, out, ctx.dtype(kX));
}

// How far apart in X neighbours in Out lie, for each axis whose size comes from a scale of _v2 that
// size over size differs from; else 0.
template <class Op>
std::vector<double> Steps(const KernelContext& ctx, const Dims& x, const Dims& out) {
  const auto& a = ctx.attrs<typename Op::Attrs>();
  std::vector<double> steps(Op::kAxes, 0.0);
  if (!kIsV2<Op> || ctx.HasInput(kOutSize) || ctx.InputCount(kSizeTensor) > 0) return steps;
  std::vector<float> scales = Scales<Op>(a, ctx.InOrNull(kScale));
  for (int i = 0; i < Op::kAxes && !scales.empty(); ++i) {
    int at = i + (a.channels_last() ? 1 : 2);
    double exact = static_cast<double>(out[at]) / static_cast<double>(x[at]);
    if (std::abs(scales[i] / exact - 1) > 1e-6) steps[i] = 1.0 / static_cast<double>(scales[i]);
  }
  return steps;
}

template <class Op>
auto ShapeOf(const KernelContext& ctx, const Dims& x, const Dims& out) {
  const auto& a = ctx.attrs<typename Op::Attrs>();
  bool last = a.channels_last();
  std::vector<double> steps = Steps<Op>(ctx, x, out);
  int64_t volumes = x[0] * (last ? x.back() : x[1]);
  if constexpr (Op::kBy == By::kCubic) {
    int first = last ? 1 : 2;
    auto axis = [&](int i) {
      return kernels::MakeCubicAxis(x[first + i], out[first + i], a.align_corners, steps[i]);
    };
    return kernels::CubicShape{volumes, axis(0), axis(1)};
  } else {
    kernels::InterpShape s;
    s.volumes = volumes;
    kernels::InterpAxis axes[3];
    for (int i = 0; i < 3; ++i) {
      int k = i - (3 - Op::kAxes), at = k + (last ? 1 : 2);
      int64_t in = k < 0 ? 1 : x[at], size = k < 0 ? 1 : out[at];
      double step = k < 0 ? 0 : steps[k];
      axes[i] = Op::kBy == By::kNearest
                    ? kernels::NearestAxis(in, size, a.align_corners, step)
                    : kernels::LinearAxis(in, size, a.align_corners, a.align_mode == 0, step);
    }
    s.d = std::move(axes[0]);
    s.h = std::move(axes[1]);
    s.w = std::move(axes[2]);
    return s;
  }
}

template <class Op>
void Define(OpDef& op) {
  using Attrs = typename Op::Attrs;
  op.Input(kX, "X",
           Op::kAxes == 1   ? "[N, C, W], or the channels last"
           : Op::kAxes == 2 ? "[N, C, H, W], or the channels last"
                            : "[N, C, D, H, W], or the channels last")
      .Input(kOutSize, "OutSize", "Out's sizes in space, in place of the attributes",
             kDispensable | kOnHost)
      .Input(kSizeTensor, "SizeTensor", "the same as one integer each, in place of OutSize",
             kDispensable | kDuplicable | kOnHost)
      .Input(kScale, "Scale",
             kIsV2<Op> ? "one number, or one for each axis, in place of scale"
                       : "[1], in place of scale",
             kDispensable | kOnHost)
      .Output(kOut, "Out", "X with other sizes in space")
      .Attr(&Attrs::data_layout, "data_layout", "the order of X's axes",
            OneOf({"NCHW", "NHWC", "NCDHW", "NDHWC", "NCW", "NWC"}))
      .Attr(&Attrs::out_d, "out_d", "depth of Out", AtLeast(0))
      .Attr(&Attrs::out_h, "out_h", "height of Out", AtLeast(0))
      .Attr(&Attrs::out_w, "out_w", "width of Out", AtLeast(0))
      .Attr(&Attrs::scale, "scale",
            kIsV2<Op> ? "Out's sizes over X's, one number or one for each axis; empty: not said"
                      : "Out's sizes over X's; 0: not said")
      .Attr(&Attrs::interp_method, "interp_method", "of programs: the operator decides",
            OneOf({"bilinear", "nearest", "trilinear", "linear", "bicubic"}))
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
      const auto& a = ctx.attrs<typename Op::Attrs>();
      Tensor& out = ctx.Out(kOut);
      Tensor x = channels::Second(ctx.In(kX), a.channels_last());
      channels::Result<T> y(&out, a.channels_last());
      kernels::Interpolate(x.data<T>(), ShapeOf<Op>(ctx, ctx.In(kX).dims(), out.dims()), y.data());
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
      .Input(kOutSize, "OutSize", "as of the forward call", kDispensable | kOnHost)
      .Input(kSizeTensor, "SizeTensor", "as of the forward call",
             kDispensable | kDuplicable | kOnHost)
      .Input(kScale, "Scale", "as of the forward call", kDispensable | kOnHost)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf(Op::kName)
      .KernelDType([](const Call& call) { return call.in.at(kOutGrad)->dtype(); })
      .MixedDTypes()
      .Shape([](InferContext& ctx) {
        std::vector<int64_t> sizes = OutSizes<Op>(ctx);
        Dims out = ctx.dims(kX);
        int first = ctx.attrs<typename Op::Attrs>().channels_last() ? 1 : 2;
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
      const auto& a = ctx.attrs<typename Op::Attrs>();
      const Tensor& g = ctx.In(kOutGrad);
      Tensor dy = channels::Second(g, a.channels_last());
      channels::Result<T> dx(&ctx.Out(kXGrad), a.channels_last());
      kernels::InterpolateBackward(dy.data<T>(), ShapeOf<Op>(ctx, ctx.In(kX).dims(), g.dims()),
                                   dx.data());
      dx.Finish();
    }
  };
};
}  // namespace grad

}  // namespace dygraph::interp
