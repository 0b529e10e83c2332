#include "op/gradient_call.h"
#include "operators/graph/messages.h"

namespace dygraph::graph {
namespace {

constexpr int kX = 0, kSegmentIds = 1, kRows = 2, kOut = 0, kSummedIds = 1;

struct SegmentPoolAttrs {
  std::string pooltype = "SUM";
};

// Checks the shapes; gives the number of rows of Out, -1 where it is unknown, or would have to be
// brought from a device and is not `needed`.
int64_t CheckShapes(InferContext& ctx, int x_slot, int ids_slot, int rows_slot, bool needed) {
  const Dims &x = ctx.dims(x_slot), &ids = ctx.dims(ids_slot);
  ENFORCE(!x.empty(), InvalidArgument, "X must have rows, got shape []");
  ENFORCE(IsOneAxis(ids) && (ids[0] == x[0] || !BothKnown(ids[0], x[0])), InvalidArgument,
          "SegmentIds must have one number for each of the ", x[0], " rows of X, got shape ", ids);
  if (ctx.HasInput(rows_slot)) {
    IntList given = ReadIntList(ctx.call(), rows_slot, -1, std::vector<int64_t>());
    ENFORCE(given.values.size() >= 1, InvalidArgument, "Rows must hold an integer, got none");
    ENFORCE(!given.known || given.values[0] >= 0, InvalidArgument, "Rows must be at least 0, got ",
            given.values[0]);
    return given.known ? given.values[0] : -1;
  }
  const Tensor& given = ctx.value(ids_slot).tensor();
  const bool on_host = given.place() == CPUPlace();
  if (!ctx.runtime() || !given.has_data() || !(on_host || needed)) return -1;
  const Tensor values = on_host ? given : CopyTo(given, CPUPlace());
  int64_t rows = 0;
  VisitIndices(values, "SegmentIds", [&](auto* v) {
    for (int64_t i = 0; i < values.numel(); ++i) {
      ENFORCE(v[i] >= 0 && v[i] < INT64_MAX, OutOfRange,
              "SegmentIds must be at least 0, and below 2^63 - 1, got ", v[i], " at position ", i);
      rows = std::max<int64_t>(rows, static_cast<int64_t>(v[i]) + 1);
    }
  });
  return rows;
}

Dims WithRows(const Dims& x, int64_t rows) {
  Dims out = x;
  out[0] = rows;
  return out;
}

void DefineSegmentPool(OpDef& op) {
  op.Comment(
        "Out[k] = the SUM, MEAN, MAX or MIN of the rows of X whose SegmentIds are k, 0 where none "
        "is. A NaN wins over numbers. MAX and MIN give the gradient to all equal ones.")
      .Example(
          ">>> x, ids = to_variable([[1.0], [2.0], [5.0]]), to_variable([0, 0, 2])\n"
          ">>> F.segment_pool(x, ids).tolist(), F.segment_pool(x, ids, pooltype=\"MAX\").tolist()\n"
          "([[3.0], [0.0], [5.0]], [[2.0], [0.0], [5.0]])")
      .Input(kX, "X", "[n, ...]")
      .Input(kSegmentIds, "SegmentIds", "[n], int32 or int64, in any order")
      .Input(kRows, "Rows", "integers, the first of them the rows of Out", kDispensable | kOnHost)
      .Output(kOut, "Out", "[rows, ...]: without Rows as many as the greatest number + 1")
      .Output(kSummedIds, "SummedIds", "[rows, 1]: the rows of X in each", kIntermediate)
      .Attr(&SegmentPoolAttrs::pooltype, "pooltype", "SUM, MEAN, MAX or MIN",
            OneOf({"SUM", "MEAN", "MAX", "MIN"}))
      .Shape([](InferContext& ctx) {
        const int64_t rows = CheckShapes(ctx, kX, kSegmentIds, kRows, true);
        ctx.SetOutput(kOut, WithRows(ctx.dims(kX), rows), ctx.dtype(kX));
        ctx.SetOutput(kSummedIds, {rows, 1}, ctx.dtype(kX));
      })
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        const bool values = IsExtreme(PoolOf(g.attrs<SegmentPoolAttrs>().pooltype));
        g.Call("segment_pool_grad",
               {values ? g.Input(kX) : g.InputShape(kX), g.Input(kSegmentIds), g.Input(kRows),
                values ? g.Output(kOut) : RecipeRef(), g.OutputGrad(kOut)},
               {g.InputGrad(kX)})
            .SameAttrs();
      });
}

