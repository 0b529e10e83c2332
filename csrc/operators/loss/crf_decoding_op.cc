#include "operators/loss/crf.h"
#include "platform/interrupt.h"

namespace dygraph::crf {
namespace {

constexpr int kViterbiPath = 0;

void DefineCrfDecoding(OpDef& op) {
  op.Comment(
        "The chain of tags with the greatest score (Viterbi, 1967), scores as of linear_chain_crf; "
        "of equal ones the lower tag. With Label, 1 where the path agrees with it and 0 where not. "
        "Steps of padding are 0.")
      .Example(
          ">>> emission, length = to_variable([[[2.0, 0.0], [0.0, 1.0]]]), to_variable([[2]])\n"
          ">>> transition = np.zeros((4, 2), 'float32')\n"
          ">>> transition[2, 1] = -5.0  # from tag 0 to tag 1\n"
          ">>> F.crf_decoding(emission, to_variable(transition), length=length).tolist()\n"
          "[[0, 0]]")
      .Input(kEmission, "Emission", "scores of the tags, [total, D] with LoD or [N, T, D]")
      .Input(kTransition, "Transition", "[D + 2, D]: first tag, last tag, from each tag to each")
      .Input(kLabel, "Label", "int64 or int32 tags, [total, 1] or [N, T]", kDispensable)
      .Input(kLength, "Length", "[N, 1] integers, for padded Emission", kDispensable)
      .Output(kViterbiPath, "ViterbiPath", "int64, [total, 1] or [N, T]")
      .MixedDTypes()
      .KernelDTypeOf(kEmission)
      .ShareLoD(kEmission)
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        const Dims& x = ctx.dims(kEmission);
        ctx.SetOutput(kViterbiPath, ctx.HasInput(kLength) ? Dims{x[0], x[1]} : Dims{x[0], 1},
                      DType::kInt64);
      })
      .NoGrad();
}

template <class T>
struct CrfDecodingKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kEmission), &transition = ctx.In(kTransition);
    int64_t tags = transition.dim(1);
    const T *xd = x.data<T>(), *w = transition.data<T>();
    ragged::Batch b = Read(ctx);
    const Tensor* label = ctx.InOrNull(kLabel);
    if (label) CheckLabels(labels::ClassLabels(*label), b, tags);
    Tensor& out = ctx.Out(kViterbiPath);
    int64_t* path = out.mutable_data<int64_t>();
    std::fill(path, path + out.numel(), int64_t{0});
    std::vector<T> best(static_cast<size_t>(tags)), next(best.size());
    for (int64_t s = 0; s < b.size(); ++s) {
      int64_t steps = b.length[s];
      if (steps == 0) continue;
      std::vector<int64_t> from(static_cast<size_t>(steps * tags));
      for (int64_t k = 0; k < tags; ++k) best[k] = w[k] + xd[b.Row(s, 0) * tags + k];
      for (int64_t t = 1; t < steps; ++t) {
        for (int64_t k = 0; k < tags; ++k) {
          CheckInterrupt();
          int64_t most = 0;
          for (int64_t i = 1; i < tags; ++i) {
            if (best[i] + w[(2 + i) * tags + k] > best[most] + w[(2 + most) * tags + k]) most = i;
          }
          from[t * tags + k] = most;
          next[k] = best[most] + w[(2 + most) * tags + k] + xd[b.Row(s, t) * tags + k];
        }
        best.swap(next);
      }
      int64_t tag = 0;
      for (int64_t k = 1; k < tags; ++k) {
        if (best[k] + w[tags + k] > best[tag] + w[tags + tag]) tag = k;
      }
      for (int64_t t = steps - 1; t >= 0; --t) {
        path[b.Row(s, t)] = tag;
        tag = from[t * tags + tag];
      }
      for (int64_t t = 0; label && t < steps; ++t) {
        int64_t at = b.Row(s, t);
        path[at] = path[at] == labels::ClassLabels(*label)[at];
      }
    }
  }
};

REGISTER_OPERATOR(crf_decoding, DefineCrfDecoding);
REGISTER_CPU_KERNEL(crf_decoding, CrfDecodingKernel, float, double);

}  // namespace
}  // namespace dygraph::crf
