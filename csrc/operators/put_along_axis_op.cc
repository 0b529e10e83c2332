#include "kernels/dual.h"
#include "operators/along_axis.h"
#include "operators/higher_gradient.h"

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

// What a call addresses, after all of it was checked.
kernels::AlongShape CheckedShape(const Tensor& index, const Dims& x, int axis) {
  RequireInside(index, x, axis, "Input");
  return AlongShapeOf(x, index.dims(), axis);
}

// The element numbers in x.
std::vector<int64_t> PositionsOf(const Tensor& index, const Dims& x, int axis) {
  kernels::AlongShape s = CheckedShape(index, x, axis);
  std::vector<int64_t> at(index.numel());
  VisitIndices(index, "Index", [&](auto* v) {
    size_t i = 0;
    for (int64_t row = 0; i < at.size(); ++row) {
      for (int64_t k = 0; k < s.inner; ++k, ++i) {
        const int64_t number = v[i] < 0 ? v[i] + s.height : v[i];
        at[i] = (row / s.count * s.height + number) * s.inner + k;
      }
    }
  });
  return at;
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
    Tensor& out = ctx.Out(kResult);
    T* to = out.mutable_data<T>();
    const T *from = x.data<T>(), *v = value.data<T>();
    Reduce reduce = ReduceOf(a);
    if (reduce == Reduce::kMultiply) {
      std::vector<int64_t> at = PositionsOf(index, x.dims(), axis);
      CopyAll(x, &out);
      if (!a.include_self) {
        for (int64_t position : at) to[position] = T(1);
      }
      for (size_t i = 0; i < at.size(); ++i) to[at[i]] = Product(to[at[i]], v[i]);
      return;
    }
    kernels::AlongShape shape = CheckedShape(index, x.dims(), axis);
    VisitIndices(index, "Index", [&](auto* places) {
      if (reduce == Reduce::kAssign) {
        kernels::PutAlong(shape, from, places, v, to, sizeof(T));
        return;
      }
      if (!a.include_self) {
        kernels::PutAlong(shape, from, places, nullptr, to, sizeof(T));
        from = to;
      }
      kernels::AddAlong(shape, from, places, v, to);
    });
  }
};

// to[i] = g[at[i]] times all factors of that element but v[i]: those before it times those after
// it, so that no zero divides. x: an element's first factor, or nullptr. `running` is as long as x.
template <class V>
void TimesOthers(const std::vector<int64_t>& at, const V* x, const V* v, const V* g, V* running,
                 V* to) {
  int64_t n = at.size();
  for (int64_t position : at) running[position] = x ? x[position] : V(1);
  for (int64_t i = 0; i < n; ++i) {
    to[i] = running[at[i]] * g[at[i]];
    running[at[i]] *= v[i];
  }
  for (int64_t position : at) running[position] = V(1);
  for (int64_t i = n - 1; i >= 0; --i) {
    to[i] *= running[at[i]];
    running[at[i]] *= v[i];
  }
}

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
        if (ReduceOf(a) == Reduce::kMultiply) {
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
  static void Compute(KernelContext& ctx) {
    const PutAlongAxisAttrs& a = ctx.attrs<PutAlongAxisAttrs>();
    const Tensor &index = ctx.In(kIndex), &g = ctx.In(kResultGrad);
    const Dims& x = ctx.In(kInput).dims();
    int axis = CheckShapes(a, x, index.dims(), ctx.In(kValue).dims());
    Tensor *dx = ctx.OutOrNull(kInputGrad), *dv = ctx.OutOrNull(kValueGrad);
    Reduce reduce = ReduceOf(a);
    kernels::AlongShape shape = CheckedShape(index, x, axis);
    if (dx && (reduce == Reduce::kAssign || !a.include_self)) {
      VisitIndices(index, "Index", [&](auto* places) {
        kernels::PutAlong(shape, g.raw_data(), places, nullptr, dx->mutable_raw_data(), sizeof(T));
      });
    } else if (dx) {
      CopyAll(g, dx);
    }
    if (reduce == Reduce::kMultiply) return Multiplied(ctx, PositionsOf(index, x, axis), dx, dv);
    if (!dv) return;
    if (reduce == Reduce::kAdd) {
      VisitIndices(index, "Index", [&](auto* places) {
        kernels::TakeAlong(shape, g.raw_data(), places, dv->mutable_raw_data(), sizeof(T));
      });
      return;
    }
    std::vector<int64_t> at = PositionsOf(index, x, axis);
    int64_t n = at.size();
    TakeWritten({1, g.numel(), 1}, g, at.data(), n, true, dv);
  }

  static void Multiplied(KernelContext& ctx, const std::vector<int64_t>& at, Tensor* dx,
                         Tensor* dv) {
    const T *x = ctx.In(kInput).data<T>(), *v = ctx.In(kValue).data<T>(),
            *g = ctx.In(kResultGrad).data<T>();
    bool self = ctx.attrs<PutAlongAxisAttrs>().include_self;
    if (dx && self) {
      T* to = dx->mutable_data<T>();
      for (size_t i = 0; i < at.size(); ++i) to[at[i]] *= v[i];
    }
    if (!dv || at.empty()) return;
    Tensor running(ctx.In(kInput).dims(), dv->dtype(), dv->place());
    TimesOthers(at, self ? x : nullptr, v, g, running.mutable_data<T>(), dv->mutable_data<T>());
  }
};
}  // namespace grad

