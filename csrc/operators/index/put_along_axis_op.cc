#include "operators/index/put_values.h"

namespace dygraph::indexing {
namespace {

constexpr int kResult = 0;

void InferShape(InferContext& ctx) {
  CheckShapes(ctx.attrs<PutAlongAxisAttrs>(), ctx.dims(kInput), ctx.dims(kIndex), ctx.dims(kValue));
  ENFORCE(ReduceOf(ctx.attrs<PutAlongAxisAttrs>()) != Reduce::kMean ||
              ctx.dtype(kInput) == DType::kFloat32 || ctx.dtype(kInput) == DType::kFloat64,
          Type, "the mean of integers is no integer: Input must be of float32 or float64, got ",
          ctx.dtype(kInput), ". Convert with astype('float32')");
  ENFORCE(ctx.dtype(kValue) == ctx.dtype(kInput), Type, "Value must be of the type of Input, ",
          ctx.dtype(kInput), ", got ", ctx.dtype(kValue), ". Convert with astype()");
  ctx.SetOutput(kResult, ctx.dims(kInput), ctx.dtype(kInput));
}

void DefinePutAlongAxis(OpDef& op) {
  op.Comment(
        "Result = Input, but elements addressed by their number along the axis, as in "
        "numpy.put_along_axis, take Value ('assign': the last one stays, and only that one "
        "gets a gradient), or Value is added to them ('add') or multiplied in ('mul'), or they "
        "take the mean, the least or the greatest of what they were and Value ('mean', 'amin', "
        "'amax': those that are equal share the gradient).")
      .Example(
          ">>> x = to_variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])\n"
          ">>> index, value = to_variable([[0], [2]]), to_variable([[10.0], [20.0]])\n"
          ">>> F.put_along_axis(x, index, value, Axis=1).tolist()\n"
          "[[10.0, 2.0, 3.0], [4.0, 5.0, 20.0]]\n"
          ">>> F.put_along_axis(x, index, value, Axis=1, Reduce=\"add\").tolist()\n"
          "[[11.0, 2.0, 3.0], [4.0, 5.0, 26.0]]")
      .Input(kInput, "Input", "at least one axis")
      .Input(kIndex, "Index",
             "axes of Input, each of its size, 1, which repeats, or smaller, which addresses the "
             "leading part, but along Axis; int32 or int64; negative ones count from the end")
      .Input(kValue, "Value", "shape of Index, repeated, or ones in it; type of Input")
      .Output(kResult, "Result", "shape of Input")
      .Attr(&PutAlongAxisAttrs::axis, "Axis", "the axis to put along")
      .Attr(&PutAlongAxisAttrs::reduce, "Reduce",
            "'assign', 'add', 'mul' or 'multiply', 'mean', 'amin', 'amax'")
      .Attr(&PutAlongAxisAttrs::include_self, "Include_self",
            "False: what was there has no part in the sum, product, mean, least or greatest")
      .ShareLoD(kInput)
      .Shape(InferShape)
      .KernelDTypeOf(kInput)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        Reduce reduce = ReduceOf(g.attrs<PutAlongAxisAttrs>());
        bool values = reduce == Reduce::kMultiply || IsExtreme(reduce);
        g.Call("put_along_axis_grad",
               {values ? g.Input(kInput) : g.InputShape(kInput), g.Input(kIndex),
                values ? g.Input(kValue) : g.InputShape(kValue), g.OutputGrad(kResult)},
               {g.InputGrad(kInput), g.InputGrad(kValue)})
            .SameAttrs();
      });
}

template <class T>
struct PutAlongAxisKernel {
  static void Compute(KernelContext& ctx) { PutValues<T>(ctx); }
};

namespace grad {
void DefinePutAlongAxisGrad(OpDef& op) {
  op.Comment(
        "Input@GRAD = Result@GRAD, 0 where Input was written over, times the values where "
        "they were multiplied in. Value@GRAD = Result@GRAD there, times the other factors. Of a "
        "mean and of several that are the least or greatest each gets its share.")
      .Input(kInput, "Input", "for 'mul', 'amin' and 'amax'; else its shape")
      .Input(kIndex, "Index", "as in the forward call")
      .Input(kValue, "Value", "for 'mul', 'amin' and 'amax'; else its shape")
      .Input(kResultGrad, "Result@GRAD", "shape of Input")
      .Output(kInputGrad, "Input@GRAD", "shape of Input")
      .Output(kValueGrad, "Value@GRAD", "shape of Value")
      .AttrsOf("put_along_axis")
      .Shape(InferPutGradShape)
      .KernelDTypeOf(kResultGrad)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        const PutAlongAxisAttrs& a = g.attrs<PutAlongAxisAttrs>();
        if (ReduceOf(a) == Reduce::kMultiply || IsExtreme(ReduceOf(a))) {
          g.Call("put_along_axis_grad_grad",
                 {g.Input(kInput), g.Input(kIndex), g.Input(kValue), g.Input(kResultGrad),
                  g.OutputGrad(kInputGrad), g.OutputGrad(kValueGrad)},
                 {g.InputGrad(kInput), g.InputGrad(kValue), g.InputGrad(kResultGrad)})
              .SameAttrs();
          return;
        }
        RecipeRef kept = g.Temp(), put = g.Temp();
        g.Call("put_along_axis_grad",
               {g.InputShape(kInput), g.Input(kIndex), g.InputShape(kValue),
                g.OutputGrad(kInputGrad)},
               {kept})
            .SameAttrs();
        RecipeRef zero = g.Apply("fill_any_like", {g.InputShape(kInput)});
        g.Call("put_along_axis", {zero, g.Input(kIndex), g.OutputGrad(kValueGrad)}, {put})
            .SameAttrs();
        g.Call("sum", {RecipeSlot({kept, put})}, {g.InputGrad(kResultGrad)});
      });
}

template <class T>
struct PutAlongAxisGradKernel {
  static void Compute(KernelContext& ctx) { PutGradients<T>(ctx); }
};
}  // namespace grad

REGISTER_OPERATOR(put_along_axis, DefinePutAlongAxis);
REGISTER_KERNELS(put_along_axis, PutAlongAxisKernel, uint8_t, int32_t, int64_t, float, double);
REGISTER_OPERATOR(put_along_axis_grad, grad::DefinePutAlongAxisGrad);
REGISTER_KERNELS(put_along_axis_grad, grad::PutAlongAxisGradKernel, float, double);

}  // namespace
}  // namespace dygraph::indexing
