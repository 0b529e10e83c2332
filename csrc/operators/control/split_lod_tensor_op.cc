#include "operators/control/masked.h"

namespace dygraph::ranked {
namespace {

constexpr int kX = 0, kMask = 1, kOutTrue = 0, kOutFalse = 1;

void DefineSplitLodTensor(OpDef& op) {
  op.Comment(
        "OutTrue = the sequences of X where Mask is true, OutFalse = the others, both in their "
        "order. Sequences are those of X's level of detail `level`; without one they are its rows. "
        "Levels above are left out.")
      .Example(
          ">>> yes, no = F.split_lod_tensor(to_variable([[1.0], [2.0], [3.0]]),\n"
          "...                              to_variable([True, False, True]))\n"
          ">>> yes.tolist(), no.tolist()\n"
          "([[1.0], [3.0]], [[2.0]])")
      .Input(kX, "X", "rows")
      .Input(kMask, "Mask", "a bool for each sequence", kOnHost)
      .Output(kOutTrue, "OutTrue", "rows of X")
      .Output(kOutFalse, "OutFalse", "rows of X")
      .Attr(&LevelAttrs::level, "level", "the level of detail, 0 the outermost", AtLeast(0))
      .VarType([](InferContext& ctx) {
        if (ctx.runtime()) return;
        for (int way : {kOutTrue, kOutFalse})
          ctx.SetOutput(way, array::OpenRows(ctx.dims(kX)), ctx.dtype(kX));
      })
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .KernelAllocates()
      .Grad([](GradBuilder& g) {
        auto arriving = [&](int way) {
          return g.Apply("lod_like", {g.OutputGrad(way), g.Output(way)});
        };
        g.Call("merge_lod_tensor",
               {g.InputShape(kX), g.Input(kMask), arriving(kOutTrue), arriving(kOutFalse)},
               {g.InputGrad(kX)})
            .SameAttrs();
      });
}

template <class T>
struct SplitLodTensorKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const Span<const bool> ways = WaysIn(ctx, kMask);
    const size_t level = ctx.attrs<LevelAttrs>().level;
    const int64_t n = CountOf(x, level, ways.size());
    const LoDLevels& lod = x.lod_levels();
    for (int way : {kOutTrue, kOutFalse}) {
      std::vector<Piece> pieces;
      LoDLevels below = NoSequences(lod.size() - level);
      for (int64_t i = 0; i < n; ++i) {
        if (ways[i] != (way == kOutTrue)) continue;
        pieces.push_back({&x, RowsOf(lod, level, i, i + 1)});
        AppendBelow(lod, level, i, i + 1, &below);
      }
      Tensor* out = ctx.OutOrNull(way);
      if (!out) continue;
      *out = Gather(pieces, x, ctx.place());
      if (!below.empty()) out->SetLoD(std::move(below));
    }
  }
};

REGISTER_OPERATOR(split_lod_tensor, DefineSplitLodTensor);
REGISTER_MOVING_KERNEL(split_lod_tensor, SplitLodTensorKernel);

}  // namespace
}  // namespace dygraph::ranked
