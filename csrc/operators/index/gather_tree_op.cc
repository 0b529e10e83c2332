#include "kernels/loops.h"
#include "op/index_guard.h"

namespace dygraph {
namespace {

constexpr int kIds = 0, kParents = 1, kOut = 0;

void DefineGatherTree(OpDef& op) {
  op.Comment(
        "The sequences of a beam search from its last step back: Out[last] = Ids[last], and before "
        "it Out[t, b, k] = Ids[t, b, p] where p is the beam k came from, by Parents[t + 1].")
      .Example(
          ">>> ids = to_variable([[[1, 2]], [[3, 4]], [[5, 6]]])\n"
          ">>> parents = to_variable([[[0, 0]], [[1, 0]], [[1, 0]]])\n"
          ">>> F.gather_tree(ids, parents).tolist()  # beams 1, 4, 5 and 2, 3, 6\n"
          "[[[1, 2]], [[4, 3]], [[5, 6]]]")
      .Input(kIds, "Ids", "[time, batch, beam], int32 or int64: what each beam chose")
      .Input(kParents, "Parents", "shape of Ids: the beam of the step before, in [0, beam)")
      .Output(kOut, "Out", "shape of Ids")
      .Shape([](InferContext& ctx) {
        const Dims &ids = ctx.dims(kIds), &parents = ctx.dims(kParents);
        ENFORCE(ids.rank() == 3, InvalidArgument, "Ids must have shape [time, batch, beam], got ",
                ids);
        ENFORCE(parents == ids || ids.HasUnknown() || parents.HasUnknown(), InvalidArgument,
                "Parents must have the shape of Ids, ", ids, ", got ", parents);
        ctx.SetOutput(kOut, ids);
      })
      .NoGrad();
}

template <class T>
struct GatherTreeKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& in = ctx.In(kIds);
    int64_t steps = in.dim(0), batch = in.dim(1), beams = in.dim(2), step = batch * beams;
    const T *ids = in.data<T>(), *parents = ctx.In(kParents).data<T>();
    // the first step has no step before
    CheckEach(std::max<int64_t>(in.numel() - step, 0), [=](int64_t k) {
      const int64_t i = step + k;
      ENFORCE(parents[i] >= 0 && parents[i] < beams, OutOfRange, "Parents must lie in [0, ", beams,
              "), the number of beams, got ", parents[i], " at position ", i);
    });
    if (in.numel() == 0) return;
    const IndexGuard guard(ctx, kParents, beams);
    T* out = ctx.Out(kOut).mutable_data<T>();
    kernels::ForEach(step, [=] DYGRAPH_FN(int64_t i) {
      int64_t row = i / beams * beams, beam = i % beams;
      for (int64_t t = steps - 1; t >= 0; --t) {
        out[t * step + i] = ids[t * step + row + beam];
        if (t > 0) beam = guard(parents[t * step + row + beam]);
      }
    });
  }
};

REGISTER_OPERATOR(gather_tree, DefineGatherTree);
REGISTER_KERNELS(gather_tree, GatherTreeKernel, int32_t, int64_t);

}  // namespace
}  // namespace dygraph
