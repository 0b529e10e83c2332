#include "kernels/elementwise.h"
#include "operators/control/array.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kI = 1, kOut = 0;
constexpr int64_t kMostElements = int64_t{1} << 24;

struct WriteToArrayAttrs {
  bool add = false;
};

void DefineWriteToArray(OpDef& op) {
  op.Comment("Out[I] = X. The array grows to I + 1 elements where it is shorter; those in between "
             "hold nothing.")
      .Input(kX, "X", "the element, any shape")
      .Input(kI, "I", "one integer of at least 0")
      .Output(kOut, "Out", "the array that is written into", kUpdated)
      .Attr(&WriteToArrayAttrs::add, "add",
            "True: X is added to the element where it holds something, as gradients are")
      .VarType([](InferContext& ctx) {
        if (ctx.runtime()) return;
        Tensor element;
        element.SetMeta(ctx.dims(kX), ctx.dtype(kX));
        if (Value* out = ctx.call().out.at(kOut)) out->MutableArray().items = {std::move(element)};
      })
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .KernelAllocates()
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        g.Call("read_from_array", {g.OutputGrad(kOut), g.Input(kI)}, {g.InputGrad(kX)});
      });
}

template <class T>
struct WriteToArrayKernel {
  static void Compute(KernelContext& ctx) {
    const int64_t i = array::NumberIn(ctx, kI);
    ENFORCE(i >= 0 && i < kMostElements, OutOfRange, "I must be in [0, ", kMostElements, "), got ",
            i);
    TensorArray& out = ctx.OutValue(kOut).MutableArray();
    if (out.items.size() <= static_cast<size_t>(i)) out.items.resize(i + 1);
    const Tensor& x = ctx.In(kX);
    Tensor& to = out.items[i];
    if (!ctx.attrs<WriteToArrayAttrs>().add || !to.has_data()) {
      to = x;
      return;
    }
    ENFORCE(to.dims() == x.dims() && to.dtype() == x.dtype(), InvalidArgument,
            "what is added must have the shape and type of the element, ", to.dims(), " of ",
            to.dtype(), ", got ", x.dims(), " of ", x.dtype());
    Tensor sum(x.dims(), x.dtype(), ctx.place());
    const T *a = to.Plain().template data<T>(), *b = x.template data<T>();
    kernels::Zip(a, b, sum.mutable_data<T>(), x.numel(),
                 [](T p, T q) { return static_cast<T>(p + q); });
    sum.SetLoD(to.lod_ref());
    to = std::move(sum);
  }
};

REGISTER_OPERATOR(write_to_array, DefineWriteToArray);
REGISTER_CPU_KERNEL(write_to_array, WriteToArrayKernel, bool, uint8_t, int8_t, int16_t, int32_t,
                    int64_t, float16, bfloat16, float, double);

}  // namespace
}  // namespace dygraph
