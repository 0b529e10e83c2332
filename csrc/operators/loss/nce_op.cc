#include "op/lod_rule.h"
#include "operators/labels.h"
#include "operators/loss/chosen_rows_loops.h"
#include "operators/loss/noise.h"

namespace dygraph::nce {
namespace {

// Checks the inputs; gives [N, true classes + samples].
Dims CheckInputs(InferContext& ctx) {
  const NceAttrs& a = ctx.attrs<NceAttrs>();
  chosen_rows::CheckTable(ctx, kInput, kWeight, kBias);
  const Dims &x = ctx.dims(kInput), &label = ctx.dims(kLabel), &w = ctx.dims(kWeight);
  ENFORCE(
      (label.rank() == 2 || label.rank() == 1) && (label[0] == x[0] || !BothKnown(label[0], x[0])),
      InvalidArgument, "Label must have the shape [N, true classes] with the rows of Input ", x,
      ", got ", label);
  ENFORCE(a.num_total_classes >= 1 && (w[0] == a.num_total_classes || w[0] < 0), InvalidArgument,
          "Weight must have num_total_classes = ", a.num_total_classes, " rows, got shape ", w);
  ENFORCE(a.custom_neg_classes.empty() ||
              static_cast<int64_t>(a.custom_neg_classes.size()) == a.num_neg_samples,
          InvalidArgument, "custom_neg_classes must name num_neg_samples = ", a.num_neg_samples,
          " classes, got ", a.custom_neg_classes.size());
  for (int slot : {kProbs, kAlias, kAliasProbs}) {
    ENFORCE(a.sampler != kCustom || ctx.HasInput(slot), InvalidArgument,
            "sampler 2 needs CustomDistProbs, CustomDistAlias and CustomDistAliasProbs, got no ",
            ctx.call().op->inputs[slot].name);
    if (!ctx.HasInput(slot)) continue;
    const Dims& d = ctx.dims(slot);
    ENFORCE(d.HasUnknown() || Numel(d) == a.num_total_classes, InvalidArgument,
            ctx.call().op->inputs[slot].name, " must hold a number for each of the ",
            a.num_total_classes, " classes, got shape ", d);
  }
  if (ctx.HasInput(kSampleWeight)) {
    const Dims& d = ctx.dims(kSampleWeight);
    ENFORCE(d.HasUnknown() || x[0] < 0 || Numel(d) == x[0], InvalidArgument,
            "SampleWeight must hold a number for each row of Input ", x, ", got shape ", d);
    ENFORCE(ctx.dtype(kSampleWeight) == ctx.dtype(kInput), Type,
            "SampleWeight must be of the type of Input, ", ctx.dtype(kInput), ", got ",
            ctx.dtype(kSampleWeight));
  }
  return {x[0], AddSizes(label.rank() == 1 ? 1 : label[1], a.num_neg_samples)};
}

OpDef& AddInputs(OpDef& op) {
  return op.Input(kInput, "Input", "features [N, D]")
      .Input(kLabel, "Label", "int64 or int32 classes [N, true classes]")
      .Input(kWeight, "Weight", "[num_total_classes, D]")
      .Input(kBias, "Bias", "[num_total_classes, 1]", kDispensable)
      .Input(kSampleWeight, "SampleWeight", "a factor for each row [N, 1]; 1", kDispensable)
      .Input(kProbs, "CustomDistProbs", "probability of each class, for sampler 2", kDispensable)
      .Input(kAlias, "CustomDistAlias", "its alias, for Walker's method", kDispensable)
      .Input(kAliasProbs, "CustomDistAliasProbs", "when to keep it", kDispensable);
}

void DefineNce(OpDef& op) {
  AddInputs(
      op.Comment("Noise contrastive estimation (Gutmann and Hyvarinen, 2010): with o = "
                 "sigmoid(Input . Weight[c] + Bias[c]) and b = num_neg_samples * P(c), Cost "
                 "= sum of -log(o / (o + b)) over the true classes and of -log(b / (o + b)) "
                 "over num_neg_samples classes drawn from P for each row; times "
                 "SampleWeight.")
          .Example(">>> x, label = to_variable([[1.0, 2.0]]), to_variable([[3]])\n"
                   ">>> weight = to_variable(np.zeros((4, 2), 'float32'))\n"
                   ">>> cost = F.nce(x, label, weight, num_total_classes=4, num_neg_samples=4)\n"
                   ">>> cost.shape, round(cost.item(), 4)  # -log(1 / 3) - 4 log(2 / 3)\n"
                   "((1, 1), 2.7205)"))
      .Output(kCost, "Cost", "[N, 1]")
      .Output(kSampleLogits, "SampleLogits", "o, [N, true classes + samples]", kIntermediate)
      .Output(kSampleLabels, "SampleLabels", "the classes, int64, its shape", kIntermediate)
      .Attr(&NceAttrs::num_total_classes, "num_total_classes", "how many classes there are")
      .Attr(&NceAttrs::num_neg_samples, "num_neg_samples", "samples a row", Between(0, 1 << 20))
      .Attr(&NceAttrs::sampler, "sampler", "P: 0 uniform, 1 log-uniform, 2 CustomDistProbs",
            Between(0, 2))
      .Attr(&NceAttrs::seed, "seed", "0: the generator's; others give the same samples each call")
      .Attr(&NceAttrs::is_sparse, "is_sparse", "Weight@GRAD is selected rows")
      .Attr(&NceAttrs::remote_prefetch, "remote_prefetch", "of programs; not read")
      .Attr(&NceAttrs::trainer_id, "trainer_id", "of programs; not read")
      .Attr(&NceAttrs::height_sections, "height_sections", "of programs; not read")
      .Attr(&NceAttrs::epmap, "epmap", "of programs; not read")
      .Attr(&NceAttrs::table_names, "table_names", "of programs; not read")
      .Attr(&NceAttrs::custom_neg_classes, "custom_neg_classes",
            "the samples of every row, for tests")
      .MixedDTypes()
      .Random()
      .ShareLoD(kInput)
      .Shape([](InferContext& ctx) {
        Dims samples = CheckInputs(ctx);
        ctx.SetOutput(kCost, {samples[0], 1});
        ctx.SetOutput(kSampleLogits, samples);
        ctx.SetOutput(kSampleLabels, samples, DType::kInt64);
      })
      .Grad([](GradBuilder& g) {
        g.Call("nce_grad",
               {g.Input(kInput), g.InputShape(kLabel), g.Input(kWeight), g.Input(kBias),
                g.Input(kSampleWeight), g.Input(kProbs), g.InputShape(kAlias),
                g.InputShape(kAliasProbs), g.Output(kSampleLabels), g.OutputGrad(kCost)},
               {g.InputGrad(kInput), g.InputGrad(kWeight), g.InputGrad(kBias)})
            .SameAttrs();
      });
}

template <class T>
struct NceKernel {
  static void Compute(KernelContext& ctx) {
    chosen_rows::Data<T> d(ctx.In(kInput), ctx.In(kWeight), ctx.InOrNull(kBias));
    const Dims& label = ctx.In(kLabel).dims();
    const int64_t width =
        (label.rank() == 1 ? 1 : label[1]) + ctx.attrs<NceAttrs>().num_neg_samples;
    Tensor *cost = ctx.OutOrNull(kCost), *logits = ctx.OutOrNull(kSampleLogits);
    Tensor *out = ctx.OutOrNull(kSampleLabels), own;
    if (!out) own = Tensor(Dims{d.rows, width}, DType::kInt64, ctx.place());
    int64_t* classes = (out ? *out : own).template mutable_data<int64_t>();
    Draw(ctx, d.rows, classes);
    chosen_rows::Sums(d, Samples<T>(ctx, classes), width,
                      logits ? logits->mutable_data<T>() : nullptr,
                      cost ? cost->mutable_data<T>() : nullptr);
  }
};

namespace grad {
constexpr int kSampleLabels = 8, kCostGrad = 9, kInputGrad = 0, kWeightGrad = 1, kBiasGrad = 2;

OpDef& AddGradInputs(OpDef& op) {
  return AddInputs(op)
      .Input(kSampleLabels, "SampleLabels", "result of the forward call")
      .Input(kCostGrad, "Cost@GRAD", "[N, 1]");
}

void CheckGradient(InferContext& ctx) {
  Dims samples = CheckInputs(ctx);
  ENFORCE(labels::Fits(ctx.dims(kSampleLabels), samples), InvalidArgument,
          "SampleLabels must have the shape ", samples, ", got ", ctx.dims(kSampleLabels));
  ENFORCE(labels::Fits(ctx.dims(kCostGrad), {samples[0], 1}), InvalidArgument,
          "Cost@GRAD must have the shape [N, 1] for Input ", ctx.dims(kInput), ", got ",
          ctx.dims(kCostGrad));
}

// The samples of the forward call, checked again, since the operator may be called by name.
template <class T>
Samples<T> Read(const KernelContext& ctx) {
  const Tensor& t = ctx.In(kSampleLabels);
  labels::ClassLabels(t).CheckAll(ctx.attrs<NceAttrs>().num_total_classes);
  return Samples<T>(ctx, t.data<int64_t>());
}

void DefineNceGrad(OpDef& op) {
  AddGradInputs(op.Comment("With s the slope of a class's cost in its score times Cost@GRAD: "
                           "Input@GRAD adds s * Weight[c], Weight@GRAD[c] adds s * Input, "
                           "Bias@GRAD[c] adds s. With is_sparse Weight@GRAD is selected rows."))
      .Output(kInputGrad, "Input@GRAD", "shape of Input")
      .Output(kWeightGrad, "Weight@GRAD", "shape of Weight, or selected rows of it")
      .Output(kBiasGrad, "Bias@GRAD", "shape of Bias")
      .AttrsOf("nce")
      .MixedDTypes()
      .VarType([](InferContext& ctx) {
        CheckInputs(ctx);
        if (ctx.attrs<NceAttrs>().is_sparse)
          chosen_rows::MakeRows(ctx, kWeightGrad, ctx.dims(kWeight), ctx.dtype(kWeight));
      })
      .Shape([](InferContext& ctx) {
        CheckGradient(ctx);
        ctx.SetOutput(kInputGrad, ctx.dims(kInput));
        if (!ctx.attrs<NceAttrs>().is_sparse) ctx.SetOutput(kWeightGrad, ctx.dims(kWeight));
        if (ctx.HasInput(kBias)) ctx.SetOutput(kBiasGrad, ctx.dims(kBias));
      })
      .Grad([](GradBuilder& g) {
        g.Call("nce_grad_grad",
               {g.Input(kInput), g.InputShape(kLabel), g.Input(kWeight), g.Input(kBias),
                g.Input(kSampleWeight), g.Input(kProbs), g.InputShape(kAlias),
                g.InputShape(kAliasProbs), g.Input(kSampleLabels), g.Input(kCostGrad),
                g.OutputGrad(kInputGrad), g.OutputGrad(kWeightGrad), g.OutputGrad(kBiasGrad)},
               {g.InputGrad(kInput), g.InputGrad(kWeight), g.InputGrad(kBias),
                g.InputGrad(kCostGrad)})
            .SameAttrs();
      });
}

template <class T>
struct NceGradKernel {
  static void Compute(KernelContext& ctx) {
    using chosen_rows::Cleared;
    chosen_rows::Data<T> d(ctx.In(kInput), ctx.In(kWeight), ctx.InOrNull(kBias));
    chosen_rows::Gradients(
        d, Read<T>(ctx), ctx.In(kCostGrad).data<T>(), Cleared<T>(ctx.OutOrNull(kInputGrad)),
        ctx.HasOutput(kWeightGrad) ? &ctx.OutValue(kWeightGrad) : nullptr,
        ctx.attrs<NceAttrs>().is_sparse,
        ctx.HasInput(kBias) ? Cleared<T>(ctx.OutOrNull(kBiasGrad)) : nullptr, ctx.place());
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kVx = 10, kVw = 11, kVb = 12, kCostResult = 3;

void DefineNceGradGrad(OpDef& op);

struct NceThird {
  static constexpr uint32_t kServes =
      higher::Slots(kInput, kWeight, kBias, grad::kCostGrad, kVx, kVw, kVb);
  static void Define(OpDef& op) { DefineNceGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) {
    return {{kInput, kVx, grad::kInputGrad},
            {kWeight, kVw, grad::kWeightGrad},
            {kBias, kVb, grad::kBiasGrad}};
  }
  static std::vector<higher::Result> Results(const KernelContext&) {
    return {{grad::kCostGrad, kCostResult}};
  }
  static void Run(higher::Problem& p) {
    if (p.ctx.In(kInput).dtype() == DType::kFloat64) {
      RunWith(p, grad::Read<double>(p.ctx));
    } else {
      RunWith(p, grad::Read<float>(p.ctx));
    }
  }
  template <class T>
  static void RunWith(higher::Problem& p, const Samples<T>& samples) {
    const Dims& x = p.ctx.In(kInput).dims();
    for (int64_t i = 0; i < x[0]; ++i) {
      higher::Scalar sum = kernels::Constant(0);
      for (int64_t k = 0; k < samples.width; ++k) {
        higher::Scalar z = chosen_rows::Score(p, i, samples.Row(i, k), x[1]), o = Sigmoid(z);
        const double b = static_cast<double>(samples.Noise(i, k));
        // log(o + b), less log(o) = -softplus(-z) of a true class; log(b) is a constant
        higher::Scalar cost = Log(o + b);
        if (k < samples.true_classes) cost = cost + Softplus(z * -1.0);
        sum = sum + cost * static_cast<double>(samples.Weight(i));
      }
      p.Set(0, i, sum);
      p.Flush();
    }
  }
};

void DefineNceGradGrad(OpDef& op) {
  grad::AddGradInputs(op.Comment("What nce_grad gives its inputs."))
      .Input(kVx, "Input@GRAD@GRAD", "shape of Input", kDispensable)
      .Input(kVw, "Weight@GRAD@GRAD", "shape of Weight", kDispensable)
      .Input(kVb, "Bias@GRAD@GRAD", "shape of Bias", kDispensable)
      .Output(grad::kInputGrad, "Input@GRAD", "shape of Input")
      .Output(grad::kWeightGrad, "Weight@GRAD", "shape of Weight")
      .Output(grad::kBiasGrad, "Bias@GRAD", "shape of Bias")
      .Output(kCostResult, "Cost@GRAD@GRAD", "[N, 1]")
      .AttrsOf("nce")
      .MixedDTypes()
      .Shape([](InferContext& ctx) {
        grad::CheckGradient(ctx);
        if (ctx.HasInput(kVx)) labels::CheckSameShape(ctx, kInput, kVx);
        if (ctx.HasInput(kVw)) labels::CheckSameShape(ctx, kWeight, kVw);
        if (ctx.HasInput(kVb)) labels::CheckSameShape(ctx, kBias, kVb);
        ctx.SetOutput(grad::kInputGrad, ctx.dims(kInput));
        ctx.SetOutput(grad::kWeightGrad, ctx.dims(kWeight));
        if (ctx.HasInput(kBias)) ctx.SetOutput(grad::kBiasGrad, ctx.dims(kBias));
        ctx.SetOutput(kCostResult, ctx.dims(grad::kCostGrad));
      })
      .Grad(higher::Recipe<NceThird>);
}

template <class T>
struct NceGradGradKernel {
  static const T* DataOf(const Tensor* t) { return t ? t->data<T>() : nullptr; }
  static void Compute(KernelContext& ctx) {
    using chosen_rows::Cleared;
    chosen_rows::Data<T> d(ctx.In(kInput), ctx.In(kWeight), ctx.InOrNull(kBias));
    chosen_rows::SecondGradients(
        d, grad::Read<T>(ctx), ctx.In(grad::kCostGrad).data<T>(), DataOf(ctx.InOrNull(kVx)),
        DataOf(ctx.InOrNull(kVw)), DataOf(ctx.InOrNull(kVb)),
        Cleared<T>(ctx.OutOrNull(grad::kInputGrad)), Cleared<T>(ctx.OutOrNull(grad::kWeightGrad)),
        ctx.HasInput(kBias) ? Cleared<T>(ctx.OutOrNull(grad::kBiasGrad)) : nullptr,
        Cleared<T>(ctx.OutOrNull(kCostResult)));
  }
};
}  // namespace grad_grad
using grad_grad::NceThird;

REGISTER_OPERATOR(nce, DefineNce);
REGISTER_LOD_ALSO(nce, kLabel);
REGISTER_KERNELS(nce, NceKernel, float, double);
REGISTER_OPERATOR(nce_grad, grad::DefineNceGrad);
REGISTER_KERNELS(nce_grad, grad::NceGradKernel, float, double);
REGISTER_OPERATOR(nce_grad_grad, grad_grad::DefineNceGradGrad);
REGISTER_KERNELS(nce_grad_grad, grad_grad::NceGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(nce_grad_grad, NceThird);

}  // namespace
}  // namespace dygraph::nce
