#include "kernels/broadcast.h"
#include "kernels/elementwise.h"
#include "op/gradient_call.h"
#include "op/gradient_shapes.h"
#include "operators/shape/slicing.h"

namespace dygraph::slicing {
namespace {

constexpr int kInput = 0, kValueTensor = 1, kStartsTensorList = 2, kEndsTensorList = 3,
              kStepsTensorList = 4, kOut = 0;

struct SetValueAttrs {
  std::vector<int64_t> axes, starts, ends, steps;
  std::vector<int64_t> decrease_axes, none_axes;
};

// `lists` is the slot of StartsTensorList; those of ends and steps follow.
Region RegionOf(const Call& call, const Dims& input, int lists) {
  const auto& a = *static_cast<const SetValueAttrs*>(call.attrs);
  return MakeRegion(input, a.axes, ReadIntList(call, -1, lists, a.starts),
                    ReadIntList(call, -1, lists + 1, a.ends),
                    ReadIntList(call, -1, lists + 2, a.steps), a.decrease_axes);
}

// Strides of a value of shape `value` over the box: 0 where it is broadcast. The shape assigned to
// is the box without decrease_axes, with an axis of one element at each of none_axes.
Dims ValueStrides(const Call& call, const Dims& value, const Region& r) {
  const auto& a = *static_cast<const SetValueAttrs*>(call.attrs);
  struct Axis {
    int64_t size;
    int of;  // axis of the box, -1: a new one
  };
  SmallVector<Axis, 8> target;
  int rank = r.dims.rank();
  uint32_t gone = 0;
  for (int64_t d : a.decrease_axes) gone |= 1u << NormalizeAxis(d, rank, "decrease_axes");
  for (int i = 0; i < rank; ++i) {
    if (!(gone >> i & 1)) target.push_back({r.dims[i], i});
  }
  for (int64_t at : a.none_axes) {
    ENFORCE(at >= 0 && at <= static_cast<int64_t>(target.size()), OutOfRange,
            "none_axes must lie within the shape assigned to, got ", at);
    target.insert(target.begin() + at, {1, -1});
  }
  Dims shape, strides(r.dims.size(), 0);
  for (const Axis& t : target) shape.push_back(t.size);
  int extra = value.rank() - static_cast<int>(target.size());
  int64_t stride = 1;
  for (int i = value.rank() - 1; i >= 0; --i) {
    int64_t size = i >= extra ? target[i - extra].size : 1;
    ENFORCE(value[i] == 1 || value[i] == size || !BothKnown(value[i], size), InvalidArgument,
            "ValueTensor must broadcast to the shape assigned to, ", shape, ", got ", value);
    if (i >= extra && target[i - extra].of >= 0 && value[i] != 1)
      strides[target[i - extra].of] = stride;
    stride *= value[i];
  }
  return strides;
}

// One element, 0.
Tensor Zero(KernelContext& ctx, DType dtype) {
  Tensor zero({1}, dtype, ctx.place());
  Clear(&zero);
  return zero;
}

OpDef& AddLists(OpDef& op, int first) {
  return op
      .Input(first, "StartsTensorList", "one integer for each of axes",
             kDispensable | kDuplicable | kOnHost)
      .Input(first + 1, "EndsTensorList", "one integer for each of axes",
             kDispensable | kDuplicable | kOnHost)
      .Input(first + 2, "StepsTensorList", "one integer for each of axes",
             kDispensable | kDuplicable | kOnHost);
}

void InferShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kInput);
  ValueStrides(ctx.call(), ctx.dims(kValueTensor), RegionOf(ctx.call(), x, kStartsTensorList));
  ENFORCE(ctx.dtype(kValueTensor) == ctx.dtype(kInput), Type,
          "ValueTensor must have the element type of Input, ", ctx.dtype(kInput), ", got ",
          ctx.dtype(kValueTensor), ". Convert with astype()");
  ctx.SetOutput(kOut, x, ctx.dtype(kInput));
}

void DefineSetValue(OpDef& op) {
  AddLists(
      op.Comment("Out = Input, but Out[..., starts[i]:ends[i]:steps[i], ...] = ValueTensor, "
                 "broadcast, with NumPy's rules. Input "
                 "itself is written where it is also Out and the only holder of its storage.")
          .Example(
              ">>> x = to_variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])\n"
              ">>> F.set_value(x, to_variable([0.0]), axes=[1], starts=[1], ends=[3]).tolist()\n"
              "[[1.0, 0.0, 0.0], [4.0, 0.0, 0.0]]")
          .Input(kInput, "Input", "any shape")
          .Input(kValueTensor, "ValueTensor", "broadcasts to the shape assigned to; type of Input"),
      kStartsTensorList)
      .Output(kOut, "Out", "shape of Input")
      .Attr(&SetValueAttrs::axes, "axes", "the axes to slice")
      .Attr(&SetValueAttrs::starts, "starts",
            "first element along each; negative ones count from the end")
      .Attr(&SetValueAttrs::ends, "ends", "where to stop along each")
      .Attr(&SetValueAttrs::steps, "steps", "steps along each, not 0; none: 1")
      .Attr(&SetValueAttrs::decrease_axes, "decrease_axes",
            "axes that an index takes away from the shape assigned to")
      .Attr(&SetValueAttrs::none_axes, "none_axes", "where that shape gets a new axis, ascending")
      .Shape(InferShape)
      .MixedDTypes()
      .ShareLoD(kInput)
      .InPlace(kInput, kOut)
      .Grad(CallGradient);
}

