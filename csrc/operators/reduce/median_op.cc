#include <limits>

#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/reduce/selection.h"

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

// The elements of each median: `n` of them lie from Begin(i) on, element j at At(j).
struct Groups {
  int64_t n = 1, count = 1, inner = 1;
  std::vector<int64_t> begins, places;  // where the axes are not neighbours

  Groups(const Over& over, const Dims& x) {
    const int rank = x.rank();
    int first = 0, last = rank;
    while (first < rank && !over.gone[first]) ++first;
    while (last > first && !over.gone[last - 1]) --last;
    bool neighbours = true;
    for (int i = first; i < last; ++i) neighbours = neighbours && over.gone[i];
    for (int i = 0; i < rank; ++i) (over.gone[i] ? n : count) *= x[i];
    inner = Numel(x, last, rank);
    if (neighbours) return;
    begins = Offsets(over, x, false);
    places = Offsets(over, x, true);
  }
  int64_t Begin(int64_t i) const {
    return begins.empty() ? i / inner * inner * n + i % inner : begins[i];
  }
  int64_t At(int64_t j) const { return places.empty() ? j * inner : places[j]; }

  // Positions of all elements along those axes whose `gone` is this one, from the first element on.
  static std::vector<int64_t> Offsets(const Over& over, const Dims& x, bool gone) {
    std::vector<int64_t> offsets{0};
    const Dims strides = Strides(x);
    for (int i = 0; i < x.rank(); ++i) {
      if (over.gone[i] != gone) continue;
      std::vector<int64_t> next;
      next.reserve(offsets.size() * x[i]);
      for (int64_t base : offsets) {
        for (int64_t k = 0; k < x[i]; ++k) next.push_back(base + k * strides[i]);
      }
      offsets.swap(next);
    }
    return offsets;
  }
};

// The places of the two elements in the middle of the first `count` in order, by the keys of a
// line.
template <class K>
void Middle(const sorting::KeyRoom<K>& room, int64_t count, int64_t* lower, int64_t* upper) {
  *lower = *upper = room.Kth((count - 1) / 2);
  if (count % 2 == 1) return;
  const K key = room.keys[*lower];
  int64_t least = -1;
  K next = ~K(0);
  for (int64_t i = 0; i < room.n; ++i) {  // an equal one behind it, else the next greater
    const K k = room.keys[i];
    if (k == key && i > *lower) {
      *upper = i;
      return;
    }
    if (k > key && (k < next || least < 0)) {
      next = k;
      least = i;
    }
  }
  *upper = least;
}

template <class T, bool kSkipNan>
void Compute(KernelContext& ctx) {
  using K = decltype(sorting::OrderKey(T()));
  const MedianAttrs& a = ctx.attrs<MedianAttrs>();
  const Tensor& x = ctx.In(kX);
  const Groups groups(OverOf(a, x.dims()), x.dims());
  const bool least = a.mode == "min";
  const T* from = x.data<T>();
  T* to = ctx.Out(kOut).mutable_data<T>();
  int64_t* index =
      ctx.OutOrNull(kMedianIndex) ? ctx.Out(kMedianIndex).mutable_data<int64_t>() : nullptr;
  kernels::ParallelRows(groups.count, groups.n * 8, [&](int64_t begin, int64_t end) {
    sorting::KeyRoom<K> room(groups.n);
    for (int64_t i = begin; i < end; ++i) {
      CheckInterrupt();
      const T* in = from + groups.Begin(i);
      int64_t count = groups.n, nan = -1, lower = -1, upper = -1;
      if (groups.places.empty()) {
        sorting::KeysOf(in, groups.inner, groups.n, K(0), K(0), room.keys);
      } else {
        for (int64_t j = 0; j < groups.n; ++j) room.keys[j] = sorting::OrderKey(in[groups.At(j)]);
      }
      if constexpr (!std::is_integral_v<T>) {
        for (int64_t j = 0; j < groups.n; ++j) count -= room.keys[j] == ~K(0);
        if (count < groups.n) nan = std::find(room.keys, room.keys + groups.n, ~K(0)) - room.keys;
      }
      if (nan >= 0 && !kSkipNan) {
        lower = upper = nan;
      } else if (count > 0) {
        Middle(room, count, &lower, &upper);
      }
      if (least) upper = lower;
      if (lower < 0) {
        to[i] = std::numeric_limits<T>::quiet_NaN();
      } else {
        const T low = in[groups.At(lower)], high = in[groups.At(upper)];
        to[i] = lower == upper || low == high ? low : low / T(2) + high / T(2);
      }
      if (!index) continue;
      index[2 * i] = lower < 0 ? -1 : in - from + groups.At(lower);
      index[2 * i + 1] = upper < 0 ? -1 : in - from + groups.At(upper);
    }
  });
}

template <class T>
struct MedianKernel {
  static void Compute(KernelContext& ctx) { dygraph::Compute<T, false>(ctx); }
};
template <class T>
struct NanmedianKernel {
  static void Compute(KernelContext& ctx) { dygraph::Compute<T, true>(ctx); }
};

// f(number of the median, position in x) for both elements of each median, after all were checked.
template <class F>
void ForEachMiddle(const Tensor& index, int64_t medians, int64_t elements, F f) {
  const int64_t* list = index.data<int64_t>();
  ENFORCE(index.numel() == 2 * medians, InvalidArgument,
          "MedianIndex must have two numbers for each of the ", medians, " medians, got shape ",
          index.dims());
  for (int64_t i = 0; i < index.numel(); ++i) {
    ENFORCE(list[i] >= -1 && list[i] < elements, OutOfRange, "MedianIndex must lie in [-1, ",
            elements, "), the elements of X, got ", list[i], " at position ", i);
  }
  for (int64_t i = 0; i < index.numel(); ++i) {
    if (list[i] >= 0) f(i / 2, list[i]);
  }
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
    std::fill(to, to + out.numel(), T(0));
    ForEachMiddle(ctx.In(kMedianIndex), g.numel(), out.numel(),
                  [=](int64_t i, int64_t at) { to[at] += from[i] / T(2); });
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
    std::fill(to, to + out.numel(), T(0));
    ForEachMiddle(ctx.In(kMedianIndex), out.numel(), ddx.numel(),
                  [=](int64_t i, int64_t at) { to[i] += from[at] / T(2); });
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
REGISTER_CPU_KERNEL(median, MedianKernel, int32_t, int64_t, float, double);
REGISTER_OPERATOR(nanmedian, DefineNanmedian);
REGISTER_LOD_RULE(nanmedian, KeepsRows);
REGISTER_CPU_KERNEL(nanmedian, NanmedianKernel, int32_t, int64_t, float, double);
REGISTER_OPERATOR(median_grad, grad::DefineMedianGrad);
REGISTER_CPU_KERNEL(median_grad, grad::MedianGradKernel, float, double);
REGISTER_OPERATOR(median_grad_grad, grad_grad::DefineMedianGradGrad);
REGISTER_CPU_KERNEL(median_grad_grad, grad_grad::MedianGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph
