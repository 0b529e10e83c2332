#include <cmath>

#include "kernels/loops.h"
#include "kernels/table.h"
#include "op/gradient_call.h"
#include "operators/sequence/sequence_loops.h"

namespace dygraph::sequence {
namespace {

constexpr int kX = 0, kOut = 0, kMaxIndex = 1;

struct SequencePoolAttrs {
  std::string pooltype = "AVERAGE";
  double pad_value = 0.0;
  bool is_test = false;
};

int64_t SequencesOf(const InferContext& ctx) {
  return ctx.runtime() ? Count(LastLevel(ctx.value(kX).tensor(), "X")) : -1;
}

void DefineSequencePool(OpDef& op) {
  op.Comment(
        "One row for each sequence of X (of its last level): SUM, AVERAGE, SQRT (the sum over the "
        "root of the length), MAX, FIRST or LAST of its rows; pad_value for a sequence without "
        "rows. MAX takes the first of equal numbers, and a NaN where there is one.")
      .Example(
          ">>> x = to_variable([[1.0], [3.0], [5.0]], lod=[[0, 2, 3]])\n"
          ">>> F.sequence_pool(x).tolist(), F.sequence_pool(x, pooltype=\"MAX\").tolist()\n"
          "([[2.0], [5.0]], [[3.0], [5.0]])")
      .Input(kX, "X", "rows with LoD")
      .Output(kOut, "Out", "[sequences, ...], the LoD above X's last level")
      .Output(kMaxIndex, "MaxIndex",
              "int32, shape of Out: the row of X each number of MAX comes from, -1 for none",
              kIntermediate)
      .Attr(&SequencePoolAttrs::pooltype, "pooltype", "how",
            OneOf({"AVERAGE", "SUM", "SQRT", "MAX", "LAST", "FIRST"}))
      .Attr(&SequencePoolAttrs::pad_value, "pad_value", "of sequences without rows")
      .Attr(&SequencePoolAttrs::is_test, "is_test", "of programs; changes nothing")
      .Shape([](InferContext& ctx) {
        Dims out = WithRows(ctx.dims(kX), SequencesOf(ctx));
        bool max = ctx.attrs<SequencePoolAttrs>().pooltype == "MAX";
        ctx.SetOutput(kOut, out);
        ctx.SetOutput(kMaxIndex, max ? out : Dims{0}, DType::kInt32);
      })
      .Grad([](GradBuilder& g) {
        g.Call("sequence_pool_grad",
               {g.InputShape(kX),
                g.attrs<SequencePoolAttrs>().pooltype == "MAX" ? g.Output(kMaxIndex) : RecipeRef(),
                g.OutputGrad(kOut)},
               {g.InputGrad(kX)})
            .SameAttrs();
      });
}

// What a row of a sequence of `length` counts.
template <class T>
T WeightOf(const std::string& pooltype, int64_t length) {
  if (pooltype == "AVERAGE") return T(1) / static_cast<T>(length);
  return pooltype == "SQRT" ? T(1) / std::sqrt(static_cast<T>(length)) : T(1);
}

// The rows that count, of [begin, end).
void Narrow(const std::string& pooltype, int64_t* begin, int64_t* end) {
  if (pooltype == "FIRST" && *begin < *end) *end = *begin + 1;
  if (pooltype == "LAST" && *begin < *end) *begin = *end - 1;
}

// The rows that each sequence sums up.
template <class T>
std::vector<WeightedRows<T>> PartsOf(const std::string& pooltype, const Offsets& offsets) {
  std::vector<WeightedRows<T>> parts;
  for (int64_t s = 0; s < Count(offsets); ++s) {
    int64_t begin = offsets[s], end = offsets[s + 1];
    const T weight = begin == end ? T(0) : WeightOf<T>(pooltype, end - begin);
    Narrow(pooltype, &begin, &end);
    parts.push_back({begin, end, weight});
  }
  return parts;
}

// The largest number of each column of each sequence, and its row.
template <class T>
void PoolMax(const Offsets& offsets, const T* x, int64_t width, T other, T* y, int32_t* from) {
  kernels::Table<int64_t> table(offsets);
  const int64_t* begin = table.data();
  kernels::ForEach(
      Count(offsets) * width,
      [=] DYGRAPH_FN(int64_t i) {
        const int64_t s = i / width, j = i % width;
        int64_t best = begin[s];
        for (int64_t r = best + 1; r < begin[s + 1]; ++r) {
          const T v = x[r * width + j], top = x[best * width + j];
          if (v > top || (v != v && top == top)) best = r;
        }
        const bool empty = begin[s] == begin[s + 1];
        y[i] = empty ? other : x[best * width + j];
        if (from) from[i] = empty ? -1 : static_cast<int32_t>(best);
      },
      offsets.back() / std::max<int64_t>(Count(offsets), 1) + 1);
}

template <class T>
struct SequencePoolKernel {
  static void Compute(KernelContext& ctx) {
    const SequencePoolAttrs& a = ctx.attrs<SequencePoolAttrs>();
    const Tensor& in = ctx.In(kX);
    const Offsets& offsets = LastLevel(in, "X");
    const T* x = in.data<T>();
    Tensor &out = ctx.Out(kOut), *index = ctx.OutOrNull(kMaxIndex);
    T* y = out.mutable_data<T>();
    const int64_t width = WidthOf(in.dims());
    const T other = static_cast<T>(a.pad_value);
    if (a.pooltype == "MAX") {
      PoolMax(offsets, x, width, other, y, index ? index->mutable_data<int32_t>() : nullptr);
    } else {
      SumRows(PartsOf<T>(a.pooltype, offsets), x, width, other, y);
    }
    LoDLevels upper = UpperLevels(in.lod_levels());
    if (!upper.empty()) out.SetLoD(std::move(upper));
  }
};

// MaxIndex with the shape of Out.
const Tensor& IndexIn(const KernelContext& ctx, int slot, const Offsets& offsets, int64_t width) {
  const Tensor& index = ctx.In(slot);
  ENFORCE(index.numel() == Count(offsets) * width, InvalidArgument,
          "MaxIndex must have the shape of Out, got ", index.dims());
  return index;
}

namespace grad {
constexpr int kMaxIndex = 1, kOutGrad = 2;

void DefineSequencePoolGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD of a row's sequence times what the row counts.")
      .Input(kX, "X", "its shape and LoD")
      .Input(kMaxIndex, "MaxIndex", "result of sequence_pool with MAX", kDispensable)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kX, "X@GRAD", "shape of X")
      .AttrsOf("sequence_pool")
      .Shape([](InferContext& ctx) {
        Dims out = WithRows(ctx.dims(kX), SequencesOf(ctx));
        ENFORCE(!ctx.runtime() || ctx.dims(kOutGrad) == out, InvalidArgument,
                "Out@GRAD must have the shape of Out, ", out, ", got ", ctx.dims(kOutGrad));
        ctx.SetOutput(kX, ctx.dims(kX), ctx.dtype(kX));
      })
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .Grad(CallGradient);
}

template <class T>
struct SequencePoolGradKernel {
  static void Compute(KernelContext& ctx) {
    const std::string& type = ctx.attrs<SequencePoolAttrs>().pooltype;
    const Tensor& x = ctx.In(kX);
    const Offsets& offsets = LastLevel(x, "X");
    int64_t width = WidthOf(x.dims());
    const T* g = ctx.In(kOutGrad).data<T>();
    T* to = ctx.Out(kX).mutable_data<T>();
    if (type == "MAX") {
      PutPicked(IndexIn(ctx, kMaxIndex, offsets, width), offsets, g, width, to, x.dim(0));
    } else {
      SpreadRows(PartsOf<T>(type, offsets), g, width, to, x.dim(0));
    }
  }
};
}  // namespace grad

