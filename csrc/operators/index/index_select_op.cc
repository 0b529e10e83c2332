#include "op/lod_rule.h"
#include "operators/index/gather.h"

namespace dygraph::gather {
namespace {

struct IndexSelectAttrs {
  int32_t dim = 0;
};

void DefineIndexSelect(OpDef& op) {
  DefineSlots(op.Comment("Out[..., i, ...] = X[..., Index[i], ...]: slices of X along dim, by "
                         "number. Gradients of a slice taken more than once add up.")
                  .Example(">>> x = to_variable([[1, 2, 3], [4, 5, 6]])\n"
                           ">>> F.index_select(x, to_variable([2, 0]), dim=1).tolist()\n"
                           "[[3, 1], [6, 4]]"))
      .Attr(&IndexSelectAttrs::dim, "dim", "the axis to take along")
      .ShareLoD(kX)
      .Shape([](InferContext& ctx) { InferShape(ctx, ctx.attrs<IndexSelectAttrs>().dim); })
      .Grad([](GradBuilder& g) {
        g.Call("index_select_grad", {g.InputShape(kX), g.Input(kIndex), g.OutputGrad(kOut)},
               {g.InputGrad(kX)})
            .SameAttrs();
      });
}

void DefineIndexSelectGrad(OpDef& op) {
  DefineGradSlots(op, "index_select").Grad([](GradBuilder& g) {
    g.Call("index_select", {g.OutputGrad(grad::kXGrad), g.Input(grad::kIndex)},
           {g.InputGrad(grad::kOutGrad)})
        .SameAttrs();
  });
}

template <class T>
struct IndexSelectKernel {
  static void Compute(KernelContext& ctx) { Take(ctx, ctx.attrs<IndexSelectAttrs>().dim); }
};

template <class T>
struct IndexSelectGradKernel {
  static void Compute(KernelContext& ctx) { AddBack<T>(ctx, ctx.attrs<IndexSelectAttrs>().dim); }
};

REGISTER_OPERATOR(index_select, DefineIndexSelect);
REGISTER_LOD_RULE(index_select,
                  [](const LoDCall& c) { return GivesRows(c, c.attrs<IndexSelectAttrs>().dim); });
REGISTER_LOD_ALSO(index_select, kIndex);
REGISTER_KERNELS(index_select, IndexSelectKernel, AllTypes);
REGISTER_OPERATOR(index_select_grad, DefineIndexSelectGrad);
REGISTER_KERNELS(index_select_grad, IndexSelectGradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(index_select_grad, IndexSelectGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::gather
