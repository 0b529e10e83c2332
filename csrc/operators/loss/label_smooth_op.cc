#include "kernels/elementwise.h"
#include "kernels/fold.h"
#include "op/gradient_call.h"
#include "op/gradient_shapes.h"
#include "operators/labels.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kPriorDist = 1, kOut = 0;

struct LabelSmoothAttrs {
  double epsilon = 0.0;
};

void InferShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  ENFORCE(!x.empty(), InvalidArgument, "X must have a class axis, got shape ", x);
  if (ctx.HasInput(kPriorDist)) {
    const Dims& prior = ctx.dims(kPriorDist);
    int64_t classes = x[x.rank() - 1], last = prior.empty() ? 1 : prior[prior.rank() - 1];
    bool row = last == classes || !BothKnown(last, classes);
    for (int i = 0; i + 1 < prior.rank(); ++i) row &= prior[i] == 1 || prior[i] < 0;
    ENFORCE(row && !prior.empty(), InvalidArgument,
            "PriorDist must have shape [1, C] or [C] with the classes of X ", x, ", got ", prior);
  }
  ctx.SetOutput(kOut, x);
}

void DefineLabelSmooth(OpDef& op) {
  op.Comment(
        "Out = (1 - epsilon) * X + epsilon * PriorDist; without PriorDist every one of the C "
        "classes gets epsilon / C (Szegedy et al., 2016). PriorDist gets no gradient.")
      .Example(
          ">>> out = F.label_smooth(to_variable([[0.0, 1.0]]), epsilon=0.5)\n"
          ">>> out.tolist()\n"
          "[[0.25, 0.75]]")
      .Input(kX, "X", "distributions [..., C]")
      .Input(kPriorDist, "PriorDist", "what to mix in, [1, C] or [C]", kDispensable)
      .Output(kOut, "Out", "shape of X")
      .Attr(&LabelSmoothAttrs::epsilon, "epsilon", "the share of PriorDist", Between(0, 1))
      .Shape(InferShape)
      .ShareLoD(kX)
      .Grad(CallGradient);
}

template <class T>
struct LabelSmoothKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const Tensor* prior = ctx.InOrNull(kPriorDist);
    T e = static_cast<T>(ctx.attrs<LabelSmoothAttrs>().epsilon);
    int64_t classes = x.dim(x.rank() - 1);
    T even = e / static_cast<T>(std::max<int64_t>(classes, 1));
    const T *xd = x.data<T>(), *pd = prior ? prior->data<T>() : nullptr;
    T* out = ctx.Out(kOut).mutable_data<T>();
    int64_t rows = classes ? x.numel() / classes : 0;
    kernels::ForEachRowPlain(rows, classes, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
      const T* from = xd + r * classes;
      T* to = out + r * classes;
      team.Each(classes, [=](int64_t c) {
        to[c] = (T(1) - e) * from[c] + (pd ? e * pd[c] : even);
      });
    });
  }
};

namespace grad {
constexpr int kOutGrad = 0, kXGrad = 0;

void DefineLabelSmoothGrad(OpDef& op) {
  op.Comment("X@GRAD = (1 - epsilon) * Out@GRAD.")
      .Input(kOutGrad, "Out@GRAD", "shape of X")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("label_smooth")
      .SameShape(kOutGrad, kXGrad)
      .Grad([](GradBuilder& g) {
        g.Call("label_smooth_grad", {g.OutputGrad(kXGrad)}, {g.InputGrad(kOutGrad)}).SameAttrs();
      });
}

template <class T>
struct LabelSmoothGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& g = ctx.In(kOutGrad);
    T keep = T(1) - static_cast<T>(ctx.attrs<LabelSmoothAttrs>().epsilon);
    const T* from = g.data<T>();
    T* to = ctx.Out(kXGrad).mutable_data<T>();
    kernels::MapPlain(from, to, g.numel(), [=] DYGRAPH_FN(T v) { return keep * v; });
  }
};
}  // namespace grad

REGISTER_GRADIENT_SHAPES(label_smooth, {"X", "Out"}, {"PriorDist", ""});
REGISTER_OPERATOR(label_smooth, DefineLabelSmooth);
REGISTER_KERNELS(label_smooth, LabelSmoothKernel, float, double);
REGISTER_OPERATOR(label_smooth_grad, grad::DefineLabelSmoothGrad);
REGISTER_KERNELS(label_smooth_grad, grad::LabelSmoothGradKernel, float, double);

}  // namespace
}  // namespace dygraph
