#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/index/indexing.h"

namespace dygraph::indexing {
namespace {

constexpr int kX = 0, kRepeats = 1, kOut = 0;

struct RepeatInterleaveAttrs {
  int32_t repeats = 0;
  int32_t dim = 0;
};

// How often the elements of an axis come.
struct Times {
  int64_t each = 0;           // all of them, where there is no list
  std::vector<int64_t> list;  // each
  int64_t total = 0;          // elements along the axis of Out, -1 where unknown

  Times(const Call& call, int slot, int64_t n) {
    const RepeatInterleaveAttrs& a = *static_cast<const RepeatInterleaveAttrs*>(call.attrs);
    if (call.in.count(slot) == 0) {
      ENFORCE(a.repeats >= 0, InvalidArgument, "Repeats must be at least 0, got ", a.repeats);
      each = a.repeats;
      total = MulSizes(n, each);
      return;
    }
    const Tensor& given = call.in.at(slot)->tensor();
    ENFORCE(given.rank() == 1 && (given.dim(0) == n || !BothKnown(given.dim(0), n)),
            InvalidArgument, "RepeatsTensor must have one number for each of the ", n,
            " elements of the axis, got shape ", given.dims());
    total = -1;
    if (!given.has_data()) return;
    list = Integers(given, "RepeatsTensor");
    total = 0;
    for (int64_t times : list) {
      ENFORCE(times >= 0, InvalidArgument, "RepeatsTensor must hold numbers of at least 0, got ",
              times);
      ENFORCE(times <= INT64_MAX - total, OutOfRange,
              "the numbers in RepeatsTensor must add up to an int64, got ", times, " after ",
              total);
      total += times;
    }
  }
  int64_t Of(int64_t i) const { return list.empty() ? each : list[i]; }
};

void InferShape(InferContext& ctx) {
  Dims out = ctx.dims(kX);
  ENFORCE(!out.empty(), InvalidArgument, "X must have an axis to repeat along, got shape []");
  const int axis = NormalizeAxis(ctx.attrs<RepeatInterleaveAttrs>().dim, out.rank(), "dim");
  const Times times(ctx.call(), kRepeats, out[axis]);
  out[axis] = ctx.runtime() || ctx.InputCount(kRepeats) == 0 ? times.total : -1;
  ctx.SetOutput(kOut, out, ctx.dtype(kX));
}

void DefineRepeatInterleave(OpDef& op) {
  op.Comment("Out = the slices of X along dim, each of them several times in a row.")
      .Example(
          ">>> dygraph.repeat_interleave(to_variable([1, 2]), 2).tolist()\n"
          "[1, 1, 2, 2]\n"
          ">>> dygraph.repeat_interleave(to_variable([1, 2]), to_variable([0, 3])).tolist()\n"
          "[2, 2, 2]")
      .Input(kX, "X", "at least one axis")
      .Input(kRepeats, "RepeatsTensor", "int32 or int64, how often each, in place of Repeats",
             kDispensable | kOnHost)
      .Output(kOut, "Out", "shape of X, but along dim")
      .Attr(&RepeatInterleaveAttrs::repeats, "Repeats", "how often all of them")
      .Attr(&RepeatInterleaveAttrs::dim, "dim", "the axis; negative ones count from the end")
      .ShareLoD(kX)
      .Shape(InferShape)
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .Grad(CallGradient);
}

// Calls f(slice, row, times), on several threads: of [outer, n] slices of `width` elements this one
// comes `times` times in Out, from slice `row` on.
template <class F>
void ForRuns(const Times& times, int64_t outer, int64_t n, int64_t width, const F& f) {
  std::vector<int64_t> begins{0};
  for (int64_t k : times.list) begins.push_back(begins.back() + k);
  const int64_t* begin_of = times.list.empty() ? nullptr : begins.data();
  const int64_t each = times.each, total = times.total;
  const int64_t cost = width * std::max<int64_t>(total / std::max<int64_t>(n, 1), 1);
  kernels::ParallelRows(outer * n, cost, [=](int64_t begin, int64_t end) {
    int64_t i = n == 0 ? 0 : begin % n, base = n == 0 ? 0 : begin / n * total;
    for (int64_t s = begin; s < end; ++s) {
      const int64_t first = begin_of ? begin_of[i] : i * each;
      f(s, base + first, begin_of ? begin_of[i + 1] - first : each);
      if (++i < n) continue;
      i = 0;
      base += total;
    }
  });
}

template <class T>
struct RepeatInterleaveKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const int axis = NormalizeAxis(ctx.attrs<RepeatInterleaveAttrs>().dim, x.rank());
    const Times times(ctx.call(), kRepeats, x.dim(axis));
    const int64_t width = Numel(x.dims(), axis + 1, x.rank());
    const T* from = x.data<T>();
    T* to = ctx.Out(kOut).mutable_data<T>();
    if (ctx.Out(kOut).numel() == 0) return;
    const int64_t outer = Numel(x.dims(), 0, axis);
    ForRuns(times, outer, x.dim(axis), width, [=](int64_t i, int64_t row, int64_t k) {
      if (width == 1) {
        const T value = from[i];
        for (int64_t r = row; r < row + k; ++r) to[r] = value;
        return;
      }
      for (int64_t r = row; r < row + k; ++r)
        std::memcpy(to + r * width, from + i * width, width * sizeof(T));
    });
  }
};

