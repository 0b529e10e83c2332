#include "operators/arguments.h"
#include "operators/sequence/sequence_rows.h"

namespace dygraph::sequence {
namespace {

constexpr int kX = 0, kOffset = 1, kLength = 2, kOut = 0;

struct Spec {
  static constexpr const char *type = "sequence_slice", *grad_type = "sequence_slice_grad",
                              *out = "Out";
  static constexpr const char* inputs[] = {"X", "Offset", "Length"};
  static constexpr bool has_attrs = false, reads_others = true;
  static RecipeSlot Other(GradBuilder& g, int slot) { return g.Input(slot); }
  static Dims Row(const Dims& x) { return RowAfterFirst(x); }

  static Moves Plan(const Call& call) {
    const Tensor& x = TensorOf(call, kX);
    const Offsets& offsets = LastLevel(x, "X");
    std::vector<int64_t> first = Integers(TensorOf(call, kOffset), "Offset"),
                         count = Integers(TensorOf(call, kLength), "Length");
    int64_t n = Count(offsets);
    ENFORCE(static_cast<int64_t>(first.size()) == n && static_cast<int64_t>(count.size()) == n,
            InvalidArgument, "Offset and Length must hold a number for each sequence of X, ", n,
            ", got ", first.size(), " and ", count.size());
    Moves moves;
    moves.lod = UpperLevels(x.lod_levels());
    Offsets kept{0};
    for (int64_t s = 0; s < n; ++s) {
      int64_t length = offsets[s + 1] - offsets[s];
      ENFORCE(first[s] >= 0 && first[s] <= length && count[s] >= 0 && count[s] <= length - first[s],
              OutOfRange, "sequence ", s, " has ", length,
              " rows, of which Offset and Length must pick some, got ", first[s], " and ",
              count[s]);
      moves.Add(offsets[s] + first[s], count[s]);
      kept.push_back(moves.rows);
    }
    moves.lod.push_back(std::move(kept));
    return moves;
  }
};
using Ops = RowOps<Spec>;

void DefineSequenceSlice(OpDef& op) {
  op.Comment("Of each sequence of X the Length rows from its row Offset on.")
      .Example(
          ">>> x = to_variable([[1], [2], [3], [4], [5]], lod=[[0, 3, 5]])\n"
          ">>> out = F.sequence_slice(x, to_variable([[1], [0]]), to_variable([[2], [1]]))\n"
          ">>> out.tolist(), out.lod()\n"
          "([[2], [3], [4]], [[0, 2, 3]])")
      .Input(kX, "X", "rows with LoD")
      .Input(kOffset, "Offset", "[sequences, 1], int32 or int64", kOnHost)
      .Input(kLength, "Length", "[sequences, 1], int32 or int64", kOnHost)
      .Output(kOut, "Out", "the rows, with their LoD")
      .Shape(Ops::InferShape)
      .MixedDTypes()
      .Grad(Ops::Recipe);
}

template <class T>
using SequenceSliceKernel = Ops::Forward<T>;
template <class T>
using SequenceSliceGradKernel = Ops::Backward<T>;

REGISTER_OPERATOR(sequence_slice, DefineSequenceSlice);
REGISTER_KERNELS(sequence_slice, SequenceSliceKernel, AllTypes);
REGISTER_OPERATOR(sequence_slice_grad, Ops::DefineGrad);
REGISTER_KERNELS(sequence_slice_grad, SequenceSliceGradKernel, float, double);

}  // namespace
}  // namespace dygraph::sequence