// As sequence_pool, with the choice MAX made and no pad_value.
namespace grad_grad {
constexpr int kMaxIndex = 1, kXGradGrad = 2;

void DefineSequencePoolGradGrad(OpDef& op) {
  op.Comment("Out@GRAD@GRAD = X@GRAD@GRAD pooled as X was, 0 for a sequence without rows.")
      .Input(kX, "X", "its shape and LoD", kShapeOnly)
      .Input(kMaxIndex, "MaxIndex", "result of sequence_pool with MAX", kDispensable)
      .Input(kXGradGrad, "X@GRAD@GRAD", "shape of X")
      .Output(kOut, "Out@GRAD@GRAD", "shape of Out")
      .AttrsOf("sequence_pool")
      .Shape([](InferContext& ctx) {
        ENFORCE(!ctx.runtime() || ctx.dims(kXGradGrad) == ctx.dims(kX), InvalidArgument,
                "X@GRAD@GRAD must have the shape of X, ", ctx.dims(kX), ", got ",
                ctx.dims(kXGradGrad));
        ctx.SetOutput(kOut, WithRows(ctx.dims(kX), SequencesOf(ctx)), ctx.dtype(kX));
      })
      .KernelDTypeOf(kXGradGrad)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("sequence_pool_grad", {g.InputShape(kX), g.Input(kMaxIndex), g.OutputGrad(kOut)},
               {g.InputGrad(kXGradGrad)})
            .SameAttrs();
      });
}

template <class T>
struct SequencePoolGradGradKernel {
  static void Compute(KernelContext& ctx) {
    const std::string& type = ctx.attrs<SequencePoolAttrs>().pooltype;
    const Tensor& x = ctx.In(kX);
    const Offsets& offsets = LastLevel(x, "X");
    int64_t width = WidthOf(x.dims());
    const T* v = ctx.In(kXGradGrad).data<T>();
    T* y = ctx.Out(kOut).mutable_data<T>();
    if (type == "MAX") {
      PickRows(IndexIn(ctx, kMaxIndex, offsets, width), offsets, v, width, y);
    } else {
      SumRows(PartsOf<T>(type, offsets), v, width, T(0), y);
    }
  }
};
}  // namespace grad_grad

REGISTER_OPERATOR(sequence_pool, DefineSequencePool);
REGISTER_KERNELS(sequence_pool, SequencePoolKernel, float, double);
REGISTER_OPERATOR(sequence_pool_grad, grad::DefineSequencePoolGrad);
REGISTER_KERNELS(sequence_pool_grad, grad::SequencePoolGradKernel, float, double);
REGISTER_OPERATOR(sequence_pool_grad_grad, grad_grad::DefineSequencePoolGradGrad);
REGISTER_KERNELS(sequence_pool_grad_grad, grad_grad::SequencePoolGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph::sequence