// The factors of an element f_0 (Input), f_1, f_2, ... (Value) move along d_0, d_1, ...; then its
// product moves by the sum over i of d_i times the other factors, and the product without f_k by
// the same sum over i other than k. Dual numbers (kernels/dual.h) carry both through the loops
// above.
namespace grad_grad {
constexpr int kInput = 0, kIndex = 1, kValue = 2, kResultGrad = 3, kAlongInput = 4, kAlongValue = 5;
constexpr int kToInput = 0, kToValue = 1, kToResultGrad = 2;

void CheckAlong(const InferContext& ctx, int slot, const char* name, int like) {
  ENFORCE(!ctx.HasInput(slot) || ctx.dims(slot) == ctx.dims(like), InvalidArgument, name,
          " must have the shape ", ctx.dims(like), ", got ", ctx.dims(slot));
}

void InferGradGradShape(InferContext& ctx) {
  grad::InferGradShape(ctx);
  CheckAlong(ctx, kAlongInput, "Input@GRAD@GRAD", kInput);
  CheckAlong(ctx, kAlongValue, "Value@GRAD@GRAD", kValue);
  ctx.SetOutput(kToResultGrad, ctx.dims(kInput), ctx.dtype(kInput));
}

void DefinePutAlongAxisGradGrad(OpDef& op);

struct PutAlongAxisThird {
  static constexpr const char* kSecond = "put_along_axis_grad_grad";
  static constexpr int kInputs = 6, kResults = 3;
  static constexpr bool kHasAttrs = true;
  static constexpr uint32_t kServes =
      higher::Slots(kInput, kValue, kResultGrad, kAlongInput, kAlongValue);
  static void Define(OpDef& op) { DefinePutAlongAxisGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) {
    return {{kInput, kAlongInput, kToInput}, {kValue, kAlongValue, kToValue}};
  }
  static std::vector<higher::Result> Results(const KernelContext&) {
    return {{kResultGrad, kToResultGrad}};
  }
  static void Run(higher::Problem& p) {
    const PutAlongAxisAttrs& a = p.ctx.attrs<PutAlongAxisAttrs>();
    const Tensor &index = p.ctx.In(kIndex), &input = p.ctx.In(kInput);
    ENFORCE(ReduceOf(a) == Reduce::kMultiply, InvalidArgument, "Reduce must be 'mul', got '",
            a.reduce, "'. The other gradients are linear");
    int axis = CheckShapes(a, input.dims(), index.dims(), p.ctx.In(kValue).dims());
    std::vector<int64_t> at = PositionsOf(index, input.dims(), axis);
    std::vector<higher::Scalar> x = p.Leaves(0, 0, input.numel());
    for (int64_t position : at) {
      if (!a.include_self) x[position] = kernels::Constant(1);
    }
    for (size_t i = 0; i < at.size(); ++i) x[at[i]] = x[at[i]] * p.Leaf(1, static_cast<int64_t>(i));
    for (size_t i = 0; i < x.size(); ++i) p.Set(0, static_cast<int64_t>(i), x[i]);
  }
};

void DefinePutAlongAxisGradGrad(OpDef& op) {
  op.Comment(
        "For 'mul', where f_0 = Input and f_i = Value are the factors of an element and d_i their "
        "@GRAD@GRAD: Result@GRAD@GRAD = sum_i d_i prod_{j != i} f_j, and the gradient of f_k is "
        "Result@GRAD sum_{i != k} d_i prod_{j != i, k} f_j.")
      .Input(kInput, "Input", "as in put_along_axis")
      .Input(kIndex, "Index", "as in put_along_axis")
      .Input(kValue, "Value", "as in put_along_axis")
      .Input(kResultGrad, "Result@GRAD", "shape of Input")
      .Input(kAlongInput, "Input@GRAD@GRAD", "shape of Input", kDispensable)
      .Input(kAlongValue, "Value@GRAD@GRAD", "shape of Value", kDispensable)
      .Output(kToInput, "Input@GRAD", "shape of Input")
      .Output(kToValue, "Value@GRAD", "shape of Value")
      .Output(kToResultGrad, "Result@GRAD@GRAD", "shape of Input")
      .AttrsOf("put_along_axis")
      .Shape(InferGradGradShape)
      .KernelDTypeOf(kResultGrad)
      .MixedDTypes()
      .Grad(higher::Recipe<PutAlongAxisThird>);
}

template <class T>
struct PutAlongAxisGradGradKernel {
  using V = kernels::Dual<T>;
  static std::vector<V> Read(const Tensor& value, const Tensor* along) {
    std::vector<V> read(value.numel());
    const T *v = value.data<T>(), *d = along ? along->data<T>() : nullptr;
    for (size_t i = 0; i < read.size(); ++i) read[i] = V(v[i], d ? d[i] : T(0));
    return read;
  }
  static void Write(const std::vector<V>& from, Tensor* to) {
    T* out = to->mutable_data<T>();
    for (size_t i = 0; i < from.size(); ++i) out[i] = from[i].d;
  }

