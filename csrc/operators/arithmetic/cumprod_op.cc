#include "kernels/dual.h"
#include "kernels/integer.h"
#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/arithmetic/cumulative.h"
#include "operators/higher_gradient.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct CumprodAttrs {
  int32_t dim = 0;
};

cumulative::Lines LinesOf(const KernelContext& ctx) {
  return cumulative::Along(ctx.In(kX).dims(), ctx.attrs<CumprodAttrs>().dim);
}

void DefineCumprod(OpDef& op) {
  op.Comment("Out[i] = X[0] * ... * X[i] along an axis. Integers wrap.")
      .Example(
          ">>> F.cumprod(to_variable([2.0, 3.0, 4.0]), dim=0).tolist()\n"
          "[2.0, 6.0, 24.0]")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X")
      .Attr(&CumprodAttrs::dim, "dim", "the axis; negative ones count from the end")
      .Shape([](InferContext& ctx) {
        const Dims& x = ctx.dims(kX);
        NormalizeAxis(ctx.attrs<CumprodAttrs>().dim, std::max(x.rank(), 1));
        ctx.SetOutput(kOut, x);
      })
      .ShareLoD(kX)
      .Grad(CallGradient);
}

template <class T>
struct CumprodKernel {
  static void Compute(KernelContext& ctx) {
    cumulative::Products(ctx.In(kX).data<T>(), ctx.Out(kOut).mutable_data<T>(), LinesOf(ctx));
  }
};

// X@GRAD[i] = (X[0] ... X[i - 1]) * r[i], r[i] = Out@GRAD[i] + X[i + 1] r[i + 1]: no division, so
// that zeros do no harm. V is a number or a dual one. `x(i)` and `g(i)` give the elements of a
// line, `before` has room for one.
template <class V, class X, class G, class Set>
DYGRAPH_INLINE void GradOfLine(int64_t n, cumulative::Room<V> before, const X& x, const G& g,
                               const Set& set) {
  V product = V(1);
  for (int64_t i = 0; i < n; ++i) {
    before[i] = product;
    product *= x(i);
  }
  V rest = V(0);
  for (int64_t i = n - 1; i >= 0; --i) {
    rest = V(g(i)) + (i + 1 < n ? x(i + 1) * rest : V(0));
    set(i, before[i] * rest);
  }
}

