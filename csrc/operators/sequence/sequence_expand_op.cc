#include "operators/arguments.h"
#include "operators/sequence/sequence_rows.h"

namespace dygraph::sequence {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0;

struct SequenceExpandAttrs {
  int32_t ref_level = -1;
};

struct Spec {
  static constexpr const char *type = "sequence_expand", *grad_type = "sequence_expand_grad",
                              *out = "Out";
  static constexpr const char* inputs[] = {"X", "Y"};
  static constexpr bool has_attrs = true, reads_others = false;
  static RecipeSlot Other(GradBuilder& g, int slot) { return g.InputShape(slot); }
  static Dims Row(const Dims& x) { return RowAfterFirst(x); }

  static Moves Plan(const Call& call) {
    const Tensor &x = TensorOf(call, kX), &y = TensorOf(call, kY);
    const LoDLevels &lod = y.lod_levels(), &own = x.lod_levels();
    int level = static_cast<const SequenceExpandAttrs*>(call.attrs)->ref_level;
    int levels = static_cast<int>(lod.size());
    ENFORCE(levels > 0, InvalidArgument,
            "Y must have a level of detail, whose lengths say how often, got none");
    ENFORCE(level >= -1 && level < levels, OutOfRange, "ref_level must be -1 or lie in [0, ",
            levels, "), the levels of Y, got ", level);
    ENFORCE(own.size() < 2, InvalidArgument, "X must have at most one level of detail, got ",
            own.size());
    const Offsets& times = lod[level < 0 ? levels - 1 : level];
    int64_t n = own.empty() ? x.dim(0) : Count(own[0]);
    ENFORCE(n == Count(times), InvalidArgument, "X must have as many ",
            own.empty() ? "rows" : "sequences", " as level ", level, " of Y has sequences, ",
            Count(times), ", got ", n);
    Moves moves;
    if (!own.empty()) moves.lod = {Offsets{0}};  // repeated rows are no sequences, as in Fluid
    for (int64_t s = 0; s < n; ++s) {
      int64_t from = own.empty() ? s : own[0][s], count = own.empty() ? 1 : own[0][s + 1] - from;
      for (int64_t k = times[s]; k < times[s + 1]; ++k) {
        moves.Add(from, count);
        if (!own.empty()) moves.lod[0].push_back(moves.rows);
      }
    }
    return moves;
  }
};
using Ops = RowOps<Spec>;

void DefineSequenceExpand(OpDef& op) {
  op.Comment(
        "Each sequence of X, or row where X has no LoD, as often as the sequence of Y's level "
        "ref_level with its number is long; 0 times leaves it out. X [[a, b], [c]] and lengths 2 "
        "and 1 give [[a, b], [a, b], [c]].")
      .Example(
          ">>> x = to_variable([[1.0], [2.0], [3.0]], lod=[[0, 2, 3]])\n"
          ">>> y = to_variable(np.zeros((3, 1)), lod=[[0, 2, 3]])\n"
          ">>> out = F.sequence_expand(x, y)\n"
          ">>> out.tolist(), out.lod()\n"
          "([[1.0], [2.0], [1.0], [2.0], [3.0]], [[0, 2, 4, 5]])")
      .Input(kX, "X", "rows, at most one level of detail")
      .Input(kY, "Y", "its LoD alone is read")
      .Output(kOut, "Out", "rows of X, and its sequences; no LoD where X has none")
      .Attr(&SequenceExpandAttrs::ref_level, "ref_level", "the level of Y; -1: the last")
      .Shape(Ops::InferShape)
      .MixedDTypes()
      .Grad(Ops::Recipe);
}

template <class T>
using SequenceExpandKernel = Ops::Forward<T>;
template <class T>
using SequenceExpandGradKernel = Ops::Backward<T>;

REGISTER_OPERATOR(sequence_expand, DefineSequenceExpand);
REGISTER_KERNELS(sequence_expand, SequenceExpandKernel, AllTypes);
REGISTER_OPERATOR(sequence_expand_grad, Ops::DefineGrad);
REGISTER_KERNELS(sequence_expand_grad, SequenceExpandGradKernel, float, double);

}  // namespace
}  // namespace dygraph::sequence
