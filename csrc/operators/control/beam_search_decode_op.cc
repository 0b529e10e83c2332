#include <algorithm>

#include "operators/control/ranked.h"

namespace dygraph {
namespace {

constexpr int kIds = 0, kScores = 1, kSentenceIds = 0, kSentenceScores = 1;

struct BeamSearchDecodeAttrs {
  int32_t beam_size = 1;
  int32_t end_id = 0;
};

void DefineBeamSearchDecode(OpDef& op) {
  op.Comment(
        "The sentences that the steps of a beam search selected, found by going from the last step "
        "to the first along the prefixes; those of a source best first. An end word is kept once.")
      .Example(
          ">>> i = [to_variable(np.array([n])) for n in range(2)]\n"
          ">>> first, then = [[0, 1], [0, 2]], [[0, 2], [0, 1, 2]]\n"
          ">>> word = lambda lod, *v: to_variable(np.array(v)[:, None], lod=lod)\n"
          ">>> ids = F.write_to_array(word(first, 4, 5), i[0])\n"
          ">>> ids = F.write_to_array(word(then, 6, 7), i[1], array=ids)\n"
          ">>> scores = F.write_to_array(word(first, 0.4, 0.3), i[0])\n"
          ">>> scores = F.write_to_array(word(then, 0.1, 0.2), i[1], array=scores)\n"
          ">>> sentences, _ = F.beam_search_decode(ids, scores, beam_size=2, end_id=9)\n"
          ">>> sentences.tolist(), sentences.lod()\n"
          "([5, 7, 4, 6], [[0, 2], [0, 2, 4]])")
      .Input(kIds, "Ids", "an array of the steps' selected_ids", kTakesArray)
      .Input(kScores, "Scores", "an array of the steps' selected_scores", kTakesArray)
      .Output(kSentenceIds, "SentenceIds",
              "[words of all sentences] int64; levels of detail: sentences of a source, words of a "
              "sentence")
      .Output(kSentenceScores, "SentenceScores", "what the beam scored at each word")
      .Attr(&BeamSearchDecodeAttrs::beam_size, "beam_size", "how many were selected", AtLeast(1))
      .Attr(&BeamSearchDecodeAttrs::end_id, "end_id", "the word that ends a sentence")
      .VarType([](InferContext& ctx) {
        if (ctx.runtime()) return;
        ctx.SetOutput(kSentenceIds, {-1}, DType::kInt64);
        ctx.SetOutput(kSentenceScores, {-1}, ctx.dtype(kScores));
      })
      .KernelDType(array::TypeOf<kScores>)
      .MixedDTypes()
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct BeamSearchDecodeKernel {
  // Words and scores from the last to the first, and the row to go on from.
  struct Sentence {
    std::vector<int64_t> ids;
    std::vector<T> scores;
    int64_t row;
  };

  static void CheckStep(const TensorArray& ids, const TensorArray& scores, size_t t,
                        size_t sources) {
    array::RequireWritten("Ids", ids, t);
    array::RequireWritten("Scores", scores, t);
    const Tensor &i = ids.items[t], &s = scores.items[t];
    const LoDLevels& lod = i.lod_levels();
    ENFORCE(i.dtype() == DType::kInt64, Type, "Ids must be of int64, got ", i.dtype());
    ENFORCE(lod.size() == 2 && lod[0].size() == sources + 1 && lod[1].back() == i.numel(),
            InvalidArgument, "Ids[", t,
            "] must have two levels of detail, sources and prefixes, "
            "for ",
            sources, " sources, got ", ranked::TextOf(lod), " for shape ", i.dims());
    ENFORCE(s.numel() == i.numel(), InvalidArgument, "Scores[", t, "] must have the shape of Ids[",
            t, "], ", i.dims(), ", got ", s.dims());
  }

  // One step more towards the first, for the sentences of a source.
  static void StepBack(const Tensor& ids, const Tensor& scores, size_t source, int32_t end_id,
                       std::vector<Sentence>* sentences) {
    const LoDLevels& lod = ids.lod_levels();
    const int64_t begin = lod[0][source], end = lod[0][source + 1];
    if (sentences->empty()) {  // those that end here
      for (int64_t row = lod[1][begin]; row < lod[1][end]; ++row)
        sentences->push_back({{}, {}, row});
    }
    for (Sentence& s : *sentences) {
      ENFORCE(s.row >= lod[1][begin] && s.row < lod[1][end], InvalidArgument,
              "the prefixes of Ids must be rows of the step before, got row ", s.row, " of ",
              ranked::TextOf(lod));
      const int64_t id = ids.data<int64_t>()[s.row];
      if (id != end_id || s.ids.empty()) {
        s.ids.push_back(id);
        s.scores.push_back(scores.data<T>()[s.row]);
      }
      s.row = std::upper_bound(lod[1].begin() + begin, lod[1].begin() + end + 1, s.row) -
              lod[1].begin() - 1;
    }
  }

  static void Compute(KernelContext& ctx) {
    const TensorArray &ids = array::ArrayIn(ctx.call(), kIds),
                      &scores = array::ArrayIn(ctx.call(), kScores);
    const int32_t end_id = ctx.attrs<BeamSearchDecodeAttrs>().end_id;
    const size_t steps = ids.items.size();
    ENFORCE(steps > 0 && scores.items.size() == steps, InvalidArgument,
            "Ids and Scores must have an element for each step, got ", steps, " and ",
            scores.items.size());
    array::RequireWritten("Ids", ids, 0);
    const LoDLevels& first = ids.items[0].lod_levels();
    const size_t sources = first.empty() ? 0 : first[0].size() - 1;
    for (size_t t = 0; t < steps; ++t) CheckStep(ids, scores, t, sources);
    std::vector<std::vector<Sentence>> found(sources);
    for (size_t t = steps; t-- > 0;) {
      for (size_t s = 0; s < sources; ++s)
        StepBack(ids.items[t], scores.items[t], s, end_id, &found[s]);
    }
    LoDLevels lod{{0}, {0}};
    std::vector<int64_t> words;
    std::vector<T> marks;
    for (std::vector<Sentence>& of : found) {
      std::stable_sort(of.begin(), of.end(), [](const Sentence& a, const Sentence& b) {
        return a.scores.front() > b.scores.front();
      });
      for (const Sentence& s : of) {
        words.insert(words.end(), s.ids.rbegin(), s.ids.rend());
        marks.insert(marks.end(), s.scores.rbegin(), s.scores.rend());
        lod[1].push_back(static_cast<int64_t>(words.size()));
      }
      lod[0].push_back(static_cast<int64_t>(lod[1].size()) - 1);
    }
    const auto n = static_cast<int64_t>(words.size());
    if (Tensor* out = ctx.OutOrNull(kSentenceIds)) {
      out->Allocate({n}, DType::kInt64, ctx.place());
      std::copy(words.begin(), words.end(), out->mutable_data<int64_t>());
      out->SetLoD(lod);
    }
    if (Tensor* out = ctx.OutOrNull(kSentenceScores)) {
      out->Allocate({n}, DTypeOf<T>::value, ctx.place());
      std::copy(marks.begin(), marks.end(), out->mutable_data<T>());
      out->SetLoD(lod);
    }
  }
};

REGISTER_OPERATOR(beam_search_decode, DefineBeamSearchDecode);
REGISTER_CPU_KERNEL(beam_search_decode, BeamSearchDecodeKernel, float, double);

}  // namespace
}  // namespace dygraph