template <class T>
struct PlainRows {
  const T* x;
  int64_t width;
  DYGRAPH_INLINE T At(int64_t e, int64_t j) const { return x[e * width + j]; }
  const T* Row(int64_t e, T*) const { return x + e * width; }
};

template <class T>
struct SegmentPoolKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    Tensor &out = ctx.Out(kOut), *counts = ctx.OutOrNull(kSummedIds);
    const int64_t width = Numel(x.dims(), 1, x.rank());
    const indexing::IndexList ids = Nodes(ctx, kSegmentIds, out.dim(0));
    const Arrivals arrivals(ids, out.dim(0));
    PoolRows<T>(PoolOf(ctx.attrs<SegmentPoolAttrs>().pooltype), arrivals, width,
                PlainRows<T>{x.data<T>(), width}, out.mutable_data<T>());
    if (counts) CountArrivals(arrivals, counts->mutable_data<T>());
  }
};

// What the gradient of a row of X is of that of its segment: a share, or all or nothing. Row i
// takes its elements from row i of `of`, or from that of its segment.
template <class T>
struct Shares {
  Pool pool;
  const int64_t* segments;
  const T *counts = nullptr, *x = nullptr, *best = nullptr, *of;
  int64_t width;
  bool by_segment;

  Shares(Pool pool, const indexing::IndexList& ids, int64_t rows, Tensor* room, const Tensor& x_in,
         const Tensor* out, const T* of, bool by_segment)
      : pool(pool),
        segments(ids.data),
        of(of),
        width(Numel(x_in.dims(), 1, x_in.rank())),
        by_segment(by_segment) {
    if (pool == Pool::kMean) {
      CountArrivals(Arrivals(ids, rows), room->mutable_data<T>());
      counts = room->data<T>();
    }
    if (!IsExtreme(pool)) return;
    ENFORCE(out && out->dims() == WithRows(x_in.dims(), rows), InvalidArgument,
            "MAX and MIN need Out, the result of the forward call");
    x = x_in.data<T>();
    best = out->data<T>();
  }
  DYGRAPH_INLINE T At(int64_t i, int64_t j) const {
    const int64_t s = segments[i];
    const T whole = of[(by_segment ? s : i) * width + j];
    if (pool == Pool::kSum) return whole;
    if (pool == Pool::kMean) return whole / counts[s];
    const T v = x[i * width + j], b = best[s * width + j];
    return v == b || (v != v && b != b) ? whole : T(0);
  }
  const T* Row(int64_t i, T* room) const {
    const int64_t s = segments[i];
    const T* whole = of + (by_segment ? s : i) * width;
    if (pool == Pool::kSum) return whole;
    if (pool == Pool::kMean) {
      for (int64_t j = 0; j < width; ++j) room[j] = whole[j] / counts[s];
    } else {
      for (int64_t j = 0; j < width; ++j) room[j] = At(i, j);
    }
    return room;
  }
};

