#include "op/gradient_call.h"
#include "operators/gather.h"
#include "operators/sequence/sequence.h"

namespace dygraph::sequence {
namespace {

constexpr int kX = 0, kOut = 0;

// Calls f(input, its first row, row of Out, rows) for every sequence of every input.
template <class F>
void ForEachPiece(const Call& call, F f) {
  int inputs = call.in.count(kX);
  int64_t row = 0;
  for (int64_t s = 0; s < Count(call.in.at(kX, 0)->tensor().lod_levels().back()); ++s) {
    for (int i = 0; i < inputs; ++i) {
      const Offsets& own = call.in.at(kX, i)->tensor().lod_levels().back();
      f(i, own[s], row, own[s + 1] - own[s]);
      row += own[s + 1] - own[s];
    }
  }
}

// Checks all X; gives the shape of Out.
Dims JoinedShape(InferContext& ctx) {
  Dims out = ctx.dims(kX);
  ENFORCE(out.rank() > 0, InvalidArgument, "X must have rows, got shape []");
  for (int i = 0; i < ctx.InputCount(kX); ++i) {
    const Dims& d = ctx.dims(kX, i);
    if (i > 0 && d.rank() > 0) out[0] = AddSizes(out[0], d[0]);
    bool fits = d.rank() == out.rank();
    for (int k = 1; fits && k < d.rank(); ++k) fits = d[k] == out[k] || !BothKnown(d[k], out[k]);
    ENFORCE(fits, InvalidArgument, "all X must have rows of one shape, got X[0] ", ctx.dims(kX),
            " and X[", i, "] ", d);
    if (!ctx.runtime()) continue;
    int64_t n = Count(LastLevel(ctx.value(kX, i).tensor(), "X")),
            first = Count(LastLevel(ctx.value(kX).tensor(), "X"));
    ENFORCE(n == first, InvalidArgument, "all X must have as many sequences, got ", first,
            " for X[0] and ", n, " for X[", i, "]");
  }
  return out;
}

void DefineSequenceConcat(OpDef& op) {
  op.Comment("Sequence i of Out = the sequences i of all X one after the other.")
      .Example(
          ">>> x = to_variable([[1], [2], [3]], lod=[[0, 2, 3]])\n"
          ">>> y = to_variable([[4], [5], [6]], lod=[[0, 1, 3]])\n"
          ">>> out = F.sequence_concat([x, y])\n"
          ">>> out.tolist(), out.lod()\n"
          "([[1], [2], [4], [3], [5], [6]], [[0, 3, 6]])")
      .Input(kX, "X", "rows with LoD, as many sequences each", kDuplicable)
      .Output(kOut, "Out", "all rows")
      .Shape([](InferContext& ctx) { ctx.SetOutput(kOut, JoinedShape(ctx)); })
      .Grad(CallGradient);
}

template <class T>
struct SequenceConcatKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kOut);
    const Tensor& first = ctx.In(kX);
    Offsets joined(first.lod_levels().back().size(), 0);
    std::vector<RowPiece> pieces;
    ForEachPiece(ctx.call(), [&](int i, int64_t from, int64_t, int64_t rows) {
      pieces.push_back({&ctx.In(kX, i), {from, from + rows}});
    });
    CopyRowPieces(pieces, WidthOf(out.dims()) * sizeof(T),
                  static_cast<char*>(out.mutable_raw_data()));
    for (int i = 0; i < ctx.InputCount(kX); ++i) {
      const Offsets& own = ctx.In(kX, i).lod_levels().back();
      for (size_t s = 0; s < joined.size(); ++s) joined[s] += own[s];
    }
    LoDLevels lod = UpperLevels(first.lod_levels());
    lod.push_back(std::move(joined));
    out.SetLoD(std::move(lod));
  }
};