template <class T>
struct SetValueKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kInput);
    Tensor value = ctx.In(kValueTensor);
    Tensor& out = ctx.Out(kOut);
    if (value.raw_data() == out.raw_data()) value = value.Clone();  // x[::-1] = x, in place
    const T* v = value.data<T>();
    CopyAll(ctx, x, &out);
    Region r = RegionOf(ctx.call(), x.dims(), kStartsTensorList);
    Scatter(v, ValueStrides(ctx.call(), value.dims(), r), r, &out);
  }
};

namespace grad {
constexpr int kOutGrad = 0, kValueTensor = 1, kStartsTensorList = 2, kEndsTensorList = 3,
              kStepsTensorList = 4;
constexpr int kInputGrad = 0, kValueTensorGrad = 1;

void InferGradShape(InferContext& ctx) {
  ctx.SetOutput(kInputGrad, ctx.dims(kOutGrad), ctx.dtype(kOutGrad));
  ctx.SetOutput(kValueTensorGrad, ctx.dims(kValueTensor), ctx.dtype(kValueTensor));
}

void DefineSetValueGrad(OpDef& op) {
  AddLists(op.Comment("Input@GRAD = Out@GRAD, but 0 where the value was written; ValueTensor@GRAD "
                      "= Out@GRAD there, summed over the "
                      "axes along which the value was broadcast.")
               .Input(kOutGrad, "Out@GRAD", "shape of Out")
               .Input(kValueTensor, "ValueTensor", "its shape", kShapeOnly),
           kStartsTensorList)
      .Output(kInputGrad, "Input@GRAD", "shape of Input")
      .Output(kValueTensorGrad, "ValueTensor@GRAD", "shape of ValueTensor")
      .AttrsOf("set_value")
      .Shape(InferGradShape)
      .MixedDTypes()
      .Grad(CallGradient);
}

template <class T>
struct SetValueGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& g = ctx.In(kOutGrad);
    Region r = RegionOf(ctx.call(), g.dims(), kStartsTensorList);
    if (Tensor* out = ctx.OutOrNull(kInputGrad)) {
      CopyAll(ctx, g, out);
      const Tensor zero = Zero(ctx, g.dtype());
      Scatter(zero.raw_data(), Dims(r.dims.size(), 0), r, out);
    }
    Tensor* out = ctx.OutOrNull(kValueTensorGrad);
    if (!out || out->numel() == 0) return;
    Dims to = ValueStrides(ctx.call(), out->dims(), r);
    if (Numel(r.dims) == 0) return kernels::Fill(out->mutable_data<T>(), out->numel(), T(0));
    Tensor box(r.dims, g.dtype(), g.place());
    Gather(g, r, &box);
    kernels::SumTo(r.dims, box.data<T>(), Strides(r.dims), out->mutable_data<T>(), to);
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kOutGrad = 0, kValueTensor = 1, kInputGradGrad = 2, kValueGradGrad = 3,
              kStartsTensorList = 4, kEndsTensorList = 5, kStepsTensorList = 6, kOutGradGrad = 0;

void DefineSetValueGradGrad(OpDef& op) {
  AddLists(
      op.Comment("Out@GRAD@GRAD = Input@GRAD@GRAD, but ValueTensor@GRAD@GRAD where the value was "
                 "written, an absent one being 0.")
          .Input(kOutGrad, "Out@GRAD", "its shape", kShapeOnly)
          .Input(kValueTensor, "ValueTensor", "its shape", kShapeOnly)
          .Input(kInputGradGrad, "Input@GRAD@GRAD", "shape of Input", kDispensable)
          .Input(kValueGradGrad, "ValueTensor@GRAD@GRAD", "shape of ValueTensor", kDispensable),
      kStartsTensorList)
      .Output(kOutGradGrad, "Out@GRAD@GRAD", "shape of Out")
      .AttrsOf("set_value")
      .SameShape(kOutGrad, kOutGradGrad)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("set_value_grad",
               {g.OutputGrad(kOutGradGrad), g.InputShape(kValueTensor), g.Inputs(kStartsTensorList),
                g.Inputs(kEndsTensorList), g.Inputs(kStepsTensorList)},
               {g.InputGrad(kInputGradGrad), g.InputGrad(kValueGradGrad)})
            .SameAttrs();
      });
}

template <class T>
struct SetValueGradGradKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kOutGradGrad);
    Region r = RegionOf(ctx.call(), out.dims(), kStartsTensorList);
    const Tensor *ddx = ctx.InOrNull(kInputGradGrad), *ddv = ctx.InOrNull(kValueGradGrad);
    ENFORCE(!ddx || ddx->dims() == out.dims(), InvalidArgument,
            "Input@GRAD@GRAD must have the shape of Out@GRAD, ", out.dims(), ", got ", ddx->dims());
    if (out.numel() == 0) return;
    ddx ? CopyAll(ctx, *ddx, &out) : Clear(&out);
    if (ddv) return Scatter(ddv->data<T>(), ValueStrides(ctx.call(), ddv->dims(), r), r, &out);
    if (!ddx) return;
    const Tensor zero = Zero(ctx, out.dtype());
    Scatter(zero.raw_data(), Dims(r.dims.size(), 0), r, &out);
  }
};
}  // namespace grad_grad

REGISTER_GRADIENT_SHAPES(set_value, {"Input", "Out"});
REGISTER_OPERATOR(set_value, DefineSetValue);
REGISTER_KERNELS(set_value, SetValueKernel, AllTypes);
REGISTER_OPERATOR(set_value_grad, grad::DefineSetValueGrad);
REGISTER_KERNELS(set_value_grad, grad::SetValueGradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(set_value_grad, grad::SetValueGradKernel, float16, bfloat16);
REGISTER_OPERATOR(set_value_grad_grad, grad_grad::DefineSetValueGradGrad);
REGISTER_KERNELS(set_value_grad_grad, grad_grad::SetValueGradGradKernel, float, double, complex64,
                 complex128);

}  // namespace
}  // namespace dygraph::slicing
