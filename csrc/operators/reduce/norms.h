// What p_norm, frobenius_norm, l1_norm and dist share: the p-norm over some axes,
// (sum |x|^p)^(1/p); p = 0 counts what is not 0, infinity is the greatest, -infinity the least |x|.
// Where the norm is 0 its gradient is 0, at the kinks of |x| as well; of equally great elements the
// first gets the gradient.
#pragma once

#include "operators/higher_gradient.h"
#include "operators/reduce/reduction.h"

namespace dygraph::norms {

struct Norm {
  double p;
  reduce::ReduceAttrs over;  // which axes
};

// Compute, Grad and GradGrad are of float and double.
template <class T>
void Compute(const Tensor& x, const Norm& norm, Tensor* out);

// x_grad = g d norm / d x.
template <class T>
void Grad(const Tensor& x, const Tensor& out, const Tensor& g, const Norm& norm, Tensor* x_grad);

// What flows back from w, the gradient of x_grad: into g it is w d norm / d x, into x
// g (p - 1) (|x|^(p - 2) norm^(1 - p) w - u (u w) / norm) with u = d norm / d x.
template <class T>
void GradGrad(const Tensor& x, const Tensor& out, const Tensor& g, const Tensor& w,
              const Norm& norm, Tensor* g_grad, Tensor* x_grad);

void RunThird(higher::Problem& problem, const Norm& norm);  // of X alone, direction in slot 3

// The gradient operators of an operator Out = norm of X. D has kType, kGradGradType and
// Of(attributes, X).
template <class D>
void DefineGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD d Out / d X, 0 where the norm is 0.")
      .Input(0, "X", "input of the norm")
      .Input(1, "Out", "the norm")
      .Input(2, "Out@GRAD", "shape of Out")
      .Output(0, "X@GRAD", "shape of X")
      .AttrsOf(D::kType)
      .SameShape(0, 0)
      .Grad([](GradBuilder& g) {  // Out is taken as what it is, a function of X
        g.Call(D::kGradGradType, {g.Input(0), g.Input(1), g.Input(2), g.OutputGrad(0)},
               {g.InputGrad(2), g.InputGrad(0)})
            .SameAttrs();
      });
}

template <class D, class T>
struct GradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(0);
    Grad<T>(x, ctx.In(1), ctx.In(2), D::Of(ctx.call().attrs, x), &ctx.Out(0));
  }
};

template <class D>
void DefineGradGrad(OpDef& op);

template <class D>
struct Third {
  static constexpr uint32_t kServes = higher::Slots(0, 2, 3);
  static void Define(OpDef& op) { DefineGradGrad<D>(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) { return {{0, 3, 1}}; }
  static std::vector<higher::Result> Results(const KernelContext&) { return {{2, 0}}; }
  static void Run(higher::Problem& problem) {
    RunThird(problem, D::Of(problem.ctx.call().attrs, problem.ctx.In(0)));
  }
};

template <class D>
void DefineGradGrad(OpDef& op) {
  op.Comment("The gradients of X@GRAD with respect to Out@GRAD and X.")
      .Input(0, "X", "input of the norm")
      .Input(1, "Out", "the norm")
      .Input(2, "Out@GRAD", "shape of Out")
      .Input(3, "X@GRAD@GRAD", "shape of X")
      .Output(0, "Out@GRAD@GRAD", "shape of Out")
      .Output(1, "X@GRAD2", "shape of X")
      .AttrsOf(D::kType)
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(0, ctx.dims(1));
        ctx.SetOutput(1, ctx.dims(0));
        ENFORCE(ctx.dims(3) == ctx.dims(0) || !ctx.runtime(), InvalidArgument,
                "X@GRAD@GRAD must have the shape of X, ", ctx.dims(0), ", got ", ctx.dims(3));
      })
      .Grad(higher::Recipe<Third<D>>);
}

template <class D, class T>
struct GradGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(0);
    GradGrad<T>(x, ctx.In(1), ctx.In(2), ctx.In(3), D::Of(ctx.call().attrs, x), ctx.OutOrNull(0),
                ctx.OutOrNull(1));
  }
};

}  // namespace dygraph::norms
