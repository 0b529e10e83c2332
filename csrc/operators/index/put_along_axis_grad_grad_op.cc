#include <numeric>

#include "kernels/dual.h"
#include "operators/higher_gradient.h"
#include "operators/index/put_along_host.h"

namespace dygraph::indexing {
namespace {

// The factors of an element f_0 (Input), f_1, f_2, ... (Value) move along d_0, d_1, ...; then its
// product moves by the sum over i of d_i times the other factors, and the product without f_k by
// the same sum over i other than k. Dual numbers (kernels/dual.h) carry both through the loops
// of put_along_host.h.
namespace grad_grad {
constexpr int kAlongInput = 4, kAlongValue = 5;
constexpr int kToInput = 0, kToValue = 1, kToResultGrad = 2;

void CheckAlong(const InferContext& ctx, int slot, const char* name, int like) {
  ENFORCE(!ctx.HasInput(slot) || ctx.dims(slot) == ctx.dims(like), InvalidArgument, name,
          " must have the shape ", ctx.dims(like), ", got ", ctx.dims(slot));
}

void InferGradGradShape(InferContext& ctx) {
  InferPutGradShape(ctx);
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

REGISTER_OPERATOR(put_along_axis_grad_grad, grad_grad::DefinePutAlongAxisGradGrad);
REGISTER_CPU_KERNEL(put_along_axis_grad_grad, grad_grad::PutAlongAxisGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(put_along_axis_grad_grad, PutAlongAxisThird);

}  // namespace
}  // namespace dygraph::indexing
