#include <cmath>

#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/higher_gradient.h"
#include "operators/labels.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kY = 1, kInside = 2, kOutside = 3, kDiff = 0, kOut = 1;

struct SmoothL1Attrs {
  double sigma = 1.0;
};

// The inputs agree; gives Out's shape, one loss for each row.
Dims CheckRows(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  ENFORCE(!x.empty(), InvalidArgument, "X must have a batch axis, got shape ", x);
  labels::CheckSameShape(ctx, kX, kY);
  ENFORCE(ctx.HasInput(kInside) == ctx.HasInput(kOutside), InvalidArgument,
          "InsideWeight and OutsideWeight must be given together or not at all, got one. Give ones "
          "for the other");
  for (int slot : {kInside, kOutside}) {
    if (ctx.HasInput(slot)) labels::CheckSameShape(ctx, kX, slot);
  }
  return {x[0], 1};
}

void InferShape(InferContext& ctx) {
  Dims out = CheckRows(ctx);
  ctx.SetOutput(kDiff, ctx.dims(kX));
  ctx.SetOutput(kOut, out);
}

OpDef& AddInputs(OpDef& op) {
  return op.Input(kX, "X", "predictions [N, ...]")
      .Input(kY, "Y", "targets, shape of X")
      .Input(kInside, "InsideWeight", "factor of the difference, shape of X; 1", kDispensable)
      .Input(kOutside, "OutsideWeight", "factor of the loss, shape of X; 1", kDispensable);
}

void DefineSmoothL1(OpDef& op) {
  AddInputs(
      op.Comment("Out[i] = sum over row i of OutsideWeight * f(Diff) with Diff = InsideWeight * (X "
                 "- Y), where f(d) = sigma^2 d^2 / 2 for |d| < 1 / sigma^2, else |d| - 0.5 / "
                 "sigma^2 (Girshick, \"Fast R-CNN\", 2015). The weights get no gradient.")
          .Example(
              ">>> x, y = to_variable([[0.5, 3.0], [1.0, 1.0]]), to_variable([[0.0, 0.0]] * 2)\n"
              ">>> F.smooth_l1_loss(x, y).tolist()  # 0.5 * 0.5^2 + (3 - 0.5), and twice 0.5\n"
              "[[2.625], [1.0]]"))
      .Output(kDiff, "Diff", "shape of X", kIntermediate)
      .Output(kOut, "Out", "[N, 1]")
      .Attr(&SmoothL1Attrs::sigma, "sigma", "how narrow the square is; 0: no square")
      .ShareLoD(kX)
      .Shape(InferShape)
      .Grad(CallGradient);
}

// Calls f(row, i, inside, outside, difference) for every element.
template <class T, class F>
void ForEach(KernelContext& ctx, F f) {
  const Tensor& x = ctx.In(kX);
  const Tensor *in = ctx.InOrNull(kInside), *out = ctx.InOrNull(kOutside);
  const T *xd = x.data<T>(), *yd = ctx.In(kY).data<T>();
  const T *id = in ? in->data<T>() : nullptr, *od = out ? out->data<T>() : nullptr;
  int64_t rows = x.dim(0), width = rows ? x.numel() / rows : 0;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = r * width; i < (r + 1) * width; ++i) {
      T inside = id ? id[i] : T(1);
      f(r, i, inside, od ? od[i] : T(1), inside * (xd[i] - yd[i]));
    }
  }
}

template <class T>
T Square(const KernelContext& ctx) {
  T sigma = static_cast<T>(ctx.attrs<SmoothL1Attrs>().sigma);
  return sigma * sigma;
}

template <class T>
struct SmoothL1Kernel {
  static void Compute(KernelContext& ctx) {
    Tensor *diff = ctx.OutOrNull(kDiff), *out = ctx.OutOrNull(kOut);
    T* d_out = diff ? diff->mutable_data<T>() : nullptr;
    T* loss = out ? out->mutable_data<T>() : nullptr;
    if (loss) std::fill(loss, loss + out->numel(), T(0));
    T s2 = Square<T>(ctx);
    ForEach<T>(ctx, [=](int64_t r, int64_t i, T, T outside, T d) {
      T size = std::abs(d);
      if (d_out) d_out[i] = d;
      if (loss) {
        loss[r] += outside * (size * s2 < T(1) ? T(0.5) * d * d * s2 : size - T(0.5) / s2);
      }
    });
  }
};

