#include "kernels/elementwise.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kInput = 0, kOutput = 0, kFusedOutput = 1;
constexpr int64_t kAlignment = 256;  // bytes, Fluid's

struct CoalesceTensorAttrs {
  DType dtype = DType::kFloat32;
  bool copy_data = false;
  bool set_constant = false;
  double constant = 0.0;
  bool check_name = false;
};

// Elements from the start of one input to that of the next.
int64_t Padded(int64_t numel, DType type) {
  if (numel < 0) return -1;
  int64_t step = kAlignment / static_cast<int64_t>(SizeOf(type));
  return (numel + step - 1) / step * step;
}

void InferShape(InferContext& ctx) {
  const auto& a = ctx.attrs<CoalesceTensorAttrs>();
  ENFORCE(!(a.copy_data && a.set_constant), InvalidArgument,
          "copy_data and set_constant exclude each other, got both True");
  ENFORCE(ctx.OutputCount(kOutput) == ctx.InputCount(kInput), InvalidArgument,
          "there must be one Output for each Input, ", ctx.InputCount(kInput), ", got ",
          ctx.OutputCount(kOutput));
  int64_t total = 0;
  for (int i = 0; i < ctx.InputCount(kInput); ++i) {
    ENFORCE(ctx.dtype(kInput, i) == a.dtype, Type, "all Input must be of dtype, ", a.dtype,
            ", got Input[", i, "] of ", ctx.dtype(kInput, i));
    const Dims& dims = ctx.dims(kInput, i);
    int64_t numel = 1;
    for (int k = 0; k < dims.rank(); ++k) numel = MulSizes(numel, dims[k]);
    total = AddSizes(total, Padded(numel, a.dtype));
    ctx.SetOutputAt(kOutput, i, dims, a.dtype);
  }
  ctx.SetOutput(kFusedOutput, {total}, a.dtype);
}

void DefineCoalesceTensor(OpDef& op) {
  op.Comment(
        "FusedOutput holds all Input one after the other, each beginning at a multiple of 256 "
        "bytes: their values with copy_data, constant with set_constant, else zeros. Output[i] "
        "has the shape of Input[i] and the values of its part. It is a value, not a window: "
        "writing to one of the two does not change the other.")
      .Example(
          ">>> x = [to_variable(v, dtype=\"float32\") for v in ([1.0, 2.0], [[3.0]])]\n"
          ">>> parts, fused = F.coalesce_tensor(x, copy_data=True)\n"
          ">>> [p.tolist() for p in parts], fused[0].item(), fused[64].item()\n"
          "([[1.0, 2.0], [[3.0]]], 1.0, 3.0)")
      .Input(kInput, "Input", "tensors of one type", kDuplicable)
      .Output(kOutput, "Output", "shape of each Input", kDuplicable)
      .Output(kFusedOutput, "FusedOutput", "[elements, with what lies between]")
      .Attr(&CoalesceTensorAttrs::dtype, "dtype", "type of all Input")
      .Attr(&CoalesceTensorAttrs::copy_data, "copy_data", "take the values of Input")
      .Attr(&CoalesceTensorAttrs::set_constant, "set_constant", "set all elements to constant")
      .Attr(&CoalesceTensorAttrs::constant, "constant", "for set_constant")
      .Attr(&CoalesceTensorAttrs::check_name, "check_name", "has no meaning here")
      .OutputCount([](int, const Call& call) { return call.in.count(kInput); })
      .Shape(InferShape)
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct CoalesceTensorKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<CoalesceTensorAttrs>();
    int64_t total = 0;
    for (int i = 0; i < ctx.InputCount(kInput); ++i)
      total += Padded(ctx.In(kInput, i).numel(), a.dtype);
    Tensor fused({total}, a.dtype, ctx.place());
    T* to = fused.mutable_data<T>();
    kernels::Fill(to, total, a.set_constant ? static_cast<T>(NumberFor<T>(a.constant)) : T(0));
    int64_t at = 0;
    for (int i = 0; i < ctx.InputCount(kInput); ++i) {
      const Tensor& x = ctx.In(kInput, i);
      if (a.copy_data && x.numel() > 0) ctx.device().CopyWithin(to + at, x.raw_data(), x.bytes());
      if (Tensor* out = ctx.OutOrNull(kOutput, i)) out->ShareData(fused.Rows(at, at + x.numel()));
      at += Padded(x.numel(), a.dtype);
    }
    if (Tensor* out = ctx.OutOrNull(kFusedOutput)) out->ShareData(fused);
  }
};

REGISTER_OPERATOR(coalesce_tensor, DefineCoalesceTensor);
REGISTER_KERNELS(coalesce_tensor, CoalesceTensorKernel, float, double);

}  // namespace
}  // namespace dygraph
