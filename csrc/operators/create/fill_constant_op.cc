#include "operators/create/filling.h"

namespace dygraph {
namespace {

constexpr int kValueTensor = 0, kShapeTensor = 1, kShapeTensorList = 2, kOut = 0;

struct FillConstantAttrs {
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;
  double value = 0.0;
  std::string str_value;
  bool force_cpu = false;
};

void AppendInts(const Tensor& t, Dims* to) {
  ENFORCE(t.dtype() == DType::kInt32 || t.dtype() == DType::kInt64, Type,
          "a shape must be given as int32 or int64, got ", t.dtype());
  Tensor plain = t.Plain();
  for (int64_t i = 0; i < plain.numel(); ++i) {
    to->push_back(plain.dtype() == DType::kInt32 ? plain.data<int32_t>()[i]
                                                 : plain.data<int64_t>()[i]);
  }
}

// The shape's sources, first come first: ShapeTensor, ShapeTensorList, the attribute. While a
// program is built tensors hold no values yet: their sizes are unknown.
Dims WantedShape(InferContext& ctx) {
  Dims dims;
  if (ctx.HasInput(kShapeTensor)) {
    const Tensor& t = ctx.value(kShapeTensor).tensor();
    ENFORCE(t.rank() <= 1, InvalidArgument, "ShapeTensor must have one axis, got shape ", t.dims());
    if (t.has_data()) {
      AppendInts(t, &dims);
    } else if (!ctx.attrs<FillConstantAttrs>().shape.empty()) {
      return Dims(ctx.attrs<FillConstantAttrs>().shape);
    } else {
      int64_t rank = t.rank() == 0 ? 1 : t.dim(0);
      ENFORCE(rank >= 0 && rank <= kMaxRank, InvalidArgument, "ShapeTensor must have at most ",
              kMaxRank, " elements, a number known when the program is built, got shape ",
              t.dims());
      dims.resize(static_cast<size_t>(rank), -1);
    }
    return dims;
  }
  for (int i = 0; i < ctx.InputCount(kShapeTensorList); ++i) {
    const Tensor& t = ctx.value(kShapeTensorList, i).tensor();
    ENFORCE(t.numel() == 1, InvalidArgument, "ShapeTensorList[", i,
            "] must have one element, got shape ", t.dims());
    t.has_data() ? AppendInts(t, &dims) : dims.push_back(-1);
  }
  return dims.empty() ? Dims(ctx.attrs<FillConstantAttrs>().shape) : dims;
}

void InferShape(InferContext& ctx) {
  Dims dims = WantedShape(ctx);
  for (int64_t d : dims) {
    ENFORCE(d >= 0 || !ctx.runtime(), InvalidArgument,
            "the sizes of shape must be at least 0, got ", dims);
  }
  ctx.SetOutput(kOut, dims, ctx.attrs<FillConstantAttrs>().dtype);
}

void DefineFillConstant(OpDef& op) {
  op.Comment(
        "Out = a tensor of the given shape, one value everywhere. str_value wins over value: it "
        "holds float64 and int64 "
        "exactly.")
      .Example(
          ">>> F.fill_constant(shape=[2, 2], value=7.0, dtype=\"int64\").tolist()\n"
          "[[7, 7], [7, 7]]")
      .Input(kValueTensor, "ValueTensor", "the value, one element", kDispensable)
      .Input(kShapeTensor, "ShapeTensor", "the shape, one axis of int32 or int64",
             kDispensable | kOnHost)
      .Input(kShapeTensorList, "ShapeTensorList", "the sizes, one element each",
             kDispensable | kDuplicable | kOnHost)
      .Output(kOut, "Out", "the shape asked for")
      .Attr(&FillConstantAttrs::dtype, "dtype", "element type of Out")
      .Attr(&FillConstantAttrs::shape, "shape", "the sizes")
      .Attr(&FillConstantAttrs::value, "value", "what to fill with")
      .Attr(&FillConstantAttrs::str_value, "str_value",
            "the same as text: '1e-3', '7', 'inf', 'nan'")
      .Attr(&FillConstantAttrs::force_cpu, "force_cpu", "keep Out in host memory")
      .Shape(InferShape)
      .KernelDType(
          [](const Call& call) { return static_cast<const FillConstantAttrs*>(call.attrs)->dtype; })
      .MixedDTypes()
      .NoGrad();
}

template <class T>
struct FillConstantKernel {
  static void Compute(KernelContext& ctx) {
    const FillConstantAttrs& a = ctx.attrs<FillConstantAttrs>();
    Tensor& out = ctx.Out(kOut);
    if (const Tensor* t = ctx.InOrNull(kValueTensor)) {
      ENFORCE(t->numel() == 1, InvalidArgument, "ValueTensor must have one element, got shape ",
              t->dims());
      Tensor value({1}, out.dtype(), ctx.place());
      kernels::Cast(t->dtype(), t->raw_data(), out.dtype(), value.mutable_raw_data(), 1);
      const T* v = value.data<T>();
      return kernels::FillWith(out.mutable_data<T>(), out.numel(), [=] DYGRAPH_FN() { return *v; });
    }
    kernels::Fill(out.mutable_data<T>(), out.numel(), FillValue<T>(a.value, a.str_value));
  }
};

REGISTER_OPERATOR(fill_constant, DefineFillConstant);
REGISTER_KERNELS(fill_constant, FillConstantKernel, AllTypes);

}  // namespace
}  // namespace dygraph
