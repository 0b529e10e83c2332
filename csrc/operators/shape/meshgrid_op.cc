#include "kernels/strided_copy.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

void InferShape(InferContext& ctx) {
  Dims out;
  int count = ctx.InputCount(kX);
  ENFORCE(count <= kMaxRank, InvalidArgument, "there must be at most ", kMaxRank, " X, got ",
          count);
  for (int i = 0; i < count; ++i) {
    ENFORCE(ctx.rank(kX, i) == 1, InvalidArgument, "each X must have one axis, got X[", i, "] ",
            ctx.dims(kX, i));
    out.push_back(ctx.dims(kX, i)[0]);
  }
  for (int i = 0; i < count; ++i) ctx.SetOutputAt(kOut, i, out);
}

void DefineMeshgrid(OpDef& op) {
  op.Comment("Out[i][k_0, k_1, ...] = X[i][k_i]: the coordinates of the points of a grid.")
      .Input(kX, "X", "one axis each", kDuplicable)
      .Output(kOut, "Out", "one for each X, its axis i as long as X[i]", kDuplicable)
      .OutputCount([](int, const Call& call) { return call.in.count(kX); })
      .Shape(InferShape)
      .Grad([](GradBuilder& g) {
        for (int i = 0; i < g.InputCount(kX); ++i) {
          std::vector<int32_t> others;
          for (int k = 0; k < g.InputCount(kX); ++k) {
            if (k != i) others.push_back(k);
          }
          if (others.empty()) {
            g.Call("scale", {g.OutputGrad(kOut)}, {g.InputGrad(kX)});
          } else {
            g.Call("reduce_sum", {g.OutputGrad(kOut, i)}, {g.InputGrad(kX, i)}).Attr("dim", others);
          }
        }
      });
}

template <class T>
struct MeshgridKernel {
  static void Compute(KernelContext& ctx) {
    for (int i = 0; i < ctx.InputCount(kX); ++i) {
      Tensor* out = ctx.OutOrNull(kOut, i);
      if (!out) continue;
      Dims along(out->dims().size(), 0);
      along[i] = 1;
      kernels::CopyStrided(out->dims(), ctx.In(kX, i).data<T>(), along, out->mutable_data<T>(),
                           Strides(out->dims()), sizeof(T));
    }
  }
};

REGISTER_OPERATOR(meshgrid, DefineMeshgrid);
REGISTER_KERNELS(meshgrid, MeshgridKernel, AllTypes);

}  // namespace
}  // namespace dygraph
