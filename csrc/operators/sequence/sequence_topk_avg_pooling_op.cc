#include "op/gradient_call.h"
#include "operators/sequence/topk_loops.h"

namespace dygraph::sequence {
namespace {

using topk::kX, topk::kRow, topk::kColumn, topk::TopkAttrs;
constexpr int kOut = 0, kPos = 1;

const TopkAttrs& CheckedAttrs(const Call& call) {
  const auto& a = *static_cast<const TopkAttrs*>(call.attrs);
  ENFORCE(!a.topks.empty() && std::is_sorted(a.topks.begin(), a.topks.end()), InvalidArgument,
          "topks must be a list of numbers that do not fall, got ", ToString(AttrValue(a.topks)));
  return a;
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
    CheckedAttrs(ctx.call());
    Tensor* pos = ctx.OutOrNull(kPos);
    topk::Averages(ctx, ctx.In(kX).data<T>(), ctx.Out(kOut).mutable_data<T>(),
                   pos ? pos->mutable_data<int32_t>() : nullptr);
  }
};

namespace grad {
constexpr int kPos = 3, kOutGrad = 4, kXGrad = 0;

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
    CheckedAttrs(ctx.call());
    Tensor& x = ctx.Out(kXGrad);
    topk::SpreadShares(ctx, ctx.In(kPos).data<int32_t>(), ctx.In(kOutGrad).data<T>(),
                       x.mutable_data<T>(), x.numel());
  }
};

template <class T>
struct SequenceTopkAvgPoolingGradGradKernel {
  static void Compute(KernelContext& ctx) {
    CheckedAttrs(ctx.call());
    Tensor& out = ctx.Out(kXGrad);
    topk::TakeShares(ctx, ctx.In(kPos).data<int32_t>(), ctx.In(kOutGrad).data<T>(),
                     out.mutable_data<T>(), out.numel());
  }
};
}  // namespace grad

REGISTER_OPERATOR(sequence_topk_avg_pooling, DefineTopk);
REGISTER_KERNELS(sequence_topk_avg_pooling, SequenceTopkAvgPoolingKernel, float, double);
REGISTER_OPERATOR(sequence_topk_avg_pooling_grad, grad::DefineTopkGrad);
REGISTER_KERNELS(sequence_topk_avg_pooling_grad, grad::SequenceTopkAvgPoolingGradKernel, float,
                 double);
REGISTER_OPERATOR(sequence_topk_avg_pooling_grad_grad, grad::DefineTopkGradGrad);
REGISTER_KERNELS(sequence_topk_avg_pooling_grad_grad, grad::SequenceTopkAvgPoolingGradGradKernel,
                 float, double);

}  // namespace
}  // namespace dygraph::sequence
