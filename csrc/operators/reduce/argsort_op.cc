#include "op/lod_rule.h"
#include "operators/reduce/sorting.h"

namespace dygraph::sorting {
namespace {

constexpr int kX = 0, kOut = 0, kIndices = 1;

struct ArgsortAttrs {
  int32_t axis = -1;
  bool descending = false;
};

void DefineArgsort(OpDef& op) {
  op.Comment(
        "Out = X in ascending order along an axis, Indices = where the elements stood. Equal ones "
        "keep their order; a NaN counts as the greatest.")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X")
      .Output(kIndices, "Indices", "shape of X, int64")
      .Attr(&ArgsortAttrs::axis, "axis", "the axis to sort along; negative ones from the end")
      .Attr(&ArgsortAttrs::descending, "descending", "the greatest first")
      .Shape([](InferContext& ctx) {
        const Dims& x = ctx.dims(kX);
        NormalizeAxis(ctx.attrs<ArgsortAttrs>().axis, x.rank());
        ctx.SetOutput(kOut, x);
        ctx.SetOutput(kIndices, x, DType::kInt64);
      })
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        g.Call("top_k_v2_grad", {g.InputShape(kX), g.Output(kIndices), g.OutputGrad(kOut)},
               {g.InputGrad(kX)})
            .Attr("axis", g.attrs<ArgsortAttrs>().axis);
      });
}

template <class T>
struct ArgsortKernel {
  static void Compute(KernelContext& ctx) {
    const ArgsortAttrs& a = ctx.attrs<ArgsortAttrs>();
    const Tensor& x = ctx.In(kX);
    Sort<T>(x, a.axis, x.rank() == 0 ? 1 : x.dim(NormalizeAxis(a.axis, x.rank())), a.descending,
            ctx.Out(kOut).mutable_data<T>(), ctx.Out(kIndices).mutable_data<int64_t>());
  }
};

REGISTER_OPERATOR(argsort, DefineArgsort);
REGISTER_LOD_RULE(argsort, [](const LoDCall& c) {
  return c.IsBehindFirst(c.attrs<ArgsortAttrs>().axis);
});
REGISTER_KERNELS(argsort, ArgsortKernel, uint8_t, int8_t, int16_t, int32_t, int64_t, float,
                    double);

}  // namespace
}  // namespace dygraph::sorting
