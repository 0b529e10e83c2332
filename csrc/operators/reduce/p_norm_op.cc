#include "op/lod_rule.h"
#include "operators/reduce/norms.h"

namespace dygraph::norms {
namespace {

constexpr int kX = 0, kOut = 0;

struct PNormAttrs {
  double porder = 2.0;
  int32_t axis = -1;
  double epsilon = 1.0e-12;
  bool keepdim = false;
  bool asvector = false;
};

struct PNorm {
  static constexpr const char *kType = "p_norm", *kGradGradType = "p_norm_grad_grad";
  static reduce::ReduceAttrs Over(const PNormAttrs& a, const Dims& x) {
    reduce::ReduceAttrs over;
    over.keep_dim = a.keepdim;
    over.reduce_all = a.asvector || x.empty();
    if (!over.reduce_all) over.dim = {NormalizeAxis(a.axis, x.rank())};
    return over;
  }
  static Norm Of(const void* attrs, const Tensor& x) {
    const PNormAttrs& a = *static_cast<const PNormAttrs*>(attrs);
    return {NumberFor(x.dtype(), a.porder), Over(a, x.dims())};
  }
};

void DefinePNorm(OpDef& op) {
  op.Comment(
        "Out = (sum |X|^porder)^(1 / porder) over an axis. porder 0 counts the elements other than "
        "0, inf gives the greatest |X|, -inf the least.")
      .Example(
          ">>> F.p_norm(to_variable([[3.0, 4.0], [6.0, 8.0]])).tolist()\n"
          "[5.0, 10.0]\n"
          ">>> F.p_norm(to_variable([[3.0, -4.0], [6.0, 8.0]]), porder=1.0, axis=0).tolist()\n"
          "[9.0, 12.0]")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X without the axis")
      .Attr(&PNormAttrs::porder, "porder", "the order",
            [](const std::string& name, const AttrValue& value) {
              const double p = NumberOf(value);
              ENFORCE(p == p, InvalidArgument, name, " must be a number or infinite, got nan");
            })
      .Attr(&PNormAttrs::axis, "axis", "the axis; negative ones count from the end")
      .Attr(&PNormAttrs::epsilon, "epsilon", "not read: the gradient is 0 where the norm is")
      .Attr(&PNormAttrs::keepdim, "keepdim", "keep the axis with one element")
      .Attr(&PNormAttrs::asvector, "asvector", "over all axes")
      .ShareLoD(kX)
      .Shape([](InferContext& ctx) {
        const Dims& x = ctx.dims(kX);
        ctx.SetOutput(kOut, reduce::ReducedDims(x, PNorm::Over(ctx.attrs<PNormAttrs>(), x)));
      })
      .Grad([](GradBuilder& g) {
        g.Call("p_norm_grad", {g.Input(kX), g.Output(kOut), g.OutputGrad(kOut)}, {g.InputGrad(kX)})
            .SameAttrs();
      });
}

template <class T>
struct PNormKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    norms::Compute<T>(x, PNorm::Of(ctx.call().attrs, x), &ctx.Out(kOut));
  }
};
template <class T>
using PNormGradKernel = GradKernel<PNorm, T>;
template <class T>
using PNormGradGradKernel = GradGradKernel<PNorm, T>;
using PNormThird = Third<PNorm>;

REGISTER_OPERATOR(p_norm, DefinePNorm);
REGISTER_LOD_RULE(p_norm, [](const LoDCall& c) {
  return !c.attrs<PNormAttrs>().asvector && c.IsBehindFirst(c.attrs<PNormAttrs>().axis);
});
REGISTER_KERNELS(p_norm, PNormKernel, float, double);
REGISTER_OPERATOR(p_norm_grad, DefineGrad<PNorm>);
REGISTER_KERNELS(p_norm_grad, PNormGradKernel, float, double);
REGISTER_OPERATOR(p_norm_grad_grad, DefineGradGrad<PNorm>);
REGISTER_KERNELS(p_norm_grad_grad, PNormGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(p_norm_grad_grad, PNormThird);

}  // namespace
}  // namespace dygraph::norms
