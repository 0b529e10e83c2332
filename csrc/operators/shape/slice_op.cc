#include "op/lod_rule.h"
#include "operators/shape/slicing.h"

namespace dygraph::slicing {
namespace {

constexpr int kInput = 0, kStartsTensor = 1, kEndsTensor = 2, kStartsTensorList = 3,
              kEndsTensorList = 4, kOut = 0;
constexpr int kOutGrad = 5, kInputGrad = 0;  // of slice_grad, whose first slots are slice's

struct SliceAttrs {
  std::vector<int32_t> axes, starts, ends;
  std::vector<int32_t> infer_flags;
  std::vector<int32_t> decrease_axis;
};

Region RegionOf(const Call& call, const Dims& input) {
  const SliceAttrs& a = *static_cast<const SliceAttrs*>(call.attrs);
  if (call.in.flat().size() == 1) {
    return MakeRegion(input, a.axes, AttrInts{a.starts}, AttrInts{a.ends}, IntList(),
                      a.decrease_axis);
  }
  return MakeRegion(input, a.axes, ReadIntList(call, kStartsTensor, kStartsTensorList, a.starts),
                    ReadIntList(call, kEndsTensor, kEndsTensorList, a.ends), IntList(),
                    a.decrease_axis);
}

OpDef& AddInputs(OpDef& op, const char* input_help) {
  return op.Input(kInput, "Input", input_help)
      .Input(kStartsTensor, "StartsTensor", "[len(axes)] integers, in place of starts",
             kDispensable | kOnHost)
      .Input(kEndsTensor, "EndsTensor", "[len(axes)] integers, in place of ends",
             kDispensable | kOnHost)
      .Input(kStartsTensorList, "StartsTensorList", "one integer for each of axes",
             kDispensable | kDuplicable | kOnHost)
      .Input(kEndsTensorList, "EndsTensorList", "one integer for each of axes",
             kDispensable | kDuplicable | kOnHost);
}

void DefineSlice(OpDef& op) {
  AddInputs(
      op.Comment("Out = Input[..., starts[i]:ends[i], ...] along each of axes, clamped as "
                 "NumPy's slices; axes in decrease_axis "
                 "hold one element and disappear.")
          .Example(">>> x = to_variable([[1, 2, 3], [4, 5, 6]])\n"
                   ">>> F.slice(x, axes=[0, 1], starts=[0, 1], ends=[2, 3]).tolist()\n"
                   "[[2, 3], [5, 6]]\n"
                   ">>> F.slice(x, axes=[0], starts=[-1], ends=[2], decrease_axis=[0]).tolist()\n"
                   "[4, 5, 6]"),
      "any shape with axes")
      .Output(kOut, "Out", "the slice")
      .Attr(&SliceAttrs::axes, "axes", "the axes to slice")
      .Attr(&SliceAttrs::starts, "starts",
            "first element along each; negative ones count from the end")
      .Attr(&SliceAttrs::ends, "ends", "the element after the last one along each")
      .Attr(&SliceAttrs::infer_flags, "infer_flags",
            "for programs of other tools: -1 where a size is known only at run time")
      .Attr(&SliceAttrs::decrease_axis, "decrease_axis", "axes to take away")
      .ShareLoD(kInput)
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOut, RegionOf(ctx.call(), ctx.dims(kInput)).kept);
      })
      .MixedDTypes()
      .KernelAllocates()
      .MayShare(kInput, kOut)
      .Grad([](GradBuilder& g) {
        g.Call("slice_grad",
               {g.InputShape(kInput), g.Input(kStartsTensor), g.Input(kEndsTensor),
                g.Inputs(kStartsTensorList), g.Inputs(kEndsTensorList), g.OutputGrad(kOut)},
               {g.InputGrad(kInput)})
            .SameAttrs();
      });
}

template <class>
struct SliceKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kInput);
    Tensor& out = ctx.Out(kOut);
    Region r = RegionOf(ctx.call(), x.dims());
    bool whole_rows = x.rank() > 0;
    for (int i = 1; i < x.rank(); ++i) whole_rows &= r.dims[i] == x.dim(i);
    if (whole_rows) return out.ShareData(x.Rows(r.start[0], r.start[0] + r.dims[0]));
    out.AllocateData(ctx.place());
    Gather(x, r, &out);
  }
};

namespace grad {
void DefineSliceGrad(OpDef& op) {
  AddInputs(op.Comment("Input@GRAD = Out@GRAD where the slice was taken, 0 elsewhere."),
            "its shape")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kInputGrad, "Input@GRAD", "shape of Input")
      .AttrsOf("slice")
      .SameShape(kInput, kInputGrad)
      .MixedDTypes()
      .KernelDType([](const Call& call) { return call.in.at(kOutGrad)->dtype(); })
      .Grad([](GradBuilder& g) {
        g.Call("slice",
               {g.OutputGrad(kInputGrad), g.Input(kStartsTensor), g.Input(kEndsTensor),
                g.Inputs(kStartsTensorList), g.Inputs(kEndsTensorList)},
               {g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct SliceGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& g = ctx.In(kOutGrad);
    Tensor& out = ctx.Out(kInputGrad);
    Region r = RegionOf(ctx.call(), out.dims());
    ENFORCE(g.dims() == r.kept, InvalidArgument, "Out@GRAD must have the shape of Out, ", r.kept,
            ", got ", g.dims());
    Clear(&out);
    Scatter(g.data<T>(), Strides(r.dims), r, &out);
  }
};
}  // namespace grad

REGISTER_OPERATOR(slice, DefineSlice);
REGISTER_LOD_RULE(slice, [](const LoDCall& c) { return KeepsRows<SliceAttrs>(c, RegionOf); });
REGISTER_KERNELS(slice, SliceKernel, AllTypes);
REGISTER_OPERATOR(slice_grad, grad::DefineSliceGrad);
REGISTER_KERNELS(slice_grad, grad::SliceGradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(slice_grad, grad::SliceGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::slicing
