#include "op/lod_rule.h"
#include "operators/loss/chain_loops.h"

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
      .Input(kLength, "Length", "[sequences], int32 or int64", kOnHost)
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
    viterbi::DecodeAll(x.data<T>(), ctx.In(kTransition).data<T>(), length, steps, tags, ends,
                       longest, path, score);
  }
};

REGISTER_OPERATOR(viterbi_decode, DefineViterbiDecode);
REGISTER_KERNELS(viterbi_decode, ViterbiDecodeKernel, float, double);

}  // namespace
}  // namespace dygraph
