#include "operators/arguments.h"
#include "operators/sequence/sequence_rows.h"

namespace dygraph::sequence {
namespace {

constexpr int kX = 0, kLength = 1, kOut = 0;

struct Spec {
  static constexpr const char *type = "sequence_unpad", *grad_type = "sequence_unpad_grad",
                              *out = "Out";
  static constexpr const char* inputs[] = {"X", "Length"};
  static constexpr bool has_attrs = false, reads_others = true;
  static RecipeSlot Other(GradBuilder& g, int slot) { return g.Input(slot); }
  static Dims Row(const Dims& x) {
    ENFORCE(x.rank() >= 2, InvalidArgument, "X must have shape [sequences, longest, ...], got ", x);
    if (x.rank() == 2) return {1};  // as in Fluid: rows of one number, not numbers
    return Dims(Span<const int64_t>(x.begin() + 2, x.size() - 2));
  }

  static Moves Plan(const Call& call) {
    const Tensor& x = TensorOf(call, kX);
    std::vector<int64_t> lengths = Integers(TensorOf(call, kLength), "Length");
    int64_t n = x.dim(0), longest = x.dim(1);
    ENFORCE(static_cast<int64_t>(lengths.size()) == n, InvalidArgument,
            "Length must hold a number for each sequence of X ", x.dims(), ", got ",
            lengths.size());
    Moves moves;
    Offsets kept{0};
    for (int64_t s = 0; s < n; ++s) {
      ENFORCE(lengths[s] >= 0 && lengths[s] <= longest, OutOfRange,
              "each of Length must lie in [0, ", longest, "], the padded length of X, got ",
              lengths[s], " at position ", s);
      moves.Add(s * longest, lengths[s]);
      kept.push_back(moves.rows);
    }
    moves.lod = {std::move(kept)};
    return moves;
  }
};
using Ops = RowOps<Spec>;

void DefineSequenceUnpad(OpDef& op) {
  op.Comment("The first Length[i] rows of each X[i], one after the other with their LoD.")
      .Example(
          ">>> x = to_variable([[[1.0], [2.0]], [[3.0], [0.0]]])\n"
          ">>> out = F.sequence_unpad(x, to_variable([2, 1]))\n"
          ">>> out.tolist(), out.lod()\n"
          "([[1.0], [2.0], [3.0]], [[0, 2, 3]])")
      .Input(kX, "X", "[sequences, longest, ...]")
      .Input(kLength, "Length", "[sequences], int64 or int32", kOnHost)
      .Output(kOut, "Out", "[sum of Length, ...], [sum of Length, 1] for X of two axes")
      .Shape([](InferContext& ctx) {
        Spec::Row(ctx.dims(kX));
        Ops::InferShape(ctx);
      })
      .MixedDTypes()
      .Grad(Ops::Recipe);
}

template <class T>
using SequenceUnpadKernel = Ops::Forward<T>;
template <class T>
using SequenceUnpadGradKernel = Ops::Backward<T>;

REGISTER_OPERATOR(sequence_unpad, DefineSequenceUnpad);
REGISTER_KERNELS(sequence_unpad, SequenceUnpadKernel, AllTypes);
REGISTER_OPERATOR(sequence_unpad_grad, Ops::DefineGrad);
REGISTER_KERNELS(sequence_unpad_grad, SequenceUnpadGradKernel, float, double);

}  // namespace
}  // namespace dygraph::sequence
