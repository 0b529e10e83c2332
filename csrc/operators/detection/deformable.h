// Convolution whose taps are moved by offsets (Dai et al., 2017), and weighed by a mask where there
// is one (Zhu et al., Deformable ConvNets v2, 2019):
//
//   Output[n, o, p] = sum over c, k of Filter[o, c, k] Mask[n, k, p]
//                     Input[n, c] at (place of tap k at p + Offset[n, 2k and 2k + 1, p]).
//
// Input between its pixels is bilinear, outside it is 0.
#pragma once

#include <cmath>

#include "kernels/simd.h"
#include "op/gradient_call.h"
#include "operators/higher_gradient.h"

namespace dygraph::deformable {

constexpr int kInput = 0, kOffset = 1, kFilter = 2, kMask = 3, kOutput = 0;

struct ConvAttrs {
  std::vector<int32_t> strides = {1, 1};
  std::vector<int32_t> paddings = {0, 0};
  std::vector<int32_t> dilations = {1, 1};
  int32_t deformable_groups = 1;
  int32_t groups = 1;
  int32_t im2col_step = 64;
};

inline OpDef& AddAttrs(OpDef& op) {
  return op
      .Attr(&ConvAttrs::strides, "strides", "pixels between places, down and across",
            EachAtLeast(1))
      .Attr(&ConvAttrs::paddings, "paddings", "zeros around the image, down and across",
            EachAtLeast(0))
      .Attr(&ConvAttrs::dilations, "dilations", "pixels between taps, down and across",
            EachAtLeast(1))
      .Attr(&ConvAttrs::deformable_groups, "deformable_groups",
            "groups of channels with offsets of their own", AtLeast(1))
      .Attr(&ConvAttrs::groups, "groups", "groups of channels with filters of their own",
            AtLeast(1))
      .Attr(&ConvAttrs::im2col_step, "im2col_step", "of Fluid's kernel; has no effect", AtLeast(1));
}

inline void CheckTwo(const char* name, const std::vector<int32_t>& list) {
  ENFORCE(list.size() == 2, InvalidArgument, name, " must hold 2 numbers, got ", list.size());
}

// The size of Output along axis i of the image; -1 where it is not known.
inline int64_t OutSize(const ConvAttrs& a, const Dims& input, const Dims& filter, int i) {
  if (!BothKnown(input[2 + i], filter[2 + i])) return -1;
  const int64_t reach = int64_t{a.dilations[i]} * (filter[2 + i] - 1) + 1;
  const int64_t padded = input[2 + i] + 2 * int64_t{a.paddings[i]};
  ENFORCE(reach <= padded, InvalidArgument, "Filter must fit into the padded Input, got Filter ",
          filter, " with dilations ", a.dilations[0], ", ", a.dilations[1], " for Input ", input);
  return (padded - reach) / a.strides[i] + 1;
}

inline Dims OutDims(const InferContext& ctx, bool masked) {
  const auto& a = ctx.attrs<ConvAttrs>();
  const Dims &input = ctx.dims(kInput), &filter = ctx.dims(kFilter);
  CheckTwo("strides", a.strides);
  CheckTwo("paddings", a.paddings);
  CheckTwo("dilations", a.dilations);
  ENFORCE(input.rank() == 4, InvalidArgument, "Input must be images [N, C, H, W], got shape ",
          input);
  ENFORCE(filter.rank() == 4 && filter[2] != 0 && filter[3] != 0, InvalidArgument,
          "Filter must be [out channels, C / groups, height, width], got shape ", filter);
  ENFORCE(MulSizes(filter[1], a.groups) == input[1] || !BothKnown(filter[1], input[1]),
          InvalidArgument, "Filter must have C / groups channels for Input ", input, " and groups ",
          a.groups, ", got shape ", filter);
  ENFORCE(filter[0] % a.groups == 0 || filter[0] < 0, InvalidArgument, "groups ", a.groups,
          " must divide the out channels of Filter ", filter);
  ENFORCE(input[1] % a.deformable_groups == 0 || input[1] < 0, InvalidArgument,
          "deformable_groups ", a.deformable_groups, " must divide the channels of Input ", input);
  const Dims out = {input[0], filter[0], OutSize(a, input, filter, 0),
                    OutSize(a, input, filter, 1)};
  for (int slot : {kOffset, kMask}) {
    if (slot == kMask && !(masked && ctx.HasInput(kMask))) continue;
    const int64_t taps = MulSizes(MulSizes(filter[2], filter[3]), a.deformable_groups);
    const Dims fits = {input[0], slot == kOffset ? MulSizes(taps, 2) : taps, out[2], out[3]};
    const Dims& got = ctx.dims(slot);
    bool same = got.rank() == 4;
    for (int i = 0; same && i < 4; ++i) same = got[i] == fits[i] || !BothKnown(got[i], fits[i]);
    ENFORCE(same, InvalidArgument, slot == kOffset ? "Offset" : "Mask", " must have shape ", fits,
            " for Input ", input, " and Filter ", filter, ", got ", got);
  }
  return out;
}

// A place in an image: the four pixels around it, their weights and the changes of these as it
// moves down and across. at[0] is -1 outside.
template <class T>
struct Spot {
  int32_t at[4];
  T weight[4], down[4], across[4];
};

template <class T>
DYGRAPH_INLINE Spot<T> SpotAt(T y, T x, int64_t height, int64_t width) {
  Spot<T> s = {};
  s.at[0] = -1;
  if (!(y > T(-1) && x > T(-1) && y < static_cast<T>(height) && x < static_cast<T>(width)))
    return s;
  const T low_y = std::floor(y), low_x = std::floor(x), part_y = y - low_y, part_x = x - low_x;
  int32_t inside = -1;
  for (int c = 0; c < 4; ++c) {
    const int64_t row = static_cast<int64_t>(low_y) + c / 2;
    const int64_t column = static_cast<int64_t>(low_x) + c % 2;
    s.at[c] = -1;
    if (row < 0 || row >= height || column < 0 || column >= width) continue;
    const T wy = c / 2 ? part_y : T(1) - part_y, wx = c % 2 ? part_x : T(1) - part_x;
    s.at[c] = inside = static_cast<int32_t>(row * width + column);
    s.weight[c] = wy * wx;
    s.down[c] = c / 2 ? wx : -wx;
    s.across[c] = c % 2 ? wy : -wy;
  }
  // Pixels outside have weight 0; one that is there is read in their place.
  for (int32_t& at : s.at) at = at < 0 ? inside : at;
  return s;
}

template <class T>
struct Problem {
  const ConvAttrs& a;
  int64_t n, c, height, width, out_c, kernel_h, kernel_w, out_h, out_w, taps, places, plane;
  const T *input, *offset, *filter, *mask;  // mask: nullptr for ones

  Problem(const KernelContext& ctx, bool masked)
      : a(ctx.attrs<ConvAttrs>()),
        input(ctx.In(kInput).data<T>()),
        offset(ctx.In(kOffset).data<T>()),
        filter(ctx.In(kFilter).data<T>()),
        mask(masked && ctx.HasInput(kMask) ? ctx.In(kMask).data<T>() : nullptr) {
    const Dims &in = ctx.In(kInput).dims(), &f = ctx.In(kFilter).dims();
    n = in[0], c = in[1], height = in[2], width = in[3];
    out_c = f[0], kernel_h = f[2], kernel_w = f[3];
    out_h = ctx.In(kOffset).dim(2), out_w = ctx.In(kOffset).dim(3);
    taps = kernel_h * kernel_w, places = out_h * out_w, plane = height * width;
    ENFORCE(plane <= INT32_MAX, InvalidArgument, "Input must have fewer than 2^31 pixels, got ",
            in);
  }
  int64_t channels_of_offset() const { return c / a.deformable_groups; }
  int64_t moved() const { return a.deformable_groups * taps; }  // rows of Mask
  int64_t RowAt(int64_t k, int64_t p) const {                   // without the offset
    return p / out_w * a.strides[0] - a.paddings[0] + k % taps / kernel_w * a.dilations[0];
  }
  int64_t ColumnAt(int64_t k, int64_t p) const {
    return p % out_w * a.strides[1] - a.paddings[1] + k % kernel_w * a.dilations[1];
  }
  const T* MaskOf(int64_t image, int64_t k) const {
    return mask ? mask + (image * moved() + k) * places : nullptr;
  }
};

// What the operators compute: deformable_loops.h.
template <class T>
void Forward(KernelContext& ctx, bool masked);
template <class T>
void Backward(KernelContext& ctx, bool masked, int top_slot);

// The forward computation on numbers that know their derivatives, for gradients of higher order.
inline void RunHigher(higher::Problem& p, bool masked) {
  using higher::Scalar;
  const auto& a = p.ctx.attrs<ConvAttrs>();
  const Dims &in = p.ctx.In(kInput).dims(), &f = p.ctx.In(kFilter).dims();
  const Dims& off = p.ctx.In(kOffset).dims();
  const int64_t kw = f[3], taps = f[2] * kw, places = off[2] * off[3], moved = off[1] / 2;
  const int64_t plane = in[2] * in[3], share = in[1] / a.deformable_groups;
  const int64_t per_group = in[1] / a.groups, oc = f[0] / a.groups;
  masked = masked && p.Has(3);
  for (int64_t at = 0; at < in[0] * places; ++at) {
    const int64_t i = at / places, q = at % places;
    std::vector<Scalar> values;  // [c, taps]
    for (int64_t row = 0; row < in[1] * taps; ++row) {
      const int64_t channel = row / taps, tap = row % taps, k = channel / share * taps + tap;
      const int64_t shift = (i * moved + k) * 2 * places + q;
      const int64_t y0 = q / off[3] * a.strides[0] - a.paddings[0] + tap / kw * a.dilations[0];
      const int64_t x0 = q % off[3] * a.strides[1] - a.paddings[1] + tap % kw * a.dilations[1];
      Scalar y = p.Leaf(1, shift) + static_cast<double>(y0);
      Scalar x = p.Leaf(1, shift + places) + static_cast<double>(x0);
      const double yv = kernels::ValueOf(y), xv = kernels::ValueOf(x);
      Scalar sum = kernels::Constant(0);
      if (yv > -1 && xv > -1 && yv < static_cast<double>(in[2]) &&
          xv < static_cast<double>(in[3])) {
        Scalar part_y = y - std::floor(yv), part_x = x - std::floor(xv);
        for (int c = 0; c < 4; ++c) {
          const int64_t r = static_cast<int64_t>(std::floor(yv)) + c / 2;
          const int64_t col = static_cast<int64_t>(std::floor(xv)) + c % 2;
          if (r < 0 || r >= in[2] || col < 0 || col >= in[3]) continue;
          sum = sum + (c / 2 ? part_y : 1.0 - part_y) * (c % 2 ? part_x : 1.0 - part_x) *
                          p.Leaf(0, (i * in[1] + channel) * plane + r * in[3] + col);
        }
      }
      values.push_back(masked ? sum * p.Leaf(3, (i * moved + k) * places + q) : sum);
    }
    for (int64_t o = 0; o < f[0]; ++o) {
      const int64_t count = per_group * taps;
      const std::vector<Scalar> weights = p.Leaves(2, o * count, count);
      Scalar sum = kernels::Constant(0);
      for (int64_t k = 0; k < count; ++k) sum = sum + weights[k] * values[o / oc * count + k];
      p.Set(0, (i * f[0] + o) * places + q, sum);
    }
    p.Flush();
  }
}

inline OpDef& AddInputs(OpDef& op, bool masked, bool first) {
  auto text = [first](const char* shape) { return first ? shape : "as of the forward call"; };
  op.Input(kInput, "Input", text("[N, C, H, W]"))
      .Input(kOffset, "Offset",
             text("[N, 2 * deformable_groups * height * width of Filter, H', W']: how far each tap "
                  "moves down, and across, in pixels"))
      .Input(kFilter, "Filter", text("[out channels, C / groups, height, width]"));
  if (masked) {
    op.Input(kMask, "Mask",
             text("[N, deformable_groups * height * width of Filter, H', W'], what each tap is "
                  "multiplied by; absent: ones"),
             kDispensable);
  }
  return op;
}

// P: what an operator says of itself.
//   static constexpr const char* kType;
//   static constexpr bool kMasked;  // it has the slot Mask
template <class P>
constexpr int kTop = P::kMasked ? kMask + 1 : kMask;  // the slot of Output@GRAD

// All but comment and example.
template <class P>
void DefineConv(OpDef& op) {
  AddInputs(op, P::kMasked, true).Output(kOutput, "Output", "[N, out channels, H', W']");
  AddAttrs(op)
      .Shape([](InferContext& ctx) { ctx.SetOutput(kOutput, OutDims(ctx, P::kMasked)); })
      .ShareLoD(kInput)
      .Grad(CallGradient);
}

template <class P, class T>
struct ConvKernel {
  static void Compute(KernelContext& ctx) { Forward<T>(ctx, P::kMasked); }
};

template <class P>
OpDef& AddGradients(OpDef& op) {
  op.Output(kInput, "Input@GRAD", "shape of Input")
      .Output(kOffset, "Offset@GRAD", "shape of Offset")
      .Output(kFilter, "Filter@GRAD", "shape of Filter");
  if (P::kMasked) op.Output(kMask, "Mask@GRAD", "shape of Mask");
  return op;
}

template <class P>
void SetGradients(InferContext& ctx) {
  for (int slot = 0; slot < kTop<P>; ++slot) {
    if (ctx.HasInput(slot)) ctx.SetOutput(slot, ctx.dims(slot));
  }
}

template <class P>
void DefineGrad(OpDef& op) {
  const std::string text = std::string("The gradients of ") + P::kType +
                           ": those of a convolution of the moved pixels, passed on to the pixels "
                           "by their weights and to the offsets by the slopes between pixels.";
  op.Comment(text.c_str());
  AddInputs(op, P::kMasked, false).Input(kTop<P>, "Output@GRAD", "shape of Output");
  AddGradients<P>(op)
      .AttrsOf(P::kType)
      .Shape([](InferContext& ctx) {
        OutDims(ctx, P::kMasked);
        SetGradients<P>(ctx);
      })
      .Grad(CallGradient);
}

template <class P, class T>
struct GradKernel {
  static void Compute(KernelContext& ctx) { Backward<T>(ctx, P::kMasked, kTop<P>); }
};

template <class P>
void DefineGradGrad(OpDef& op);

// The policy of gradients of higher order.
template <class P>
struct Third {
  static constexpr int kV = kTop<P> + 1, kTopResult = kTop<P>;
  static constexpr uint32_t kServes = (1u << (kV + kTop<P>)) - 1;
  static void Define(OpDef& op) { DefineGradGrad<P>(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) {
    std::vector<higher::Input> list;
    for (int slot = 0; slot < kTop<P>; ++slot) list.push_back({slot, kV + slot, slot});
    return list;
  }
  static std::vector<higher::Result> Results(const KernelContext&) {
    return {{kTop<P>, kTopResult}};
  }
  static void Run(higher::Problem& p) { RunHigher(p, P::kMasked); }
};

template <class P>
void DefineGradGrad(OpDef& op) {
  constexpr int kV = Third<P>::kV, kTopResult = Third<P>::kTopResult;
  const std::string text =
      std::string("What ") + P::kType + "_grad gives its inputs for directions of its results.";
  op.Comment(text.c_str());
  AddInputs(op, P::kMasked, false)
      .Input(kTop<P>, "Output@GRAD", "shape of Output")
      .Input(kV + kInput, "Input@GRAD@GRAD", "shape of Input", kDispensable)
      .Input(kV + kOffset, "Offset@GRAD@GRAD", "shape of Offset", kDispensable)
      .Input(kV + kFilter, "Filter@GRAD@GRAD", "shape of Filter", kDispensable);
  if (P::kMasked) op.Input(kV + kMask, "Mask@GRAD@GRAD", "shape of Mask", kDispensable);
  AddGradients<P>(op)
      .Output(kTopResult, "Output@GRAD@GRAD", "shape of Output")
      .AttrsOf(P::kType)
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(Third<P>::kTopResult, OutDims(ctx, P::kMasked));
        SetGradients<P>(ctx);
      })
      .Grad(higher::Recipe<Third<P>>);
}

}  // namespace dygraph::deformable
