#include "op/lod_rule.h"
#include "op/open_attr.h"
#include "operators/arithmetic/cumulative.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct CumsumAttrs {
  int32_t axis = -1;
  bool flatten = false;
  bool exclusive = false;
  bool reverse = false;
};

void InferShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  const CumsumAttrs& a = ctx.attrs<CumsumAttrs>();
  if (a.flatten) return ctx.SetOutput(kOut, {x.HasUnknown() ? -1 : Numel(x)});
  if (ctx.runtime() || !IsOpen(a.axis)) NormalizeAxis(a.axis, x.rank());
  ctx.SetOutput(kOut, x);
}

// The sum of what comes after is undone by the sum of what comes before.
void Mirrored(const void* forward, void* backward) {
  const CumsumAttrs& a = *static_cast<const CumsumAttrs*>(forward);
  CumsumAttrs& b = *static_cast<CumsumAttrs*>(backward);
  b = a;
  b.reverse = !a.reverse;
}

void DefineCumsum(OpDef& op) {
  op.Comment(
        "Out[i] = X[0] + ... + X[i] along an axis; exclusive leaves X[i] out, reverse sums from "
        "the end. Integers wrap.")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X; one axis with flatten")
      .Attr(&CumsumAttrs::axis, "axis", "the axis to sum along; negative ones count from the end")
      .Attr(&CumsumAttrs::flatten, "flatten", "sum over all elements of X as if it had one axis")
      .Attr(&CumsumAttrs::exclusive, "exclusive", "each sum without its own element")
      .Attr(&CumsumAttrs::reverse, "reverse", "from the end to the beginning")
      .Shape(InferShape)
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        if (!g.attrs<CumsumAttrs>().flatten) {
          g.Call("cumsum", {g.OutputGrad(kOut)}, {g.InputGrad(kX)}).AttrsFrom(Mirrored);
          return;
        }
        RecipeRef sums = g.Temp();
        g.Call("cumsum", {g.OutputGrad(kOut)}, {sums}).AttrsFrom(Mirrored);
        g.Call("reshape2_grad", {g.InputShape(kX), sums}, {g.InputGrad(kX)});
      });
}

template <class T>
struct CumsumKernel {
  static void Compute(KernelContext& ctx) {
    const CumsumAttrs& a = ctx.attrs<CumsumAttrs>();
    const Tensor& x = ctx.In(kX);
    cumulative::Lines l;
    l.n = x.numel();
    if (!a.flatten && x.rank() > 0) l = cumulative::Along(x.dims(), a.axis);
    cumulative::Sums(x.data<T>(), ctx.Out(kOut).mutable_data<T>(), l, a.exclusive, a.reverse);
  }
};

REGISTER_OPERATOR(cumsum, DefineCumsum);
REGISTER_LOD_RULE(cumsum, [](const LoDCall& c) {
  const CumsumAttrs& a = c.attrs<CumsumAttrs>();
  return !a.flatten && !(c.described() && IsOpen(a.axis)) && c.IsBehindFirst(a.axis);
});
REGISTER_OPEN_ATTRS(cumsum, "axis");
REGISTER_KERNELS(cumsum, CumsumKernel, uint8_t, int8_t, int16_t, int32_t, int64_t, float, double);

}  // namespace
}  // namespace dygraph
