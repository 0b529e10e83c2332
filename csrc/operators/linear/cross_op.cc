#include "kernels/integer.h"
#include "kernels/pairs.h"
#include "op/lod_rule.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0;
constexpr int32_t kFirst = 9;  // Fluid's word for: the first axis of three elements

struct CrossAttrs {
  int32_t dim = kFirst;
};

int AxisOf(const Dims& x, int32_t dim) {
  int axis = 0;
  if (dim != kFirst) {
    axis = NormalizeAxis(dim, x.rank(), "dim");
  } else {
    while (axis < x.rank() && x[axis] != 3) ++axis;
  }
  ENFORCE(axis < x.rank() && (x[axis] == 3 || x[axis] < 0), InvalidArgument,
          "X must have three elements along dim, got shape ", x, " and dim ", dim,
          ". Declare the size 3, or give dim");
  return axis;
}

void DefineCross(OpDef& op) {
  op.Comment("Out = X x Y, the vector product along an axis of three elements.")
      .Input(kX, "X", "any shape with such an axis")
      .Input(kY, "Y", "shape of X")
      .Output(kOut, "Out", "shape of X")
      .Attr(&CrossAttrs::dim, "dim", "the axis; 9: the first one of three elements")
      .ShareLoD(kX)
      .Shape([](InferContext& ctx) {
        const Dims &x = ctx.dims(kX), &y = ctx.dims(kY);
        ENFORCE(x == y || x.HasUnknown() || y.HasUnknown(), InvalidArgument,
                "X and Y must have one shape, got ", x, " and ", y);
        AxisOf(x, ctx.attrs<CrossAttrs>().dim);
        ctx.SetOutput(kOut, x);
      })
      .Grad([](GradBuilder& g) {
        g.Call("cross", {g.Input(kY), g.OutputGrad(kOut)}, {g.InputGrad(kX)}).SameAttrs();
        g.Call("cross", {g.OutputGrad(kOut), g.Input(kX)}, {g.InputGrad(kY)}).SameAttrs();
      });
}

// a b - c d; integers wrap.
template <class T>
DYGRAPH_INLINE T Cut(T a, T b, T c, T d) {
  return kernels::Minus(kernels::Times(a, b), kernels::Times(c, d));
}

template <class T>
struct CrossKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    int axis = AxisOf(x.dims(), ctx.attrs<CrossAttrs>().dim);
    int64_t outer = Numel(x.dims(), 0, axis), n = Numel(x.dims(), axis + 1, x.rank());
    const T *a = x.data<T>(), *b = ctx.In(kY).data<T>();
    T* to = ctx.Out(kOut).mutable_data<T>();
    kernels::ForEachPair(
        outer, n,
        [=] DYGRAPH_FN(int64_t r, int64_t i) {
          const T *u = a + r * 3 * n + i, *v = b + r * 3 * n + i;
          T* w = to + r * 3 * n + i;
          const T x = Cut(u[n], v[2 * n], u[2 * n], v[n]), y = Cut(u[2 * n], v[0], u[0], v[2 * n]);
          w[2 * n] = Cut(u[0], v[n], u[n], v[0]);
          w[n] = y;
          w[0] = x;
        },
        9);
  }
};

REGISTER_OPERATOR(cross, DefineCross);
REGISTER_LOD_ALSO(cross, kY);
REGISTER_LOD_RULE(cross, [](const LoDCall& c) {
  return AxisOf(c.from.dims(), c.attrs<CrossAttrs>().dim) != 0;
});
REGISTER_KERNELS(cross, CrossKernel, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph
