#include "kernels/elementwise.h"
#include "operators/control/array.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kI = 1, kArray = 2, kOut = 0;
constexpr int64_t kMostElements = int64_t{1} << 24;

struct WriteToArrayAttrs {
  bool add = false;
};

void DefineWriteToArray(OpDef& op) {
  op.Comment(
        "Out = an array with X as element I. The array grows to I + 1 elements where it is "
        "shorter; "
        "those in between hold nothing. What is written into is Array or, in a program that gives "
        "none, what Out holds. Elements are handles: nothing is copied.")
      .Example(
          ">>> i = to_variable(np.array([0]))\n"
          ">>> a = F.write_to_array(to_variable([1.0, 2.0]), i)\n"
          ">>> a = F.write_to_array(to_variable([3.0]), F.increment(i), array=a)\n"
          ">>> len(a), F.read_from_array(a, i).tolist()\n"
          "(2, [1.0, 2.0])")
      .Input(kX, "X", "the element, any shape")
      .Input(kI, "I", "one integer of at least 0", kOnHost)
      .Input(kArray, "Array", "the array before, which stays as it is", kDispensable | kTakesArray)
      .Output(kOut, "Out", "the array", kUpdated)
      .Attr(&WriteToArrayAttrs::add, "add",
            "True: X is added to the element where it holds something, as gradients are")
      .VarType([](InferContext& ctx) {
        if (ctx.runtime()) return;
        Dims dims = ctx.dims(kX);  // those that differ from element to element are open
        const Dims before = ctx.HasInput(kArray) ? array::Described(ctx, kArray).dims() : dims;
        for (size_t d = 0; before.size() == dims.size() && d < dims.size(); ++d)
          dims[d] = dims[d] == before[d] ? dims[d] : -1;
        array::Describe(ctx, kOut, dims, ctx.dtype(kX));
      })
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .KernelAllocates()
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        g.Call("read_from_array", {g.OutputGrad(kOut), g.Input(kI), g.InputShape(kX)},
               {g.InputGrad(kX)});
        g.Call("clear_array_element", {g.OutputGrad(kOut), g.Input(kI)}, {g.InputGrad(kArray)});
      });
}

template <class T>
struct WriteToArrayKernel {
  static void Compute(KernelContext& ctx) {
    const int64_t i = array::NumberIn(ctx, kI);
    ENFORCE(i >= 0 && i < kMostElements, OutOfRange, "I must be in [0, ", kMostElements, "), got ",
            i);
    Value& out = ctx.OutValue(kOut);
    if (ctx.HasInput(kArray)) {
      array::ArrayIn(ctx.call(), kArray);
      out = ctx.InValue(kArray);
    }
    TensorArray& array = out.MutableArray();
    const DType dtype = array.dtype();
    ENFORCE(dtype == DType::kUnset || dtype == ctx.In(kX).dtype(), Type,
            "X must have the element type of the array, ", dtype, ", got ", ctx.In(kX).dtype(),
            ". Convert with astype()");
    if (array.items.size() <= static_cast<size_t>(i)) array.items.resize(i + 1);
    Put(ctx, &array.items[i]);
  }

  static void Put(const KernelContext& ctx, Tensor* to) {
    const Tensor& x = ctx.In(kX);
    if (!ctx.attrs<WriteToArrayAttrs>().add || !to->has_data()) {
      *to = x;
      return;
    }
    ENFORCE(to->dims() == x.dims(), InvalidArgument,
            "what is added must have the shape of the element, ", to->dims(), ", got ", x.dims());
    Tensor sum(x.dims(), x.dtype(), ctx.place());
    const Tensor before = to->Plain();
    kernels::Zip(before.data<T>(), x.data<T>(), sum.mutable_data<T>(), x.numel(),
                 [] DYGRAPH_FN(T p, T q) { return static_cast<T>(p + q); });
    sum.SetLoD(to->lod_ref());
    *to = std::move(sum);
  }
};

REGISTER_OPERATOR(write_to_array, DefineWriteToArray);
REGISTER_MOVING_KERNEL(write_to_array, WriteToArrayKernel);

}  // namespace
}  // namespace dygraph