  static void Compute(KernelContext& ctx) {
    const PutAlongAxisAttrs& a = ctx.attrs<PutAlongAxisAttrs>();
    const Tensor &index = ctx.In(kIndex), &input = ctx.In(kInput);
    ENFORCE(ReduceOf(a) == Reduce::kMultiply, InvalidArgument, "Reduce must be 'mul', got '",
            a.reduce, "'. The other gradients are linear");
    int axis = CheckShapes(a, input.dims(), index.dims(), ctx.In(kValue).dims());
    std::vector<int64_t> at = PositionsOf(index, input.dims(), axis);
    std::vector<V> x = Read(input, ctx.InOrNull(kAlongInput)),
                   v = Read(ctx.In(kValue), ctx.InOrNull(kAlongValue)),
                   g = Read(ctx.In(kResultGrad), nullptr);
    if (Tensor* out = ctx.OutOrNull(kToValue)) {
      std::vector<V> running(x.size()), others(v.size());
      TimesOthers(at, a.include_self ? x.data() : nullptr, v.data(), g.data(), running.data(),
                  others.data());
      Write(others, out);
    }
    if (Tensor* out = ctx.OutOrNull(kToInput)) {  // nowhere but among several factors
      std::vector<V> others = g;
      if (a.include_self) {
        for (size_t i = 0; i < at.size(); ++i) others[at[i]] *= v[i];
      }
      Write(others, out);
    }
    if (Tensor* out = ctx.OutOrNull(kToResultGrad)) {
      if (!a.include_self) {
        for (int64_t position : at) x[position] = V(1);
      }
      for (size_t i = 0; i < at.size(); ++i) x[at[i]] *= v[i];
      Write(x, out);
    }
  }
};
}  // namespace grad_grad
using grad_grad::PutAlongAxisThird;

REGISTER_OPERATOR(put_along_axis, DefinePutAlongAxis);
REGISTER_CPU_KERNEL(put_along_axis, PutAlongAxisKernel, int32_t, int64_t, float, double);
REGISTER_OPERATOR(put_along_axis_grad, grad::DefinePutAlongAxisGrad);
REGISTER_CPU_KERNEL(put_along_axis_grad, grad::PutAlongAxisGradKernel, float, double);
REGISTER_OPERATOR(put_along_axis_grad_grad, grad_grad::DefinePutAlongAxisGradGrad);
REGISTER_CPU_KERNEL(put_along_axis_grad_grad, grad_grad::PutAlongAxisGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(put_along_axis_grad_grad, PutAlongAxisThird);

}  // namespace
}  // namespace dygraph::indexing