namespace grad {
constexpr int kOutGrad = 1;

void DefineSequenceConcatGrad(OpDef& op) {
  op.Comment("X@GRAD = the rows of Out@GRAD that came from each X.")
      .Input(kX, "X", "their shapes and LoD", kDuplicable | kShapeOnly)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kX, "X@GRAD", "shapes of X", kDuplicable)
      .Shape([](InferContext& ctx) {
        Dims out = JoinedShape(ctx);
        ENFORCE(!ctx.runtime() || ctx.dims(kOutGrad) == out, InvalidArgument,
                "Out@GRAD must have the shape of Out, ", out, ", got ", ctx.dims(kOutGrad));
        for (int i = 0; i < std::min(ctx.OutputCount(kX), ctx.InputCount(kX)); ++i)
          ctx.SetOutputAt(kX, i, ctx.dims(kX, i), ctx.dtype(kOutGrad));
      })
      .KernelDTypeOf(kOutGrad)
      .Grad(CallGradient);
}

template <class T>
struct SequenceConcatGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& g = ctx.In(kOutGrad);
    std::vector<std::vector<RowPiece>> pieces(ctx.InputCount(kX));
    ForEachPiece(ctx.call(), [&](int i, int64_t, int64_t row, int64_t rows) {
      pieces[i].push_back({&g, {row, row + rows}});
    });
    for (int i = 0; i < ctx.InputCount(kX); ++i) {
      if (Tensor* to = ctx.OutOrNull(kX, i))
        CopyRowPieces(pieces[i], WidthOf(g.dims()) * sizeof(T),
                      static_cast<char*>(to->mutable_raw_data()));
    }
  }
};
}  // namespace grad

// sequence_concat itself cannot know the sizes of gradients that are absent.
namespace grad_grad {
constexpr int kXGradGrad = 1;

void DefineSequenceConcatGradGrad(OpDef& op) {
  op.Comment("Out@GRAD@GRAD = the X@GRAD@GRAD joined as X, an absent one being zeros.")
      .Input(kX, "X", "their shapes and LoD", kDuplicable | kShapeOnly)
      .Input(kXGradGrad, "X@GRAD@GRAD", "shapes of X, elements may be absent",
             kDuplicable | kDispensable)
      .Output(kOut, "Out@GRAD@GRAD", "shape of Out")
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOut, JoinedShape(ctx), ctx.dtype(kX));
        for (int i = 0; i < ctx.InputCount(kXGradGrad); ++i) {
          const Value* g = ctx.call().in.at(kXGradGrad, i);
          ENFORCE(!g || (i < ctx.InputCount(kX) && g->dims() == ctx.dims(kX, i)), InvalidArgument,
                  "X@GRAD@GRAD[", i, "] must have the shape of its X, got ", g->dims());
        }
      })
      .Grad([](GradBuilder& g) {
        g.Call("sequence_concat_grad", {g.InputShapes(kX), g.OutputGrad(kOut)},
               {g.InputGrads(kXGradGrad)});
      });
}

template <class T>
struct SequenceConcatGradGradKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kOut);
    std::vector<RowPiece> pieces;
    ForEachPiece(ctx.call(), [&](int i, int64_t from, int64_t, int64_t rows) {
      pieces.push_back({ctx.InOrNull(kXGradGrad, i), {from, from + rows}});
    });
    CopyRowPieces(pieces, WidthOf(out.dims()) * sizeof(T),
                  static_cast<char*>(out.mutable_raw_data()));
  }
};
}  // namespace grad_grad

REGISTER_OPERATOR(sequence_concat, DefineSequenceConcat);
REGISTER_KERNELS(sequence_concat, SequenceConcatKernel, int32_t, int64_t, float, double);
REGISTER_OPERATOR(sequence_concat_grad, grad::DefineSequenceConcatGrad);
REGISTER_KERNELS(sequence_concat_grad, grad::SequenceConcatGradKernel, float, double);
REGISTER_OPERATOR(sequence_concat_grad_grad, grad_grad::DefineSequenceConcatGradGrad);
REGISTER_KERNELS(sequence_concat_grad_grad, grad_grad::SequenceConcatGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph::sequence
