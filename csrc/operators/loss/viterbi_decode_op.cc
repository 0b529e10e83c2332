#include "kernels/parallel.h"
#include "op/lod_rule.h"
#include "operators/arguments.h"
#include "platform/interrupt.h"

namespace dygraph {
namespace {

constexpr int kInput = 0, kTransition = 1, kLength = 2, kScores = 0, kPath = 1;

struct ViterbiDecodeAttrs {
  bool include_bos_eos_tag = true;
};

void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kInput), &w = ctx.dims(kTransition), &length = ctx.dims(kLength);
  ENFORCE(x.rank() == 3 && x[2] != 0, InvalidArgument,
          "Input must be the scores of tags, [sequences, steps, tags], got shape ", x);
  ENFORCE(w.rank() == 2 && (w[0] == x[2] || !BothKnown(w[0], x[2])) &&
              (w[1] == x[2] || !BothKnown(w[1], x[2])),
          InvalidArgument, "Transition must have a row and a column for each of the ", x[2],
          " tags, got shape ", w);
  ENFORCE(!ctx.attrs<ViterbiDecodeAttrs>().include_bos_eos_tag || x[2] < 0 || x[2] >= 2,
          InvalidArgument, "with include_bos_eos_tag there must be two tags or more, got ", x[2]);
  ENFORCE(length.rank() == 1 && (length[0] == x[0] || !BothKnown(length[0], x[0])), InvalidArgument,
          "Length must have one number for each of the ", x[0], " sequences, got shape ", length);
  ENFORCE(ctx.dtype(kTransition) == ctx.dtype(kInput), Type, "Transition must be of the type of ",
          "Input, ", ctx.dtype(kInput), ", got ", ctx.dtype(kTransition),
          ". Convert with astype()");
  int64_t longest = -1;
  const Tensor& values = ctx.value(kLength).tensor();
  if (ctx.runtime() && values.has_data()) {
    longest = 0;
    for (int64_t n : Integers(values, "Length")) {
      ENFORCE(n >= 0 && n <= x[1], OutOfRange, "Length must lie in [0, ", x[1],
              "], the steps of Input, got ", n);
      longest = std::max(longest, n);
    }
  }
  ctx.SetOutput(kScores, {x[0]}, ctx.dtype(kInput));
  ctx.SetOutput(kPath, {x[0], longest}, DType::kInt64);
}

void DefineViterbiDecode(OpDef& op) {
  op.Comment(
        "Path = the chain of tags with the greatest score (Viterbi, 1967), of equal ones the lower "
        "tag, 0 behind the end of a sequence; Scores = the scores: the sum of Input[s, t, tag] "
        "over "
        "the steps and of Transition[tag, next tag] between them. With include_bos_eos_tag the "
        "last row of Transition is added at the first step, its second to last row at the last.")
      .Example(
          ">>> x, w = to_variable([[[2.0, 0.0], [0.0, 1.0]]]), to_variable([[0.0, -5.0], [0.0, "
          "0.0]])\n"
          ">>> n = to_variable([2])\n"
          ">>> scores, path = F.viterbi_decode(x, w, n, include_bos_eos_tag=False)\n"
          ">>> scores.tolist(), path.tolist()\n"
          "([2.0], [[0, 0]])")
      .Input(kInput, "Input", "scores of the tags, [sequences, steps, tags]")
      .Input(kTransition, "Transition", "[tags, tags], from each row's tag to each column's")
      .Input(kLength, "Length", "[sequences], int32 or int64")
      .Output(kScores, "Scores", "[sequences], 0 of one without steps")
      .Output(kPath, "Path", "[sequences, the greatest length], int64")
      .Attr(&ViterbiDecodeAttrs::include_bos_eos_tag, "include_bos_eos_tag",
            "the last tag stands for the beginning, the one before it for the end")
      .MixedDTypes()
      .KernelDTypeOf(kInput)
      .ShareLoD(kInput)
      .Shape(InferShape)
      .NoGrad();
}

// One sequence of `steps` >= 1; gives its score.
template <class T>
T Decode(const T* x, const T* w, int64_t steps, int64_t tags, bool ends, std::vector<T>* room,
         std::vector<int64_t>* from, int64_t* path) {
  T *best = room->data(), *next = best + tags;
  const T *first = w + (tags - 1) * tags, *last = w + std::max<int64_t>(tags - 2, 0) * tags;
  for (int64_t k = 0; k < tags; ++k) best[k] = ends ? x[k] + first[k] : x[k];
  for (int64_t t = 1; t < steps; ++t) {
    CheckInterrupt();
    int64_t* back = from->data() + t * tags;
    for (int64_t k = 0; k < tags; ++k) {  // by rows of Transition, along memory
      next[k] = best[0] + w[k];
      back[k] = 0;
    }
    for (int64_t i = 1; i < tags; ++i) {
      const T score = best[i];
      const T* row = w + i * tags;
      for (int64_t k = 0; k < tags; ++k) {
        const T sum = score + row[k];
        back[k] = sum > next[k] ? i : back[k];
        next[k] = sum > next[k] ? sum : next[k];
      }
    }
    for (int64_t k = 0; k < tags; ++k) next[k] += x[t * tags + k];
    std::swap(best, next);
  }
  for (int64_t k = 0; ends && k < tags; ++k) best[k] += last[k];
  int64_t tag = std::max_element(best, best + tags) - best;
  const T score = best[tag];
  for (int64_t t = steps - 1; t >= 0; --t) {
    path[t] = tag;
    if (t > 0) tag = (*from)[t * tags + tag];
  }
  return score;
}

template <class T>
struct ViterbiDecodeKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kInput);
    const int64_t count = x.dim(0), steps = x.dim(1), tags = x.dim(2);
    const std::vector<int64_t> length = Integers(ctx.In(kLength), "Length");
    const bool ends = ctx.attrs<ViterbiDecodeAttrs>().include_bos_eos_tag;
    Tensor* paths = ctx.OutOrNull(kPath);
    int64_t longest = 0;
    for (int64_t n : length) longest = std::max(longest, n);
    Tensor own;
    if (!paths) own = Tensor(Dims{count, longest}, DType::kInt64, x.place());
    int64_t* path = (paths ? *paths : own).template mutable_data<int64_t>();
    Tensor* scores = ctx.OutOrNull(kScores);
    T* score = scores ? scores->mutable_data<T>() : nullptr;
    const T *from = x.data<T>(), *w = ctx.In(kTransition).data<T>();
    kernels::ParallelRows(count, longest * tags * tags, [&](int64_t begin, int64_t end) {
      std::vector<T> room(static_cast<size_t>(2 * tags));
      std::vector<int64_t> back(static_cast<size_t>(longest * tags));
      for (int64_t s = begin; s < end; ++s) {
        int64_t* to = path + s * longest;
        std::fill_n(to, longest, int64_t{0});
        T best = 0;
        if (length[s] > 0)
          best = Decode(from + s * steps * tags, w, length[s], tags, ends, &room, &back, to);
        if (score) score[s] = best;
      }
    });
  }
};

REGISTER_OPERATOR(viterbi_decode, DefineViterbiDecode);
REGISTER_CPU_KERNEL(viterbi_decode, ViterbiDecodeKernel, float, double);

}  // namespace
}  // namespace dygraph
