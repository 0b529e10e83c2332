#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/higher_gradient.h"
#include "operators/reduce/reduction.h"

namespace dygraph::reduce {
namespace {

void DefineProd(OpDef& op) {
  DefineReduce(op, "Out = the product of X over the axes of dim. An empty product is 1.")
      .Grad(CallGradient);
}

template <class T>
struct ProdKernel {
  static void Compute(KernelContext& ctx) {
    reduce::Compute<kernels::ProdOp, float, double, int32_t, int64_t>(ctx);
  }
};

namespace grad {
constexpr int kX = 0, kOutGrad = 1, kXGrad = 0;

void DefineProdGrad(OpDef& op) {
  op.Comment(
        "X@GRAD = Out@GRAD * the product of the other elements, without a division: exact beside "
        "zeros.")
      .Input(kX, "X", "input of the reduction")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("reduce_prod")
      .SameShape(kX, kXGrad)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("reduce_prod_grad_grad", {g.Input(kX), g.Input(kOutGrad), g.OutputGrad(kXGrad)},
               {g.InputGrad(kX), g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct ProdGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    if (x.numel() == 0) return;
    Tensor g = CastTo(ctx.In(kOutGrad), x.dtype());
    const T *values = x.data<T>(), *gs = g.data<T>();
    T* out = ctx.Out(kXGrad).mutable_data<T>();
    Axes axes(x.rank(), ctx.attrs<ReduceAttrs>());
    ForEachResult(x.dims(), axes,
                  [=] DYGRAPH_FN(int64_t o, int64_t first, const Elements& elements,
                                 kernels::Team team) {
                    const Elements* places = &elements;
                    team.Once([=] {
                      double before = 1, after = gs[o];
                      for (int64_t i = 0; i < places->count; ++i) {
                        const int64_t at = first + (*places)[i];
                        out[at] = static_cast<T>(before);
                        before *= values[at];
                      }
                      for (int64_t i = places->count; i-- > 0;) {
                        const int64_t at = first + (*places)[i];
                        out[at] = static_cast<T>(out[at] * after);
                        after *= values[at];
                      }
                    });
                  });
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kX = 0, kOutGrad = 1, kXGradGrad = 2, kX2Grad = 0, kOutGradGrad = 1;

void InferGradGradShape(InferContext& ctx) {
  ctx.SetOutput(kX2Grad, ctx.dims(kX), ctx.dtype(kX));
  ctx.SetOutput(kOutGradGrad, ctx.dims(kOutGrad), ctx.dtype(kOutGrad));
}

void DefineProdGradGrad(OpDef& op);

struct ProdThird {
  static constexpr uint32_t kServes = higher::Slots(kX, kOutGrad, kXGradGrad);
  static void Define(OpDef& op) { DefineProdGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) {
    return {{kX, kXGradGrad, kX2Grad}};
  }
  static std::vector<higher::Result> Results(const KernelContext&) {
    return {{kOutGrad, kOutGradGrad}};
  }
  static void Run(higher::Problem& p) {
    const Dims& x = p.ctx.In(kX).dims();
    Axes axes(x.rank(), p.ctx.attrs<ReduceAttrs>());
    std::vector<int64_t> elements = ElementOffsets(x, axes);
    ForEachResultInOrder(x, axes, [&](int64_t o, int64_t first) {
      higher::Scalar product = kernels::Constant(1);
      for (int64_t e : elements) product = product * p.Leaf(0, first + e);
      p.Set(0, o, product);
      p.Flush();
    });
  }
};

void DefineProdGradGrad(OpDef& op) {
  op.Comment(
        "The gradient of the product along X@GRAD@GRAD: Out@GRAD@GRAD = d prod(X + t V)/dt at t = "
        "0 with V = "
        "X@GRAD@GRAD, and X@GRAD2 = Out@GRAD * its gradient with respect to X.")
      .Input(kX, "X", "input of the reduction")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Input(kXGradGrad, "X@GRAD@GRAD", "shape of X")
      .Output(kX2Grad, "X@GRAD2", "shape of X")
      .Output(kOutGradGrad, "Out@GRAD@GRAD", "shape of Out")
      .AttrsOf("reduce_prod")
      .Shape(InferGradGradShape)
      .MixedDTypes()
      .Grad(higher::Recipe<ProdThird>);
}

struct Dual {  // a value and its derivative along V
  double v, d;
  DYGRAPH_INLINE void operator*=(Dual o) { *this = {v * o.v, d * o.v + v * o.d}; }
};

template <class T>
struct ProdGradGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    Tensor* x2 = ctx.OutOrNull(kX2Grad);
    Tensor* gg = ctx.OutOrNull(kOutGradGrad);
    Tensor g = CastTo(ctx.In(kOutGrad), x.dtype());
    Tensor total(g.dims(), x.dtype(), x.place());
    const T *values = x.data<T>(), *along = ctx.In(kXGradGrad).data<T>(), *gs = g.data<T>();
    T *out = x2 ? x2->mutable_data<T>() : nullptr, *totals = total.mutable_data<T>();
    Axes axes(x.rank(), ctx.attrs<ReduceAttrs>());
    Scratch room = ctx.Workspace(out ? x.numel() * sizeof(Dual) : 0);
    Dual* before = room.as<Dual>();  // the product of the elements before each
    ForEachResult(x.dims(), axes,
                  [=] DYGRAPH_FN(int64_t o, int64_t first, const Elements& elements,
                                 kernels::Team team) {
                    const Elements* places = &elements;
                    team.Once([=] {
                      Dual product{1, 0};
                      for (int64_t i = 0; i < places->count; ++i) {
                        const int64_t at = first + (*places)[i];
                        if (out) before[at] = product;
                        product *= {values[at], along[at]};
                      }
                      totals[o] = static_cast<T>(product.d);
                      if (!out) return;
                      Dual after{1, 0};
                      for (int64_t i = places->count; i-- > 0;) {
                        const int64_t at = first + (*places)[i];
                        before[at] *= after;
                        out[at] = static_cast<T>(gs[o] * before[at].d);
                        after *= {values[at], along[at]};
                      }
                    });
                  });
    if (gg) kernels::Cast(x.dtype(), totals, gg->dtype(), gg->mutable_raw_data(), gg->numel());
  }
};
}  // namespace grad_grad
using grad_grad::ProdThird;

REGISTER_OPERATOR(reduce_prod, DefineProd);
REGISTER_OPEN_ATTRS(reduce_prod, "dim");
REGISTER_LOD_RULE(reduce_prod, KeepsRows);
REGISTER_KERNELS(reduce_prod, ProdKernel, float, double, int32_t, int64_t);
REGISTER_OPERATOR(reduce_prod_grad, grad::DefineProdGrad);
REGISTER_KERNELS(reduce_prod_grad, grad::ProdGradKernel, float, double);
REGISTER_OPERATOR(reduce_prod_grad_grad, grad_grad::DefineProdGradGrad);
REGISTER_KERNELS(reduce_prod_grad_grad, grad_grad::ProdGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(reduce_prod_grad_grad, ProdThird);

}  // namespace
}  // namespace dygraph::reduce
