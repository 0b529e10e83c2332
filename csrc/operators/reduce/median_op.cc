#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/reduce/medians.h"
#include "operators/reduce/picked.h"

// median and nanmedian.
namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0, kMedianIndex = 1;

struct MedianAttrs {
  std::vector<int32_t> axis;
  bool keepdim = true;
  std::string mode = "avg";
};

// Which axes the median is taken over, and the shape that is left.
struct Over {
  std::vector<bool> gone;
  Dims out;
  int64_t n = 1;  // elements of one median, -1 where unknown
};

Over OverOf(const MedianAttrs& a, const Dims& x) {
  Over over{std::vector<bool>(x.size(), a.axis.empty()), {}};
  for (int32_t axis : a.axis) {
    const int at = NormalizeAxis(axis, x.rank());
    if (!x.empty()) over.gone[at] = true;
  }
  for (int i = 0; i < x.rank(); ++i) {
    if (over.gone[i]) over.n = MulSizes(over.n, x[i]);
    if (!over.gone[i] || a.keepdim) over.out.push_back(over.gone[i] ? 1 : x[i]);
  }
  return over;
}

void InferShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  const Over over = OverOf(ctx.attrs<MedianAttrs>(), x);
  ENFORCE(over.n != 0, InvalidArgument, "X must have elements to choose from, got shape ", x);
  const DType type = ctx.dtype(kX);
  ENFORCE(
      type == DType::kFloat32 || type == DType::kFloat64 || ctx.attrs<MedianAttrs>().mode == "min",
      Type, "the mean of two integers may be none: mode must be 'min' for X of ", type,
      ", got 'avg'. Convert with astype('float32')");
  ctx.SetOutput(kOut, over.out);
  Dims places = over.out;
  places.push_back(2);
  ctx.SetOutput(kMedianIndex, places, DType::kInt64);
}

OpDef& Define(OpDef& op) {
  return op.Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X without the axes")
      .Output(kMedianIndex, "MedianIndex",
              "int64, shape of Out and 2: the positions in X of the lower and the upper median, -1 "
              "for none",
              kIntermediate)
      .Attr(&MedianAttrs::axis, "axis", "the axes to choose along; none: all")
      .Attr(&MedianAttrs::keepdim, "keepdim", "keep these axes, with one element")
      .Attr(&MedianAttrs::mode, "mode",
            "of an even number of elements: avg, the mean of the two in the middle, or min, the "
            "lower one",
            OneOf({"avg", "min"}))
      .ShareLoD(kX)
      .Shape(InferShape)
      .Grad([](GradBuilder& g) {
        g.Call("median_grad", {g.InputShape(kX), g.Output(kMedianIndex), g.OutputGrad(kOut)},
               {g.InputGrad(kX)})
            .SameAttrs();
      });
}

void DefineMedian(OpDef& op) {
  Define(op.Comment("Out = the median of X along axes; NaN where an element is NaN.")
             .Example(">>> F.median(to_variable([[5.0, 1.0, 3.0, 2.0]]), axis=[1]).tolist()\n"
                      "[[2.5]]"));
}
void DefineNanmedian(OpDef& op) {
  Define(op.Comment("Out = the median of the elements of X along axes that are not NaN; NaN where "
                    "all are.")
             .Example(">>> F.nanmedian(to_variable([float('nan'), 1.0, 4.0])).tolist()\n"
                      "[2.5]"));
}

template <class T, bool kSkipNan>
void Compute(KernelContext& ctx) {
  const MedianAttrs& a = ctx.attrs<MedianAttrs>();
  const Tensor& x = ctx.In(kX);
  const Over over = OverOf(a, x.dims());
  reduce::ReduceAttrs axes;
  axes.dim.clear();
  for (int i = 0; i < x.rank(); ++i) {
    if (over.gone[i]) axes.dim.push_back(i);
  }
  Tensor* index = ctx.OutOrNull(kMedianIndex);
  medians::Medians<T, kSkipNan>(x, reduce::Axes(x.rank(), axes), a.mode == "min",
                                ctx.Out(kOut).mutable_data<T>(),
                                index ? index->mutable_data<int64_t>() : nullptr);
}

template <class T>
struct MedianKernel {
  static void Compute(KernelContext& ctx) { dygraph::Compute<T, false>(ctx); }
};
template <class T>
struct NanmedianKernel {
  static void Compute(KernelContext& ctx) { dygraph::Compute<T, true>(ctx); }
};

