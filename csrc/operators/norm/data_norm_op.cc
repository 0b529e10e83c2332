#include <cmath>

#include "kernels/loops.h"
#include "op/lod_rule.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kScaleW = 0, kBias = 1, kX = 2, kBatchSize = 3, kBatchSum = 4, kBatchSquareSum = 5;
constexpr int kY = 0, kMeans = 1, kScales = 2;

struct DataNormAttrs {
  double epsilon = 1e-4;
  int32_t slot_dim = -1;
  double summary_decay_rate = 0.9999999;
  bool enable_scale_and_shift = false;
  std::string data_layout = "NCHW";
  bool sync_stats = false;
};

void InferShape(InferContext& ctx) {
  const DataNormAttrs& a = ctx.attrs<DataNormAttrs>();
  const Dims& x = ctx.dims(kX);
  ENFORCE(x.rank() == 2, InvalidArgument, "X must have 2 axes, [N, C], got shape ", x);
  ENFORCE(a.slot_dim <= 0 || !a.enable_scale_and_shift, Unimplemented,
          "slot_dim must not be positive with enable_scale_and_shift, got ", a.slot_dim);
  ENFORCE(a.slot_dim <= 0 || x[1] % a.slot_dim == 0 || x[1] < 0, InvalidArgument,
          "the columns of X must be a multiple of slot_dim, got ", x[1], " and ", a.slot_dim);
  const char* names[] = {"scale_w", "bias", "X", "BatchSize", "BatchSum", "BatchSquareSum"};
  for (int slot : {kScaleW, kBias, kBatchSize, kBatchSum, kBatchSquareSum}) {
    bool given = ctx.HasInput(slot);
    if (slot <= kBias) {
      ENFORCE(given || !a.enable_scale_and_shift, InvalidArgument, names[slot],
              " must be given with enable_scale_and_shift, got nothing");
      if (!given) continue;
    }
    const Dims& d = ctx.dims(slot);
    ENFORCE(d.rank() == 1 && (d[0] == x[1] || !BothKnown(d[0], x[1])), InvalidArgument, names[slot],
            " must have one number for each of the ", x[1], " columns of X, got shape ", d);
  }
  ctx.SetOutput(kY, x);
  ctx.SetOutput(kMeans, {x[1]});
  ctx.SetOutput(kScales, {x[1]});
}

void DefineDataNorm(OpDef& op) {
  op.Comment(
        "Y = (X - Means) * Scales, per column, with Means = BatchSum / BatchSize and Scales = "
        "sqrt(BatchSize / BatchSquareSum), the statistics of all data seen so far; with "
        "enable_scale_and_shift, Y = (X - Means) * Scales * scale_w + bias. With slot_dim, of "
        "each so many columns of a row Y is 0 where the first, a count, is 0. The statistics count "
        "as constants: they have no gradient.")
      .Example(
          ">>> size, total = to_variable([10.0, 10.0]), to_variable([10.0, 20.0])\n"
          ">>> squares = to_variable([40.0, 10.0])\n"
          ">>> F.data_norm(to_variable([[3.0, 5.0]]), size, total, squares).tolist()\n"
          "[[1.0, 3.0]]")
      .Input(kScaleW, "scale_w", "[C], with enable_scale_and_shift", kDispensable)
      .Input(kBias, "bias", "[C], with enable_scale_and_shift", kDispensable)
      .Input(kX, "X", "[N, C]")
      .Input(kBatchSize, "BatchSize", "[C], how many were seen")
      .Input(kBatchSum, "BatchSum", "[C], their sum")
      .Input(kBatchSquareSum, "BatchSquareSum", "[C], the sum of their squared deviations")
      .Output(kY, "Y", "shape of X")
      .Output(kMeans, "Means", "[C]", kIntermediate)
      .Output(kScales, "Scales", "[C]", kIntermediate)
      .Attr(&DataNormAttrs::epsilon, "epsilon", "of programs", Between(0, 1))
      .Attr(&DataNormAttrs::slot_dim, "slot_dim",
            "columns of a slot; 0 and -1: a row is normalised whole")
      .Attr(&DataNormAttrs::summary_decay_rate, "summary_decay_rate", "of programs")
      .Attr(&DataNormAttrs::enable_scale_and_shift, "enable_scale_and_shift",
            "use scale_w and bias")
      .Attr(&DataNormAttrs::data_layout, "data_layout", "of programs",
            OneOf({"NCHW", "NHWC", "AnyLayout"}))
      .Attr(&DataNormAttrs::sync_stats, "sync_stats", "of programs")
      .Shape(InferShape)
      .KernelDTypeOf(kX)
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        if (!g.attrs<DataNormAttrs>().enable_scale_and_shift) {
          if (g.attrs<DataNormAttrs>().slot_dim > 0) {
            g.Call("data_norm_grad", {g.Input(kX), g.Output(kScales), g.OutputGrad(kY)},
                   {g.InputGrad(kX)})
                .SameAttrs();
            return;
          }
          g.Call("elementwise_mul", {g.OutputGrad(kY), g.Output(kScales)}, {g.InputGrad(kX)});
          return;
        }
        RecipeRef scaled = g.Temp(), normal = g.Temp();
        g.Call("elementwise_mul", {g.OutputGrad(kY), g.Input(kScaleW)}, {scaled});
        g.Call("elementwise_mul", {scaled, g.Output(kScales)}, {g.InputGrad(kX)});
        RecipeRef centered = g.Apply("elementwise_sub", {g.Input(kX), g.Output(kMeans)});
        g.Call("elementwise_mul", {centered, g.Output(kScales)}, {normal});
        g.Call("elementwise_mul_grad", {normal, g.Input(kScaleW), g.OutputGrad(kY)},
               {{}, g.InputGrad(kScaleW)});
        g.Call("elementwise_add_grad", {g.InputShape(kX), g.InputShape(kBias), g.OutputGrad(kY)},
               {{}, g.InputGrad(kBias)});
      });
}