namespace grad {
constexpr int kX = 0, kRepeats = 1, kOutGrad = 2, kXGrad = 0;

void DefineRepeatInterleaveGrad(OpDef& op) {
  op.Comment("X@GRAD = the sum of Out@GRAD over the copies of each slice.")
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kRepeats, "RepeatsTensor", "as in the forward call", kDispensable | kOnHost)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("repeat_interleave")
      .SameShape(kX, kXGrad)
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("repeat_interleave", {g.OutputGrad(kXGrad), g.Input(kRepeats)},
               {g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct RepeatInterleaveGradKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kXGrad);
    const Dims& x = out.dims();
    const int axis = NormalizeAxis(ctx.attrs<RepeatInterleaveAttrs>().dim, x.rank());
    const Times times(ctx.call(), kRepeats, x[axis]);
    const int64_t outer = Numel(x, 0, axis), width = Numel(x, axis + 1, x.rank());
    const Tensor& given = ctx.In(kOutGrad);
    ENFORCE(given.numel() == outer * times.total * width, InvalidArgument,
            "Out@GRAD must have the shape of X ", x, " with ", times.total, " along the axis, got ",
            given.dims());
    const T* g = given.data<T>();
    T* to = out.mutable_data<T>();
    if (out.numel() == 0) return;
    ForRuns(times, outer, x[axis], width, [=](int64_t i, int64_t row, int64_t k) {
      if (width == 1) {
        T sum = 0;
        for (int64_t r = row; r < row + k; ++r) sum += g[r];
        to[i] = sum;
        return;
      }
      T* sum = to + i * width;
      std::fill_n(sum, width, T(0));
      for (int64_t r = row; r < row + k; ++r) {
        const T* add = g + r * width;
        for (int64_t j = 0; j < width; ++j) sum[j] += add[j];
      }
    });
  }
};
}  // namespace grad

REGISTER_OPERATOR(repeat_interleave, DefineRepeatInterleave);
REGISTER_LOD_RULE(repeat_interleave, [](const LoDCall& c) {
  return c.IsBehindFirst(c.attrs<RepeatInterleaveAttrs>().dim);
});
REGISTER_CPU_KERNEL(repeat_interleave, RepeatInterleaveKernel, bool, uint8_t, int8_t, int16_t,
                    int32_t, int64_t, float16, bfloat16, float, double);
REGISTER_OPERATOR(repeat_interleave_grad, grad::DefineRepeatInterleaveGrad);
REGISTER_CPU_KERNEL(repeat_interleave_grad, grad::RepeatInterleaveGradKernel, float, double);

}  // namespace
}  // namespace dygraph::indexing
