#include <vector>

#include "kernels/pairs.h"
#include "operators/conv/conv_geometry.h"
#include "operators/fused/conv_by_winograd.h"
#include "operators/fused/fused.h"

namespace dygraph::fused {
namespace {

constexpr int kInput = 0, kFilter = 1, kBias = 2, kResidual = 3, kOutput = 0;

struct Conv2dFusionAttrs {
  std::vector<int32_t> strides = {1, 1}, paddings = {0, 0}, dilations = {1, 1};
  std::string padding_algorithm = "EXPLICIT", data_format = "NCHW", activation = "relu";
  int32_t groups = 1;

  conv::Attrs<2> OfConvolution() const {
    conv::Attrs<2> a;
    a.strides = strides;
    a.paddings = paddings;
    a.dilations = dilations;
    a.padding_algorithm = padding_algorithm;
    a.data_format = data_format;
    a.groups = groups;
    return a;
  }
};

void InferShape(InferContext& ctx) {
  const conv::Attrs<2> a = ctx.attrs<Conv2dFusionAttrs>().OfConvolution();
  const conv::Geometry g = conv::Describe(ctx.dims(kInput), ctx.dims(kFilter), a);
  window::Axis axes[2] = {g.h, g.w};
  for (window::Axis& axis : axes) axis.size = axis.Out();
  const Dims out = window::MakeImageDims(g.n, g.out_c, axes, 2, a.channels_last());
  if (ctx.HasInput(kBias)) {
    const Dims& bias = ctx.dims(kBias);
    ENFORCE(bias.rank() == 1 && (bias[0] == g.out_c || !BothKnown(bias[0], g.out_c)),
            InvalidArgument, "Bias must have one number for each of the ", g.out_c,
            " output channels, got shape ", bias);
  }
  if (ctx.HasInput(kResidual)) {
    const Dims& residual = ctx.dims(kResidual);
    ENFORCE(residual == out || residual.HasUnknown() || out.HasUnknown(), InvalidArgument,
            "ResidualData must have the shape of Output ", out, ", got ", residual);
  }
  ctx.SetOutput(kOutput, out);
}

void DefineConv2dFusion(OpDef& op) {
  using A = Conv2dFusionAttrs;
  op.Comment(
        "Output = activation(conv2d(Input, Filter) + Bias + ResidualData). Filters of 3 x 3 with "
        "stride 1 are computed by Winograd's method, which rounds differently. Made by programs "
        "for inference: no gradient passes.")
      .Example(
          ">>> x, w = to_variable(np.ones((1, 1, 2, 2))), to_variable(np.ones((1, 1, 2, 2)))\n"
          ">>> F.conv2d_fusion(x, w, bias=to_variable(np.array([0.5]))).tolist()\n"
          "[[[[4.5]]]]")
      .Input(kInput, "Input", "[N, C, H, W], or [N, H, W, C] with data_format NHWC")
      .Input(kFilter, "Filter", "[M, C / groups, kernel height, kernel width]", kWeight)
      .Input(kBias, "Bias", "[M]", kDispensable)
      .Input(kResidual, "ResidualData", "shape of Output", kDispensable)
      .Output(kOutput, "Output", "M channels, in the order of Input's axes")
      .Attr(&A::strides, "strides", "[height, width]", EachAtLeast(1))
      .Attr(&A::paddings, "paddings", "[height, width] or [top, bottom, left, right]",
            EachAtLeast(0))
      .Attr(&A::padding_algorithm, "padding_algorithm", "SAME and VALID replace paddings",
            OneOf({"EXPLICIT", "SAME", "VALID"}))
      .Attr(&A::groups, "groups", "channels are split into so many independent convolutions",
            AtLeast(1))
      .Attr(&A::dilations, "dilations", "between the taps of the window", EachAtLeast(1))
      .Attr(&A::data_format, "data_format", "the order of Input's and Output's axes",
            OneOf({"NCHW", "NHWC", "AnyLayout"}))
      .Attr(&A::activation, "activation", "relu or identity", OneOf({"relu", "identity"}))
      .Shape(InferShape)
      .KeepsLayout()
      .ShareLoD(kInput)
      .NoGrad();
}

template <class T>
struct Conv2dFusionKernel {
  static void Compute(KernelContext& ctx) {
    const Conv2dFusionAttrs& a = ctx.attrs<Conv2dFusionAttrs>();
    const conv::Attrs<2> of = a.OfConvolution();
    const Tensor &x = ctx.In(kInput), &filter = ctx.In(kFilter);
    const Tensor *bias = ctx.InOrNull(kBias), *residual = ctx.InOrNull(kResidual);
    Tensor& out = ctx.Out(kOutput);
    if (out.numel() == 0) return;
    const conv::Geometry g = conv::Describe(x.dims(), filter.dims(), of);
    const bool relu = a.activation == "relu";
    if constexpr (std::is_same_v<T, float>) {
      if (ByWinograd(x, filter, bias, residual, ctx.call().kept, g, of, relu, &out)) return;
    }
    Value sums;
    const Value plain(x.Plain());
    PartCall(ctx, "conv2d")
        .In(plain)
        .In(ctx.InValue(kFilter))
        .Out(&sums)
        .Attr("strides", a.strides)
        .Attr("paddings", a.paddings)
        .Attr("padding_algorithm", a.padding_algorithm)
        .Attr("groups", a.groups)
        .Attr("dilations", a.dilations)
        .Attr("data_format", a.data_format)
        .Run();
    const Tensor sum = ToLayout(sums.tensor(), out.layout());
    const T *from = sum.data<T>(), *b = bias ? bias->data<T>() : nullptr;
    const T* r = residual ? residual->data<T>() : nullptr;
    T* y = out.mutable_data<T>();
    // Elements of one channel that lie next to each other.
    const bool last = of.channels_last() || out.layout() == Layout::kNHWC;
    const int64_t run = last ? 1 : out.dim(2) * out.dim(3), channels = g.out_c;
    kernels::ForEachPair(
        out.numel() / run, run,
        [=] DYGRAPH_FN(int64_t i, int64_t j) {
          const int64_t at = i * run + j;
          T v = from[at];
          if (b) v += b[i % channels];
          if (r) v += r[at];
          y[at] = relu && v <= T(0) ? T(0) : v;
        },
        3);
  }
};

REGISTER_OPERATOR(conv2d_fusion, DefineConv2dFusion);
REGISTER_LOD_ALSO(conv2d_fusion, kResidual);
REGISTER_KERNELS(conv2d_fusion, Conv2dFusionKernel, float, double);

}  // namespace
}  // namespace dygraph::fused