namespace grad {
constexpr int kX = 0, kOutGrad = 1, kXGrad = 0;

void DefineCumprodGrad(OpDef& op) {
  op.Comment(
        "X@GRAD[i] = the sum over j >= i of Out@GRAD[j] times the product of X[0] ... X[j] without "
        "X[i].")
      .Input(kX, "X", "input of cumprod")
      .Input(kOutGrad, "Out@GRAD", "shape of X")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("cumprod")
      .SameShape(kX, kXGrad)
      .Grad([](GradBuilder& g) {
        g.Call("cumprod_grad_grad", {g.Input(kX), g.Input(kOutGrad), g.OutputGrad(kXGrad)},
               {g.InputGrad(kX), g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct CumprodGradKernel {
  static void Compute(KernelContext& ctx) {
    const T *x = ctx.In(kX).data<T>(), *g = ctx.In(kOutGrad).data<T>();
    T* to = ctx.Out(kXGrad).mutable_data<T>();
    cumulative::Lines l = LinesOf(ctx);
    cumulative::ForLinesWithRoom<T>(
        ctx, l, 4, [=] DYGRAPH_FN(int64_t first, cumulative::Room<T> room) {
          auto at = [&](int64_t i) { return first + i * l.inner; };
          GradOfLine<T>(
              l.n, room, [&](int64_t i) { return x[at(i)]; }, [&](int64_t i) { return g[at(i)]; },
              [&](int64_t i, T v) { to[at(i)] = v; });
        });
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kX = 0, kOutGrad = 1, kXGradGrad = 2, kX2Grad = 0, kOutGradGrad = 1;

void DefineCumprodGradGrad(OpDef& op);

struct CumprodThird {
  static constexpr uint32_t kServes = higher::Slots(kX, kOutGrad, kXGradGrad);
  static void Define(OpDef& op) { DefineCumprodGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) {
    return {{kX, kXGradGrad, kX2Grad}};
  }
  static std::vector<higher::Result> Results(const KernelContext&) {
    return {{kOutGrad, kOutGradGrad}};
  }
  static void Run(higher::Problem& p) {
    cumulative::Lines l = LinesOf(p.ctx);
    if (l.n == 0) return;
    for (int64_t line = 0; line < l.rows * l.inner; ++line) {
      int64_t first = line / l.inner * l.n * l.inner + line % l.inner;
      higher::Scalar product = kernels::Constant(1);
      for (int64_t i = 0; i < l.n; ++i) {
        product = product * p.Leaf(0, first + i * l.inner);
        p.Set(0, first + i * l.inner, product);
      }
      p.Flush();
    }
  }
};

void DefineCumprodGradGrad(OpDef& op) {
  op.Comment(
        "With V = X@GRAD@GRAD: Out@GRAD@GRAD = d cumprod(X + t V)/dt at t = 0, and X@GRAD2 = the "
        "same derivative of cumprod_grad.")
      .Input(kX, "X", "input of cumprod")
      .Input(kOutGrad, "Out@GRAD", "shape of X")
      .Input(kXGradGrad, "X@GRAD@GRAD", "shape of X")
      .Output(kX2Grad, "X@GRAD2", "shape of X")
      .Output(kOutGradGrad, "Out@GRAD@GRAD", "shape of X")
      .AttrsOf("cumprod")
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kX2Grad, ctx.dims(kX));
        ctx.SetOutput(kOutGradGrad, ctx.dims(kX));
      })
      .Grad(higher::Recipe<CumprodThird>);
}

template <class T>
struct CumprodGradGradKernel {
  static void Compute(KernelContext& ctx) {
    using Dual = kernels::Dual<T>;
    const T *x = ctx.In(kX).data<T>(), *g = ctx.In(kOutGrad).data<T>(),
            *v = ctx.In(kXGradGrad).data<T>();
    Tensor *x2 = ctx.OutOrNull(kX2Grad), *gg = ctx.OutOrNull(kOutGradGrad);
    T *to = x2 ? x2->mutable_data<T>() : nullptr, *along = gg ? gg->mutable_data<T>() : nullptr;
    cumulative::Lines l = LinesOf(ctx);
    cumulative::ForLinesWithRoom<Dual>(
        ctx, l, 12, [=] DYGRAPH_FN(int64_t first, cumulative::Room<Dual> room) {
          auto at = [&](int64_t i) { return first + i * l.inner; };
          auto dual = [&](int64_t i) { return Dual(x[at(i)], v[at(i)]); };
          if (to) {
            GradOfLine<Dual>(
                l.n, room, dual, [&](int64_t i) { return g[at(i)]; },
                [&](int64_t i, Dual d) { to[at(i)] = d.d; });
          }
          Dual product(T(1));
          for (int64_t i = 0; i < l.n && along; ++i) {
            product *= dual(i);
            along[at(i)] = product.d;
          }
        });
  }
};
}  // namespace grad_grad
using grad_grad::CumprodThird;

REGISTER_OPERATOR(cumprod, DefineCumprod);
REGISTER_LOD_RULE(cumprod,
                  [](const LoDCall& c) { return c.IsBehindFirst(c.attrs<CumprodAttrs>().dim); });
REGISTER_KERNELS(cumprod, CumprodKernel, int32_t, int64_t, float, double);
REGISTER_OPERATOR(cumprod_grad, grad::DefineCumprodGrad);
REGISTER_KERNELS(cumprod_grad, grad::CumprodGradKernel, float, double);
REGISTER_OPERATOR(cumprod_grad_grad, grad_grad::DefineCumprodGradGrad);
REGISTER_KERNELS(cumprod_grad_grad, grad_grad::CumprodGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(cumprod_grad_grad, CumprodThird);

}  // namespace
}  // namespace dygraph
