#include "operators/control/masked.h"

namespace dygraph::ranked {
namespace {

constexpr int kX = 0, kMask = 1, kInTrue = 2, kInFalse = 3, kOut = 0;

OpDef& Declare(OpDef& op, const char* example) {
  return op
      .Comment(
          "Out = sequences of InTrue where Mask is true and of InFalse where it is not, each taken "
          "in "
          "its order: what split_lod_tensor parted. Without a level of detail sequences are rows. "
          "Out "
          "has X's levels above `level`. What is left out stands for zeros in the lengths of X.")
      .Example(example)
      .Input(kX, "X", "what was parted: its LoD, and its shape where something is left out",
             kShapeOnly)
      .Input(kMask, "Mask", "a bool for each sequence", kOnHost)
      .Input(kInTrue, "InTrue", "a sequence for each true of Mask", kDispensable | kMayBeUnwritten)
      .Input(kInFalse, "InFalse", "a sequence for each false of Mask",
             kDispensable | kMayBeUnwritten)
      .Output(kOut, "Out", "all sequences")
      .Attr(&LevelAttrs::level, "level", "the level of detail, 0 the outermost", AtLeast(0))
      .VarType([](InferContext& ctx) {
        if (ctx.runtime()) return;
        const int from = ctx.HasInput(kInTrue) ? kInTrue : ctx.HasInput(kInFalse) ? kInFalse : kX;
        ctx.SetOutput(kOut, array::OpenRows(ctx.dims(from)), ctx.dtype(from));
      })
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .KernelAllocates();
}

void DefineMergeLodTensor(OpDef& op) {
  const char* example =
      ">>> x = to_variable([[0.0], [0.0], [0.0]])\n"
      ">>> F.merge_lod_tensor(x, to_variable([True, False, True]),\n"
      "...                    in_true=to_variable([[1.0], [3.0]]),\n"
      "...                    in_false=to_variable([[2.0]])).tolist()\n"
      "[[1.0], [2.0], [3.0]]";
  Declare(op, example).Grad([](GradBuilder& g) {
    RecipeRef arriving = g.Apply("lod_like", {g.OutputGrad(kOut), g.Output(kOut)});
    g.Call("split_lod_tensor", {arriving, g.Input(kMask)},
           {g.InputGrad(kInTrue), g.InputGrad(kInFalse)})
        .SameAttrs();
  });
}

void DefineMergeLodTensorInfer(OpDef& op) {
  const char* example =
      ">>> x = to_variable([[0.0], [0.0]])\n"
      ">>> F.merge_lod_tensor_infer(x, to_variable([False, True]),\n"
      "...                          in_true=to_variable([[1.0]]),\n"
      "...                          in_false=to_variable([[2.0]])).tolist()\n"
      "[[2.0], [1.0]]";
  Declare(op, example).NoGrad();
}

// What one way gives, one sequence after another.
struct Way {
  const Tensor* rows = nullptr;  // nullptr: zeros
  LoDLevels lod;                 // empty: one row each
  int64_t next = 0;
};

Way WayOf(const KernelContext& ctx, int slot, int64_t count) {
  Way way;
  const char* name = slot == kInTrue ? "InTrue" : "InFalse";
  if (!ctx.HasInput(slot)) return way;
  const Value& v = ctx.InValue(slot);
  ENFORCE(!v.empty() || count == 0, PreconditionNotMet, name, " must hold a value where Mask has ",
          count, " sequences for it, but nothing has been written to it");
  if (v.empty()) return way;
  way.rows = &v.tensor();
  way.lod = way.rows->lod_levels();
  ENFORCE(way.rows->rank() > 0, InvalidArgument, name, " must have rows, got shape ",
          way.rows->dims());
  const int64_t have =
      way.lod.empty() ? way.rows->dim(0) : static_cast<int64_t>(way.lod[0].size()) - 1;
  ENFORCE(have == count, InvalidArgument, name, " must have a sequence for each of the ", count,
          slot == kInTrue ? " trues" : " falses", " of Mask, got ", have);
  return way;
}

template <class T>
struct MergeLodTensorKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const Span<const bool> mask = WaysIn(ctx, kMask);
    const size_t level = ctx.attrs<LevelAttrs>().level;
    CountOf(x, level, mask.size());
    const int64_t trues = std::count(mask.begin(), mask.end(), true);
    const int64_t falses = static_cast<int64_t>(mask.size()) - trues;
    Way ways[] = {WayOf(ctx, kInFalse, falses), WayOf(ctx, kInTrue, trues)};
    const Way& known = ways[1].rows && (trues > 0 || !ways[0].rows) ? ways[1] : ways[0];
    const Tensor& like = known.rows ? *known.rows : x;
    const LoDLevels& lod = x.lod_levels();
    // What stands for zeros has the levels of X.
    for (Way& way : ways) {
      if (way.rows || (known.rows && known.lod.empty())) continue;
      way.lod = NoSequences(lod.size() - level);
      for (size_t i = 0; i < mask.size(); ++i) {
        if (mask[i] == (&way == &ways[1])) AppendBelow(lod, level, i, i + 1, &way.lod);
      }
    }
    const size_t levels = known.rows ? known.lod.size() : lod.size() - level;
    for (const Way& way : ways)
      CheckAlike(like, way.rows ? *way.rows : like, levels, way.lod.size());
    std::vector<Piece> pieces;
    LoDLevels below = NoSequences(levels);
    for (bool yes : mask) {
      Way& way = ways[yes];
      const int64_t i = way.next++;
      pieces.push_back({way.rows, RowsOf(way.lod, 0, i, i + 1)});
      AppendBelow(way.lod, 0, i, i + 1, &below);
    }
    LoDLevels all(lod.begin(), lod.begin() + level);
    all.insert(all.end(), below.begin(), below.end());
    Tensor& out = ctx.Out(kOut);
    out = Gather(pieces, like, ctx.place());
    if (!all.empty()) out.SetLoD(std::move(all));
  }

  static void CheckAlike(const Tensor& a, const Tensor& b, size_t levels, size_t others) {
    const bool fits = a.dtype() == b.dtype() && a.rank() == b.rank() && levels == others &&
                      std::equal(a.dims().begin() + 1, a.dims().end(), b.dims().begin() + 1);
    ENFORCE(fits, InvalidArgument,
            "InTrue and InFalse must have rows of one shape and type and as many levels of "
            "detail, got ",
            a.dims(), " of ", a.dtype(), " with ", levels, " and ", b.dims(), " of ", b.dtype(),
            " with ", others);
  }
};

template <class T>
using MergeLodTensorInferKernel = MergeLodTensorKernel<T>;

REGISTER_OPERATOR(merge_lod_tensor, DefineMergeLodTensor);
REGISTER_MOVING_KERNEL(merge_lod_tensor, MergeLodTensorKernel);
REGISTER_OPERATOR(merge_lod_tensor_infer, DefineMergeLodTensorInfer);
REGISTER_MOVING_KERNEL(merge_lod_tensor_infer, MergeLodTensorInferKernel);

}  // namespace
}  // namespace dygraph::ranked
