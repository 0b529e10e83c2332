#include "operators/indexing.h"

namespace dygraph::indexing {
namespace {

constexpr int kInput = 0, kIndex = 1, kValue = 2, kResult = 0;

struct PutAlongAxisAttrs {
  int32_t axis = 0;
  std::string reduce = "assign";
  bool include_self = true;
};

enum class Reduce { kAssign, kAdd, kMultiply };

Reduce ReduceOf(const PutAlongAxisAttrs& a) {
  if (a.reduce == "assign") return Reduce::kAssign;
  if (a.reduce == "add") return Reduce::kAdd;
  ENFORCE(a.reduce == "mul" || a.reduce == "multiply", InvalidArgument,
          "Reduce must be 'assign', 'add', 'mul' or 'multiply', got '", a.reduce, "'");
  return Reduce::kMultiply;
}

// Checks the shapes; gives the axis.
int CheckShapes(const PutAlongAxisAttrs& a, const Dims& x, const Dims& index, const Dims& value) {
  ENFORCE(!x.empty(), InvalidArgument, "Input must have an axis to put along, got shape []");
  int axis = NormalizeAxis(a.axis, x.rank(), "Axis");
  ReduceOf(a);
  ENFORCE(index.rank() == x.rank(), InvalidArgument, "Index must have as many axes as Input ", x,
          ", got ", index);
  bool same = value.size() == index.size();
  for (int i = 0; i < x.rank(); ++i) {
    ENFORCE(i == axis || index[i] == x[i] || !BothKnown(index[i], x[i]), InvalidArgument,
            "Index must have the sizes of Input ", x, " but along axis ", axis, ", got ", index);
    same = same && (index[i] == value[i] || !BothKnown(index[i], value[i]));
  }
  ENFORCE(same, InvalidArgument, "Value must have the shape of Index ", index, ", got ", value);
  return axis;
}

void InferShape(InferContext& ctx) {
  CheckShapes(ctx.attrs<PutAlongAxisAttrs>(), ctx.dims(kInput), ctx.dims(kIndex), ctx.dims(kValue));
  ENFORCE(ctx.dtype(kValue) == ctx.dtype(kInput), Type, "Value must be of the type of Input, ",
          ctx.dtype(kInput), ", got ", ctx.dtype(kValue), ". Convert with astype()");
  ctx.SetOutput(kResult, ctx.dims(kInput), ctx.dtype(kInput));
}

void DefinePutAlongAxis(OpDef& op) {
  op.Comment(
        "Result = Input, but elements addressed by their number along the axis, as in "
        "numpy.put_along_axis, take Value ('assign': the last one stays, and only that one "
        "gets a gradient), or Value is added to them ('add') or multiplied in ('mul').")
      .Example(
          ">>> x = to_variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])\n"
          ">>> index, value = to_variable([[0], [2]]), to_variable([[10.0], [20.0]])\n"
          ">>> F.put_along_axis(x, index, value, Axis=1).tolist()\n"
          "[[10.0, 2.0, 3.0], [4.0, 5.0, 20.0]]\n"
          ">>> F.put_along_axis(x, index, value, Axis=1, Reduce=\"add\").tolist()\n"
          "[[11.0, 2.0, 3.0], [4.0, 5.0, 26.0]]")
      .Input(kInput, "Input", "at least one axis")
      .Input(kIndex, "Index",
             "sizes of Input but along Axis; int32 or int64; negative ones count from the end")
      .Input(kValue, "Value", "shape of Index, type of Input")
      .Output(kResult, "Result", "shape of Input")
      .Attr(&PutAlongAxisAttrs::axis, "Axis", "the axis to put along")
      .Attr(&PutAlongAxisAttrs::reduce, "Reduce", "'assign', 'add', 'mul' or 'multiply'")
      .Attr(&PutAlongAxisAttrs::include_self, "Include_self",
            "False: 'add' starts from 0 and 'mul' from 1 where something is put")
      .Shape(InferShape)
      .KernelDTypeOf(kInput)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        bool values = ReduceOf(g.attrs<PutAlongAxisAttrs>()) == Reduce::kMultiply;
        g.Call("put_along_axis_grad",
               {values ? g.Input(kInput) : g.InputShape(kInput), g.Input(kIndex),
                values ? g.Input(kValue) : g.InputShape(kValue), g.OutputGrad(kResult)},
               {g.InputGrad(kInput), g.InputGrad(kValue)})
            .SameAttrs();
      });
}

std::vector<int64_t> PositionsOf(const Tensor& index, const Dims& x, int axis) {
  return AlongAxis(index, "Index", x, index.dims(), axis, "Input");
}

template <class T>
T Product(T a, T b) {
  if constexpr (std::is_integral_v<T>) {  // wraps
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) *
                          static_cast<std::make_unsigned_t<T>>(b));
  } else {
    return a * b;
  }
}

