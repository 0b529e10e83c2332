#include "operators/shape/reshaping.h"

namespace dygraph::reshaping {
namespace {

constexpr int kShape = 1, kShapeTensor = 2;

struct Reshape2Attrs {
  std::vector<int32_t> shape;
};

Dims TargetShape(const Dims& x, const IntList& shape) {
  Dims out;
  int inferred = -1;
  Dims others;
  for (size_t i = 0; i < shape.values.size(); ++i) {
    int64_t size = shape.values[i];
    if (!shape.known) {
      out.push_back(-1);
      continue;
    }
    if (size == 0) {
      ENFORCE(static_cast<int>(i) < x.rank(), InvalidArgument,
              "a 0 in shape copies the size of the same axis of X, which must "
              "exist, got axis ",
              i, " of X ", x);
      size = x[i];
    } else if (size == -1) {
      ENFORCE(inferred < 0, InvalidArgument, "at most one element of shape may be -1, got ",
              Dims(shape.values), ". Use 0 where the size of that axis of X stays");
      inferred = static_cast<int>(i);
      out.push_back(-1);
      continue;
    }
    ENFORCE(size >= 0 || x.HasUnknown(), InvalidArgument,
            "the elements of shape must be -1, 0 or sizes, got ", Dims(shape.values));
    others.push_back(size);
    out.push_back(size);
  }
  if (!shape.known || x.HasUnknown()) return out;
  int64_t numel = Numel(x), known = Numel(others);
  if (inferred >= 0) {
    ENFORCE(known > 0 && numel % known == 0, InvalidArgument, "the -1 in shape ",
            Dims(shape.values), " must have one solution for the ", numel, " elements of X ", x,
            ", got none");
    out[inferred] = numel / known;
  }
  ENFORCE(Numel(out) == numel, InvalidArgument, "Out must have as many elements as X ", x, ", ",
          numel, ", got shape ", Dims(shape.values), " for it");
  return out;
}

void InferShape(InferContext& ctx) {
  IntList shape = ReadIntList(ctx.call(), kShape, kShapeTensor, ctx.attrs<Reshape2Attrs>().shape);
  SetOutputs(ctx, TargetShape(ctx.dims(kX), shape));
}

// A 0 in front says it whatever the sizes.
bool KeepsReshapedRows(const LoDCall& c) {
  const std::vector<int32_t>& shape = c.attrs<Reshape2Attrs>().shape;
  bool copies = c.call.in.count(kShape) + c.call.in.count(kShapeTensor) == 0 && !shape.empty() &&
                shape[0] == 0;
  return c.out_slot == kOut && (copies || KeepsRows(c));
}

void Define(OpDef& op, bool x_shape) {
  op.Comment(
        "Out has the elements of X, in row-major order, in another shape. A 0 in shape copies the "
        "size of that axis of X, one -1 "
        "is inferred from the number of elements.")
      .Input(kX, "X", "any shape")
      .Input(kShape, "Shape", "[rank of Out] integers, in place of the attribute",
             kDispensable | kOnHost)
      .Input(kShapeTensor, "ShapeTensor", "one integer for each axis of Out, in place of both",
             kDispensable | kDuplicable | kOnHost);
  DeclareOutputs(op, x_shape, InferShape).Attr(&Reshape2Attrs::shape, "shape", "sizes of Out");
}
void DefineReshape2(OpDef& op) {
  Define(op, true);
  op.Example(
      ">>> F.reshape2(to_variable([[1, 2, 3], [4, 5, 6]]), shape=[3, -1]).tolist()\n"
      "[[1, 2], [3, 4], [5, 6]]\n"
      ">>> F.reshape2(to_variable(np.zeros((2, 3, 4))), shape=[0, -1]).shape\n"
      "(2, 12)");
}
void DefineReshape(OpDef& op) {
  Define(op, false);
  op.Example(
      ">>> F.reshape(to_variable([[1, 2, 3], [4, 5, 6]]), shape=[-1, 2]).tolist()\n"
      "[[1, 2], [3, 4], [5, 6]]");
}

namespace grad {
constexpr int kOutGrad = 1, kXShape = 2, kXGrad = 0;

void InferShape(InferContext& ctx) {
  if (ctx.HasInput(kX)) return ctx.SetOutput(kXGrad, ctx.dims(kX));
  ENFORCE(ctx.HasInput(kXShape), InvalidArgument,
          "Input(X) or Input(XShape) must be given, got neither");
  ctx.SetOutput(kXGrad, ShapeInXShape(ctx.dims(kXShape)));
}

void DefineReshape2Grad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD in the shape of X.")
      .Input(kX, "X", "its shape", kDispensable)
      .Input(kOutGrad, "Out@GRAD", "as many elements")
      .Input(kXShape, "XShape", "[0] + the shape of X, in place of X", kDispensable)
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Shape(InferShape)
      .KernelDTypeOf(kOutGrad)
      .KernelAllocates()
      .MayShare(kOutGrad, kXGrad)
      .Grad([](GradBuilder& g) {
        g.Call("reshape2_grad", {g.InputShape(kOutGrad), g.OutputGrad(kXGrad)},
               {g.InputGrad(kOutGrad)});
      });
}

template <class>
struct Reshape2GradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& g = ctx.In(kOutGrad);
    Tensor& out = ctx.Out(kXGrad);
    ENFORCE(g.numel() == out.numel(), InvalidArgument, "Out@GRAD must have as many elements as X ",
            out.dims(), ", got shape ", g.dims());
    out.ShareData(g);
  }
};
}  // namespace grad

REGISTER_OPERATOR(reshape2, DefineReshape2);
REGISTER_LOD_RULE(reshape2, KeepsReshapedRows);
REGISTER_KERNELS(reshape2, Kernel, AllTypes);
REGISTER_OPERATOR(reshape, DefineReshape);
REGISTER_LOD_RULE(reshape, KeepsReshapedRows);
REGISTER_KERNELS(reshape, Kernel, AllTypes);
REGISTER_OPERATOR(reshape2_grad, grad::DefineReshape2Grad);
REGISTER_KERNELS(reshape2_grad, grad::Reshape2GradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(reshape2_grad, grad::Reshape2GradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::reshaping
