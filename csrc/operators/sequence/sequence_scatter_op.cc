#include "kernels/loops.h"
#include "kernels/table.h"
#include "kernels/touched_rows.h"
#include "op/gradient_shapes.h"
#include "operators/arguments.h"
#include "operators/sequence/sequence.h"

namespace dygraph::sequence {
namespace {

constexpr int kX = 0, kIds = 1, kUpdates = 2, kOut = 0;

void CheckIds(InferContext& ctx, int x_slot) {
  const Dims &x = ctx.dims(x_slot), &ids = ctx.dims(kIds);
  ENFORCE(x.rank() == 2, InvalidArgument, "X must be a matrix [sequences of Ids, D], got ", x);
  ENFORCE(ids.rank() == 1 || (ids.rank() == 2 && (ids[1] == 1 || ids[1] < 0)), InvalidArgument,
          "Ids must have shape [rows, 1] or [rows], got ", ids);
  if (!ctx.runtime()) return;
  int64_t n = Count(LastLevel(ctx.value(kIds).tensor(), "Ids"));
  ENFORCE(n == x[0], InvalidArgument, "X must have a row for each sequence of Ids, ", n, ", got ",
          x);
}

// The place in X of each update; every id is checked.
std::vector<int64_t> PlacesOf(const Tensor& ids, const Dims& x) {
  const Offsets& offsets = LastLevel(ids, "Ids");
  std::vector<int64_t> list = Integers(ids, "Ids");
  for (size_t i = 0; i < list.size(); ++i) {
    ENFORCE(list[i] >= 0 && list[i] < x[1], OutOfRange, "Ids must lie in [0, ", x[1],
            "), the width of X, got ", list[i], " at position ", i);
  }
  for (int64_t s = 0; s < Count(offsets); ++s) {
    for (int64_t i = offsets[s]; i < offsets[s + 1]; ++i) list[i] += s * x[1];
  }
  return list;
}

void DefineSequenceScatter(OpDef& op) {
  op.Comment("Out = X, and for each row j of sequence i of Ids: Out[i, Ids[j]] += Updates[j].")
      .Example(
          ">>> ids = to_variable([[0], [2], [1]], lod=[[0, 2, 3]])\n"
          ">>> updates = to_variable([[1.0], [2.0], [3.0]])\n"
          ">>> x = to_variable(np.zeros((2, 3), 'float32'))\n"
          ">>> F.sequence_scatter(x, ids, updates).tolist()\n"
          "[[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]")
      .Input(kX, "X", "[sequences of Ids, D]")
      .Input(kIds, "Ids", "[rows, 1] with LoD, int32 or int64, in [0, D)", kOnHost)
      .Input(kUpdates, "Updates", "[rows, 1], as many as Ids")
      .Output(kOut, "Out", "shape of X")
      .Shape([](InferContext& ctx) {
        CheckIds(ctx, kX);
        const Dims &ids = ctx.dims(kIds), &updates = ctx.dims(kUpdates);
        ENFORCE(updates.HasUnknown() || ids.HasUnknown() || Numel(updates) == Numel(ids),
                InvalidArgument, "Updates must hold a number for each of Ids ", ids, ", got ",
                updates);
        ctx.SetOutput(kOut, ctx.dims(kX));
      })
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("assign", {g.OutputGrad(kOut)}, {g.InputGrad(kX)});
        g.Call("sequence_scatter_grad", {g.OutputGrad(kOut), g.Input(kIds), g.InputShape(kUpdates)},
               {g.InputGrad(kUpdates)});
      });
}

template <class T>
struct SequenceScatterKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &updates = ctx.In(kUpdates);
    T* to = ctx.Out(kOut).mutable_data<T>();
    const T *add = updates.data<T>(), *from = x.data<T>();
    if (x.numel() > 0) ctx.device().CopyWithin(to, from, x.bytes());
    const std::vector<int64_t> places = PlacesOf(ctx.In(kIds), x.dims());
    kernels::ForEachTouched<T>(
        places.data(), static_cast<int64_t>(places.size()), 1,
        [=] DYGRAPH_FN(int64_t place, int64_t i, int64_t) { to[place] += add[i]; });
  }
};

namespace grad {
constexpr int kOutGrad = 0;

void DefineSequenceScatterGrad(OpDef& op) {
  op.Comment("Updates@GRAD[j] = Out@GRAD[i, Ids[j]]; X@GRAD is Out@GRAD itself.")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Input(kIds, "Ids", "as in sequence_scatter", kOnHost)
      .Input(kUpdates, "Updates", "its shape")
      .Output(0, "Updates@GRAD", "shape of Updates")
      .Shape([](InferContext& ctx) {
        CheckIds(ctx, kOutGrad);
        const Dims &ids = ctx.dims(kIds), &updates = ctx.dims(kUpdates);
        ENFORCE(updates.HasUnknown() || ids.HasUnknown() || Numel(updates) == Numel(ids),
                InvalidArgument, "Updates must hold a number for each of Ids ", ids, ", got ",
                updates);
        ctx.SetOutput(0, updates);
      })
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        RecipeRef zeros = g.Apply("fill_any_like", {g.InputShape(kOutGrad)});
        g.Call("sequence_scatter", {zeros, g.Input(kIds), g.OutputGrad(0)},
               {g.InputGrad(kOutGrad)});
      });
}

template <class T>
struct SequenceScatterGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& g = ctx.In(kOutGrad);
    const T* from = g.data<T>();
    T* to = ctx.Out(0).mutable_data<T>();
    const std::vector<int64_t> places = PlacesOf(ctx.In(kIds), g.dims());
    kernels::Table<int64_t> table(places);
    const int64_t* place = table.data();
    kernels::ForEach(static_cast<int64_t>(places.size()),
                     [=] DYGRAPH_FN(int64_t i) { to[i] = from[place[i]]; });
  }
};
}  // namespace grad

REGISTER_GRADIENT_SHAPES(sequence_scatter, {"X", "Out"});
REGISTER_OPERATOR(sequence_scatter, DefineSequenceScatter);
REGISTER_KERNELS(sequence_scatter, SequenceScatterKernel, int32_t, int64_t, float, double);
REGISTER_OPERATOR(sequence_scatter_grad, grad::DefineSequenceScatterGrad);
REGISTER_KERNELS(sequence_scatter_grad, grad::SequenceScatterGradKernel, float, double);

}  // namespace
}  // namespace dygraph::sequence
