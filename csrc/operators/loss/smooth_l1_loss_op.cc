#include <cmath>

#include "kernels/fold.h"
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

// What a call reads, element by element.
template <class T>
struct Given {
  explicit Given(const KernelContext& ctx)
      : x(ctx.In(kX).data<T>()),
        y(ctx.In(kY).data<T>()),
        inside(ctx.HasInput(kInside) ? ctx.In(kInside).data<T>() : nullptr),
        outside(ctx.HasInput(kOutside) ? ctx.In(kOutside).data<T>() : nullptr),
        rows(ctx.In(kX).dim(0)),
        width(rows ? ctx.In(kX).numel() / rows : 0) {
    const T sigma = static_cast<T>(ctx.attrs<SmoothL1Attrs>().sigma);
    s2 = sigma * sigma;
  }
  DYGRAPH_INLINE T Inside(int64_t i) const { return inside ? inside[i] : T(1); }
  DYGRAPH_INLINE T Outside(int64_t i) const { return outside ? outside[i] : T(1); }
  DYGRAPH_INLINE T Difference(int64_t i) const { return Inside(i) * (x[i] - y[i]); }
  // Whether the square applies, and the slope there.
  DYGRAPH_INLINE bool IsNear(T d) const { return std::abs(d) * s2 < T(1); }
  DYGRAPH_INLINE T Slope(T d) const {
    return IsNear(d) ? d * s2 : d > T(0) ? T(1) : d < T(0) ? T(-1) : d;
  }
  const T *x, *y, *inside, *outside;
  int64_t rows, width;
  T s2;
};

template <class T>
struct SmoothL1Kernel {
  static void Compute(KernelContext& ctx) {
    Tensor *diff = ctx.OutOrNull(kDiff), *out = ctx.OutOrNull(kOut);
    T* d_out = diff ? diff->mutable_data<T>() : nullptr;
    T* loss = out ? out->mutable_data<T>() : nullptr;
    const Given<T> given(ctx);
    kernels::ForEachRowPlain(
        given.rows, given.width, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
          const Given<T>* in = &given;
          const int64_t first = r * in->width;
          const T sum = kernels::Fold(
              team, in->width, T(0),
              [=](int64_t j) {
                const int64_t i = first + j;
                const T d = in->Difference(i), size = std::abs(d), s2 = in->s2;
                if (d_out) d_out[i] = d;
                return in->Outside(i) *
                       (in->IsNear(d) ? T(0.5) * d * d * s2 : size - T(0.5) / s2);
              },
              kernels::Sum());
          team.Once([=] {
            if (loss) loss[r] = sum;
          });
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
    const Given<T> given(ctx);
    kernels::ForEachRowPlain(
        given.rows, given.width, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
          const Given<T>* in = &given;
          const int64_t first = r * in->width;
          team.Each(in->width, [=](int64_t j) {
            const int64_t i = first + j;
            const T v = g[r] * in->Inside(i) * in->Outside(i) * in->Slope(in->Difference(i));
            if (dx) dx[i] = v;
            if (dy) dy[i] = -v;
          });
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
    const Given<T> given(p.ctx);
    const double s2 = static_cast<double>(given.s2);
    std::vector<Scalar> sums(given.rows);
    for (Scalar& sum : sums) sum = kernels::Constant(0);
    for (int64_t i = 0; i < given.rows * given.width; ++i) {
      Scalar d = (p.Leaf(0, i) - static_cast<double>(given.y[i])) *
                 static_cast<double>(given.Inside(i));
      const double size = ValueOf(d) < 0 ? -1 : 1;
      Scalar loss = std::fabs(ValueOf(d)) * s2 < 1 ? d * d * (0.5 * s2) : d * size;
      Scalar& sum = sums[i / given.width];
      sum = sum + loss * static_cast<double>(given.Outside(i));
    }
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
    const T *g = ctx.In(kOutGrad).data<T>(), *v = ctx.In(kV).data<T>();
    const Given<T> given(ctx);
    kernels::ForEachRowPlain(
        given.rows, given.width, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
          const Given<T>* in = &given;
          const int64_t first = r * in->width;
          const T sum = kernels::Fold(
              team, in->width, T(0),
              [=](int64_t j) {
                const int64_t i = first + j;
                const T inside = in->Inside(i), outside = in->Outside(i), d = in->Difference(i);
                if (dx) {
                  dx[i] = in->IsNear(d) ? v[i] * g[r] * outside * inside * inside * in->s2 : T(0);
                }
                return v[i] * outside * inside * in->Slope(d);
              },
              kernels::Sum());
          team.Once([=] {
            if (dg) dg[r] = sum;
          });
        });
  }
};
}  // namespace grad_grad
using grad_grad::SmoothL1Third;

REGISTER_OPERATOR(smooth_l1_loss, DefineSmoothL1);
REGISTER_LOD_ALSO(smooth_l1_loss, kY);
REGISTER_KERNELS(smooth_l1_loss, SmoothL1Kernel, float, double);
REGISTER_OPERATOR(smooth_l1_loss_grad, grad::DefineSmoothL1Grad);
REGISTER_KERNELS(smooth_l1_loss_grad, grad::SmoothL1GradKernel, float, double);
REGISTER_OPERATOR(smooth_l1_loss_grad_grad, grad_grad::DefineSmoothL1GradGrad);
REGISTER_KERNELS(smooth_l1_loss_grad_grad, grad_grad::SmoothL1GradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(smooth_l1_loss_grad_grad, SmoothL1Third);

}  // namespace
}  // namespace dygraph
