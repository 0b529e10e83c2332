#include "kernels/fold.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kScale = 1, kBias = 2, kOut = 0;

struct AffineChannelAttrs {
  std::string data_layout = "AnyLayout";  // the channels second; Paddle's programs say NCHW
  bool channels_last() const { return data_layout == "NHWC"; }
};

void InferShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  ENFORCE(x.rank() >= 2, InvalidArgument, "X must have at least 2 axes, got shape ", x);
  int64_t channels = ctx.attrs<AffineChannelAttrs>().channels_last() ? x.back() : x[1];
  for (int slot : {kScale, kBias}) {
    const Dims& d = ctx.dims(slot);
    ENFORCE(d.rank() == 1 && (d[0] == channels || !BothKnown(d[0], channels)), InvalidArgument,
            slot == kScale ? "Scale" : "Bias", " must have one number for each of the ", channels,
            " channels of X ", x, ", got shape ", d);
  }
  ctx.SetOutput(kOut, x);
}

void DefineAffineChannel(OpDef& op) {
  op.Comment("Out = X * Scale + Bias, per channel: a batch_norm whose statistics are fixed.")
      .Example(
          ">>> x = to_variable([[1.0, 2.0], [3.0, 4.0]])\n"
          ">>> scale, bias = to_variable([10.0, 100.0]), to_variable([0.0, 1.0])\n"
          ">>> F.affine_channel(x, scale, bias).tolist()\n"
          "[[10.0, 201.0], [30.0, 401.0]]")
      .Input(kX, "X", "the channels second, or last with data_layout NHWC")
      .Input(kScale, "Scale", "[C]")
      .Input(kBias, "Bias", "[C]")
      .Output(kOut, "Out", "shape of X")
      .Attr(&AffineChannelAttrs::data_layout, "data_layout", "where the channels are",
            OneOf({"NCHW", "NHWC", "AnyLayout"}))
      .Shape(InferShape)
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        int32_t axis = g.attrs<AffineChannelAttrs>().channels_last() ? -1 : 1;
        g.Call("elementwise_mul_grad", {g.Input(kX), g.Input(kScale), g.OutputGrad(kOut)},
               {g.InputGrad(kX), g.InputGrad(kScale)})
            .Attr("axis", axis);
        g.Call("elementwise_add_grad", {g.InputShape(kX), g.InputShape(kBias), g.OutputGrad(kOut)},
               {{}, g.InputGrad(kBias)})
            .Attr("axis", axis);
      });
}

template <class T>
struct AffineChannelKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    bool last = ctx.attrs<AffineChannelAttrs>().channels_last();
    int64_t channels = last ? x.dims().back() : x.dims()[1];
    int64_t inner = last ? 1 : Numel(x.dims(), 2, x.rank());
    const T *from = x.data<T>(), *scale = ctx.In(kScale).data<T>(), *bias = ctx.In(kBias).data<T>();
    T* to = ctx.Out(kOut).mutable_data<T>();
    if (x.numel() == 0) return;
    kernels::ForEachRowPlain(
        x.numel() / inner, inner, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
          const T s = scale[r % channels], b = bias[r % channels], *row = from + r * inner;
          T* out = to + r * inner;
          team.Each(inner, [=](int64_t i) { out[i] = row[i] * s + b; });
        });
  }
};

REGISTER_OPERATOR(affine_channel, DefineAffineChannel);
REGISTER_KERNELS(affine_channel, AffineChannelKernel, float, double);

}  // namespace
}  // namespace dygraph