namespace grad {
constexpr int kOutGrad = 4, kXGrad = 0, kYGrad = 1;

void DefineSmoothL1Grad(OpDef& op) {
  AddInputs(op.Comment("X@GRAD = Out@GRAD * OutsideWeight * InsideWeight * f'(Diff), Y@GRAD is its "
                       "negative; f' is sigma^2 d inside the square, else the sign of d."))
      .Input(kOutGrad, "Out@GRAD", "[N, 1]")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kYGrad, "Y@GRAD", "shape of X")
      .AttrsOf("smooth_l1_loss")
      .Shape([](InferContext& ctx) {
        Dims loss = CheckRows(ctx);
        ENFORCE(labels::Fits(ctx.dims(kOutGrad), loss), InvalidArgument,
                "Out@GRAD must have the shape of Out, ", loss, ", got ", ctx.dims(kOutGrad));
        ctx.SetOutput(kXGrad, ctx.dims(kX));
        ctx.SetOutput(kYGrad, ctx.dims(kX));
      })
      .Grad([](GradBuilder& g) {
        RecipeRef minus = g.ApplyScale(g.OutputGrad(kYGrad), -1.0f), v = g.Temp(), x = g.Temp();
        g.Call("sum", {RecipeSlot({g.OutputGrad(kXGrad), minus})}, {v});
        g.Call(
             "smooth_l1_loss_grad_grad",
             {g.Input(kX), g.Input(kY), g.Input(kInside), g.Input(kOutside), g.Input(kOutGrad), v},
             {x, g.InputGrad(kOutGrad)})
            .SameAttrs();
        g.Call("assign", {x}, {g.InputGrad(kX)});
        g.Call("scale", {x}, {g.InputGrad(kY)}).Attr("scale", -1.0f);
      });
}

