#include <cstring>

#include "operators/optimizer/optimizer.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kFoundInfinite = 1, kPrevLossScaling = 2, kInGoodSteps = 3, kInBadSteps = 4,
              kStopUpdate = 5;
constexpr int kOut = 0, kLossScaling = 1, kOutGoodSteps = 2, kOutBadSteps = 3;

struct UpdateLossScalingAttrs {
  int32_t incr_every_n_steps = 1000;
  int32_t decr_every_n_nan_or_inf = 2;
  double incr_ratio = 2.0;
  double decr_ratio = 0.5;
  bool stop_update = false;
};

void CheckNumber(InferContext& ctx, int slot, DType type) {
  const std::string& name = ctx.call().op->inputs[slot].name;
  ENFORCE(optimizer::IsScalar(ctx.dims(slot)), InvalidArgument, name,
          " must hold a single value, shape [1] or [], got ", ctx.dims(slot));
  ENFORCE(ctx.dtype(slot) == type, Type, name, " must have the element type ", type, ", got ",
          ctx.dtype(slot));
}

void InferShape(InferContext& ctx) {
  CheckNumber(ctx, kFoundInfinite, DType::kBool);
  optimizer::CheckScalar(ctx, kX, kPrevLossScaling, "PrevLossScaling");
  CheckNumber(ctx, kInGoodSteps, DType::kInt32);
  CheckNumber(ctx, kInBadSteps, DType::kInt32);
  if (ctx.HasInput(kStopUpdate)) CheckNumber(ctx, kStopUpdate, DType::kBool);
  const auto& a = ctx.attrs<UpdateLossScalingAttrs>();
  ENFORCE(a.incr_ratio > 1 && a.decr_ratio > 0 && a.decr_ratio < 1, InvalidArgument,
          "incr_ratio must exceed 1 and decr_ratio lie between 0 and 1, got ", a.incr_ratio,
          " and ", a.decr_ratio);
  ENFORCE(ctx.OutputCount(kOut) == ctx.InputCount(kX), InvalidArgument,
          "there must be one Out for each X, ", ctx.InputCount(kX), ", got ",
          ctx.OutputCount(kOut));
  for (int i = 0; i < ctx.InputCount(kX); ++i)
    ctx.SetOutputAt(kOut, i, ctx.dims(kX, i), ctx.dtype(kX, i));
  ctx.SetOutput(kLossScaling, ctx.dims(kPrevLossScaling), ctx.dtype(kPrevLossScaling));
  ctx.SetOutput(kOutGoodSteps, ctx.dims(kInGoodSteps), DType::kInt32);
  ctx.SetOutput(kOutBadSteps, ctx.dims(kInBadSteps), DType::kInt32);
}

