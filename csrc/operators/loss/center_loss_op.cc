#include "kernels/elementwise.h"
#include "kernels/fold.h"
#include "op/lod_rule.h"
#include "op/number.h"
#include "operators/labels.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kLabel = 1, kCenters = 2, kRate = 3, kCentersOut = 0, kDiff = 1, kLoss = 2;

struct CenterLossAttrs {
  int32_t cluster_num = 0;
  bool need_update = false;
};

void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &label = ctx.dims(kLabel), &centers = ctx.dims(kCenters);
  ENFORCE(x.rank() == 2, InvalidArgument, "X must hold features [N, D], got shape ", x);
  ENFORCE(labels::Fits(label, {x[0], 1}) || labels::Fits(label, {x[0]}), InvalidArgument,
          "Label must have the shape [N, 1] or [N] with the rows of X ", x, ", got ", label);
  int64_t clusters = ctx.attrs<CenterLossAttrs>().cluster_num;
  ENFORCE(centers.rank() == 2 && (centers[1] == x[1] || !BothKnown(centers[1], x[1])) &&
              (clusters == 0 || centers[0] == clusters || centers[0] < 0),
          InvalidArgument, "Centers must have the shape [cluster_num, D] with the width of X ", x,
          " and cluster_num ", clusters, ", got ", centers);
  DType type = ctx.dtype(kLabel);
  ENFORCE(type == DType::kInt64 || type == DType::kInt32, Type,
          "Label must hold int64 or int32 class numbers, got ", type,
          ". Convert with astype('int64')");
  for (int slot : {kCenters, kRate}) {
    ENFORCE(ctx.dtype(slot) == ctx.dtype(kX), Type, slot == kRate ? "CenterUpdateRate" : "Centers",
            " must be of the type of X, ", ctx.dtype(kX), ", got ", ctx.dtype(slot));
  }
  const Dims& rate = ctx.dims(kRate);
  ENFORCE(rate.HasUnknown() || Numel(rate) == 1, InvalidArgument,
          "CenterUpdateRate must hold one number, got shape ", rate);
  ctx.SetOutput(kCentersOut, centers);
  ctx.SetOutput(kDiff, x);
  ctx.SetOutput(kLoss, {x[0], 1});
}

void DefineCenterLoss(OpDef& op) {
  op.Comment(
        "SampleCenterDiff = X - Centers[Label], Loss = sum(SampleCenterDiff^2) / 2 of each row "
        "(Wen et al., 2016). With need_update a center of n samples moves by CenterUpdateRate * "
        "sum(SampleCenterDiff) / (1 + n). Centers get no gradient.")
      .Example(
          ">>> x, centers = to_variable([[1.0, 2.0]]), to_variable([[0.0, 0.0]])\n"
          ">>> label, rate = to_variable([[0]]), to_variable([0.5])\n"
          ">>> out = F.center_loss(x, label, centers, rate, need_update=True)\n"
          ">>> [v.tolist() for v in out]  # moved centers, differences, loss\n"
          "[[[0.25, 0.5]], [[1.0, 2.0]], [[2.5]]]")
      .Input(kX, "X", "features [N, D]")
      .Input(kLabel, "Label", "int64 or int32 classes [N, 1] or [N]")
      .Input(kCenters, "Centers", "[C, D]")
      .Input(kRate, "CenterUpdateRate", "one number")
      .Output(kCentersOut, "CentersOut", "shape of Centers")
      .Output(kDiff, "SampleCenterDiff", "shape of X")
      .Output(kLoss, "Loss", "[N, 1]")
      .Attr(&CenterLossAttrs::cluster_num, "cluster_num", "the number of classes; 0: not checked",
            AtLeast(0))
      .Attr(&CenterLossAttrs::need_update, "need_update", "move the centers")
      .MixedDTypes()
      .ShareLoD(kX)
      .Shape(InferShape)
      .InPlace(kCenters, kCentersOut)
      .Grad([](GradBuilder& g) {
        RecipeRef pulled = g.Apply("elementwise_mul", {g.Output(kDiff), g.OutputGrad(kLoss)});
        g.Call("sum", {RecipeSlot({pulled, g.OutputGrad(kDiff)})}, {g.InputGrad(kX)});
      });
}

template <class T>
struct CenterLossKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &centers = ctx.In(kCenters);
    int64_t n = x.dim(0), width = x.dim(1), clusters = centers.dim(0);
    labels::ClassLabels classes(ctx.In(kLabel));
    classes.CheckAll(clusters);
    const T *xd = x.data<T>(), *from = centers.data<T>();
    Tensor *diff = ctx.OutOrNull(kDiff), *loss = ctx.OutOrNull(kLoss);
    // Centers may be written in place: all differences come first.
    Scratch room = ctx.Workspace(diff ? 0 : n * width * sizeof(T));
    T* kept = diff ? diff->mutable_data<T>() : room.as<T>();
    T* to_loss = loss ? loss->mutable_data<T>() : nullptr;
    kernels::ForEachRowPlain(n, width, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
      const T *x = xd + r * width, *center = from + classes[r] * width;
      T* d = kept + r * width;
      const T sum = kernels::Fold(
          team, width, T(0),
          [=](int64_t k) {
            d[k] = x[k] - center[k];
            return d[k] * d[k];
          },
          kernels::Sum());
      team.Once([=] {
        if (to_loss) to_loss[r] = sum / T(2);
      });
    });
    if (Tensor* out = ctx.OutOrNull(kCentersOut)) {
      T* to = out->mutable_data<T>();
      if (to != from) ctx.device().CopyWithin(to, from, centers.bytes());
      if (ctx.attrs<CenterLossAttrs>().need_update)
        Move(classes, kept, n, width, clusters, ctx, to);
    }
  }
  // One team walks over the samples, so that those of a center are added in their order.
  static void Move(const labels::ClassLabels& classes, const T* diff, int64_t n, int64_t width,
                   int64_t clusters, KernelContext& ctx, T* to) {
    const Number<T> rate(ctx.In(kRate));
    Scratch room = ctx.Workspace(clusters * sizeof(int64_t));
    int64_t* count = room.as<int64_t>();
    kernels::Fill(count, clusters, int64_t{1});
    kernels::ForEachRowPlain(1, n * width, [=] DYGRAPH_FN(int64_t, kernels::Team team) {
      team.Once([=] {
        for (int64_t r = 0; r < n; ++r) ++count[classes[r]];
      });
      team.Sync();
      for (int64_t r = 0; r < n; ++r) {
        const int64_t c = classes[r];
        const T share = rate() / static_cast<T>(count[c]);
        team.Each(width, [=](int64_t k) { to[c * width + k] += share * diff[r * width + k]; });
      }
    });
  }
};

REGISTER_OPERATOR(center_loss, DefineCenterLoss);
REGISTER_LOD_ALSO(center_loss, kLabel);
REGISTER_LOD_RULE(center_loss, [](const LoDCall& c) { return c.out_slot != kCentersOut; });
REGISTER_KERNELS(center_loss, CenterLossKernel, float, double);

}  // namespace
}  // namespace dygraph
