#include "operators/loss/chain_loops.h"

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
    Tensor& out = ctx.Out(kViterbiPath);
    DecodeTags<T>(ctx, out.mutable_data<int64_t>(), out.numel());
  }
};

REGISTER_OPERATOR(crf_decoding, DefineCrfDecoding);
REGISTER_KERNELS(crf_decoding, CrfDecodingKernel, float, double);

}  // namespace
}  // namespace dygraph::crf
