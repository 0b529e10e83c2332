#include "op/lod_rule.h"
#include "operators/labels.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kLabel = 1, kWeight = 2, kOut = 0, kTotalWeight = 1;

struct NllAttrs {
  int64_t ignore_index = -100;
  std::string reduction = "mean";
};

// Checks Label and Weight against X [N, C, ...]; gives the shape of the loss of each.
Dims CheckedDims(const InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &label = ctx.dims(kLabel);
  ENFORCE(x.rank() >= 2, InvalidArgument,
          "X must hold logarithms of probabilities [N, C] or [N, C, d1, ...], got shape ", x);
  Dims each;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != 1) each.push_back(x[i]);
  }
  ENFORCE(labels::Fits(label, each), InvalidArgument, "Label must have the shape ", each,
          ", that of X ", x, " without its class axis 1, got ", label);
  DType type = ctx.dtype(kLabel);
  ENFORCE(type == DType::kInt64 || type == DType::kInt32, Type,
          "Label must hold int64 or int32 class numbers, got ", type,
          ". Convert with astype('int64')");
  if (ctx.HasInput(kWeight)) {
    const Dims& w = ctx.dims(kWeight);
    ENFORCE(w.rank() == 1 && (w[0] == x[1] || !BothKnown(w[0], x[1])), InvalidArgument,
            "Weight must have the shape [C] with the classes of X ", x, ", got ", w);
    ENFORCE(ctx.dtype(kWeight) == ctx.dtype(kX), Type, "Weight must be of the type of X, ",
            ctx.dtype(kX), ", got ", ctx.dtype(kWeight));
  }
  return each;
}

Dims LossDims(const InferContext& ctx) {
  Dims each = CheckedDims(ctx);
  return ctx.attrs<NllAttrs>().reduction == "none" ? each : Dims();
}

OpDef& AddInputs(OpDef& op) {
  return op.Input(kX, "X", "logarithms of probabilities [N, C] or [N, C, d1, ...]")
      .Input(kLabel, "Label", "int64 or int32 classes, shape of X without axis 1")
      .Input(kWeight, "Weight", "a factor for each class [C]; 1", kDispensable);
}

void DefineNll(OpDef& op) {
  AddInputs(op.Comment("Out = -Weight[Label] * X[Label], 0 where Label is ignore_index; 'sum' adds "
                       "them up, 'mean' divides by Total_weight, the sum of Weight[Label] (a total "
                       "of 0 gives 0). Label and Weight get no gradient.")
                .Example(">>> log_probability = to_variable([[-0.5, -1.5], [-2.0, -0.25]])\n"
                         ">>> loss, weight = F.nll_loss(log_probability, to_variable([0, 1]))\n"
                         ">>> loss.item(), weight.item()\n"
                         "(0.375, 2.0)"))
      .Output(kOut, "Out", "shape of Label, or [] when reduced")
      .Output(kTotalWeight, "Total_weight", "[]")
      .Attr(&NllAttrs::ignore_index, "ignore_index", "a Label without loss or gradient")
      .Attr(&NllAttrs::reduction, "reduction", "none, mean or sum", OneOf({"none", "mean", "sum"}))
      .MixedDTypes()
      .ShareLoD(kX)
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOut, LossDims(ctx));
        ctx.SetOutput(kTotalWeight, Dims());
      })
      .Grad([](GradBuilder& g) {
        g.Call("nll_loss_grad",
               {g.InputShape(kX), g.Input(kLabel), g.Input(kWeight), g.OutputGrad(kOut)},
               {g.InputGrad(kX)})
            .SameAttrs();
      });
}

// Calls f(row, position in X, weight) for every label that counts; gives the sum of weights.
template <class T, class F>
double ForEachTerm(const KernelContext& ctx, const Dims& x, F f) {
  const Tensor* weight = ctx.InOrNull(kWeight);
  const T* w = weight ? weight->data<T>() : nullptr;
  int64_t ignored = ctx.attrs<NllAttrs>().ignore_index;
  int64_t classes = x[1], inner = Numel(x, 2, x.rank());
  labels::ClassLabels list(ctx.In(kLabel));
  list.Check(classes, ignored);
  double total = 0;
  for (int64_t r = 0; r < x[0] * inner; ++r) {
    int64_t c = list[r];
    if (c == ignored) continue;
    T factor = w ? w[c] : T(1);
    f(r, (r / inner * classes + c) * inner + r % inner, factor);
    total += factor;
  }
  return total;
}

template <class T>
struct NllKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const std::string& reduction = ctx.attrs<NllAttrs>().reduction;
    const T* xd = x.data<T>();
    Tensor *out = ctx.OutOrNull(kOut), *weight = ctx.OutOrNull(kTotalWeight);
    T* each = out && reduction == "none" ? out->mutable_data<T>() : nullptr;
    if (each) std::fill(each, each + out->numel(), T(0));
    double sum = 0;
    double total = ForEachTerm<T>(ctx, x.dims(), [&](int64_t r, int64_t j, T w) {
      if (each) each[r] = -w * xd[j];
      sum -= w * xd[j];
    });
    if (weight) *weight->mutable_data<T>() = static_cast<T>(total);
    if (!out || each || reduction == "none") return;
    if (reduction == "mean") sum = total != 0 ? sum / total : 0;
    *out->mutable_data<T>() = static_cast<T>(sum);
  }
};

namespace grad {
constexpr int kOutGrad = 3, kXGrad = 0;

void DefineNllGrad(OpDef& op) {
  AddInputs(op.Comment("X@GRAD = -Weight[Label] * Out@GRAD at Label and 0 elsewhere; with "
                       "reduction 'mean' over Total_weight."))
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("nll_loss")
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .Shape([](InferContext& ctx) {
        Dims loss = LossDims(ctx);
        ENFORCE(labels::Fits(ctx.dims(kOutGrad), loss), InvalidArgument,
                "Out@GRAD must have the shape of Out, ", loss, ", got ", ctx.dims(kOutGrad));
        ctx.SetOutput(kXGrad, ctx.dims(kX));
      })
      .Grad([](GradBuilder& g) {
        // Linear in Out@GRAD, and the way back of what arrives is the loss itself.
        g.Call("nll_loss", {g.OutputGrad(kXGrad), g.Input(kLabel), g.Input(kWeight)},
               {g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct NllGradKernel {
  static void Compute(KernelContext& ctx) {
    const Dims& x = ctx.In(kX).dims();
    const std::string& reduction = ctx.attrs<NllAttrs>().reduction;
    Tensor& out = ctx.Out(kXGrad);
    T *dx = out.mutable_data<T>(), scale = 1;
    const T* g = ctx.In(kOutGrad).data<T>();
    bool each = reduction == "none";
    if (reduction == "mean") {
      double total = ForEachTerm<T>(ctx, x, [](int64_t, int64_t, T) {});
      scale = total != 0 ? static_cast<T>(1 / total) : T(0);
    }
    std::fill(dx, dx + out.numel(), T(0));
    ForEachTerm<T>(ctx, x,
                   [=](int64_t r, int64_t j, T w) { dx[j] = -w * g[each ? r : 0] * scale; });
  }
};
}  // namespace grad

REGISTER_OPERATOR(nll_loss, DefineNll);
REGISTER_LOD_ALSO(nll_loss, kLabel);
REGISTER_CPU_KERNEL(nll_loss, NllKernel, float, double);
REGISTER_OPERATOR(nll_loss_grad, grad::DefineNllGrad);
REGISTER_CPU_KERNEL(nll_loss_grad, grad::NllGradKernel, float, double);

}  // namespace
}  // namespace dygraph