// Whether a slot's first column, how often it was shown, says that it never was.
template <class T>
DYGRAPH_INLINE bool IsEmpty(T shown) {
  return std::abs(shown) < T(1e-7);
}

template <class T>
struct DataNormKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    int64_t columns = x.dims()[1];
    auto in = [&](int slot) { return ctx.In(slot).data<T>(); };
    const T *size = in(kBatchSize), *sum = in(kBatchSum), *squares = in(kBatchSquareSum);
    Tensor *means_out = ctx.OutOrNull(kMeans), *scales_out = ctx.OutOrNull(kScales);
    Scratch room = ctx.Workspace(2 * columns * sizeof(T));
    T* means = means_out ? means_out->mutable_data<T>() : room.as<T>();
    T* scales = scales_out ? scales_out->mutable_data<T>() : room.as<T>() + columns;
    kernels::ForEach(columns, [=] DYGRAPH_FN(int64_t c) {
      means[c] = sum[c] / size[c];
      scales[c] = std::sqrt(size[c] / squares[c]);
    });
    bool affine = ctx.attrs<DataNormAttrs>().enable_scale_and_shift;
    const T *scale = affine ? in(kScaleW) : nullptr, *bias = affine ? in(kBias) : nullptr;
    const T* from = x.data<T>();
    T* to = ctx.Out(kY).mutable_data<T>();
    const int64_t slot = ctx.attrs<DataNormAttrs>().slot_dim;
    kernels::ForEach(x.numel(), [=] DYGRAPH_FN(int64_t i) {
      const int64_t c = i % columns;
      if (slot > 0 && IsEmpty(from[i - c % slot])) {
        to[i] = T(0);
        return;
      }
      const T normal = (from[i] - means[c]) * scales[c];
      to[i] = affine ? normal * scale[c] + bias[c] : normal;
    });
  }
};

namespace grad {
constexpr int kX = 0, kScales = 1, kYGrad = 2, kXGrad = 0;

void InferGradShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &scales = ctx.dims(kScales), &g = ctx.dims(kYGrad);
  const int64_t slot = ctx.attrs<DataNormAttrs>().slot_dim;
  ENFORCE(slot > 0, InvalidArgument, "slot_dim must be positive, got ", slot);
  bool fits = x.rank() == 2 && g.rank() == 2 && scales.rank() == 1 &&
              (scales[0] == x[1] || !BothKnown(scales[0], x[1]));
  for (int i = 0; fits && i < 2; ++i) fits = x[i] == g[i] || !BothKnown(x[i], g[i]);
  ENFORCE(fits && (x[1] < 0 || x[1] % slot == 0), InvalidArgument,
          "X and Y@GRAD must have one shape [N, C] and Scales [C], C a multiple of slot_dim, got ",
          x, ", ", g, ", ", scales, " and ", slot);
  ctx.SetOutput(kXGrad, x);
}

void DefineDataNormGrad(OpDef& op) {
  op.Comment("X@GRAD = Y@GRAD * Scales, but 0 in the slots whose first column is 0.")
      .Input(kX, "X", "as of the forward call, with slot_dim")
      .Input(kScales, "Scales", "result of the forward call")
      .Input(kYGrad, "Y@GRAD", "shape of X")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("data_norm")
      .Shape(InferGradShape)
      .Grad([](GradBuilder& g) {
        g.Call("data_norm_grad", {g.Input(kX), g.Input(kScales), g.OutputGrad(kXGrad)},
               {g.InputGrad(kYGrad)})
            .SameAttrs();
      });
}

template <class T>
struct DataNormGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const int64_t columns = x.dim(1), slot = ctx.attrs<DataNormAttrs>().slot_dim;
    const T *from = x.data<T>(), *scales = ctx.In(kScales).data<T>(), *g = ctx.In(kYGrad).data<T>();
    T* to = ctx.Out(kXGrad).mutable_data<T>();
    kernels::ForEach(x.numel(), [=] DYGRAPH_FN(int64_t i) {
      const int64_t c = i % columns;
      to[i] = IsEmpty(from[i - c % slot]) ? T(0) : g[i] * scales[c];
    });
  }
};
}  // namespace grad

REGISTER_OPERATOR(data_norm, DefineDataNorm);
REGISTER_LOD_RULE(data_norm, RowsOfFirstOutput);
REGISTER_KERNELS(data_norm, DataNormKernel, float, double);
REGISTER_OPERATOR(data_norm_grad, grad::DefineDataNormGrad);
REGISTER_KERNELS(data_norm_grad, grad::DataNormGradKernel, float, double);

}  // namespace
}  // namespace dygraph
