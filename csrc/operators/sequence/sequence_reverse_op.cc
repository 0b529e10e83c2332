#include "operators/arguments.h"
#include "operators/sequence/sequence_rows.h"

namespace dygraph::sequence {
namespace {

constexpr int kX = 0, kY = 0;

struct Spec {
  static constexpr const char *type = "sequence_reverse", *grad_type = "sequence_reverse_grad",
                              *out = "Y";
  static constexpr const char* inputs[] = {"X"};
  static constexpr bool has_attrs = false, reads_others = false;
  static RecipeSlot Other(GradBuilder& g, int slot) { return g.Input(slot); }
  static Dims Row(const Dims& x) { return RowAfterFirst(x); }

  static Moves Plan(const Call& call) {
    const Tensor& x = TensorOf(call, kX);
    const Offsets& offsets = LastLevel(x, "X");
    Moves moves;
    moves.lod = x.lod_levels();
    for (int64_t s = 0; s < Count(offsets); ++s) {
      for (int64_t row = offsets[s + 1]; row > offsets[s]; --row) moves.Add(row - 1, 1);
    }
    return moves;
  }
};
using Ops = RowOps<Spec>;

void DefineSequenceReverse(OpDef& op) {
  op.Comment("Y = X with the rows of each sequence in reverse order.")
      .Example(
          ">>> F.sequence_reverse(to_variable([[1], [2], [3]], lod=[[0, 2, 3]])).tolist()\n"
          "[[2], [1], [3]]")
      .Input(kX, "X", "rows with LoD")
      .Output(kY, "Y", "shape and LoD of X")
      .Shape(Ops::InferShape)
      .Grad(Ops::Recipe);
}

template <class T>
using SequenceReverseKernel = Ops::Forward<T>;
template <class T>
using SequenceReverseGradKernel = Ops::Backward<T>;

REGISTER_OPERATOR(sequence_reverse, DefineSequenceReverse);
REGISTER_KERNELS(sequence_reverse, SequenceReverseKernel, AllTypes);
REGISTER_OPERATOR(sequence_reverse_grad, Ops::DefineGrad);
REGISTER_KERNELS(sequence_reverse_grad, SequenceReverseGradKernel, float, double);

}  // namespace
}  // namespace dygraph::sequence
