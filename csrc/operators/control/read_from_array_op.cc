#include "operators/control/array.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kI = 1, kXW = 2, kOut = 0, kRest = 1;

void DefineReadFromArray(OpDef& op) {
  op.Comment(
        "Out = X[I], an element of an array. Where X_W is given and X has no such element, Out is "
        "zeros in the shape of X_W: the gradient of an element that was not used.")
      .Example(
          ">>> i = to_variable(np.array([0]))\n"
          ">>> F.read_from_array(F.write_to_array(to_variable([1.0, 2.0]), i), i).tolist()\n"
          "[1.0, 2.0]")
      .Input(kX, "X", "the array", kTakesArray)
      .Input(kI, "I", "one integer in [0, length)", kOnHost)
      .Input(kXW, "X_W", "its shape", kDispensable | kShapeOnly)
      .Output(kOut, "Out", "shape of the element")
      .Output(
          kRest, "Rest",
          "X without the element, which a program takes out of X itself by that name; where there "
          "is none, Out then gets nothing",
          kExtra | kUpdated)
      .VarType([](InferContext& ctx) {
        if (ctx.runtime()) return;
        const Tensor& x = array::Described(ctx, kX);
        const bool known = x.dtype() != DType::kUnset;
        if (ctx.HasInput(kXW)) {
          ctx.SetOutput(kOut, ctx.dims(kXW), ctx.dtype(kXW));
        } else if (known) {
          ctx.SetOutput(kOut, x.dims(), x.dtype());
        }
      })
      .KernelDType(array::TypeOf<kX>)
      .MixedDTypes()
      .KernelAllocates()
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        g.Call("write_to_array", {g.OutputGrad(kOut), g.Input(kI)}, {g.InputGrad(kX)});
      });
}

template <class T>
struct ReadFromArrayKernel {
  static void Compute(KernelContext& ctx) {
    const TensorArray& x = array::ArrayIn(ctx.call(), kX);
    const int64_t i = array::NumberIn(ctx, kI), n = static_cast<int64_t>(x.items.size());
    const bool inside = i >= 0 && i < n;
    if (ctx.HasOutput(kRest)) {
      if (!inside || !x.items[i].has_data()) return;
      ctx.OutValue(kOut) = Value(x.items[i]);
      Value& rest = ctx.OutValue(kRest);
      if (rest.kind() != VarKind::kArray || &rest.array() != &x) rest = ctx.InValue(kX);
      rest.MutableArray().items.at(i) = Tensor();
      return;
    }
    if (i >= 0 && ctx.HasInput(kXW) && !(inside && x.items[i].has_data()))
      return Zeros(ctx.In(kXW), ctx.place(), &ctx.Out(kOut));
    ENFORCE(inside, OutOfRange, "I must be in [0, ", n, "), got ", i,
            n > 0 ? "" : ". The array has no element, as that of sequences without a step");
    array::RequireWritten("X", x, i);
    ctx.OutValue(kOut) = Value(x.items[i]);
  }
  static void Zeros(const Tensor& like, Place place, Tensor* out) {
    out->Allocate(like.dims(), like.dtype(), place);
    array::Clear(out);
    out->SetLoD(like.lod_ref());
  }
};

REGISTER_OPERATOR(read_from_array, DefineReadFromArray);
REGISTER_MOVING_KERNEL(read_from_array, ReadFromArrayKernel);

}  // namespace
}  // namespace dygraph
