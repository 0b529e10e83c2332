#include "kernels/strided_copy.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

void InferShape(InferContext& ctx) {
  Dims common;
  for (int i = 0; i < ctx.InputCount(kX); ++i)
    common = BroadcastDims(common, ctx.dims(kX, i), "X", "X");
  for (int i = 0; i < ctx.InputCount(kX); ++i) ctx.SetOutputAt(kOut, i, common, ctx.dtype(kX, i));
}

void DefineBroadcastTensors(OpDef& op) {
  op.Comment("Out[i] = X[i], of any type, repeated to the shape that all X broadcast to.")
      .Example(
          ">>> a, b = to_variable([[1], [2]]), to_variable([3, 4])\n"
          ">>> [v.tolist() for v in F.broadcast_tensors([a, b])]\n"
          "[[[1, 1], [2, 2]], [[3, 4], [3, 4]]]")
      .Input(kX, "X", "any shapes that broadcast", kDuplicable)
      .Output(kOut, "Out", "one for each X, all of one shape", kDuplicable)
      .OutputCount([](int, const Call& call) { return call.in.count(kX); })
      .Shape(InferShape)
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        for (int i = 0; i < g.InputCount(kX); ++i) {  // the sum over what was repeated, as of X + Y
          RecipeRef incoming = g.OutputGrad(kOut, i);
          g.Call("elementwise_add_grad", {g.InputShape(kX, i), incoming, incoming},
                 {g.InputGrad(kX, i)});
        }
      });
}

template <class T>
struct BroadcastTensorsKernel {
  static void Compute(KernelContext& ctx) {
    for (int i = 0; i < ctx.InputCount(kX); ++i) {
      Tensor* out = ctx.OutOrNull(kOut, i);
      if (!out || out->numel() == 0) continue;
      const Tensor& x = ctx.In(kX, i);
      const Dims own = Strides(x.dims());
      const int lead = out->rank() - x.rank();
      Dims strides(out->dims().size(), 0);
      for (int a = 0; a < x.rank(); ++a) strides[lead + a] = x.dim(a) == 1 ? 0 : own[a];
      kernels::CopyStrided(out->dims(), x.raw_data(), strides, out->mutable_raw_data(),
                           Strides(out->dims()), SizeOf(x.dtype()));
    }
  }
};

REGISTER_OPERATOR(broadcast_tensors, DefineBroadcastTensors);
REGISTER_KERNELS(broadcast_tensors, BroadcastTensorsKernel, bool, uint8_t, int8_t, int16_t, int32_t,
                 int64_t, float16, bfloat16, float, double);

}  // namespace
}  // namespace dygraph