template <class T>
struct SmoothL1GradKernel {
  static void Compute(KernelContext& ctx) {
    Tensor *x = ctx.OutOrNull(kXGrad), *y = ctx.OutOrNull(kYGrad);
    T* dx = x ? x->mutable_data<T>() : nullptr;
    T* dy = y ? y->mutable_data<T>() : nullptr;
    const T* g = ctx.In(kOutGrad).data<T>();
    T s2 = Square<T>(ctx);
    ForEach<T>(ctx, [=](int64_t r, int64_t i, T inside, T outside, T d) {
      T slope = std::abs(d) * s2 < T(1) ? d * s2 : d > T(0) ? T(1) : d < T(0) ? T(-1) : d;
      T v = g[r] * inside * outside * slope;
      if (dx) dx[i] = v;
      if (dy) dy[i] = -v;
    });
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kOutGrad = 4, kV = 5, kXResult = 0, kOutGradResult = 1;

void DefineSmoothL1GradGrad(OpDef& op);

struct SmoothL1Third {
  static constexpr uint32_t kServes = higher::Slots(kX, kOutGrad, kV);
  static void Define(OpDef& op) { DefineSmoothL1GradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) { return {{kX, kV, kXResult}}; }
  static std::vector<higher::Result> Results(const KernelContext&) {
    return {{kOutGrad, kOutGradResult}};
  }
  static void Run(higher::Problem& p) {
    if (p.ctx.In(kX).dtype() == DType::kFloat64) {
      RunWith<double>(p);
    } else {
      RunWith<float>(p);
    }
  }
  template <class T>
  static void RunWith(higher::Problem& p) {
    using higher::Scalar;
    const double s2 = static_cast<double>(Square<T>(p.ctx));
    const T* y = p.ctx.In(kY).data<T>();
    std::vector<Scalar> sums(p.ctx.In(kX).dim(0));
    for (Scalar& sum : sums) sum = kernels::Constant(0);
    ForEach<T>(p.ctx, [&](int64_t r, int64_t i, T inside, T outside, T) {
      Scalar d = (p.Leaf(0, i) - static_cast<double>(y[i])) * static_cast<double>(inside);
      const double size = ValueOf(d) < 0 ? -1 : 1;
      Scalar loss = std::fabs(ValueOf(d)) * s2 < 1 ? d * d * (0.5 * s2) : d * size;
      sums[r] = sums[r] + loss * static_cast<double>(outside);
    });
    for (size_t r = 0; r < sums.size(); ++r) p.Set(0, static_cast<int64_t>(r), sums[r]);
  }
};

// What the third gradient gives X, Y gets with the other sign.
void ThirdRecipe(GradBuilder& g) {
  RecipeRef x = g.Temp();
  g.Call("smooth_l1_loss_grad_grad_grad",
         {g.Input(kX), g.Input(kY), g.Input(kInside), g.Input(kOutside), g.Input(kOutGrad),
          g.Input(kV), g.OutputGrad(kXResult), g.OutputGrad(kOutGradResult)},
         {x, {}, {}, {}, g.InputGrad(kOutGrad), g.InputGrad(kV)})
      .SameAttrs();
  g.Call("assign", {x}, {g.InputGrad(kX)});
  g.Call("scale", {x}, {g.InputGrad(kY)}).Attr("scale", -1.0f);
}

void DefineSmoothL1GradGrad(OpDef& op) {
  AddInputs(op.Comment("What smooth_l1_loss_grad gives X, V * Out@GRAD * OutsideWeight * "
                       "InsideWeight^2 * f''(Diff), and Out@GRAD, the rows' sums of V * "
                       "OutsideWeight * InsideWeight * f'(Diff)."))
      .Input(kOutGrad, "Out@GRAD", "[N, 1]")
      .Input(kV, "X@GRAD@GRAD", "V, shape of X")
      .Output(kXResult, "X@GRAD", "shape of X")
      .Output(kOutGradResult, "Out@GRAD@GRAD", "[N, 1]")
      .AttrsOf("smooth_l1_loss")
      .Shape([](InferContext& ctx) {
        Dims loss = CheckRows(ctx);
        ENFORCE(labels::Fits(ctx.dims(kOutGrad), loss), InvalidArgument,
                "Out@GRAD must have the shape of Out, ", loss, ", got ", ctx.dims(kOutGrad));
        labels::CheckSameShape(ctx, kX, kV);
        ctx.SetOutput(kXResult, ctx.dims(kX));
        ctx.SetOutput(kOutGradResult, loss);
      })
      .Grad(ThirdRecipe);
}

template <class T>
struct SmoothL1GradGradKernel {
  static void Compute(KernelContext& ctx) {
    Tensor *x = ctx.OutOrNull(kXResult), *out = ctx.OutOrNull(kOutGradResult);
    T* dx = x ? x->mutable_data<T>() : nullptr;
    T* dg = out ? out->mutable_data<T>() : nullptr;
    if (dg) std::fill(dg, dg + out->numel(), T(0));
    const T *g = ctx.In(kOutGrad).data<T>(), *v = ctx.In(kV).data<T>();
    T s2 = Square<T>(ctx);
    ForEach<T>(ctx, [=](int64_t r, int64_t i, T inside, T outside, T d) {
      bool near = std::abs(d) * s2 < T(1);
      T slope = near ? d * s2 : d > T(0) ? T(1) : d < T(0) ? T(-1) : d;
      if (dx) dx[i] = near ? v[i] * g[r] * outside * inside * inside * s2 : T(0);
      if (dg) dg[r] += v[i] * outside * inside * slope;
    });
  }
};
}  // namespace grad_grad
using grad_grad::SmoothL1Third;

REGISTER_OPERATOR(smooth_l1_loss, DefineSmoothL1);
REGISTER_LOD_ALSO(smooth_l1_loss, kY);
REGISTER_CPU_KERNEL(smooth_l1_loss, SmoothL1Kernel, float, double);
REGISTER_OPERATOR(smooth_l1_loss_grad, grad::DefineSmoothL1Grad);
REGISTER_CPU_KERNEL(smooth_l1_loss_grad, grad::SmoothL1GradKernel, float, double);
REGISTER_OPERATOR(smooth_l1_loss_grad_grad, grad_grad::DefineSmoothL1GradGrad);
REGISTER_CPU_KERNEL(smooth_l1_loss_grad_grad, grad_grad::SmoothL1GradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(smooth_l1_loss_grad_grad, SmoothL1Third);

}  // namespace
}  // namespace dygraph
