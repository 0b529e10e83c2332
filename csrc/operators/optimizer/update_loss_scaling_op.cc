#include "operators/optimizer/unscale.h"

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
    const bool* found = ctx.In(kFoundInfinite).data<bool>();
    for (int i = 0; i < ctx.InputCount(kX); ++i) {
      const Tensor& x = ctx.In(kX, i);
      Tensor* out = ctx.OutOrNull(kOut, i);
      if (out && x.numel() > 0) optimizer::PassUnless<T>(ctx, found, x, out);
    }
    const DType type = ctx.In(kPrevLossScaling).dtype();
    const double up = NumberFor(type, a.incr_ratio), down = NumberFor(type, a.decr_ratio);
    const bool narrow = type == DType::kFloat32, stop_update = a.stop_update;
    const int32_t good_steps = a.incr_every_n_steps, bad_steps = a.decr_every_n_nan_or_inf;
    const Number<double> given(ctx.In(kPrevLossScaling));
    const int32_t *given_good = ctx.In(kInGoodSteps).data<int32_t>(),
                  *given_bad = ctx.In(kInBadSteps).data<int32_t>();
    const Tensor* stop = ctx.InOrNull(kStopUpdate);
    const bool* stops = stop ? stop->data<bool>() : nullptr;
    const optimizer::NumberTo scaling_out(ctx.OutOrNull(kLossScaling));
    Tensor *good_out = ctx.OutOrNull(kOutGoodSteps), *bad_out = ctx.OutOrNull(kOutBadSteps);
    int32_t* to_good = good_out ? good_out->mutable_data<int32_t>() : nullptr;
    int32_t* to_bad = bad_out ? bad_out->mutable_data<int32_t>() : nullptr;
    optimizer::AfterStep(ctx, [=] DYGRAPH_FN() {
      double scaling = given();
      int32_t good = *given_good, bad = *given_bad;
      if (!(stops ? *stops : stop_update)) {
        (*found ? good : bad) = 0;
        if (*found && ++bad == bad_steps) {
          scaling = scaling * down > 1 ? scaling * down : 1;
          bad = 0;
        } else if (!*found && ++good == good_steps) {
          const double grown = scaling * up;
          const double stored = narrow ? static_cast<double>(static_cast<float>(grown)) : grown;
          if (stored - stored == 0) scaling = grown;
          good = 0;
        }
      }
      scaling_out(scaling);
      if (to_good) *to_good = good;
      if (to_bad) *to_bad = bad;
    });
  }
};

REGISTER_OPERATOR(update_loss_scaling, DefineUpdateLossScaling);
REGISTER_KERNELS(update_loss_scaling, UpdateLossScalingKernel, float, double);

}  // namespace
}  // namespace dygraph