void DefineUpdateLossScaling(OpDef& op) {
  op.Comment(
        "Out[i] = X[i], or zeros where FoundInfinite, so that the step does nothing. A step "
        "without infinities counts as good: after incr_every_n_steps of them LossScaling is "
        "PrevLossScaling * incr_ratio, if that is finite. After decr_every_n_nan_or_inf others it "
        "is PrevLossScaling * decr_ratio, at least 1. A step of one kind sets the count of the "
        "other to 0. With stop_update scaling and counts stay.")
      .Example(
          ">>> x, scaling = to_variable([1.0, np.inf]), to_variable([8.0])\n"
          ">>> good, bad = (to_variable([n], dtype=\"int32\") for n in (3, 1))\n"
          ">>> found = to_variable([True])\n"
          ">>> (x,), scaling, good, bad = F.update_loss_scaling([x], found, scaling, good, bad)\n"
          ">>> x.tolist(), scaling.item(), good.item(), bad.item()\n"
          "([0.0, 0.0], 4.0, 0, 0)")
      .Input(kX, "X", "tensors of any shapes", kDuplicable)
      .Input(kFoundInfinite, "FoundInfinite", "[1] bool")
      .Input(kPrevLossScaling, "PrevLossScaling", "[1] or []")
      .Input(kInGoodSteps, "InGoodSteps", "[1] int32")
      .Input(kInBadSteps, "InBadSteps", "[1] int32")
      .Input(kStopUpdate, "StopUpdate", "[1] bool, in place of stop_update", kDispensable)
      .Output(kOut, "Out", "shape of each X", kDuplicable)
      .Output(kLossScaling, "LossScaling", "shape of PrevLossScaling")
      .Output(kOutGoodSteps, "OutGoodSteps", "[1] int32")
      .Output(kOutBadSteps, "OutBadSteps", "[1] int32")
      .Attr(&UpdateLossScalingAttrs::incr_every_n_steps, "incr_every_n_steps",
            "good steps before the scaling grows", AtLeast(1))
      .Attr(&UpdateLossScalingAttrs::decr_every_n_nan_or_inf, "decr_every_n_nan_or_inf",
            "bad steps before the scaling shrinks", AtLeast(1))
      .Attr(&UpdateLossScalingAttrs::incr_ratio, "incr_ratio", "more than 1")
      .Attr(&UpdateLossScalingAttrs::decr_ratio, "decr_ratio", "between 0 and 1")
      .Attr(&UpdateLossScalingAttrs::stop_update, "stop_update", "leave scaling and counts alone")
      .OutputCount([](int, const Call& call) { return call.in.count(kX); })
      .Shape(InferShape)
      .MixedDTypes()
      .InPlace(kPrevLossScaling, kLossScaling)
      .InPlace(kInGoodSteps, kOutGoodSteps)
      .InPlace(kInBadSteps, kOutBadSteps)
      .NoGrad();
}

template <class T>
struct UpdateLossScalingKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<UpdateLossScalingAttrs>();
    bool found = *ctx.In(kFoundInfinite).data<bool>();
    const DType type = ctx.In(kPrevLossScaling).dtype();
    double scaling = Item(ctx.In(kPrevLossScaling));
    int32_t good = *ctx.In(kInGoodSteps).data<int32_t>(),
            bad = *ctx.In(kInBadSteps).data<int32_t>();
    const Tensor* given = ctx.InOrNull(kStopUpdate);
    for (int i = 0; i < ctx.InputCount(kX); ++i) {
      const Tensor& x = ctx.In(kX, i);
      Tensor* out = ctx.OutOrNull(kOut, i);
      if (!out || x.numel() == 0) continue;
      if (found)
        std::memset(out->mutable_raw_data(), 0, out->bytes());
      else
        optimizer::CopyThrough(x, out);
    }
    if (!(given ? *given->data<bool>() : a.stop_update)) {
      (found ? good : bad) = 0;
      if (found && ++bad == a.decr_every_n_nan_or_inf) {
        scaling = std::max(1.0, scaling * NumberFor(type, a.decr_ratio));
        bad = 0;
      } else if (!found && ++good == a.incr_every_n_steps) {
        double grown = scaling * NumberFor(type, a.incr_ratio);
        bool narrow = type == DType::kFloat32;
        if (std::isfinite(narrow ? static_cast<double>(static_cast<float>(grown)) : grown))
          scaling = grown;
        good = 0;
      }
    }
    optimizer::StoreNumber(ctx.OutOrNull(kLossScaling), scaling);
    if (Tensor* out = ctx.OutOrNull(kOutGoodSteps)) *out->mutable_data<int32_t>() = good;
    if (Tensor* out = ctx.OutOrNull(kOutBadSteps)) *out->mutable_data<int32_t>() = bad;
  }
};

REGISTER_OPERATOR(update_loss_scaling, DefineUpdateLossScaling);
REGISTER_CPU_KERNEL(update_loss_scaling, UpdateLossScalingKernel, float, double);

}  // namespace
}  // namespace dygraph
