#include <cmath>

#include "kernels/elementwise.h"
#include "kernels/loops.h"
#include "op/lod_rule.h"
#include "operators/labels.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kLabel = 1, kY = 0, kXShape = 1, kMatchX = 2;

struct CrossEntropy2Attrs {
  int32_t ignore_index = -100;
};

void InferShape(InferContext& ctx) {
  ctx.SetOutput(kY, labels::InferLoss(ctx, kX, "X", kLabel, -1, false, true));
  Dims x_shape = {0};
  for (int64_t d : ctx.dims(kX)) x_shape.push_back(d);
  ctx.SetOutput(kXShape, x_shape);
  Dims match = ctx.dims(kX);
  match.back() = 1;
  ctx.SetOutput(kMatchX, match);
}

void DefineCrossEntropy2(OpDef& op) {
  op.Comment(
        "Y = -log(MatchX) with MatchX = X[Label] over the last axis; Y is 0 and MatchX 1 where "
        "Label is ignore_index. A probability of 0 costs 1e20, not infinity. Label gets no "
        "gradient.")
      .Example(
          ">>> x, label = to_variable([[0.2, 0.8], [0.5, 0.5]]), to_variable([[0], [1]])\n"
          ">>> loss = F.cross_entropy2(x, label).numpy().ravel()  # -log(0.2) and -log(0.5)\n"
          ">>> [round(v, 4) for v in loss.tolist()]\n"
          "[1.6094, 0.6931]")
      .Input(kX, "X", "probabilities [..., C]")
      .Input(kLabel, "Label", "int64 or int32 classes [..., 1] or [...]")
      .Output(kY, "Y", "[..., 1], or [...] where Label is")
      .Output(kXShape, "XShape", "no elements, shape [0] + X's", kIntermediate)
      .Output(kMatchX, "MatchX", "[..., 1]", kIntermediate)
      .Attr(&CrossEntropy2Attrs::ignore_index, "ignore_index", "a Label without loss or gradient")
      .MixedDTypes()
      .Shape(InferShape)
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        AttrValue ignore_index = g.attrs<CrossEntropy2Attrs>().ignore_index;
        g.Call("cross_entropy_grad", {g.Input(kX), g.Input(kLabel), g.OutputGrad(kY)},
               {g.InputGrad(kX)})
            .Attr("ignore_index", ignore_index);
      });
}

template <class T>
struct CrossEntropy2Kernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    int64_t ignored = ctx.attrs<CrossEntropy2Attrs>().ignore_index;
    kernels::SoftmaxShape s = labels::ShapeOf(x.dims(), -1);
    labels::ClassLabels classes(ctx.In(kLabel));
    classes.Check(s.n, ignored);
    Tensor *y = ctx.OutOrNull(kY), *match = ctx.OutOrNull(kMatchX);
    const T* xd = x.data<T>();
    T *to = y ? y->mutable_data<T>() : nullptr, *at = match ? match->mutable_data<T>() : nullptr;
    const int64_t n = s.n;
    kernels::ForEach(
        s.outer,
        [=] DYGRAPH_FN(int64_t r) {
          const int64_t c = classes[r];
          const T p = c == ignored ? T(1) : xd[r * n + c];
          const T log = std::log(p);
          if (at) at[r] = p;
          if (to) to[r] = -(std::isinf(log) ? std::copysign(T(1e20), log) : log);
        },
        16);
  }
};

// Fluid's gradient, which its programs hold. Ours is cross_entropy_grad, for which X alone is kept.
namespace grad {
constexpr int kXShape = 0, kLabel = 1, kMatchX = 2, kYGrad = 3, kXGrad = 0;

void InferGradShape(InferContext& ctx) {
  const Dims &shape = ctx.dims(kXShape), &match = ctx.dims(kMatchX);
  const bool fits = shape.rank() > 1 && shape.rank() == match.rank() + 1 && shape[0] <= 0;
  ENFORCE(fits, InvalidArgument,
          "XShape must be [0] + the shape of X, and MatchX have the rank of X, got shapes ", shape,
          " and ", match);
  for (int slot : {kLabel, kYGrad}) {
    ENFORCE(labels::Fits(ctx.dims(slot), match), InvalidArgument, ctx.call().op->inputs[slot].name,
            " must have the shape of MatchX ", match, ", got ", ctx.dims(slot));
  }
  Dims x(shape.begin() + 1, shape.end()), one = x;
  one.back() = 1;
  ENFORCE(labels::Fits(match, one), InvalidArgument, "MatchX must have the shape ", one,
          " for XShape ", shape, ", got ", match);
  ctx.SetOutput(kXGrad, x, ctx.dtype(kMatchX));
}

void DefineCrossEntropyGrad2(OpDef& op) {
  op.Comment("X@GRAD = -Y@GRAD / MatchX at Label, and 0 elsewhere or where Label is ignore_index.")
      .Input(kXShape, "XShape", "[0] + the shape of X", kShapeOnly)
      .Input(kLabel, "Label", "int64 or int32 classes [..., 1]")
      .Input(kMatchX, "MatchX", "X at Label, [..., 1]")
      .Input(kYGrad, "Y@GRAD", "[..., 1]")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("cross_entropy2")
      .MixedDTypes()
      .KernelDTypeOf(kMatchX)
      .Shape(InferGradShape)
      .Grad([](GradBuilder& g) {  // labels that are ignored have no second order and raise
        RecipeRef at_label = g.Temp();
        g.Call("take_along_axis", {g.OutputGrad(kXGrad), g.Input(kLabel)}, {at_label})
            .Attr("Axis", int32_t{-1});
        RecipeRef ratio = g.Apply("elementwise_div", {at_label, g.Input(kMatchX)});
        g.Call("scale", {ratio}, {g.InputGrad(kYGrad)}).Attr("scale", -1.0f);
        RecipeRef product = g.Apply("elementwise_mul", {ratio, g.Input(kYGrad)});
        g.Call("elementwise_div", {product, g.Input(kMatchX)}, {g.InputGrad(kMatchX)});
      });
}

template <class T>
struct CrossEntropyGrad2Kernel {
  static void Compute(KernelContext& ctx) {
    Tensor& dx = ctx.Out(kXGrad);
    const int64_t ignored = ctx.attrs<CrossEntropy2Attrs>().ignore_index, n = dx.dims().back();
    labels::ClassLabels classes(ctx.In(kLabel));
    classes.Check(n, ignored);
    const T *match = ctx.In(kMatchX).data<T>(), *g = ctx.In(kYGrad).data<T>();
    T* to = dx.mutable_data<T>();
    kernels::Fill(to, dx.numel(), T(0));
    kernels::ForEach(ctx.In(kMatchX).numel(), [=] DYGRAPH_FN(int64_t r) {
      const int64_t c = classes[r];
      if (c != ignored) to[r * n + c] = -g[r] / match[r];
    });
  }
};
}  // namespace grad

REGISTER_OPERATOR(cross_entropy2, DefineCrossEntropy2);
REGISTER_LOD_ALSO(cross_entropy2, kLabel);
REGISTER_KERNELS(cross_entropy2, CrossEntropy2Kernel, float, double);
REGISTER_OPERATOR(cross_entropy_grad2, grad::DefineCrossEntropyGrad2);
REGISTER_KERNELS(cross_entropy_grad2, grad::CrossEntropyGrad2Kernel, float, double);

}  // namespace
}  // namespace dygraph
