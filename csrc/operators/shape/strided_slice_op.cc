#include "op/lod_rule.h"
#include "operators/shape/slicing.h"

namespace dygraph::slicing {
namespace {

constexpr int kInput = 0, kStartsTensor = 1, kEndsTensor = 2, kStridesTensor = 3,
              kStartsTensorList = 4, kEndsTensorList = 5, kStridesTensorList = 6, kOut = 0;
// of strided_slice_grad, whose first slots are strided_slice's
constexpr int kOutGrad = 7, kInputGrad = 0;

struct StridedSliceAttrs {
  std::vector<int32_t> axes, starts, ends, strides;
  std::vector<int32_t> infer_flags;
  std::vector<int32_t> decrease_axis;
};

Region RegionOf(const Call& call, const Dims& input) {
  const auto& a = *static_cast<const StridedSliceAttrs*>(call.attrs);
  if (call.in.flat().size() == 1) {
    return MakeRegion(input, a.axes, AttrInts{a.starts}, AttrInts{a.ends}, AttrInts{a.strides},
                      a.decrease_axis);
  }
  return MakeRegion(input, a.axes, ReadIntList(call, kStartsTensor, kStartsTensorList, a.starts),
                    ReadIntList(call, kEndsTensor, kEndsTensorList, a.ends),
                    ReadIntList(call, kStridesTensor, kStridesTensorList, a.strides),
                    a.decrease_axis);
}

OpDef& AddInputs(OpDef& op, const char* input_help) {
  return op.Input(kInput, "Input", input_help)
      .Input(kStartsTensor, "StartsTensor", "[len(axes)] integers, in place of starts",
             kDispensable | kOnHost)
      .Input(kEndsTensor, "EndsTensor", "[len(axes)] integers, in place of ends",
             kDispensable | kOnHost)
      .Input(kStridesTensor, "StridesTensor", "[len(axes)] integers, in place of strides",
             kDispensable | kOnHost)
      .Input(kStartsTensorList, "StartsTensorList", "one integer for each of axes",
             kDispensable | kDuplicable | kOnHost)
      .Input(kEndsTensorList, "EndsTensorList", "one integer for each of axes",
             kDispensable | kDuplicable | kOnHost)
      .Input(kStridesTensorList, "StridesTensorList", "one integer for each of axes",
             kDispensable | kDuplicable | kOnHost);
}

void DefineStridedSlice(OpDef& op) {
  AddInputs(
      op.Comment("Out = Input[..., starts[i]:ends[i]:strides[i], ...] along each of axes, as "
                 "NumPy's slices; axes in "
                 "decrease_axis hold one element and disappear.")
          .Example(">>> x = to_variable([0, 1, 2, 3, 4, 5])\n"
                   ">>> F.strided_slice(x, axes=[0], starts=[1], ends=[6], strides=[2]).tolist()\n"
                   "[1, 3, 5]\n"
                   ">>> F.strided_slice(x, axes=[0], starts=[4], ends=[1], strides=[-1]).tolist()\n"
                   "[4, 3, 2]"),
      "any shape with axes")
      .Output(kOut, "Out", "the slice")
      .Attr(&StridedSliceAttrs::axes, "axes", "the axes to slice")
      .Attr(&StridedSliceAttrs::starts, "starts",
            "first element along each; negative ones count from the end")
      .Attr(&StridedSliceAttrs::ends, "ends",
            "where to stop; -size - 1 goes past the first element with a negative stride")
      .Attr(&StridedSliceAttrs::strides, "strides", "steps along each, not 0; none: 1")
      .Attr(&StridedSliceAttrs::infer_flags, "infer_flags",
            "for programs of other tools: -1 where a size is known only at run time")
      .Attr(&StridedSliceAttrs::decrease_axis, "decrease_axis", "axes to take away")
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOut, RegionOf(ctx.call(), ctx.dims(kInput)).kept);
      })
      .MixedDTypes()
      .ShareLoD(kInput)
      .Grad([](GradBuilder& g) {
        g.Call("strided_slice_grad",
               {g.InputShape(kInput), g.Input(kStartsTensor), g.Input(kEndsTensor),
                g.Input(kStridesTensor), g.Inputs(kStartsTensorList), g.Inputs(kEndsTensorList),
                g.Inputs(kStridesTensorList), g.OutputGrad(kOut)},
               {g.InputGrad(kInput)})
            .SameAttrs();
      });
}

template <class>
struct StridedSliceKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kInput);
    Gather(x, RegionOf(ctx.call(), x.dims()), &ctx.Out(kOut));
  }
};

namespace grad {
void DefineStridedSliceGrad(OpDef& op) {
  AddInputs(op.Comment("Input@GRAD = Out@GRAD where the slice was taken, 0 elsewhere."),
            "its shape")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kInputGrad, "Input@GRAD", "shape of Input")
      .AttrsOf("strided_slice")
      .SameShape(kInput, kInputGrad)
      .MixedDTypes()
      .KernelDType([](const Call& call) { return call.in.at(kOutGrad)->dtype(); })
      .Grad([](GradBuilder& g) {
        g.Call("strided_slice",
               {g.OutputGrad(kInputGrad), g.Input(kStartsTensor), g.Input(kEndsTensor),
                g.Input(kStridesTensor), g.Inputs(kStartsTensorList), g.Inputs(kEndsTensorList),
                g.Inputs(kStridesTensorList)},
               {g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct StridedSliceGradKernel {
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

REGISTER_OPERATOR(strided_slice, DefineStridedSlice);
REGISTER_LOD_RULE(strided_slice,
                  [](const LoDCall& c) { return KeepsRows<StridedSliceAttrs>(c, RegionOf); });
REGISTER_KERNELS(strided_slice, StridedSliceKernel, AllTypes);
REGISTER_OPERATOR(strided_slice_grad, grad::DefineStridedSliceGrad);
REGISTER_KERNELS(strided_slice_grad, grad::StridedSliceGradKernel, float, double, complex64,
                 complex128);
REGISTER_DEVICE_TYPES(strided_slice_grad, grad::StridedSliceGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::slicing
