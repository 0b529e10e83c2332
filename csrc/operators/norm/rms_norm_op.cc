#include <cmath>

#include "kernels/elementwise.h"
#include "kernels/fold.h"
#include "op/gradient_call.h"
#include "op/gradient_shapes.h"
#include "operators/norm/normalization.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kBias = 1, kResidual = 2, kWeight = 3, kNormBias = 4;
constexpr int kOut = 0, kResidualOut = 1;

struct RmsNormAttrs {
  double epsilon = 1e-6;
  int32_t begin_norm_axis = 1;
  double quant_scale = -1;
  int32_t quant_round_type = 0;
  double quant_max_bound = 0;
  double quant_min_bound = 0;
};

int Begin(const Dims& x, const RmsNormAttrs& a) {
  ENFORCE(x.rank() > 0 && a.begin_norm_axis < x.rank() && a.begin_norm_axis >= -x.rank(),
          InvalidArgument, "begin_norm_axis must be an axis of x, got ", a.begin_norm_axis,
          " for x of shape ", x);
  return a.begin_norm_axis < 0 ? a.begin_norm_axis + x.rank() : a.begin_norm_axis;
}

kernels::RowNormShape Rows(const Dims& x, const RmsNormAttrs& a) {
  int begin = Begin(x, a);
  return {Numel(x, 0, begin), Numel(x, begin, x.rank()), 1, 1, false};
}

void CheckVector(InferContext& ctx, int slot, const char* name, int64_t n) {
  if (!ctx.HasInput(slot)) return;
  const Dims& d = ctx.dims(slot);
  ENFORCE(d.rank() == 1 && (d[0] == n || !BothKnown(d[0], n)), InvalidArgument, name,
          " must hold the ", n, " numbers of a row of x ", ctx.dims(kX), ", got shape ", d);
}

// The numbers of a row of x.
int64_t RowSize(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  return row_norm::Product(x, Begin(x, ctx.attrs<RmsNormAttrs>()), x.rank());
}

// For gradients: what is read in the shape of x has it, and no row is empty.
void CheckRead(InferContext& ctx, int slot, const char* name) {
  const Dims& x = ctx.dims(kX);
  row_norm::CheckSize(ctx, slot, name, x);
  ENFORCE(!ctx.runtime() || Numel(x, 0, Begin(x, ctx.attrs<RmsNormAttrs>())) == 0 || Numel(x) > 0,
          InvalidArgument, "each group that is normalised must have elements, got x of shape ", x);
}

void InferShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  const RmsNormAttrs& a = ctx.attrs<RmsNormAttrs>();
  int begin = Begin(x, a);
  int64_t n = RowSize(ctx);
  CheckVector(ctx, kWeight, "norm_weight", n);
  CheckVector(ctx, kNormBias, "norm_bias", n);
  CheckVector(ctx, kBias, "bias", n);
  ENFORCE(!ctx.HasInput(kBias) || begin == x.rank() - 1, InvalidArgument,
          "bias is added along the last axis, so begin_norm_axis must be that axis, got ", begin,
          " for x of shape ", x);
  if (ctx.HasInput(kResidual)) {
    const Dims& r = ctx.dims(kResidual);
    ENFORCE(r == x || r.HasUnknown() || x.HasUnknown(), InvalidArgument,
            "residual must have the shape of x ", x, ", got ", r);
  }
  ENFORCE(!(a.quant_scale > 0), Unimplemented,
          "the result is not quantised here: quant_scale must not be positive, got ",
          a.quant_scale);
  ENFORCE(!ctx.runtime() || Numel(x, 0, begin) == 0 || n > 0, InvalidArgument,
          "each group that is normalised must have elements, got x of shape ", x);
  ctx.SetOutput(kOut, x);
  ctx.SetOutput(kResidualOut, x);
}

