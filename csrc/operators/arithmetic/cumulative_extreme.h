// cummax and cummin: the extreme of the elements so far, and where it stands. A policy says whether
// a later element takes the place of the extreme, as equal ones do, and which number any other
// replaces; a NaN takes every place.
#pragma once

#include "op/lod_rule.h"
#include "operators/arithmetic/cumulative.h"

namespace dygraph::cumulative {

constexpr int kX = 0, kOut = 0, kIndices = 1;

struct ExtremeAttrs {
  int32_t axis = -1;
  DType dtype = DType::kInt64;
};

inline OpDef& DefineExtreme(OpDef& op) {
  return op.Input(kX, "x", "at least one axis")
      .Output(kOut, "out", "shape of x")
      .Output(kIndices, "indices", "shape of x: places along the axis, the last of equal ones")
      .Attr(&ExtremeAttrs::axis, "axis", "the axis; negative ones count from the end")
      .Attr(&ExtremeAttrs::dtype, "dtype", "element type of indices, int64 or int32")
      .Shape([](InferContext& ctx) {
        const Dims& x = ctx.dims(kX);
        const ExtremeAttrs& a = ctx.attrs<ExtremeAttrs>();
        ENFORCE(!x.empty(), InvalidArgument, "x must have an axis, got shape []");
        ENFORCE(a.dtype == DType::kInt64 || a.dtype == DType::kInt32, InvalidArgument,
                "the attribute dtype must be int64 or int32, got ", a.dtype);
        NormalizeAxis(a.axis, x.rank());
        ctx.SetOutput(kOut, x);
        ctx.SetOutput(kIndices, x, a.dtype);
      })
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {  // each gradient goes where the extreme stands
        g.Call("take_along_axis_grad", {g.InputShape(kX), g.Output(kIndices), g.OutputGrad(kOut)},
               {g.InputGrad(kX)})
            .Attr("Axis", g.attrs<ExtremeAttrs>().axis);
      });
}

template <class T>
struct Extreme {
  T value;
  int64_t place;  // -1: of nothing
};

template <class Choice, class T, class I>
struct ExtremesSoFar {
  using State = Extreme<T>;
  const T* x;
  T* out;
  I* indices;
  DYGRAPH_INLINE State None() const { return {Choice::template Least<T>(), -1}; }
  DYGRAPH_INLINE State Load(int64_t at, int64_t i) const { return {x[at], i}; }
  DYGRAPH_INLINE State Next(State best, State more) const {  // no number replaces a NaN
    return more.value != more.value || Choice::Replaces(more.value, best.value) ? more : best;
  }
  DYGRAPH_INLINE State Merge(State best, State more) const {
    return more.place < 0 ? best : Next(best, more);
  }
  DYGRAPH_INLINE void Store(int64_t at, State, State best) const {
    out[at] = best.value;
    indices[at] = static_cast<I>(best.place);
  }
};

template <class Choice, class T, class I>
void Extremes(const Lines& l, const T* x, T* out, I* indices) {
  Scan(l, false, ExtremesSoFar<Choice, T, I>{x, out, indices}, 2);
}

template <class Choice, class T>
struct ExtremeKernel {
  static void Compute(KernelContext& ctx) {
    const ExtremeAttrs& a = ctx.attrs<ExtremeAttrs>();
    const Tensor& x = ctx.In(kX);
    Lines l = Along(x.dims(), a.axis);
    T* out = ctx.Out(kOut).mutable_data<T>();
    Tensor& indices = ctx.Out(kIndices);
    if (a.dtype == DType::kInt64) {
      Extremes<Choice>(l, x.data<T>(), out, indices.mutable_data<int64_t>());
    } else {
      Extremes<Choice>(l, x.data<T>(), out, indices.mutable_data<int32_t>());
    }
  }
};

inline bool ExtremeKeepsRows(const LoDCall& c) {
  return c.IsBehindFirst(c.attrs<ExtremeAttrs>().axis);
}

}  // namespace dygraph::cumulative
