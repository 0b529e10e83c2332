#include "operators/arithmetic/binary.h"

namespace dygraph::elementwise {

Dims AlignY(const Dims& x, const Dims& y, int axis) {
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

namespace {
__attribute__((noinline)) void InferBroadcast(InferContext& ctx, const Dims& x, const Dims& y) {
  ctx.SetOutput(kOut, BroadcastDims(x, AlignY(x, y, ctx.attrs<ElementwiseAttrs>().axis)));
}
}  // namespace

void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &y = ctx.dims(kY);
  if (__builtin_expect(x == y, 1)) return ctx.SetOutput(kOut, x);
  InferBroadcast(ctx, x, y);
}

bool KeepsRows(const LoDCall& c) {
  const bool laid_along_rows = c.slot == kY && c.attrs<ElementwiseAttrs>().axis == 0;
  return laid_along_rows || c.out.rank() <= c.from.rank();
}

OpDef& DefineBinary(OpDef& op, const char* comment) {
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

void InferGradShape(InferContext& ctx) {
  ctx.SetOutput(0, ctx.dims(kX), ctx.dtype(kX));
  ctx.SetOutput(1, ctx.dims(kY), ctx.dtype(kY));
}

Dims StridesOver(const Tensor& t, const Dims& aligned, const Dims& out) {
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

void ToChannelsLast(Dims* d) {
  int64_t channel = (*d)[1];
  for (int i = 1; i + 1 < d->rank(); ++i) (*d)[i] = (*d)[i + 1];
  d->back() = channel;
}

Plan MakePlan(const Tensor& x, const Dims& x_dims, const Tensor& y, const Dims& y_dims,
              const Dims& out, bool channels_last) {
  Plan p{out, StridesOver(x, x_dims, out), StridesOver(y, y_dims, out)};
  if (channels_last) {
    ToChannelsLast(&p.dims);
    ToChannelsLast(&p.x);
    ToChannelsLast(&p.y);
  }
  return p;
}

}  // namespace dygraph::elementwise
