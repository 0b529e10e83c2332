#include <cmath>

#include "op/gradient_call.h"
#include "operators/sequence/sequence.h"

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

// out = the weighted sum of rows [begin, end)
template <class T>
void SumRows(const T* x, int64_t begin, int64_t end, int64_t width, T weight, T* out) {
  std::fill(out, out + width, T(0));
  for (int64_t r = begin; r < end; ++r) {
    for (int64_t j = 0; j < width; ++j) out[j] += x[r * width + j];
  }
  for (int64_t j = 0; j < width; ++j) out[j] *= weight;
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
    int64_t width = WidthOf(in.dims());
    bool max = a.pooltype == "MAX";
    for (int64_t s = 0; s < Count(offsets); ++s, y += width) {
      int64_t begin = offsets[s], end = offsets[s + 1];
      int32_t* from = max && index ? index->mutable_data<int32_t>() + s * width : nullptr;
      if (begin == end) {
        std::fill(y, y + width, static_cast<T>(a.pad_value));
        if (from) std::fill(from, from + width, -1);
      } else if (max) {
        for (int64_t j = 0; j < width; ++j) {
          int64_t best = begin;
          for (int64_t r = begin + 1; r < end; ++r) {
            T v = x[r * width + j], top = x[best * width + j];
            if (v > top || (v != v && top == top)) best = r;
          }
          y[j] = x[best * width + j];
          if (from) from[j] = static_cast<int32_t>(best);
        }
      } else {
        T weight = WeightOf<T>(a.pooltype, end - begin);
        Narrow(a.pooltype, &begin, &end);
        SumRows(x, begin, end, width, weight, y);
      }
    }
    LoDLevels upper = UpperLevels(in.lod_levels());
    if (!upper.empty()) out.SetLoD(std::move(upper));
  }
};

// Rows of MaxIndex come from outside where the gradient is called by name.
const int32_t* CheckedIndex(const Tensor& index, const Offsets& offsets, int64_t width) {
  ENFORCE(index.numel() == Count(offsets) * width, InvalidArgument,
          "MaxIndex must have the shape of Out, got ", index.dims());
  const int32_t* from = index.data<int32_t>();
  for (int64_t i = 0; i < index.numel(); ++i) {
    int64_t begin = offsets[i / width], end = offsets[i / width + 1];
    ENFORCE(begin == end || (from[i] >= begin && from[i] < end), OutOfRange,
            "each of MaxIndex must be a row of its sequence, in [", begin, ", ", end, "), got ",
            from[i]);
  }
  return from;
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
    const int32_t* index =
        type == "MAX" ? CheckedIndex(ctx.In(kMaxIndex), offsets, width) : nullptr;
    Tensor& out = ctx.Out(kX);
    T* to = out.mutable_data<T>();
    std::fill(to, to + out.numel(), T(0));
    for (int64_t s = 0; s < Count(offsets); ++s, g += width) {
      int64_t begin = offsets[s], end = offsets[s + 1];
      if (begin == end) continue;
      if (index) {
        for (int64_t j = 0; j < width; ++j) to[index[s * width + j] * width + j] += g[j];
        continue;
      }
      T weight = WeightOf<T>(type, end - begin);
      Narrow(type, &begin, &end);
      for (int64_t r = begin; r < end; ++r) {
        for (int64_t j = 0; j < width; ++j) to[r * width + j] = weight * g[j];
      }
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
    const int32_t* index =
        type == "MAX" ? CheckedIndex(ctx.In(kMaxIndex), offsets, width) : nullptr;
    T* y = ctx.Out(kOut).mutable_data<T>();
    for (int64_t s = 0; s < Count(offsets); ++s, y += width) {
      int64_t begin = offsets[s], end = offsets[s + 1];
      if (begin == end || !index) {
        T weight = begin == end ? T(0) : WeightOf<T>(type, end - begin);
        Narrow(type, &begin, &end);
        SumRows(v, begin, end, width, weight, y);
      } else {
        for (int64_t j = 0; j < width; ++j) y[j] = v[index[s * width + j] * width + j];
      }
    }
  }
};
}  // namespace grad_grad

REGISTER_OPERATOR(sequence_pool, DefineSequencePool);
REGISTER_CPU_KERNEL(sequence_pool, SequencePoolKernel, float, double);
REGISTER_OPERATOR(sequence_pool_grad, grad::DefineSequencePoolGrad);
REGISTER_CPU_KERNEL(sequence_pool_grad, grad::SequencePoolGradKernel, float, double);
REGISTER_OPERATOR(sequence_pool_grad_grad, grad_grad::DefineSequencePoolGradGrad);
REGISTER_CPU_KERNEL(sequence_pool_grad_grad, grad_grad::SequencePoolGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph::sequence
