#include <numeric>

#include "kernels/broadcast.h"
#include "kernels/dual.h"
#include "kernels/integer.h"
#include "operators/higher_gradient.h"
#include "operators/index/along_axis.h"

namespace dygraph::indexing {
namespace {

constexpr int kInput = 0, kIndex = 1, kValue = 2, kResult = 0;

struct PutAlongAxisAttrs {
  int32_t axis = 0;
  std::string reduce = "assign";
  bool include_self = true;
};

enum class Reduce { kAssign, kAdd, kMultiply, kMean, kLeast, kMost };

Reduce ReduceOf(const PutAlongAxisAttrs& a) {
  if (a.reduce == "assign") return Reduce::kAssign;
  if (a.reduce == "add") return Reduce::kAdd;
  if (a.reduce == "mean") return Reduce::kMean;
  if (a.reduce == "amin") return Reduce::kLeast;
  if (a.reduce == "amax") return Reduce::kMost;
  ENFORCE(a.reduce == "mul" || a.reduce == "multiply", InvalidArgument,
          "Reduce must be 'assign', 'add', 'mul', 'multiply', 'mean', 'amin' or 'amax', got '",
          a.reduce, "'");
  return Reduce::kMultiply;
}
bool IsExtreme(Reduce r) { return r == Reduce::kLeast || r == Reduce::kMost; }

// The axis, and the shape of Input's part that Index addresses.
struct Target {
  int axis;
  Dims shape;
};

// Checks the shapes.
Target CheckShapes(const PutAlongAxisAttrs& a, const Dims& x, const Dims& index,
                   const Dims& value) {
  ENFORCE(!x.empty(), InvalidArgument, "Input must have an axis to put along, got shape []");
  Target t;
  t.axis = NormalizeAxis(a.axis, x.rank(), "Axis");
  ReduceOf(a);
  t.shape = AlongDims(x, index, t.axis, "Input");
  bool fits = value.size() == t.shape.size();
  for (size_t i = 0; fits && i < value.size(); ++i)
    fits = value[i] == t.shape[i] || value[i] == 1 || !BothKnown(value[i], t.shape[i]);
  ENFORCE(fits, InvalidArgument, "Value must have the shape that Index addresses, ", t.shape,
          ", or ones in it, got ", value);
  return t;
}

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

// A call's index, checked, in full, and the positions in Input that it addresses.
struct Places {
  Target target;
  Tensor index;
  Places(const PutAlongAxisAttrs& a, const Dims& x, const Tensor& given, const Dims& value)
      : target(CheckShapes(a, x, given.dims(), value)) {
    RequireInside(given, x, target.axis, "Input");
    index = RepeatedIndex(given, target.shape);
  }
  std::vector<int64_t> At(const Dims& x) const { return PositionsAlong(index, x, target.axis); }
};

Dims RepeatedStrides(const Dims& value, const Dims& shape) {
  Dims strides = Strides(value);
  for (int a = 0; a < shape.rank(); ++a) {
    if (value[a] == 1) strides[a] = 0;
  }
  return strides;
}

// Value repeated to `shape`; the tensor itself where it has that shape.
Tensor RepeatedValue(const Tensor& value, const Dims& shape) {
  if (value.dims() == shape) return value;
  Tensor full(shape, value.dtype(), value.place());
  if (full.numel() > 0)
    kernels::CopyStrided(shape, value.raw_data(), RepeatedStrides(value.dims(), shape),
                         full.mutable_raw_data(), Strides(shape), SizeOf(value.dtype()));
  return full;
}

// Whether v takes the place of `now`; a NaN does.
template <class T>
bool Beats(Reduce reduce, T v, T now) {
  return v != v || (reduce == Reduce::kLeast ? v < now : v > now);
}

// to, a copy of Input, takes n values at the positions.
template <class T>
void Put(Reduce reduce, bool self, const int64_t* at, int64_t n, const T* v, T* to) {
  if (!self && reduce != Reduce::kAssign) {
    for (int64_t i = n - 1; i >= 0; --i)  // a start that leaves the first value as it is
      to[at[i]] = reduce == Reduce::kMultiply ? T(1) : IsExtreme(reduce) ? v[i] : T(0);
  }
  for (int64_t i = 0; i < n; ++i) {
    T& now = to[at[i]];
    switch (reduce) {
      case Reduce::kAssign: now = v[i]; break;
      case Reduce::kMultiply: now = kernels::Times(now, v[i]); break;
      case Reduce::kLeast:
      case Reduce::kMost: now = Beats(reduce, v[i], now) && now == now ? v[i] : now; break;
      default: now = kernels::Plus(now, v[i]);
    }
  }
}

// How many values go into an element's mean; -1 for an element that none is put to.
std::vector<int64_t> Counts(const std::vector<int64_t>& at, int64_t elements, bool self) {
  std::vector<int64_t> counts(elements, -1);
  for (int64_t position : at) {
    if (counts[position] < 0) counts[position] = self;
    ++counts[position];
  }
  return counts;
}

template <class T>
struct PutAlongAxisKernel {
  static void Compute(KernelContext& ctx) {
    const PutAlongAxisAttrs& a = ctx.attrs<PutAlongAxisAttrs>();
    const Tensor &x = ctx.In(kInput), &given = ctx.In(kIndex);
    const Places places(a, x.dims(), given, ctx.In(kValue).dims());
    const Target& target = places.target;
    const Tensor value = RepeatedValue(ctx.In(kValue), target.shape);
    Tensor& out = ctx.Out(kResult);
    T* to = out.mutable_data<T>();
    const T *from = x.data<T>(), *v = value.data<T>();
    const Reduce reduce = ReduceOf(a);
    const bool plain = !IsPart(target.shape, x.dims(), target.axis);
    if constexpr (sizeof(T) >= 4) {
      if (plain && reduce == Reduce::kAdd) return Add(places, x, v, a.include_self, to);
    }
    if (plain && reduce == Reduce::kAssign) {
      kernels::AlongShape shape = AlongShapeOf(x.dims(), target.shape, target.axis);
      return VisitIndices(places.index, "Index", [&](auto* numbers) {
        kernels::PutAlong(shape, from, numbers, v, to, sizeof(T));
      });
    }
    std::vector<int64_t> at = places.At(x.dims());
    CopyAll(ctx, x, &out);
    Put(reduce, a.include_self, at.data(), at.size(), v, to);
    if (reduce != Reduce::kMean) return;
    std::vector<int64_t> counts = Counts(at, x.numel(), a.include_self);
    for (int64_t i = 0; i < x.numel(); ++i) {
      if (counts[i] > 1) to[i] = static_cast<T>(to[i] / static_cast<T>(counts[i]));
    }
  }
  static void Add(const Places& places, const Tensor& x, const T* v, bool self, T* to) {
    kernels::AlongShape shape = AlongShapeOf(x.dims(), places.target.shape, places.target.axis);
    const T* from = x.data<T>();
    VisitIndices(places.index, "Index", [&](auto* numbers) {
      if (!self) {
        kernels::PutAlong(shape, from, numbers, nullptr, to, sizeof(T));
        from = to;
      }
      kernels::AddAlong(shape, from, numbers, v, to);
    });
  }
};

// For all but products Result = wx Input + the sum of wv Value with weights that the gradients take
// for constants: 1 or 0, one over the count, one over the number of those that are equal.
template <class T>
struct Weights {
  std::vector<T> x, v;
  Weights(const PutAlongAxisAttrs& a, const std::vector<int64_t>& at, int64_t elements,
          const T* input, const T* value)
      : x(elements, T(1)), v(at.size(), T(1)) {
    const Reduce reduce = ReduceOf(a);
    const bool self = a.include_self && reduce != Reduce::kAssign;
    const int64_t n = at.size();
    for (int64_t position : at) x[position] = T(self);
    if (reduce == Reduce::kAssign) {
      std::vector<bool> lost = Overwritten(at.data(), n, elements);
      for (int64_t i = 0; i < n; ++i) v[i] = T(!lost[i]);
    } else if (reduce == Reduce::kMean) {
      std::vector<int64_t> counts = Counts(at, elements, self);
      for (int64_t position : at) x[position] = T(self) / T(counts[position]);
      for (int64_t i = 0; i < n; ++i) v[i] = T(1) / T(counts[at[i]]);
    } else if (IsExtreme(reduce)) {
      std::vector<T> best(input, input + elements);
      Put(reduce, self, at.data(), n, value, best.data());
      auto is = [](T a, T b) { return a == b || (a != a && b != b); };
      std::vector<T> equal(elements, T(0));
      for (int64_t position : at) equal[position] = T(self && is(input[position], best[position]));
      for (int64_t i = 0; i < n; ++i) equal[at[i]] += T(is(value[i], best[at[i]]));
      for (int64_t i = 0; i < n; ++i) {
        const int64_t p = at[i];
        v[i] = is(value[i], best[p]) ? T(1) / equal[p] : T(0);
        x[p] = self && is(input[p], best[p]) ? T(1) / equal[p] : T(0);
      }
    }
  }
};

// Value's gradient from that of Value repeated to `shape`.
template <class T>
void SumToValue(const Dims& shape, const std::vector<T>& full, Tensor* out) {
  if (out->dims() == shape) {
    std::copy(full.begin(), full.end(), out->mutable_data<T>());
  } else if (full.empty()) {
    Clear(out);
  } else {
    kernels::SumTo(shape, full.data(), Strides(shape), out->mutable_data<T>(),
                   RepeatedStrides(out->dims(), shape));
  }
}

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
        "they were multiplied in. Value@GRAD = Result@GRAD there, times the other factors. Of a "
        "mean and of several that are the least or greatest each gets its share.")
      .Input(kInput, "Input", "for 'mul', 'amin' and 'amax'; else its shape")
      .Input(kIndex, "Index", "as in the forward call")
      .Input(kValue, "Value", "for 'mul', 'amin' and 'amax'; else its shape")
      .Input(kResultGrad, "Result@GRAD", "shape of Input")
      .Output(kInputGrad, "Input@GRAD", "shape of Input")
      .Output(kValueGrad, "Value@GRAD", "shape of Value")
      .AttrsOf("put_along_axis")
      .Shape(InferGradShape)
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
  static void Compute(KernelContext& ctx) {
    const PutAlongAxisAttrs& a = ctx.attrs<PutAlongAxisAttrs>();
    const Tensor &input = ctx.In(kInput), &g = ctx.In(kResultGrad);
    const Dims& x = input.dims();
    ENFORCE(g.dims() == x, InvalidArgument, "Result@GRAD must have the shape of Input, ", x,
            ", got ", g.dims());
    const Places places(a, x, ctx.In(kIndex), ctx.In(kValue).dims());
    const Dims& shape = places.target.shape;
    const std::vector<int64_t> at = places.At(x);
    Tensor *dx = ctx.OutOrNull(kInputGrad), *dv = ctx.OutOrNull(kValueGrad);
    const Reduce reduce = ReduceOf(a);
    const bool product = reduce == Reduce::kMultiply, read = product || IsExtreme(reduce);
    Tensor value;
    if (read) value = RepeatedValue(ctx.In(kValue), shape);
    const T *v = read ? value.data<T>() : nullptr, *f = read ? input.data<T>() : nullptr;
    const T* gd = g.data<T>();
    std::vector<T> full(dv ? at.size() : 0);
    if (product) {
      if (dx) {
        CopyAll(ctx, g, dx);
        T* to = dx->mutable_data<T>();
        for (size_t i = 0; i < at.size(); ++i) to[at[i]] = a.include_self ? to[at[i]] * v[i] : T(0);
      }
      std::vector<T> running(dv ? x.empty() ? 0 : g.numel() : 0);
      if (dv) TimesOthers(at, a.include_self ? f : nullptr, v, gd, running.data(), full.data());
    } else {
      const Weights<T> weights(a, at, g.numel(), f, v);
      if (dx) {
        T* to = dx->mutable_data<T>();
        for (int64_t i = 0; i < g.numel(); ++i)
          to[i] = weights.x[i] == T(0) ? T(0) : gd[i] * weights.x[i];
      }
      for (size_t i = 0; i < full.size(); ++i)
        full[i] = weights.v[i] == T(0) ? T(0) : gd[at[i]] * weights.v[i];
    }
    if (dv) SumToValue(shape, full, dv);
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
    const Dims& given = p.ctx.In(kValue).dims();
    const Places places(a, input.dims(), index, given);
    std::vector<int64_t> at = places.At(input.dims());
    Tensor numbers(given, DType::kInt64);  // of the elements of Value, repeated as they are
    std::iota(numbers.mutable_data<int64_t>(), numbers.mutable_data<int64_t>() + numbers.numel(),
              0);
    const Tensor values = RepeatedValue(numbers, places.target.shape);
    const int64_t* v = values.data<int64_t>();
    std::vector<higher::Scalar> x = p.Leaves(0, 0, input.numel());
    for (int64_t position : at) {
      if (!a.include_self) x[position] = kernels::Constant(1);
    }
    for (size_t i = 0; i < at.size(); ++i) x[at[i]] = x[at[i]] * p.Leaf(1, v[i]);
    for (size_t i = 0; i < x.size(); ++i) p.Set(0, static_cast<int64_t>(i), x[i]);
  }
};

