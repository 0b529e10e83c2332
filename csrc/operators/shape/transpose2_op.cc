#include "kernels/transpose.h"
#include "op/lod_rule.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0, kXShape = 1;

struct Transpose2Attrs {
  std::vector<int32_t> axis;
};

SmallVector<int, 8> Permutation(const std::vector<int32_t>& axis, int rank) {
  ENFORCE(static_cast<int>(axis.size()) == rank, InvalidArgument,
          "the attribute axis must name each of X's ", rank, " axes, got ", axis.size(),
          " numbers");
  SmallVector<int, 8> perm;
  uint32_t seen = 0;
  for (int32_t a : axis) {
    int at = NormalizeAxis(a, rank);
    ENFORCE(!(seen >> at & 1), InvalidArgument,
            "the attribute axis must name each axis of X once, got ", a, " twice");
    seen |= 1u << at;
    perm.push_back(at);
  }
  return perm;
}

void InferShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  Dims out;
  for (int p : Permutation(ctx.attrs<Transpose2Attrs>().axis, x.rank())) out.push_back(x[p]);
  ctx.SetOutput(kOut, out);
  if (ctx.call().op->outputs.size() == 1) return;  // transpose
  Dims x_shape = {0};
  x_shape.Append(x.begin(), x.end());
  ctx.SetOutput(kXShape, x_shape);
}

// The permutation that undoes the forward one. Runs after the forward call, so axis is known to be
// one.
void InverseAttrs(const void* forward, void* backward) {
  const std::vector<int32_t>& axis = static_cast<const Transpose2Attrs*>(forward)->axis;
  std::vector<int32_t>& inverse = static_cast<Transpose2Attrs*>(backward)->axis;
  int32_t rank = static_cast<int32_t>(axis.size());
  inverse.resize(axis.size());
  for (int32_t i = 0; i < rank; ++i) inverse[axis[i] < 0 ? axis[i] + rank : axis[i]] = i;
}

void Define(OpDef& op, bool x_shape) {
  op.Comment("Out's axis i is X's axis axis[i].")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "X's sizes, permuted");
  if (x_shape) op.Output(kXShape, "XShape", "no elements, shape [0] + X's", kIntermediate | kExtra);
  op.Attr(&Transpose2Attrs::axis, "axis",
          "a permutation of X's axes; negative ones count from the end")
      .ShareLoD(kX)
      .Shape(InferShape)
      .Grad([](GradBuilder& g) {
        g.Call("transpose2", {g.OutputGrad(kOut)}, {g.InputGrad(kX)}).AttrsFrom(InverseAttrs);
      });
}
void DefineTranspose2(OpDef& op) {
  Define(op, true);
  op.Example(
      ">>> F.transpose2(to_variable([[1, 2, 3], [4, 5, 6]]), axis=[1, 0]).tolist()\n"
      "[[1, 4], [2, 5], [3, 6]]");
}
void DefineTranspose(OpDef& op) {
  Define(op, false);
  op.Example(
      ">>> F.transpose(to_variable(np.zeros((2, 3, 4))), axis=[2, 0, 1]).shape\n"
      "(4, 2, 3)");
}

template <class T>
struct Transpose2Kernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    Tensor* out = ctx.OutOrNull(kOut);
    if (!out || x.numel() == 0) return;
    SmallVector<int, 8> perm = Permutation(ctx.attrs<Transpose2Attrs>().axis, x.rank());
    kernels::Permute(x.data<T>(), x.dims(), perm, out->mutable_data<T>(), sizeof(T));
  }
};

namespace grad {
constexpr int kXShapeIn = 0, kOutGrad = 1, kXGrad = 0;

// Fluid and Paddle write it in programs; our recipe calls transpose2 itself.
void DefineTranspose2Grad(OpDef& op) {
  op.Comment("X@GRAD's axis axis[i] is Out@GRAD's axis i.")
      .Input(kXShapeIn, "XShape", "[0] + the shape of X")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("transpose2")
      .KernelDTypeOf(kOutGrad)
      .Shape([](InferContext& ctx) {
        const Dims& out = ctx.dims(kOutGrad);
        Dims x(out.rank(), -1);
        int i = 0;
        for (int p : Permutation(ctx.attrs<Transpose2Attrs>().axis, out.rank())) x[p] = out[i++];
        ctx.SetOutput(kXGrad, x);
      })
      .Grad([](GradBuilder& g) {
        g.Call("transpose2", {g.OutputGrad(kXGrad)}, {g.InputGrad(kOutGrad)}).SameAttrs();
      });
}

template <class T>
struct Transpose2GradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& from = ctx.In(kOutGrad);
    if (from.numel() == 0) return;
    Transpose2Attrs inverse;
    InverseAttrs(&ctx.attrs<Transpose2Attrs>(), &inverse);
    SmallVector<int, 8> perm = Permutation(inverse.axis, from.rank());
    kernels::Permute(from.data<T>(), from.dims(), perm, ctx.Out(kXGrad).mutable_data<T>(),
                     sizeof(T));
  }
};
}  // namespace grad

REGISTER_OPERATOR(transpose2, DefineTranspose2);
REGISTER_LOD_RULE(transpose2, [](const LoDCall& c) {
  return c.out_slot == kOut && Permutation(c.attrs<Transpose2Attrs>().axis, c.from.rank())[0] == 0;
});
REGISTER_KERNELS(transpose2, Transpose2Kernel, AllTypes);
REGISTER_OPERATOR(transpose2_grad, grad::DefineTranspose2Grad);
REGISTER_KERNELS(transpose2_grad, grad::Transpose2GradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(transpose2_grad, grad::Transpose2GradKernel, float16, bfloat16);

REGISTER_OPERATOR(transpose, DefineTranspose);
REGISTER_LOD_RULE(transpose, [](const LoDCall& c) {
  return c.out_slot == kOut && Permutation(c.attrs<Transpose2Attrs>().axis, c.from.rank())[0] == 0;
});
REGISTER_KERNELS(transpose, Transpose2Kernel, AllTypes);

}  // namespace
}  // namespace dygraph
