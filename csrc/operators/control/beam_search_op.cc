#include <algorithm>
#include <cmath>

#include "operators/control/ranked.h"

namespace dygraph {
namespace {

constexpr int kPreIds = 0, kPreScores = 1, kIds = 2, kScores = 3;
constexpr int kSelectedIds = 0, kSelectedScores = 1, kParentIdx = 2;

struct BeamSearchAttrs {
  int32_t level = 0;
  int32_t beam_size = 1;
  int32_t end_id = 0;
  bool is_accumulated = true;
};

void DefineBeamSearch(OpDef& op) {
  op.Comment(
        "One step of beam search. Each row of Scores belongs to one prefix, its columns to the "
        "words that may follow; sequences of the level of detail `level` are the prefixes of one "
        "source. Of each source the beam_size best continuations are selected; a prefix that ended "
        "goes on as it is, and a source all of whose prefixes ended gives none. The second level "
        "of "
        "detail of the results says which prefix each one continues.")
      .Example(
          ">>> lod = [[0, 2], [0, 1, 2]]\n"
          ">>> column = lambda *v: to_variable(np.array(v)[:, None], lod=lod)\n"
          ">>> scores = to_variable(np.array([[0.5, 0.3], [0.6, 0.1]]), lod=lod)\n"
          ">>> ids, _, parents = F.beam_search(column(1, 2), column(0.1, 0.2), scores,\n"
          "...                                 beam_size=2, end_id=9)\n"
          ">>> ids.tolist(), parents.tolist()\n"
          "([[0], [0]], [0, 1])")
      .Input(kPreIds, "pre_ids", "[n, 1] int64, the last word of each prefix")
      .Input(kPreScores, "pre_scores", "[n, 1], what the prefixes scored")
      .Input(kIds, "ids", "[n, k] int64, the words that Scores are of; else 0 to k - 1",
             kDispensable)
      .Input(kScores, "scores", "[n, k] with LoD")
      .Output(kSelectedIds, "selected_ids", "[m, 1] int64, words with two levels of detail")
      .Output(kSelectedScores, "selected_scores", "[m, 1], their scores with the same")
      .Output(kParentIdx, "parent_idx", "[m] int32, the row of the prefix each continues")
      .Attr(&BeamSearchAttrs::level, "level", "the level of detail of sources", AtLeast(0))
      .Attr(&BeamSearchAttrs::beam_size, "beam_size", "how many are selected", AtLeast(1))
      .Attr(&BeamSearchAttrs::end_id, "end_id", "the word that ends a sentence")
      .Attr(&BeamSearchAttrs::is_accumulated, "is_accumulated",
            "True: Scores hold whole scores; False: probabilities of the step, whose logarithm is "
            "added to pre_scores")
      .VarType([](InferContext& ctx) {
        const Dims& scores = ctx.dims(kScores);
        ENFORCE(scores.rank() == 2, InvalidArgument, "scores must have 2 axes, got shape ", scores);
        for (int slot : {kPreIds, kPreScores, kIds}) {
          if (!ctx.HasInput(slot)) continue;
          const Dims& d = ctx.dims(slot);
          const int64_t width = slot == kIds ? scores[1] : 1;
          bool fits = d.rank() >= 1 && (d[0] == scores[0] || !BothKnown(d[0], scores[0]));
          if (fits && !d.HasUnknown() && width >= 0) fits = Numel(d) == d[0] * width;
          ENFORCE(fits, InvalidArgument, "Input(", ctx.call().op->inputs[slot].name, ") must have ",
                  width, " columns and the rows of scores ", scores, ", got ", d);
        }
        ENFORCE(ctx.dtype(kPreIds) == DType::kInt64, Type, "pre_ids must be of int64, got ",
                ctx.dtype(kPreIds), ". Convert with astype('int64')");
        ENFORCE(!ctx.HasInput(kIds) || ctx.dtype(kIds) == DType::kInt64, Type,
                "ids must be of int64, got ", ctx.dtype(kIds), ". Convert with astype('int64')");
        ENFORCE(ctx.dtype(kPreScores) == ctx.dtype(kScores), Type,
                "pre_scores must have the type of scores, ", ctx.dtype(kScores), ", got ",
                ctx.dtype(kPreScores), ". Convert with astype()");
        if (ctx.runtime()) return;
        ctx.SetOutput(kSelectedIds, {-1, 1}, DType::kInt64);
        ctx.SetOutput(kSelectedScores, {-1, 1}, ctx.dtype(kScores));
        ctx.SetOutput(kParentIdx, {-1}, DType::kInt32);
      })
      .KernelDTypeOf(kScores)
      .MixedDTypes()
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct BeamSearchKernel {
  struct Item {
    int64_t prefix, id;
    T score;
    // Of equal scores the later prefix is the better one, as in Fluid.
    bool operator<(const Item& other) const {
      return score < other.score || (score == other.score && prefix < other.prefix);
    }
  };

  // Keeps the best `most`, best first.
  static void Insert(const Item& item, size_t most, std::vector<Item>* best) {
    if (best->size() == most) {
      if (item < best->back()) return;
      best->pop_back();
    }
    auto at = std::find_if(best->begin(), best->end(), [&](const Item& b) { return b < item; });
    best->insert(at, item);
  }

  static std::vector<Item> Best(const KernelContext& ctx, ranked::Rows prefixes) {
    const auto& a = ctx.attrs<BeamSearchAttrs>();
    const Tensor& scores = ctx.In(kScores);
    const int64_t width = scores.dim(1), *pre_ids = ctx.In(kPreIds).data<int64_t>();
    const int64_t* ids = ctx.HasInput(kIds) ? ctx.In(kIds).data<int64_t>() : nullptr;
    const T *score = scores.data<T>(), *pre_scores = ctx.In(kPreScores).data<T>();
    std::vector<Item> best;
    const auto most = static_cast<size_t>(a.beam_size);
    for (int64_t p = prefixes.begin; p < prefixes.end; ++p) {
      if (pre_ids[p] == a.end_id) {
        Insert({p, a.end_id, pre_scores[p]}, most, &best);
        continue;
      }
      for (int64_t d = 0; d < width; ++d) {
        const T s = score[p * width + d];
        Insert(
            {p, ids ? ids[p * width + d] : d, a.is_accumulated ? s : pre_scores[p] + std::log(s)},
            most, &best);
      }
    }
    auto ended = [&](const Item& i) { return i.id == a.end_id && pre_ids[i.prefix] == a.end_id; };
    if (std::all_of(best.begin(), best.end(), ended)) best.clear();
    std::stable_sort(best.begin(), best.end(),
                     [](const Item& x, const Item& y) { return x.prefix < y.prefix; });
    return best;
  }

  static void Compute(KernelContext& ctx) {
    const Tensor& scores = ctx.In(kScores);
    const LoDLevels& lod = scores.lod_levels();
    const size_t level = ctx.attrs<BeamSearchAttrs>().level;
    ENFORCE(level < lod.size(), InvalidArgument, "scores must have the level of detail ", level,
            ", which says what prefixes a source has, got ", lod.size(), " levels");
    std::vector<int64_t> sources{0}, prefixes{0};
    std::vector<Item> all;
    for (size_t s = 0; s + 1 < lod[level].size(); ++s) {
      const int64_t at = static_cast<int64_t>(s);
      const ranked::Rows rows = ranked::RowsOf(lod, level, at, at + 1);
      sources.push_back(rows.end);
      const std::vector<Item> best = Best(ctx, rows);
      size_t next = 0;
      for (int64_t p = rows.begin; p < rows.end; ++p) {
        for (; next < best.size() && best[next].prefix == p; ++next) all.push_back(best[next]);
        prefixes.push_back(static_cast<int64_t>(all.size()));
      }
    }
    const auto m = static_cast<int64_t>(all.size());
    const LoDLevels levels{sources, prefixes};
    Tensor *ids = ctx.OutOrNull(kSelectedIds), *best = ctx.OutOrNull(kSelectedScores),
           *parents = ctx.OutOrNull(kParentIdx);
    if (ids) ids->Allocate({m, 1}, DType::kInt64, ctx.place());
    if (best) best->Allocate({m, 1}, scores.dtype(), ctx.place());
    if (parents) parents->Allocate({m}, DType::kInt32, ctx.place());
    for (int64_t i = 0; i < m; ++i) {
      if (ids) ids->mutable_data<int64_t>()[i] = all[i].id;
      if (best) best->mutable_data<T>()[i] = all[i].score;
      if (parents) parents->mutable_data<int32_t>()[i] = static_cast<int32_t>(all[i].prefix);
    }
    if (ids) ids->SetLoD(levels);
    if (best) best->SetLoD(levels);
  }
};

REGISTER_OPERATOR(beam_search, DefineBeamSearch);
REGISTER_CPU_KERNEL(beam_search, BeamSearchKernel, float, double);

}  // namespace
}  // namespace dygraph