void DefinePutAlongAxisGradGrad(OpDef& op) {
  op.Comment(
        "For 'mul', where f_0 = Input and f_i = Value are the factors of an element and d_i their "
        "@GRAD@GRAD: Result@GRAD@GRAD = sum_i d_i prod_{j != i} f_j, and the gradient of f_k is "
        "Result@GRAD sum_{i != k} d_i prod_{j != i, k} f_j. For 'amin' and 'amax' Result@GRAD@GRAD "
        "has the shares of the d_i, and the others are 0.")
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
      .Grad([](GradBuilder& g) {
        if (ReduceOf(g.attrs<PutAlongAxisAttrs>()) == Reduce::kMultiply)
          return higher::Recipe<PutAlongAxisThird>(g);
        g.Call("put_along_axis_grad",
               {g.Input(kInput), g.Input(kIndex), g.Input(kValue), g.OutputGrad(kToResultGrad)},
               {g.InputGrad(kAlongInput), g.InputGrad(kAlongValue)})
            .SameAttrs();
      });
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
    const Tensor& input = ctx.In(kInput);
    ENFORCE(ReduceOf(a) == Reduce::kMultiply || IsExtreme(ReduceOf(a)), InvalidArgument,
            "Reduce must be 'mul', 'amin' or 'amax', got '", a.reduce,
            "'. The other gradients are linear");
    const Places places(a, input.dims(), ctx.In(kIndex), ctx.In(kValue).dims());
    const Dims& shape = places.target.shape;
    std::vector<int64_t> at = places.At(input.dims());
    const Tensor value = RepeatedValue(ctx.In(kValue), shape);
    const Tensor* along = ctx.InOrNull(kAlongValue);
    Tensor along_value;
    if (along) along_value = RepeatedValue(*along, shape);
    along = along ? &along_value : nullptr;
    if (IsExtreme(ReduceOf(a))) return Extreme(ctx, at, value, along);
    std::vector<V> x = Read(input, ctx.InOrNull(kAlongInput)), v = Read(value, along),
                   g = Read(ctx.In(kResultGrad), nullptr);
    if (Tensor* out = ctx.OutOrNull(kToValue)) {
      std::vector<V> running(x.size()), others(v.size());
      TimesOthers(at, a.include_self ? x.data() : nullptr, v.data(), g.data(), running.data(),
                  others.data());
      std::vector<T> full(others.size());
      for (size_t i = 0; i < full.size(); ++i) full[i] = others[i].d;
      SumToValue(shape, full, out);
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
  static void Extreme(KernelContext& ctx, const std::vector<int64_t>& at, const Tensor& value,
                      const Tensor* along_value) {
    const Tensor &input = ctx.In(kInput), *along = ctx.InOrNull(kAlongInput);
    for (int slot : {kToInput, kToValue}) {
      if (Tensor* out = ctx.OutOrNull(slot)) Clear(out);
    }
    Tensor* out = ctx.OutOrNull(kToResultGrad);
    if (!out) return;
    const Weights<T> weights(ctx.attrs<PutAlongAxisAttrs>(), at, input.numel(), input.data<T>(),
                             value.data<T>());
    T* to = out->mutable_data<T>();
    for (int64_t i = 0; i < input.numel(); ++i)
      to[i] = along ? along->data<T>()[i] * weights.x[i] : T(0);
    if (!along_value) return;
    const T* d = along_value->data<T>();
    for (size_t i = 0; i < at.size(); ++i) to[at[i]] += d[i] * weights.v[i];
  }
};
}  // namespace grad_grad
using grad_grad::PutAlongAxisThird;

REGISTER_OPERATOR(put_along_axis, DefinePutAlongAxis);
REGISTER_CPU_KERNEL(put_along_axis, PutAlongAxisKernel, uint8_t, int32_t, int64_t, float, double);
REGISTER_OPERATOR(put_along_axis_grad, grad::DefinePutAlongAxisGrad);
REGISTER_CPU_KERNEL(put_along_axis_grad, grad::PutAlongAxisGradKernel, float, double);
REGISTER_OPERATOR(put_along_axis_grad_grad, grad_grad::DefinePutAlongAxisGradGrad);
REGISTER_CPU_KERNEL(put_along_axis_grad_grad, grad_grad::PutAlongAxisGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(put_along_axis_grad_grad, PutAlongAxisThird);

}  // namespace
}  // namespace dygraph::indexing
