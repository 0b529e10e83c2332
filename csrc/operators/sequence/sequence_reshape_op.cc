#include "op/gradient_call.h"
#include "operators/sequence/sequence.h"

namespace dygraph::sequence {
namespace {

constexpr int kX = 0, kOut = 0;

struct SequenceReshapeAttrs {
  int32_t new_dim = 1;
};

void DefineSequenceReshape(OpDef& op) {
  op.Comment("The numbers of each sequence of X in rows of new_dim.")
      .Example(
          ">>> x = to_variable([[1, 2], [3, 4], [5, 6]], lod=[[0, 2, 3]])\n"
          ">>> out = F.sequence_reshape(x, new_dim=1)\n"
          ">>> out.shape, out.lod()\n"
          "((6, 1), [[0, 4, 6]])")
      .Input(kX, "X", "[rows, D] with LoD; D times a sequence's rows is a multiple of new_dim")
      .Output(kOut, "Out", "[rows * D / new_dim, new_dim] with the sequences' new LoD")
      .Attr(&SequenceReshapeAttrs::new_dim, "new_dim", "width of the new rows", AtLeast(1))
      .Shape([](InferContext& ctx) {
        const Dims& x = ctx.dims(kX);
        ENFORCE(x.rank() == 2, InvalidArgument, "X must be a matrix [rows, D], got shape ", x);
        int64_t width = ctx.attrs<SequenceReshapeAttrs>().new_dim, numel = MulSizes(x[0], x[1]);
        ctx.SetOutput(kOut, {numel < 0 ? -1 : numel / width, width});
      })
      .MixedDTypes()
      .KernelAllocates()
      .MayShare(kX, kOut)
      .Grad(CallGradient);
}

template <class>
struct SequenceReshapeKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    int64_t width = ctx.attrs<SequenceReshapeAttrs>().new_dim, d = x.dim(1);
    const Offsets& offsets = LastLevel(x, "X");
    LoDLevels lod = UpperLevels(x.lod_levels());
    Offsets scaled{0};
    for (int64_t s = 0; s < Count(offsets); ++s) {
      int64_t numbers = (offsets[s + 1] - offsets[s]) * d;
      ENFORCE(numbers % width == 0, InvalidArgument,
              "each sequence of X must fill rows of new_dim ", width, ", but sequence ", s, " has ",
              numbers, " numbers");
      scaled.push_back(scaled.back() + numbers / width);
    }
    lod.push_back(std::move(scaled));
    ctx.Out(kOut).ShareData(x);
    ctx.Out(kOut).SetLoD(std::move(lod));
  }
};

namespace grad {
constexpr int kOutGrad = 1;

void DefineSequenceReshapeGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD in the rows of X.")
      .Input(kX, "X", "its shape and LoD", kShapeOnly)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kX, "X@GRAD", "shape of X")
      .AttrsOf("sequence_reshape")
      .SameShape(kX, kX)
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .KernelAllocates()
      .MayShare(kOutGrad, kX)
      .Grad([](GradBuilder& g) {
        RecipeRef arriving = g.Apply("lod_reset", {g.OutputGrad(kX), g.InputShape(kX)});
        g.Call("sequence_reshape", {arriving}, {g.InputGrad(kOutGrad)}).SameAttrs();
      });
}

template <class>
struct SequenceReshapeGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& g = ctx.In(kOutGrad);
    ENFORCE(g.numel() == ctx.Out(kX).numel(), InvalidArgument,
            "Out@GRAD must have as many numbers as X ", ctx.Out(kX).dims(), ", got ", g.dims());
    ctx.Out(kX).ShareData(g);
  }
};
}  // namespace grad

REGISTER_OPERATOR(sequence_reshape, DefineSequenceReshape);
REGISTER_KERNELS(sequence_reshape, SequenceReshapeKernel, AllTypes);
REGISTER_OPERATOR(sequence_reshape_grad, grad::DefineSequenceReshapeGrad);
REGISTER_KERNELS(sequence_reshape_grad, grad::SequenceReshapeGradKernel, float, double);

}  // namespace
}  // namespace dygraph::sequence
