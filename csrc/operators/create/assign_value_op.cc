#include "operators/create/written_list.h"

namespace dygraph {
namespace {

constexpr int kOut = 0;

struct AssignValueAttrs {
  std::vector<int32_t> shape;
  DType dtype = DType::kFloat32;
  std::vector<int32_t> bool_values;
  std::vector<float> fp32_values;
  std::vector<int32_t> int32_values;
  std::vector<int64_t> int64_values;
};

// Calls f with the list that goes with the element type.
template <class F>
decltype(auto) VisitValues(const AssignValueAttrs& a, F&& f) {
  switch (a.dtype) {
    case DType::kBool: return f(a.bool_values);
    case DType::kUInt8:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32: return f(a.int32_values);
    case DType::kInt64: return f(a.int64_values);
    default: return f(a.fp32_values);
  }
}

void InferShape(InferContext& ctx) {
  const AssignValueAttrs& a = ctx.attrs<AssignValueAttrs>();
  Dims out(a.shape.begin(), a.shape.end());
  ENFORCE(!out.HasUnknown(), InvalidArgument, "the sizes in shape must be at least 0, got ", out);
  size_t count = VisitValues(a, [](const auto& list) { return list.size(); });
  ENFORCE(Numel(out) == static_cast<int64_t>(count), InvalidArgument, "the values for dtype ",
          a.dtype, " must be one for each element of Out ", out, ", got ", count);
  ctx.SetOutput(kOut, out, a.dtype);
}

void DefineAssignValue(OpDef& op) {
  op.Comment("Out = the elements written in the call, from the list of the element type.")
      .Example(
          ">>> F.assign_value(shape=[2, 2], fp32_values=[1.0, 2.0, 3.0, 4.0]).tolist()\n"
          "[[1.0, 2.0], [3.0, 4.0]]")
      .Output(kOut, "Out", "the shape asked for")
      .Attr(&AssignValueAttrs::shape, "shape", "the sizes")
      .Attr(&AssignValueAttrs::dtype, "dtype", "bool, an integer type, float32 or float64")
      .Attr(&AssignValueAttrs::bool_values, "bool_values", "elements for bool, 0 or 1")
      .Attr(&AssignValueAttrs::fp32_values, "fp32_values", "elements for float32 and float64")
      .Attr(&AssignValueAttrs::int32_values, "int32_values",
            "elements for int32 and narrower integers")
      .Attr(&AssignValueAttrs::int64_values, "int64_values", "elements for int64")
      .Shape(InferShape)
      .KernelDType(
          [](const Call& call) { return static_cast<const AssignValueAttrs*>(call.attrs)->dtype; })
      .NoGrad();
}

template <class T>
struct AssignValueKernel {
  static void Compute(KernelContext& ctx) {
    VisitValues(ctx.attrs<AssignValueAttrs>(),
                [&](const auto& list) { WriteList<T>(ctx, list, &ctx.Out(kOut)); });
  }
};

REGISTER_OPERATOR(assign_value, DefineAssignValue);
REGISTER_KERNELS(assign_value, AssignValueKernel, bool, uint8_t, int8_t, int16_t, int32_t, int64_t,
                 float, double);

}  // namespace
}  // namespace dygraph
