#include <vector>

#include "op/gradient_call.h"
#include "op/open_attr.h"
#include "operators/conv/window.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kIndices = 1, kOut = 0;

struct UnpoolAttrs {
  std::vector<int32_t> ksize;
  std::vector<int32_t> strides = {1, 1};
  std::vector<int32_t> paddings = {0, 0};
  std::string unpooling_type = "max";
  std::vector<int32_t> output_size;
};

Dims OutDims(const InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &indices = ctx.dims(kIndices);
  const UnpoolAttrs& a = ctx.attrs<UnpoolAttrs>();
  ENFORCE(x.rank() == 4, InvalidArgument, "X must have 4 axes, NCHW, got shape ", x);
  ENFORCE(indices == x || indices.HasUnknown() || x.HasUnknown(), InvalidArgument,
          "Indices must have the shape of X ", x, ", got ", indices);
  ENFORCE(ctx.dtype(kIndices) == DType::kInt32, Type, "Indices must be of int32, got ",
          ctx.dtype(kIndices), ". Convert with astype('int32')");
  window::CheckCount("ksize", a.ksize, 2);
  window::CheckCount("strides", a.strides, 2);
  window::CheckCount("paddings", a.paddings, 2);
  if (!a.output_size.empty()) window::CheckCount("output_size", a.output_size, 2);
  Dims out = x;
  for (int i = 0; i < 2; ++i) {
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
    ENFORCE(out[2 + i] > 0, InvalidArgument, "Out must have a positive ", window::AxisName(i, 2),
            ", got ", out[2 + i], " from (", size, " - 1) * ", a.strides[i], " - 2 * ",
            a.paddings[i], " + ", a.ksize[i]);
  }
  return out;
}

void DefineUnpool(OpDef& op) {
  op.Comment(
        "Out is zero but where Indices, the Mask of max_pool2d_with_index, says: there lies X. "
        "Where several say the same place the last counts. Out's size is output_size or, where "
        "that is empty or 0, (size - 1) * stride - 2 * padding + ksize.")
      .Example(
          ">>> x = to_variable([[[[5.0, 7.0]]]])\n"
          ">>> indices = to_variable([[[[1, 6]]]], dtype=\"int32\")\n"
          ">>> F.unpool(x, indices, ksize=[2, 2], strides=[2, 2]).tolist()\n"
          "[[[[0.0, 5.0, 0.0, 0.0], [0.0, 0.0, 7.0, 0.0]]]]")
      .Input(kX, "X", "[N, C, H, W]")
      .Input(kIndices, "Indices", "shape of X, int32: places in a channel of Out")
      .Output(kOut, "Out", "[N, C, H', W']")
      .Attr(&UnpoolAttrs::ksize, "ksize", "the window, [height, width]", EachAtLeast(1))
      .Attr(&UnpoolAttrs::strides, "strides", "of the window", EachAtLeast(1))
      .Attr(&UnpoolAttrs::paddings, "paddings", "[height, width]", EachAtLeast(0))
      .Attr(&UnpoolAttrs::unpooling_type, "unpooling_type", "max", OneOf({"max"}))
      .Attr(&UnpoolAttrs::output_size, "output_size", "of Out, [height, width]", EachAtLeast(0))
      .MixedDTypes()
      .ShareLoD(kX)
      .Shape([](InferContext& ctx) { ctx.SetOutput(kOut, OutDims(ctx)); })
      .Grad(CallGradient);
}

void CheckIndices(const Tensor& indices, int64_t size) {
  const int32_t* at = indices.data<int32_t>();
  for (int64_t i = 0; i < indices.numel(); ++i) {
    ENFORCE(at[i] >= 0 && at[i] < size, OutOfRange, "Indices must lie in [0, ", size,
            "), a channel of Out, got ", at[i]);
  }
}

template <class T>
struct UnpoolKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &indices = ctx.In(kIndices);
    Tensor& out = ctx.Out(kOut);
    if (out.numel() == 0) return;
    const Dims& d = x.dims();
    int64_t in = d[2] * d[3], size = out.dims()[2] * out.dims()[3];
    CheckIndices(indices, size);
    T* to = out.mutable_data<T>();
    std::fill_n(to, out.numel(), T(0));
    const int32_t* at = indices.data<int32_t>();
    for (int64_t i = 0; i < x.numel(); ++i) to[i / in * size + at[i]] = x.data<T>()[i];
  }
};

namespace grad {
constexpr int kX = 0, kIndices = 1, kOutGrad = 2, kXGrad = 0;

void DefineUnpoolGrad(OpDef& op) {
  op.Comment("X@GRAD: Out@GRAD where Indices says, for what was not overwritten.")
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kIndices, "Indices", "as of the forward call")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("unpool")
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .Shape([](InferContext& ctx) {
        Dims out = OutDims(ctx);
        const Dims& g = ctx.dims(kOutGrad);
        ENFORCE(g == out || g.HasUnknown() || out.HasUnknown(), InvalidArgument,
                "Out@GRAD must have the shape of Out ", out, ", got ", g);
        ctx.SetOutput(kXGrad, ctx.dims(kX));
      })
      .Grad([](GradBuilder& g) {
        g.Call("unpool", {g.OutputGrad(kXGrad), g.Input(kIndices)}, {g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct UnpoolGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &indices = ctx.In(kIndices), &g = ctx.In(kOutGrad);
    const Dims& d = ctx.In(kX).dims();
    Tensor& out = ctx.Out(kXGrad);
    if (out.numel() == 0) return;
    int64_t in = d[2] * d[3], size = g.dims()[2] * g.dims()[3];
    CheckIndices(indices, size);
    T* to = out.mutable_data<T>();
    const int32_t* at = indices.data<int32_t>();
    std::vector<int64_t> last(size);
    for (int64_t c = 0; c < d[0] * d[1]; ++c) {
      for (int64_t i = c * in; i < (c + 1) * in; ++i) last[at[i]] = i;
      for (int64_t i = c * in; i < (c + 1) * in; ++i) {
        to[i] = last[at[i]] == i ? g.data<T>()[c * size + at[i]] : T(0);
      }
    }
  }
};
}  // namespace grad

REGISTER_OPERATOR(unpool, DefineUnpool);
REGISTER_OPEN_ATTRS(unpool, "output_size");
REGISTER_CPU_KERNEL(unpool, UnpoolKernel, float, double);
REGISTER_OPERATOR(unpool_grad, grad::DefineUnpoolGrad);
REGISTER_CPU_KERNEL(unpool_grad, grad::UnpoolGradKernel, float, double);

}  // namespace
}  // namespace dygraph