template <class T>
struct PutAlongAxisKernel {
  static void Compute(KernelContext& ctx) {
    const PutAlongAxisAttrs& a = ctx.attrs<PutAlongAxisAttrs>();
    const Tensor &x = ctx.In(kInput), &index = ctx.In(kIndex), &value = ctx.In(kValue);
    int axis = CheckShapes(a, x.dims(), index.dims(), value.dims());
    std::vector<int64_t> at = PositionsOf(index, x.dims(), axis);
    int64_t n = at.size();
    Tensor& out = ctx.Out(kResult);
    kernels::RowShape elements{1, x.numel(), 1};
    CopyAll(x, &out);
    T* to = out.mutable_data<T>();
    const T* v = value.data<T>();
    Reduce reduce = ReduceOf(a);
    if (reduce == Reduce::kAssign)
      return kernels::PutRows(elements, to, at.data(), n, v, sizeof(T));
    if (!a.include_self) {
      for (int64_t position : at) to[position] = T(reduce == Reduce::kMultiply);
    }
    if (reduce == Reduce::kAdd) return kernels::AddRows(elements, to, at.data(), n, v);
    for (int64_t i = 0; i < n; ++i) to[at[i]] = Product(to[at[i]], v[i]);
  }
};

namespace grad {
constexpr int kInput = 0, kIndex = 1, kValue = 2, kResultGrad = 3;
constexpr int kInputGrad = 0, kValueGrad = 1;

void InferGradShape(InferContext& ctx) {
  CheckShapes(ctx.attrs<PutAlongAxisAttrs>(), ctx.dims(kInput), ctx.dims(kIndex), ctx.dims(kValue));
  ctx.SetOutput(kInputGrad, ctx.dims(kInput), ctx.dtype(kInput));
  ctx.SetOutput(kValueGrad, ctx.dims(kValue), ctx.dtype(kInput));
}

void DefinePutAlongAxisGrad(OpDef& op) {
  op.Comment(
        "Input@GRAD = Result@GRAD, 0 where Input was written over, times the values where "
        "they were multiplied in. Value@GRAD = Result@GRAD there, times the other factors.")
      .Input(kInput, "Input", "for 'mul'; else its shape")
      .Input(kIndex, "Index", "as in the forward call")
      .Input(kValue, "Value", "for 'mul'; else its shape")
      .Input(kResultGrad, "Result@GRAD", "shape of Input")
      .Output(kInputGrad, "Input@GRAD", "shape of Input")
      .Output(kValueGrad, "Value@GRAD", "shape of Value")
      .AttrsOf("put_along_axis")
      .Shape(InferGradShape)
      .KernelDTypeOf(kResultGrad)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        const PutAlongAxisAttrs& a = g.attrs<PutAlongAxisAttrs>();
        ENFORCE(ReduceOf(a) != Reduce::kMultiply, Unimplemented,
                "the second derivative of put_along_axis with Reduce 'mul' is not there. Multiply "
                "with what put_along_axis assigns into ones");
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
  static void Compute(KernelContext& ctx) {
    const PutAlongAxisAttrs& a = ctx.attrs<PutAlongAxisAttrs>();
    const Tensor &index = ctx.In(kIndex), &g = ctx.In(kResultGrad);
    const Dims& x = ctx.In(kInput).dims();
    int axis = CheckShapes(a, x, index.dims(), ctx.In(kValue).dims());
    std::vector<int64_t> at = PositionsOf(index, x, axis);
    int64_t n = at.size();
    kernels::RowShape elements{1, g.numel(), 1};
    Tensor *dx = ctx.OutOrNull(kInputGrad), *dv = ctx.OutOrNull(kValueGrad);
    Reduce reduce = ReduceOf(a);
    if (dx) {
      CopyAll(g, dx);
      if (reduce == Reduce::kAssign || !a.include_self)
        kernels::ClearRows(elements, dx->mutable_raw_data(), at.data(), n, sizeof(T));
    }
    if (reduce == Reduce::kMultiply) return Multiplied(ctx, at, dx, dv);
    if (dv) TakeWritten(elements, g, at.data(), n, reduce == Reduce::kAssign, dv);
  }

  // The product of all factors of an element but one: the factors before it times those after it.
  static void Multiplied(KernelContext& ctx, const std::vector<int64_t>& at, Tensor* dx,
                         Tensor* dv) {
    const T *x = ctx.In(kInput).data<T>(), *v = ctx.In(kValue).data<T>(),
            *g = ctx.In(kResultGrad).data<T>();
    bool self = ctx.attrs<PutAlongAxisAttrs>().include_self;
    int64_t n = at.size();
    if (dx && self) {
      T* to = dx->mutable_data<T>();
      for (int64_t i = 0; i < n; ++i) to[at[i]] *= v[i];
    }
    if (!dv || n == 0) return;
    T* to = dv->mutable_data<T>();
    Tensor running(ctx.In(kInput).dims(), dv->dtype(), dv->place());
    T* product = running.mutable_data<T>();
    for (int64_t position : at) product[position] = self ? x[position] : T(1);
    for (int64_t i = 0; i < n; ++i) {
      to[i] = product[at[i]] * g[at[i]];
      product[at[i]] *= v[i];
    }
    for (int64_t position : at) product[position] = T(1);
    for (int64_t i = n - 1; i >= 0; --i) {
      to[i] *= product[at[i]];
      product[at[i]] *= v[i];
    }
  }
};
}  // namespace grad

REGISTER_OPERATOR(put_along_axis, DefinePutAlongAxis);
REGISTER_CPU_KERNEL(put_along_axis, PutAlongAxisKernel, int32_t, int64_t, float, double);
REGISTER_OPERATOR(put_along_axis_grad, grad::DefinePutAlongAxisGrad);
REGISTER_CPU_KERNEL(put_along_axis_grad, grad::PutAlongAxisGradKernel, float, double);

}  // namespace
}  // namespace dygraph::indexing
