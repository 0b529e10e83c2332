#include <algorithm>
#include <numeric>

#include "op/gradient_call.h"
#include "operators/sequence/sequence.h"

namespace dygraph::sequence {
namespace {

constexpr int kX = 0, kRow = 1, kColumn = 2, kOut = 0, kPos = 1;

struct TopkAttrs {
  std::vector<int32_t> topks;
  int32_t channel_num = 1;
};

const TopkAttrs& CheckedAttrs(const Call& call) {
  const auto& a = *static_cast<const TopkAttrs*>(call.attrs);
  ENFORCE(!a.topks.empty() && std::is_sorted(a.topks.begin(), a.topks.end()), InvalidArgument,
          "topks must be a list of numbers that do not fall, got ", ToString(AttrValue(a.topks)));
  return a;
}

// The matrices of one sequence: channels one after another, each of rows x columns.
struct Part {
  int64_t x, row, rows, columns;  // where it begins in X and among the rows, its sizes
};

std::vector<Part> PartsOf(const Tensor& x, const Tensor& row, const Tensor& column,
                          int64_t channels) {
  const Offsets &xs = LastLevel(x, "X"), &rows = LastLevel(row, "ROW"),
                &columns = LastLevel(column, "COLUMN");
  ENFORCE(Count(xs) == Count(rows) && Count(xs) == Count(columns), InvalidArgument,
          "X, ROW and COLUMN must have as many sequences, got ", Count(xs), ", ", Count(rows),
          " and ", Count(columns));
  ENFORCE(x.numel() == x.dim(0), InvalidArgument, "X must have one number in a row, got shape ",
          x.dims());
  std::vector<Part> parts;
  for (int64_t s = 0; s < Count(xs); ++s) {
    Part p{xs[s], rows[s], rows[s + 1] - rows[s], columns[s + 1] - columns[s]};
    ENFORCE(xs[s + 1] - xs[s] == channels * p.rows * p.columns, InvalidArgument, "sequence ", s,
            " of X must have channel_num * rows * columns numbers, ", channels, " * ", p.rows,
            " * ", p.columns, ", got ", xs[s + 1] - xs[s]);
    parts.push_back(p);
  }
  return parts;
}

void DefineTopk(OpDef& op) {
  op.Comment(
        "Each sequence of X is channel_num matrices of as many rows as the sequence of ROW and as "
        "many columns as that of COLUMN. Out[r, c * len(topks) + k] = the sum of the topks[k] "
        "greatest numbers of row r of channel c, or of all where there are fewer, / topks[k].")
      .Example(
          ">>> x = to_variable([[3.0], [1.0], [2.0]], lod=[[0, 3]])\n"
          ">>> row = to_variable([[0.0]], lod=[[0, 1]])\n"
          ">>> column = to_variable([[0.0], [0.0], [0.0]], lod=[[0, 3]])\n"
          ">>> F.sequence_topk_avg_pooling(x, row, column, topks=[1, 2]).tolist()\n"
          "[[3.0, 2.5]]")
      .Input(kX, "X", "[n, 1] with LoD")
      .Input(kRow, "ROW", "its LoD says how many rows")
      .Input(kColumn, "COLUMN", "its LoD says how many columns")
      .Output(kOut, "Out", "[rows of ROW, channel_num * len(topks)]")
      .Output(kPos, "pos",
              "[rows of ROW * channel_num * topks[-1]] int32, the columns of the "
              "greatest; -1: there are fewer",
              kIntermediate)
      .Attr(&TopkAttrs::topks, "topks", "how many, at least 1 each, none below the one before",
            EachAtLeast(1))
      .Attr(&TopkAttrs::channel_num, "channel_num", "matrices in a sequence", AtLeast(1))
      .Shape([](InferContext& ctx) {
        const TopkAttrs& a = CheckedAttrs(ctx.call());
        ENFORCE(ctx.rank(kRow) > 0, InvalidArgument, "ROW must have rows, got shape []");
        const int64_t rows = ctx.dims(kRow)[0];
        const auto k = static_cast<int64_t>(a.topks.size());
        ctx.SetOutput(kOut, {rows, a.channel_num * k}, ctx.dtype(kX));
        ctx.SetOutput(kPos, {MulSizes(rows, int64_t{a.channel_num} * a.topks.back())},
                      DType::kInt32);
      })
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .ShareLoD(kRow)
      .Grad([](GradBuilder& g) {
        g.Call("sequence_topk_avg_pooling_grad",
               {g.InputShape(kX), g.InputShape(kRow), g.InputShape(kColumn), g.Output(kPos),
                g.OutputGrad(kOut)},
               {g.InputGrad(kX)})
            .SameAttrs();
      });
}

template <class T>
struct SequenceTopkAvgPoolingKernel {
  static void Compute(KernelContext& ctx) {
    const TopkAttrs& a = CheckedAttrs(ctx.call());
    const Tensor& x = ctx.In(kX);
    const int64_t channels = a.channel_num, most = a.topks.back();
    const std::vector<Part> parts = PartsOf(x, ctx.In(kRow), ctx.In(kColumn), channels);
    T* out = ctx.Out(kOut).mutable_data<T>();
    Tensor* kept = ctx.OutOrNull(kPos);
    int32_t* pos = kept ? kept->mutable_data<int32_t>() : nullptr;
    std::vector<int32_t> order;
    for (const Part& p : parts) {
      for (int64_t r = 0; r < p.rows; ++r) {
        for (int64_t c = 0; c < channels; ++c) {
          const T* row = x.data<T>() + p.x + (c * p.rows + r) * p.columns;
          order.resize(p.columns);
          std::iota(order.begin(), order.end(), 0);
          const int64_t n = std::min(most, p.columns);
          std::partial_sort(order.begin(), order.begin() + n, order.end(),
                            [row](int32_t i, int32_t j) {
                              return row[i] > row[j] || (row[i] == row[j] && i < j);
                            });
          T sum = 0;
          size_t k = 0;
          for (int64_t i = 0; i < most; ++i) {
            if (i < n) sum += row[order[i]];
            if (pos) *pos++ = i < n ? order[i] : -1;
            for (; k < a.topks.size() && a.topks[k] == i + 1; ++k) *out++ = sum / T(a.topks[k]);
          }
        }
      }
    }
  }
};

namespace grad {
constexpr int kPos = 3, kOutGrad = 4, kXGrad = 0;

// f(number of X, number of Out@GRAD, its divisor) for each share that one of X has in one of Out.
template <class F>
void ForShares(KernelContext& ctx, F f) {
  const TopkAttrs& a = CheckedAttrs(ctx.call());
  const int64_t channels = a.channel_num, most = a.topks.back();
  const int32_t* pos = ctx.In(kPos).data<int32_t>();
  int64_t out = 0;
  for (const Part& p : PartsOf(ctx.In(kX), ctx.In(kRow), ctx.In(kColumn), channels)) {
    for (int64_t r = 0; r < p.rows; ++r) {
      for (int64_t c = 0; c < channels; ++c, pos += most) {
        for (int32_t k : a.topks) {
          for (int64_t i = 0; i < k; ++i) {
            ENFORCE(pos[i] >= -1 && pos[i] < p.columns, OutOfRange, "pos must be in [-1, ",
                    p.columns, "), got ", pos[i]);
            if (pos[i] >= 0) f(p.x + (c * p.rows + r) * p.columns + pos[i], out, k);
          }
          ++out;
        }
      }
    }
  }
}

// `grad`: what it reads besides; of the shape of Out or of X.
OpDef& Declare(OpDef& op, const char* reads, const char* makes, int32_t like) {
  op.Input(kX, "X", "its shape and LoD", kShapeOnly)
      .Input(kRow, "ROW", "its LoD", kShapeOnly)
      .Input(kColumn, "COLUMN", "its LoD", kShapeOnly)
      .Input(kPos, "pos", "as the forward call gives it")
      .Input(kOutGrad, reads, "a gradient")
      .Output(kXGrad, makes, "a gradient")
      .AttrsOf("sequence_topk_avg_pooling")
      .KernelDType([](const Call& call) { return call.in.at(kOutGrad)->dtype(); })
      .MixedDTypes()
      .ShareLoD(like);
  return op;
}

void CheckArriving(InferContext& ctx, const Dims& must) {
  const Dims& g = ctx.dims(kOutGrad);
  ENFORCE(g == must || g.HasUnknown() || must.HasUnknown(), InvalidArgument, "Input(",
          ctx.call().op->inputs[kOutGrad].name, ") must have the shape ", must, ", got ", g);
  const TopkAttrs& a = CheckedAttrs(ctx.call());
  const int64_t marks = MulSizes(ctx.dims(kRow)[0], int64_t{a.channel_num} * a.topks.back());
  const Dims& pos = ctx.dims(kPos);
  ENFORCE(pos.HasUnknown() || marks < 0 || Numel(pos) == marks, InvalidArgument, "pos must hold ",
          marks, " numbers, got shape ", pos);
}

Dims OutDims(InferContext& ctx) {
  const TopkAttrs& a = CheckedAttrs(ctx.call());
  ENFORCE(ctx.rank(kRow) > 0, InvalidArgument, "ROW must have rows, got shape []");
  return {ctx.dims(kRow)[0], a.channel_num * static_cast<int64_t>(a.topks.size())};
}

void DefineTopkGrad(OpDef& op) {
  op.Comment("X@GRAD = at each number the sum of its shares of Out@GRAD.");
  Declare(op, "Out@GRAD", "X@GRAD", kX)
      .Shape([](InferContext& ctx) {
        CheckArriving(ctx, OutDims(ctx));
        ctx.SetOutput(kXGrad, ctx.dims(kX));
      })
      .Grad([](GradBuilder& g) {
        g.Call("sequence_topk_avg_pooling_grad_grad",
               {g.InputShape(kX), g.InputShape(kRow), g.InputShape(kColumn), g.Input(kPos),
                g.OutputGrad(kXGrad)},
               {g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

void DefineTopkGradGrad(OpDef& op) {
  op.Comment("What arrives at X@GRAD, averaged as the forward call averages X.");
  Declare(op, "X@GRAD@GRAD", "Out@GRAD@GRAD", kRow)
      .Shape([](InferContext& ctx) {
        CheckArriving(ctx, ctx.dims(kX));
        ctx.SetOutput(kXGrad, OutDims(ctx));
      })
      .Grad([](GradBuilder& g) {
        g.Call("sequence_topk_avg_pooling_grad",
               {g.InputShape(kX), g.InputShape(kRow), g.InputShape(kColumn), g.Input(kPos),
                g.OutputGrad(kXGrad)},
               {g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct SequenceTopkAvgPoolingGradKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& x = ctx.Out(kXGrad);
    T* to = x.mutable_data<T>();
    std::fill(to, to + x.numel(), T(0));
    const T* g = ctx.In(kOutGrad).data<T>();
    ForShares(ctx, [&](int64_t i, int64_t o, int32_t k) { to[i] += g[o] / T(k); });
  }
};

template <class T>
struct SequenceTopkAvgPoolingGradGradKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kXGrad);
    T* to = out.mutable_data<T>();
    std::fill(to, to + out.numel(), T(0));
    const T* g = ctx.In(kOutGrad).data<T>();
    ForShares(ctx, [&](int64_t i, int64_t o, int32_t k) { to[o] += g[i] / T(k); });
  }
};
}  // namespace grad

REGISTER_OPERATOR(sequence_topk_avg_pooling, DefineTopk);
REGISTER_CPU_KERNEL(sequence_topk_avg_pooling, SequenceTopkAvgPoolingKernel, float, double);
REGISTER_OPERATOR(sequence_topk_avg_pooling_grad, grad::DefineTopkGrad);
REGISTER_CPU_KERNEL(sequence_topk_avg_pooling_grad, grad::SequenceTopkAvgPoolingGradKernel, float,
                    double);
REGISTER_OPERATOR(sequence_topk_avg_pooling_grad_grad, grad::DefineTopkGradGrad);
REGISTER_CPU_KERNEL(sequence_topk_avg_pooling_grad_grad, grad::SequenceTopkAvgPoolingGradGradKernel,
                    float, double);

}  // namespace
}  // namespace dygraph::sequence
