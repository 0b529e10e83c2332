#include "kernels/fold.h"
#include "kernels/elementwise.h"
#include "operators/reduce/results.h"
#include "op/gradient_call.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kInput = 0, kOut = 0;

struct TraceAttrs {
  int32_t offset = 0;
  int32_t dim1 = -2;
  int32_t dim2 = -1;
};

// The diagonals of x: where each begins, by a walk over the other axes, how many elements it has
// and how far apart they lie.
struct Diagonals {
  Dims others;
  kernels::Walk<2> walk;      // of x and of the results
  kernels::Walk<1> elements;  // of a diagonal
  int64_t begin = 0, count = 0, step = 0;

  Diagonals(const Dims& x, const TraceAttrs& a) {
    ENFORCE(x.rank() >= 2, InvalidArgument, "Input must have at least two axes, got shape ", x);
    int i = NormalizeAxis(a.dim1, x.rank(), "dim1"), j = NormalizeAxis(a.dim2, x.rank(), "dim2");
    ENFORCE(i != j, InvalidArgument, "dim1 and dim2 must be different axes, got ", a.dim1, " and ",
            a.dim2);
    for (int k = 0; k < x.rank(); ++k) {
      if (k != i && k != j) others.push_back(x[k]);
    }
    if (x.HasUnknown()) return;
    Dims strides = Strides(x);
    Dims places = Strides(others);
    for (int k = 0, other = 0; k < x.rank(); ++k) {
      if (k != i && k != j) walk.Push(x[k], {strides[k], places[other++]});
    }
    int64_t offset = a.offset, rows = x[i], columns = x[j];
    if (offset >= 0) {
      count = std::min(rows, columns - offset);
      begin = offset * strides[j];
    } else {
      count = std::min(rows + offset, columns);
      begin = -offset * strides[i];
    }
    count = std::max<int64_t>(count, 0);
    step = strides[i] + strides[j];
    elements.Push(count, {step});
  }
};

void DefineTrace(OpDef& op) {
  op.Comment("Out = the sum of a diagonal of each matrix that the axes dim1 and dim2 make.")
      .Input(kInput, "Input", "at least two axes")
      .Output(kOut, "Out", "shape of Input without the two axes")
      .Attr(&TraceAttrs::offset, "offset", "which diagonal; above the main one positive")
      .Attr(&TraceAttrs::dim1, "dim1", "axis of the rows")
      .Attr(&TraceAttrs::dim2, "dim2", "axis of the columns")
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOut, Diagonals(ctx.dims(kInput), ctx.attrs<TraceAttrs>()).others);
      })
      .Grad(CallGradient);
}

template <class T>
struct TraceKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kInput);
    Tensor& out = ctx.Out(kOut);
    Diagonals d(x.dims(), ctx.attrs<TraceAttrs>());
    const T* from = x.data<T>();
    T* to = out.mutable_data<T>();
    using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;  // integers wrap
    const int64_t begin = d.begin, count = d.count, step = d.step;
    reduce::ForEachResult(d.walk, d.elements, 4,
                          [=] DYGRAPH_FN(int64_t i, int64_t first, const reduce::Elements&,
                                         kernels::Team team) {
                            const T* x = from + begin + first;
                            const Sum sum = kernels::Fold(
                                team, count, Sum(0),
                                [=](int64_t k) { return static_cast<Sum>(x[k * step]); },
                                kernels::Sum());
                            team.Once([=] { to[i] = static_cast<T>(sum); });
                          });
  }
};

namespace grad {
constexpr int kInput = 0, kOutGrad = 1, kInputGrad = 0;

void DefineTraceGrad(OpDef& op) {
  op.Comment("Input@GRAD = Out@GRAD on the diagonals, 0 elsewhere.")
      .Input(kInput, "Input", "its shape", kShapeOnly)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kInputGrad, "Input@GRAD", "shape of Input")
      .AttrsOf("trace")
      .SameShape(kInput, kInputGrad)
      .KernelDTypeOf(kOutGrad)
      .Grad([](GradBuilder& g) {
        g.Call("trace", {g.OutputGrad(kInputGrad)}, {g.InputGrad(kOutGrad)}).SameAttrs();
      });
}

template <class T>
struct TraceGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& g = ctx.In(kOutGrad);
    Tensor& out = ctx.Out(kInputGrad);
    Diagonals d(out.dims(), ctx.attrs<TraceAttrs>());
    T* to = out.mutable_data<T>();
    kernels::Fill(to, out.numel(), T(0));
    const T* from = g.data<T>();
    const int64_t begin = d.begin, count = d.count, step = d.step;
    reduce::ForEachResult(d.walk, d.elements, 4,
                          [=] DYGRAPH_FN(int64_t i, int64_t first, const reduce::Elements&,
                                         kernels::Team team) {
                            T* x = to + begin + first;
                            team.Each(count, [=](int64_t k) { x[k * step] = from[i]; });
                          });
  }
};
}  // namespace grad

REGISTER_OPERATOR(trace, DefineTrace);
REGISTER_KERNELS(trace, TraceKernel, int32_t, int64_t, float, double);
REGISTER_OPERATOR(trace_grad, grad::DefineTraceGrad);
REGISTER_KERNELS(trace_grad, grad::TraceGradKernel, float, double);

}  // namespace
}  // namespace dygraph
