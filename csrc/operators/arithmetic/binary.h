// What the elementwise_* operators share: Fluid's two broadcast rules, the loops, the slots.
//
// axis = -1 broadcasts as NumPy does. axis >= 0 lays the axes of Y along those of X starting there:
// X [2, 3, 4, 5] with Y [3, 4] and axis 1.
#pragma once

#include "kernels/broadcast.h"
#include "kernels/convert.h"
#include "op/lod_rule.h"
#include "op/op_registry.h"
#include "operators/arithmetic/binary_sums.h"

namespace dygraph::elementwise {

constexpr int kX = 0, kY = 1, kOut = 0;

struct ElementwiseAttrs {
  int32_t axis = -1;
};

// Y's shape with ones where axis leaves gaps, so that the two shapes broadcast as NumPy's do.
Dims AlignY(const Dims& x, const Dims& y, int axis);

void InferShape(InferContext& ctx);

// Whether Out's rows are those of X or of Y: REGISTER_LOD_RULE(elementwise_add, KeepsRows).
bool KeepsRows(const LoDCall& c);

// What all elementwise_* operators declare.
OpDef& DefineBinary(OpDef& op, const char* comment);

// Shape rule of gradients whose first inputs are X and Y, and whose outputs are theirs.
void InferGradShape(InferContext& ctx);

// Dims and strides of two operands over their common shape, in the memory order of a channels-last
// operand if there is one.
struct Plan {
  Dims dims, x, y;
};

// Strides of `t`, whose axes are aligned as `aligned`, over the axes `out`; 0 where it is repeated.
Dims StridesOver(const Tensor& t, const Dims& aligned, const Dims& out);
// The axes in the order of channels-last memory.
void ToChannelsLast(Dims* d);

Plan MakePlan(const Tensor& x, const Dims& x_dims, const Tensor& y, const Dims& y_dims,
              const Dims& out, bool channels_last);

// out = f(x, y), broadcasting.
template <class T, class Out, class F>
void Apply(const Tensor& x, const Tensor& y, int axis, Tensor* out, F f, int64_t cost = 1) {
  if (__builtin_expect(x.dims() == y.dims(), 1)) {
    return kernels::Binary(x.data<T>(), 1, y.data<T>(), 1, out->mutable_data<Out>(), x.numel(), f,
                           cost);
  }
  if (out->numel() == 0) return;
  Plan p = MakePlan(x, x.dims(), y, AlignY(x.dims(), y.dims(), axis), out->dims(),
                    out->layout() == Layout::kNHWC);
  kernels::Broadcast(p.dims, x.data<T>(), p.x, y.data<T>(), p.y, out->mutable_data<Out>(), f, cost);
}

// out = f(g, other), summed over what was broadcast of the operand that `out` is the gradient of,
// aligned as `aligned`.
template <class T, class F>
void GradOf2(const Tensor& g, const Tensor& other, const Dims& other_aligned, const Dims& aligned,
             Tensor* out, F f) {
  if (!out || out->numel() == 0) return;
  bool whole = out->dims() == g.dims();
  Tensor terms;
  if (!whole) terms.Allocate(g.dims(), g.dtype(), g.place(), g.layout());
  Tensor& to = whole ? *out : terms;
  if (other.dims() == g.dims()) {
    kernels::Binary(g.data<T>(), 1, other.data<T>(), 1, to.mutable_data<T>(), g.numel(), f);
  } else if (g.numel() > 0) {
    Plan p = MakePlan(g, g.dims(), other, other_aligned, g.dims(), g.layout() == Layout::kNHWC);
    kernels::Broadcast(p.dims, g.data<T>(), p.x, other.data<T>(), p.y, to.mutable_data<T>(), f);
  }
  if (!whole) ReduceTo<T>(terms, aligned, out);
}

// The same of three values, each of which has the shape of g.
template <class T, class F>
void GradOf3(const Tensor& g, const Tensor& a, const Tensor& b, const Dims& aligned, Tensor* out,
             F f, int64_t cost = 1) {
  if (!out || out->numel() == 0) return;
  bool whole = out->dims() == g.dims();
  Tensor terms;
  if (!whole) terms.Allocate(g.dims(), g.dtype(), g.place(), g.layout());
  Tensor& to = whole ? *out : terms;
  kernels::Zip3(g.data<T>(), a.data<T>(), b.data<T>(), to.mutable_data<T>(), g.numel(), f, cost);
  if (!whole) ReduceTo<T>(terms, aligned, out);
}

}  // namespace dygraph::elementwise
