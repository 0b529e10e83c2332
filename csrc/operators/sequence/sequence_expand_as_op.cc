#include "operators/arguments.h"
#include "operators/sequence/sequence_rows.h"

namespace dygraph::sequence {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0;

struct Spec {
  static constexpr const char *type = "sequence_expand_as", *grad_type = "sequence_expand_as_grad",
                              *out = "Out";
  static constexpr const char* inputs[] = {"X", "Y"};
  static constexpr bool has_attrs = false, reads_others = false;
  static RecipeSlot Other(GradBuilder& g, int slot) { return g.InputShape(slot); }
  static Dims Row(const Dims& x) { return RowAfterFirst(x); }

  static Moves Plan(const Call& call) {
    const Tensor &x = TensorOf(call, kX), &y = TensorOf(call, kY);
    const Offsets& times = LastLevel(y, "Y");
    ENFORCE(x.rank() > 0 && x.dim(0) == Count(times), InvalidArgument,
            "X must have a row for each sequence of Y, ", Count(times), ", got shape ", x.dims());
    Moves moves;
    moves.lod = y.lod_levels();
    for (int64_t s = 0; s < x.dim(0); ++s) {
      for (int64_t k = times[s]; k < times[s + 1]; ++k) moves.Add(s, 1);
    }
    return moves;
  }
};
using Ops = RowOps<Spec>;

void DefineSequenceExpandAs(OpDef& op) {
  op.Comment("Row i of X for each row of sequence i of Y.")
      .Example(
          ">>> y = to_variable(np.zeros((3, 1)), lod=[[0, 2, 3]])\n"
          ">>> out = F.sequence_expand_as(to_variable([[1.0], [2.0]]), y)\n"
          ">>> out.tolist(), out.lod()\n"
          "([[1.0], [1.0], [2.0]], [[0, 2, 3]])")
      .Input(kX, "X", "[sequences of Y, ...]")
      .Input(kY, "Y", "its LoD alone is read")
      .Output(kOut, "Out", "[rows of Y, ...], the LoD of Y")
      .Shape(Ops::InferShape)
      .MixedDTypes()
      .Grad(Ops::Recipe);
}

template <class T>
using SequenceExpandAsKernel = Ops::Forward<T>;
template <class T>
using SequenceExpandAsGradKernel = Ops::Backward<T>;

REGISTER_OPERATOR(sequence_expand_as, DefineSequenceExpandAs);
REGISTER_KERNELS(sequence_expand_as, SequenceExpandAsKernel, AllTypes);
REGISTER_OPERATOR(sequence_expand_as_grad, Ops::DefineGrad);
REGISTER_KERNELS(sequence_expand_as_grad, SequenceExpandAsGradKernel, float, double);

}  // namespace
}  // namespace dygraph::sequence
