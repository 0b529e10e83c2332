// put_along_axis: what its calls share, wherever they compute.
#pragma once

#include "kernels/simd.h"
#include "operators/index/along_shape.h"

namespace dygraph::indexing {

// Slots of put_along_axis and of its gradients.
constexpr int kInput = 0, kIndex = 1, kValue = 2, kResultGrad = 3;

struct PutAlongAxisAttrs {
  int32_t axis = 0;
  std::string reduce = "assign";
  bool include_self = true;
};

enum class Reduce { kAssign, kAdd, kMultiply, kMean, kLeast, kMost };

inline Reduce ReduceOf(const PutAlongAxisAttrs& a) {
  if (a.reduce == "assign") return Reduce::kAssign;
  if (a.reduce == "add") return Reduce::kAdd;
  if (a.reduce == "mean") return Reduce::kMean;
  if (a.reduce == "amin") return Reduce::kLeast;
  if (a.reduce == "amax") return Reduce::kMost;
  ENFORCE(a.reduce == "mul" || a.reduce == "multiply", InvalidArgument,
          "Reduce must be 'assign', 'add', 'mul', 'multiply', 'mean', 'amin' or 'amax', got '",
          a.reduce, "'");
  return Reduce::kMultiply;
}
inline bool IsExtreme(Reduce r) { return r == Reduce::kLeast || r == Reduce::kMost; }

// The axis, and the shape of Input's part that Index addresses.
struct Target {
  int axis;
  Dims shape;
};

// Checks the shapes.
inline Target CheckShapes(const PutAlongAxisAttrs& a, const Dims& x, const Dims& index,
                          const Dims& value) {
  ENFORCE(!x.empty(), InvalidArgument, "Input must have an axis to put along, got shape []");
  Target t;
  t.axis = NormalizeAxis(a.axis, x.rank(), "Axis");
  ReduceOf(a);
  t.shape = AlongDims(x, index, t.axis, "Input");
  bool fits = value.size() == t.shape.size();
  for (size_t i = 0; fits && i < value.size(); ++i)
    fits = value[i] == t.shape[i] || value[i] == 1 || !BothKnown(value[i], t.shape[i]);
  ENFORCE(fits, InvalidArgument, "Value must have the shape that Index addresses, ", t.shape,
          ", or ones in it, got ", value);
  return t;
}

inline Dims RepeatedStrides(const Dims& value, const Dims& shape) {
  Dims strides = Strides(value);
  for (int a = 0; a < shape.rank(); ++a) {
    if (value[a] == 1) strides[a] = 0;
  }
  return strides;
}

// Value repeated to `shape`; the tensor itself where it has that shape.
inline Tensor RepeatedValue(const Tensor& value, const Dims& shape) {
  if (value.dims() == shape) return value;
  Tensor full(shape, value.dtype(), value.place());
  if (full.numel() > 0)
    kernels::CopyStrided(shape, value.raw_data(), RepeatedStrides(value.dims(), shape),
                         full.mutable_raw_data(), Strides(shape), SizeOf(value.dtype()));
  return full;
}

// Whether v takes the place of `now`; a NaN does.
template <class T>
DYGRAPH_INLINE bool Beats(Reduce reduce, T v, T now) {
  return v != v || (reduce == Reduce::kLeast ? v < now : v > now);
}

// Outputs of the gradient.
constexpr int kInputGrad = 0, kValueGrad = 1;

inline void InferPutGradShape(InferContext& ctx) {
  CheckShapes(ctx.attrs<PutAlongAxisAttrs>(), ctx.dims(kInput), ctx.dims(kIndex), ctx.dims(kValue));
  ctx.SetOutput(kInputGrad, ctx.dims(kInput), ctx.dtype(kInput));
  ctx.SetOutput(kValueGrad, ctx.dims(kValue), ctx.dtype(kInput));
}

}  // namespace dygraph::indexing