void DefineRmsNorm(OpDef& op) {
  op.Comment(
        "out = s / sqrt(mean(s^2) + epsilon) * norm_weight + norm_bias with s = x + bias + "
        "residual, the mean over all axes from begin_norm_axis on (Zhang and Sennrich, 2019). "
        "residual_out is s.")
      .Example(
          ">>> x, weight = to_variable([[1.0, 7.0]]), to_variable([1.0, 10.0])\n"
          ">>> out = F.rms_norm(x, norm_weight=weight)\n"
          ">>> [round(v, 4) for v in out[0].tolist()]  # the root of the mean square is 5\n"
          "[0.2, 14.0]")
      .Input(kX, "x", "at least one axis")
      .Input(kBias, "bias", "[last size of x], added before", kDispensable)
      .Input(kResidual, "residual", "shape of x, added before", kDispensable)
      .Input(kWeight, "norm_weight", "[product of x's sizes from begin_norm_axis on]", kWide)
      .Input(kNormBias, "norm_bias", "shape of norm_weight", kDispensable | kWide)
      .Output(kOut, "out", "shape of x")
      .Output(kResidualOut, "residual_out", "shape of x", kExtra)
      .Attr(&RmsNormAttrs::epsilon, "epsilon", "added to the mean square", Between(0, 1))
      .Attr(&RmsNormAttrs::begin_norm_axis, "begin_norm_axis",
            "the first axis normalised over; negative ones count from the end")
      .Attr(&RmsNormAttrs::quant_scale, "quant_scale", "of programs; must not be positive")
      .Attr(&RmsNormAttrs::quant_round_type, "quant_round_type", "of programs")
      .Attr(&RmsNormAttrs::quant_max_bound, "quant_max_bound", "of programs")
      .Attr(&RmsNormAttrs::quant_min_bound, "quant_min_bound", "of programs")
      .ShareLoD(kX)
      .Shape(InferShape)
      .Grad([](GradBuilder& g) {
        bool more = g.HasInput(kBias) || g.HasInput(kResidual);
        RecipeRef s = g.Input(kX);
        if (g.HasInput(kResidual)) s = g.Apply("elementwise_add", {s, g.Input(kResidual)});
        if (g.HasInput(kBias)) s = g.Apply("elementwise_add", {s, g.Input(kBias)});
        if (!more && g.OutputCount(kResidualOut) == 0) {
          g.Call("rms_norm_grad",
                 {s, g.Input(kWeight), g.InputShape(kNormBias), g.OutputGrad(kOut)},
                 {g.InputGrad(kX), g.InputGrad(kWeight), g.InputGrad(kNormBias)})
              .SameAttrs();
          return;
        }
        RecipeRef through = g.Temp(), ds = g.Temp();
        g.Call("rms_norm_grad", {s, g.Input(kWeight), g.InputShape(kNormBias), g.OutputGrad(kOut)},
               {through, g.InputGrad(kWeight), g.InputGrad(kNormBias)})
            .SameAttrs();
        g.Call("sum", {RecipeSlot({through, g.OutputGrad(kResidualOut)})}, {ds});
        g.Call("scale", {ds}, {g.InputGrad(kX)});
        g.Call("scale", {ds}, {g.InputGrad(kResidual)});
        if (g.HasInput(kBias)) {
          g.Call("elementwise_add_grad", {g.InputShape(kX), g.InputShape(kBias), ds},
                 {{}, g.InputGrad(kBias)});
        }
      });
}

template <class T>
struct RmsNormKernel {
  static void Compute(KernelContext& ctx) {
    using W = kernels::Wide<T>;
    const RmsNormAttrs& a = ctx.attrs<RmsNormAttrs>();
    const Tensor& given = ctx.In(kX);
    if (given.numel() == 0) return;
    kernels::RowNormShape s = Rows(given.dims(), a);
    const T* x = given.data<T>();
    const Tensor *residual = ctx.InOrNull(kResidual), *bias = ctx.InOrNull(kBias);
    Tensor sum, *out = ctx.OutOrNull(kResidualOut);
    if (residual || bias || out) {
      sum.Allocate(given.dims(), given.dtype(), given.place());
      T* to = (out ? *out : sum).template mutable_data<T>();
      ctx.device().CopyWithin(to, x, given.bytes());
      const T* from = to;
      if (residual) {
        kernels::Zip(from, residual->data<T>(), to, given.numel(),
                     [] DYGRAPH_FN(W p, W q) { return p + q; });
      }
      if (bias) {
        const T* b = bias->data<T>();
        kernels::ForEachRowPlain(s.rows, s.n, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
          T* row = to + r * s.n;
          team.Each(s.n, [=](int64_t j) { row[j] = row[j] + b[j]; });
        });
      }
      x = to;
    }
    row_norm::Param<W> shift(ctx.place(), ctx.InOrNull(kNormBias), s.n, W(0));
    kernels::RowNorm<T>(x, ctx.In(kWeight).data<W>(), shift.data(), s, NumberFor<W>(a.epsilon),
                        ctx.Out(kOut).mutable_data<T>(), nullptr, nullptr);
  }
};