namespace grad {
constexpr int kX = 0, kSegmentIds = 1, kRows = 2, kOut = 3, kOutGrad = 4, kXGrad = 0;

void DefineSegmentPoolGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD of a row's segment, times what the row counts in it.")
      .Input(kX, "X", "its shape, for MAX and MIN its values")
      .Input(kSegmentIds, "SegmentIds", "as in the forward call")
      .Input(kRows, "Rows", "as in the forward call", kDispensable | kOnHost)
      .Input(kOut, "Out", "result of the forward call, for MAX and MIN", kDispensable)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("segment_pool")
      .Shape([](InferContext& ctx) {
        CheckShapes(ctx, kX, kSegmentIds, kRows, false);
        ctx.SetOutput(kXGrad, ctx.dims(kX), ctx.dtype(kOutGrad));
      })
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        const bool values = IsExtreme(PoolOf(g.attrs<SegmentPoolAttrs>().pooltype));
        g.Call("segment_pool_grad_grad",
               {values ? g.Input(kX) : g.InputShape(kX), g.Input(kSegmentIds), g.Input(kRows),
                g.Input(kOut), g.InputShape(kOutGrad), g.OutputGrad(kXGrad)},
               {g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct SegmentPoolGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &g = ctx.In(kOutGrad);
    const int64_t rows = g.dim(0), width = Numel(x.dims(), 1, x.rank());
    ENFORCE(g.dims() == WithRows(x.dims(), rows), InvalidArgument,
            "Out@GRAD must have the axes of X ", x.dims(), " behind the first, got ", g.dims());
    const indexing::IndexList ids = Nodes(ctx, kSegmentIds, rows);
    Tensor counts({rows}, DTypeOf<T>::value, ctx.place());
    const Shares<T> shares(PoolOf(ctx.attrs<SegmentPoolAttrs>().pooltype), ids, rows, &counts, x,
                           ctx.InOrNull(kOut), g.data<T>(), true);
    WriteRows(ids.size, width, shares, ctx.Out(kXGrad).mutable_data<T>());
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kX = 0, kSegmentIds = 1, kRows = 2, kOut = 3, kOutGrad = 4, kXGradGrad = 5;
constexpr int kOutGradGrad = 0;

void DefineSegmentPoolGradGrad(OpDef& op) {
  op.Comment(
        "Out@GRAD@GRAD = the sum of X@GRAD@GRAD over each segment, times what the rows count in "
        "it.")
      .Input(kX, "X", "its shape, for MAX and MIN its values")
      .Input(kSegmentIds, "SegmentIds", "as in the forward call")
      .Input(kRows, "Rows", "as in the forward call", kDispensable | kOnHost)
      .Input(kOut, "Out", "result of the forward call, for MAX and MIN", kDispensable)
      .Input(kOutGrad, "Out@GRAD", "its shape", kShapeOnly)
      .Input(kXGradGrad, "X@GRAD@GRAD", "shape of X")
      .Output(kOutGradGrad, "Out@GRAD@GRAD", "shape of Out")
      .AttrsOf("segment_pool")
      .Shape([](InferContext& ctx) {
        CheckShapes(ctx, kX, kSegmentIds, kRows, false);
        ctx.SetOutput(kOutGradGrad, ctx.dims(kOutGrad), ctx.dtype(kXGradGrad));
      })
      .KernelDTypeOf(kXGradGrad)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        const bool values = IsExtreme(PoolOf(g.attrs<SegmentPoolAttrs>().pooltype));
        g.Call("segment_pool_grad",
               {values ? g.Input(kX) : g.InputShape(kX), g.Input(kSegmentIds), g.Input(kRows),
                g.Input(kOut), g.OutputGrad(kOutGradGrad)},
               {g.InputGrad(kXGradGrad)})
            .SameAttrs();
      });
}

template <class T>
struct SegmentPoolGradGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &v = ctx.In(kXGradGrad);
    Tensor& out = ctx.Out(kOutGradGrad);
    const int64_t rows = out.dim(0), width = Numel(x.dims(), 1, x.rank());
    ENFORCE(v.dims() == x.dims(), InvalidArgument, "X@GRAD@GRAD must have the shape of X, ",
            x.dims(), ", got ", v.dims());
    ENFORCE(out.dims() == WithRows(x.dims(), rows), InvalidArgument,
            "Out@GRAD must have the axes of X ", x.dims(), " behind the first, got ", out.dims());
    const indexing::IndexList ids = Nodes(ctx, kSegmentIds, rows);
    const Arrivals arrivals(ids, rows);
    Tensor counts({rows}, DTypeOf<T>::value, ctx.place());
    const Shares<T> shares(PoolOf(ctx.attrs<SegmentPoolAttrs>().pooltype), ids, rows, &counts, x,
                           ctx.InOrNull(kOut), v.data<T>(), false);
    PoolRows<T>(Pool::kSum, arrivals, width, shares, out.mutable_data<T>());
  }
};
}  // namespace grad_grad

REGISTER_OPERATOR(segment_pool, DefineSegmentPool);
REGISTER_KERNELS(segment_pool, SegmentPoolKernel, int32_t, int64_t, float, double);
REGISTER_OPERATOR(segment_pool_grad, grad::DefineSegmentPoolGrad);
REGISTER_KERNELS(segment_pool_grad, grad::SegmentPoolGradKernel, float, double);
REGISTER_OPERATOR(segment_pool_grad_grad, grad_grad::DefineSegmentPoolGradGrad);
REGISTER_KERNELS(segment_pool_grad_grad, grad_grad::SegmentPoolGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph::graph