// f(number of the median, position in x) for both elements of each median.
template <class F>
void ForEachMiddle(const KernelContext& ctx, int slot, int64_t medians, int64_t elements, F f) {
  const Tensor& index = ctx.In(slot);
  const int64_t* list = index.data<int64_t>();
  ENFORCE(index.numel() == 2 * medians, InvalidArgument,
          "MedianIndex must have two numbers for each of the ", medians, " medians, got shape ",
          index.dims());
  CheckEach(index.numel(), [=](int64_t i) {
    ENFORCE(list[i] >= -1 && list[i] < elements, OutOfRange, "MedianIndex must lie in [-1, ",
            elements, "), the elements of X, got ", list[i], " at position ", i);
  });
  const IndexGuard guard(ctx, slot, elements);
  kernels::ForEachAdding(medians, 2, [=] DYGRAPH_FN(int64_t i, int64_t k) {
    const int64_t at = list[2 * i + k];
    if (at != -1) f(i, guard(at));
  });
}

namespace grad {
constexpr int kX = 0, kMedianIndex = 1, kOutGrad = 2, kXGrad = 0;

void DefineMedianGrad(OpDef& op) {
  op.Comment("X@GRAD = half of Out@GRAD at each position in MedianIndex, 0 elsewhere.")
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kMedianIndex, "MedianIndex", "result of median or nanmedian")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("median")
      .SameShape(kX, kXGrad)
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .Grad(CallGradient);
}

template <class T>
struct MedianGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& g = ctx.In(kOutGrad);
    Tensor& out = ctx.Out(kXGrad);
    T* to = out.mutable_data<T>();
    const T* from = g.data<T>();
    kernels::Fill(to, out.numel(), T(0));
    ForEachMiddle(ctx, kMedianIndex, g.numel(), out.numel(),
                  [=] DYGRAPH_FN(int64_t i, int64_t at) {
                    kernels::AddAt(to + at, from[i] / T(2));
                  });
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kXGradGrad = 0, kMedianIndex = 1, kOutGradGrad = 0;

void DefineMedianGradGrad(OpDef& op) {
  op.Comment("Out@GRAD@GRAD = the mean of X@GRAD@GRAD at the positions in MedianIndex.")
      .Input(kXGradGrad, "X@GRAD@GRAD", "shape of X")
      .Input(kMedianIndex, "MedianIndex", "result of median or nanmedian")
      .Output(kOutGradGrad, "Out@GRAD@GRAD", "shape of Out")
      .AttrsOf("median")
      .Shape([](InferContext& ctx) {
        Dims out = ctx.dims(kMedianIndex);
        ENFORCE(!out.empty() && (out.back() == 2 || out.back() < 0), InvalidArgument,
                "MedianIndex must have the shape of Out and 2, got ", out);
        out.pop_back();
        ctx.SetOutput(kOutGradGrad, out, ctx.dtype(kXGradGrad));
      })
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("median_grad",
               {g.InputShape(kXGradGrad), g.Input(kMedianIndex), g.OutputGrad(kOutGradGrad)},
               {g.InputGrad(kXGradGrad)})
            .SameAttrs();
      });
}

template <class T>
struct MedianGradGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& ddx = ctx.In(kXGradGrad);
    Tensor& out = ctx.Out(kOutGradGrad);
    const T* from = ddx.data<T>();
    T* to = out.mutable_data<T>();
    kernels::Fill(to, out.numel(), T(0));
    ForEachMiddle(ctx, kMedianIndex, out.numel(), ddx.numel(),
                  [=] DYGRAPH_FN(int64_t i, int64_t at) {
                    kernels::AddAt(to + i, from[at] / T(2));
                  });
  }
};
}  // namespace grad_grad

bool KeepsRows(const LoDCall& c) {
  const std::vector<int32_t>& axes = c.attrs<MedianAttrs>().axis;
  bool behind = !axes.empty();
  for (int32_t axis : axes) behind = behind && c.IsBehindFirst(axis);
  return behind;
}

REGISTER_OPERATOR(median, DefineMedian);
REGISTER_LOD_RULE(median, KeepsRows);
REGISTER_KERNELS(median, MedianKernel, int32_t, int64_t, float, double);
REGISTER_OPERATOR(nanmedian, DefineNanmedian);
REGISTER_LOD_RULE(nanmedian, KeepsRows);
REGISTER_KERNELS(nanmedian, NanmedianKernel, int32_t, int64_t, float, double);
REGISTER_OPERATOR(median_grad, grad::DefineMedianGrad);
REGISTER_KERNELS(median_grad, grad::MedianGradKernel, float, double);
REGISTER_OPERATOR(median_grad_grad, grad_grad::DefineMedianGradGrad);
REGISTER_KERNELS(median_grad_grad, grad_grad::MedianGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph
