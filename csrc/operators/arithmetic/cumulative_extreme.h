// cummax and cummin: the extreme of the elements so far, and where it stands. A policy says whether
// a later element takes the place of the extreme; equal ones do, and so does a NaN.
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

template <class Choice, class T, class I>
void Extremes(const Lines& l, const T* x, T* out, I* indices) {
  ForLines(l, 2, [=](int64_t first) {
    const int64_t step = l.inner;
    T best = x[first];
    I place = 0;
    for (int64_t i = 0, at = first; i < l.n; ++i, at += step) {
      T v = x[at];
      if (v != v || Choice::Replaces(v, best)) {  // no number replaces a NaN
        best = v;
        place = static_cast<I>(i);
      }
      out[at] = best;
      indices[at] = place;
    }
  });
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