// Means (zeros) and inverse deviations of the rows.
template <class T>
struct Stats {
  using W = kernels::Wide<T>;
  Scratch room;
  W *mean, *inverse;
  Stats(const Tensor& x, const kernels::RowNormShape& s, double epsilon)
      : room(x.place(), 2 * static_cast<size_t>(s.rows) * sizeof(W)),
        mean(room.template as<W>()),
        inverse(mean + s.rows) {
    kernels::RowMoments<T>(x.data<T>(), s, mean, inverse);
    row_norm::Invert(inverse, s.rows, epsilon, inverse);
  }
};

namespace grad {
constexpr int kX = 0, kWeight = 1, kNormBias = 2, kOutGrad = 3;
constexpr int kXGrad = 0, kWeightGrad = 1, kBiasGrad = 2;

void InferGradShape(InferContext& ctx) {
  CheckRead(ctx, kOutGrad, "out@GRAD");
  CheckVector(ctx, kWeight, "norm_weight", RowSize(ctx));
  CheckVector(ctx, kNormBias, "norm_bias", RowSize(ctx));
  ctx.SetOutput(kXGrad, ctx.dims(kX));
  ctx.SetOutput(kWeightGrad, ctx.dims(kWeight), ctx.dtype(kWeight));
  if (ctx.HasInput(kNormBias)) ctx.SetOutput(kBiasGrad, ctx.dims(kNormBias), ctx.dtype(kWeight));
}

void DefineRmsNormGrad(OpDef& op) {
  op.Comment(
        "With r = 1 / sqrt(mean(x^2) + epsilon), u = x * r and h = out@GRAD * norm_weight: x@GRAD "
        "= r * (h - u * mean(h * u)), norm_weight@GRAD = sum(out@GRAD * u), norm_bias@GRAD = "
        "sum(out@GRAD).")
      .Input(kX, "x", "what was normalised")
      .Input(kWeight, "norm_weight", "as of the forward call", kWide)
      .Input(kNormBias, "norm_bias", "its shape", kDispensable | kWide)
      .Input(kOutGrad, "out@GRAD", "shape of x")
      .Output(kXGrad, "x@GRAD", "shape of x")
      .Output(kWeightGrad, "norm_weight@GRAD", "shape of norm_weight")
      .Output(kBiasGrad, "norm_bias@GRAD", "shape of norm_bias")
      .AttrsOf("rms_norm")
      .Shape(InferGradShape)
      .Grad(CallGradient);
}

template <class T>
struct RmsNormGradKernel {
  static void Compute(KernelContext& ctx) {
    using W = kernels::Wide<T>;
    const RmsNormAttrs& a = ctx.attrs<RmsNormAttrs>();
    const Tensor& x = ctx.In(kX);
    Tensor *dx = ctx.OutOrNull(kXGrad), *dw = ctx.OutOrNull(kWeightGrad),
           *db = ctx.OutOrNull(kBiasGrad);
    if (x.numel() == 0) {
      row_norm::Zero<W>(dw);
      return row_norm::Zero<W>(db);
    }
    kernels::RowNormShape s = Rows(x.dims(), a);
    Stats<T> stats(x, s, a.epsilon);
    kernels::RowNormGrad<T>(x.data<T>(), ctx.In(kOutGrad).data<T>(), ctx.In(kWeight).data<W>(),
                            stats.mean, stats.inverse, s, dx ? dx->mutable_data<T>() : nullptr,
                            dw ? dw->mutable_data<W>() : nullptr,
                            db ? db->mutable_data<W>() : nullptr);
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kX = 0, kWeight = 1, kOutGrad = 2, kV = 3, kVWeight = 4, kVBias = 5;
constexpr int kXResult = 0, kWeightResult = 1, kOutGradResult = 2;

void InferGradGradShape(InferContext& ctx) {
  CheckRead(ctx, kOutGrad, "out@GRAD");
  CheckVector(ctx, kWeight, "norm_weight", RowSize(ctx));
  CheckVector(ctx, kVBias, "norm_bias@GRAD@GRAD", RowSize(ctx));
  ctx.SetOutput(kXResult, ctx.dims(kX));
  ctx.SetOutput(kWeightResult, ctx.dims(kWeight));
  ctx.SetOutput(kOutGradResult, ctx.dims(kX));
}

void DefineRmsNormGradGrad(OpDef& op);

struct RmsNormThird {
  static constexpr uint32_t kServes = higher::Slots(kX, kWeight, kOutGrad, kV, kVWeight, kVBias);
  static void Define(OpDef& op) { DefineRmsNormGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) {
    return {{kX, kV, kXResult}, {kWeight, kVWeight, kWeightResult}, {-1, kVBias, -1}};
  }
  static std::vector<higher::Result> Results(const KernelContext&) {
    return {{kOutGrad, kOutGradResult}};
  }
  static void Run(higher::Problem& p) {
    const RmsNormAttrs& a = p.ctx.attrs<RmsNormAttrs>();
    const Dims& d = p.ctx.In(kX).dims();
    if (Numel(d) == 0) return;
    kernels::RowNormShape s = Rows(d, a);
    for (int64_t r = 0; r < s.rows; ++r) {
      row_norm::grad_grad::RunRow(
          p, s.n, false, NumberFor(p.ctx.In(kX).dtype(), a.epsilon),
          [&](int64_t j) { return r * s.n + j; }, [](int64_t j) { return j; });
    }
  }
};

void DefineRmsNormGradGrad(OpDef& op) {
  op.Comment(
        "The gradients of sum(x@GRAD * V) + sum(norm_weight@GRAD * VWeight) + sum(norm_bias@GRAD * "
        "VBias), the results of rms_norm_grad.")
      .Input(kX, "x", "what was normalised")
      .Input(kWeight, "norm_weight", "as of the forward call")
      .Input(kOutGrad, "out@GRAD", "shape of x")
      .Input(kV, "x@GRAD@GRAD", "shape of x", kDispensable)
      .Input(kVWeight, "norm_weight@GRAD@GRAD", "shape of norm_weight", kDispensable)
      .Input(kVBias, "norm_bias@GRAD@GRAD", "shape of norm_bias", kDispensable)
      .Output(kXResult, "x@GRAD", "shape of x")
      .Output(kWeightResult, "norm_weight@GRAD", "shape of norm_weight")
      .Output(kOutGradResult, "out@GRAD@GRAD", "shape of x")
      .AttrsOf("rms_norm")
      .Shape(InferGradGradShape)
      .Grad(higher::Recipe<RmsNormThird>);
}

template <class T>
struct RmsNormGradGradKernel {
  static void Compute(KernelContext& ctx) {
    const RmsNormAttrs& a = ctx.attrs<RmsNormAttrs>();
    const Tensor& x = ctx.In(kX);
    if (x.numel() == 0) return row_norm::Zero<T>(ctx.OutOrNull(kWeightResult));
    kernels::RowNormShape s = Rows(x.dims(), a);
    Stats<T> stats(x, s, a.epsilon);
    auto in = [&](int slot) { return row_norm::DataOrNull<T>(ctx.InOrNull(slot)); };
    auto out = [&](int slot) {
      Tensor* t = ctx.OutOrNull(slot);
      return t ? t->mutable_data<T>() : nullptr;
    };
    kernels::RowNormGradGrad<T>(
        {in(kX), in(kOutGrad), in(kWeight), stats.mean, stats.inverse, in(kV), in(kVWeight),
         in(kVBias), out(kXResult), out(kWeightResult), out(kOutGradResult)},
        s);
  }
};
}  // namespace grad_grad
using grad_grad::RmsNormThird;

REGISTER_GRADIENT_SHAPES(rms_norm, {"bias", ""}, {"residual", ""}, {"norm_bias", ""});
REGISTER_OPERATOR(rms_norm, DefineRmsNorm);
REGISTER_KERNELS(rms_norm, RmsNormKernel, float, double);
REGISTER_DEVICE_TYPES(rms_norm, RmsNormKernel, float16, bfloat16);
REGISTER_OPERATOR(rms_norm_grad, grad::DefineRmsNormGrad);
REGISTER_KERNELS(rms_norm_grad, grad::RmsNormGradKernel, float, double);
REGISTER_DEVICE_TYPES(rms_norm_grad, grad::RmsNormGradKernel, float16, bfloat16);
REGISTER_OPERATOR(rms_norm_grad_grad, grad_grad::DefineRmsNormGradGrad);
REGISTER_KERNELS(rms_norm_grad_grad, grad_grad::RmsNormGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(rms_norm_grad_grad, RmsNormThird);

}  // namespace
}  // namespace dygraph
