// What the elementwise_* operators share: Fluid's two broadcast rules, the loops, the slots.
//
// axis = -1 broadcasts as NumPy does. axis >= 0 lays the axes of Y along those of X starting there:
// X [2, 3, 4, 5] with Y [3, 4] and axis 1.
#pragma once

#include "kernels/broadcast.h"
#include "op/op_registry.h"

namespace dygraph::elementwise {

constexpr int kX = 0, kY = 1, kOut = 0;

struct ElementwiseAttrs {
  int32_t axis = -1;
};

// Y's shape with ones where axis leaves gaps, so that the two shapes broadcast as NumPy's do.
inline Dims AlignY(const Dims& x, const Dims& y, int axis) {
  if (axis < 0 || y.size() >= x.size()) {
    ENFORCE(axis >= -1, OutOfRange, "the attribute axis must be -1 or at least 0, got ", axis);
    return y;
  }
  int rank = y.rank();
  while (rank > 0 && axis > x.rank() - rank && y[rank - 1] == 1)
    --rank;  // trailing ones match anything
  ENFORCE(axis <= x.rank() - rank, InvalidArgument, "the axes of Y ", y,
          " must lie within those of X ", x, " from axis on, got axis ", axis);
  Dims aligned(x.size(), 1);
  for (int i = 0; i < rank; ++i) aligned[axis + i] = y[i];
  return aligned;
}

inline void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &y = ctx.dims(kY);
  if (__builtin_expect(x == y, 1)) return ctx.SetOutput(kOut, x);
  ctx.SetOutput(kOut, BroadcastDims(x, AlignY(x, y, ctx.attrs<ElementwiseAttrs>().axis)));
}

// What all elementwise_* operators declare.
inline OpDef& DefineBinary(OpDef& op, const char* comment) {
  return op.Comment(comment)
      .Input(kX, "X", "any shape")
      .Input(kY, "Y", "broadcasts with X")
      .Output(kOut, "Out", "the common shape")
      .Attr(&ElementwiseAttrs::axis, "axis", "first axis of X that Y lies along; -1: NumPy's rule")
      .Shape(InferShape)
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut);
}

// Shape rule of gradients whose first inputs are X and Y, and whose outputs are theirs.
inline void InferGradShape(InferContext& ctx) {
  ctx.SetOutput(0, ctx.dims(kX), ctx.dtype(kX));
  ctx.SetOutput(1, ctx.dims(kY), ctx.dtype(kY));
}

// Dims and strides of two operands over their common shape, in the memory order of a channels-last
// operand if there is one.
struct Plan {
  Dims dims, x, y;
};

namespace detail {
inline Dims StridesOver(const Tensor& t, const Dims& aligned, const Dims& out) {
  Dims strides(out.size(), 0);
  int shift = out.rank() - aligned.rank();
  if (t.layout() == Layout::kNHWC) {
    int64_t stride = t.dim(1);
    for (int i = aligned.rank() - 1; i >= 2; --i) {
      strides[shift + i] = aligned[i] == 1 ? 0 : stride;
      stride *= aligned[i];
    }
    strides[shift + 1] = aligned[1] == 1 ? 0 : 1;
    strides[shift] = aligned[0] == 1 ? 0 : stride;
    return strides;
  }
  int64_t stride = 1;
  for (int i = aligned.rank() - 1; i >= 0; --i) {
    strides[shift + i] = aligned[i] == 1 ? 0 : stride;
    stride *= aligned[i];
  }
  return strides;
}

inline void ToChannelsLast(Dims* d) {
  int64_t channel = (*d)[1];
  for (int i = 1; i + 1 < d->rank(); ++i) (*d)[i] = (*d)[i + 1];
  d->back() = channel;
}
}  // namespace detail

inline Plan MakePlan(const Tensor& x, const Dims& x_dims, const Tensor& y, const Dims& y_dims,
                     const Dims& out, bool channels_last) {
  Plan p{out, detail::StridesOver(x, x_dims, out), detail::StridesOver(y, y_dims, out)};
  if (channels_last) {
    detail::ToChannelsLast(&p.dims);
    detail::ToChannelsLast(&p.x);
    detail::ToChannelsLast(&p.y);
  }
  return p;
}

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

// Sums `g` (shape of the result) over what was broadcast of an operand of shape `dims`, aligned as
// `aligned`.
template <class T>
void ReduceTo(const Tensor& g, const Dims& aligned, Tensor* out) {
  if (out->numel() == 0) return;
  if (g.numel() == 0) return kernels::Fill(out->mutable_data<T>(), out->numel(), T(0));
  Dims dims = g.dims(), from = detail::StridesOver(g, dims, dims);
  for (int i = 0; i < dims.rank(); ++i) {
    if (from[i] == 0) from[i] = 1;  // an axis of one element: any stride
  }
  Tensor like = Tensor();
  like.SetMeta(aligned, g.dtype());
  Dims to = detail::StridesOver(like, aligned, dims);
  if (g.layout() == Layout::kNHWC) {  // in the order of memory
    detail::ToChannelsLast(&dims);
    detail::ToChannelsLast(&from);
    detail::ToChannelsLast(&to);
  }
  kernels::SumTo(dims, g.data<T>(), from, out->mutable_data<T>(), to);
}

// `t`, aligned as `aligned`, repeated to the shape and order of `like`; itself where nothing is to
// be repeated.
template <class T>
Tensor Expanded(const Tensor& t, const Dims& aligned, const Tensor& like) {
  if (t.dims() == like.dims()) return t;
  Tensor full(like.dims(), t.dtype(), like.place(), like.layout());
  if (full.numel() == 0) return full;
  Plan p = MakePlan(t, aligned, t, aligned, like.dims(), like.layout() == Layout::kNHWC);
  kernels::Repeat(p.dims, t.data<T>(), p.x, full.mutable_data<T>());
  return full;
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
