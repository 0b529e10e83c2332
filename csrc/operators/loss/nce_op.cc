#include "op/lod_rule.h"
#include "operators/labels.h"
#include "operators/loss/chosen_rows.h"
#include "operators/random/random.h"
#include "platform/interrupt.h"

namespace dygraph {
namespace {

constexpr int kInput = 0, kLabel = 1, kWeight = 2, kBias = 3, kSampleWeight = 4, kProbs = 5,
              kAlias = 6, kAliasProbs = 7, kCost = 0, kSampleLogits = 1, kSampleLabels = 2;
constexpr int kUniform = 0, kLogUniform = 1, kCustom = 2;

struct NceAttrs {
  int32_t num_total_classes = 0;
  int32_t num_neg_samples = 10;
  int32_t sampler = kUniform;
  int32_t seed = 0;
  bool is_sparse = false;
  bool remote_prefetch = false;
  int32_t trainer_id = 0;
  std::vector<int64_t> height_sections;
  std::vector<std::string> epmap;
  std::vector<std::string> table_names;
  std::vector<int32_t> custom_neg_classes;
};

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

// The true classes and the samples of each row with what they cost.
template <class T>
struct Samples {
  const int64_t* classes;
  int64_t width, true_classes;
  std::vector<T> noise;  // num_neg_samples * P(c) of each
  const T* weights;

  Samples(const KernelContext& ctx, const int64_t* list) : classes(list), weights(nullptr) {
    const NceAttrs& a = ctx.attrs<NceAttrs>();
    const Dims& label = ctx.In(kLabel).dims();
    true_classes = label.rank() == 1 ? 1 : label[1];
    width = true_classes + a.num_neg_samples;
    if (const Tensor* w = ctx.InOrNull(kSampleWeight)) weights = w->data<T>();
    const Tensor* probs = a.sampler == kCustom ? ctx.InOrNull(kProbs) : nullptr;
    double total = a.num_total_classes;
    for (int64_t i = 0; i < label[0] * width; ++i) {
      double c = static_cast<double>(classes[i]), p = 1 / total;
      if (a.sampler == kLogUniform) p = std::log((c + 2) / (c + 1)) / std::log(total + 1);
      if (probs) p = At(*probs, classes[i]);
      noise.push_back(static_cast<T>(p * a.num_neg_samples));
    }
  }
  static double At(const Tensor& t, int64_t i) {
    return t.dtype() == DType::kFloat64 ? t.data<double>()[i] : double{t.data<float>()[i]};
  }
  int64_t Count(int64_t) const { return width; }
  int64_t Row(int64_t i, int64_t k) const { return classes[i * width + k]; }
  static T Logistic(T z) {
    T e = std::exp(-std::abs(z));
    return (z >= T(0) ? T(1) : e) / (T(1) + e);
  }
  T Weight(int64_t i) const { return weights ? weights[i] : T(1); }
  T Value(int64_t i, int64_t k, T z) const {
    T o = Logistic(z), b = noise[i * width + k];
    return -Weight(i) * std::log((k < true_classes ? o : b) / (o + b));
  }
  T Slope(int64_t i, int64_t k, T z) const {
    T o = Logistic(z), b = noise[i * width + k];
    return Weight(i) * Logistic(-z) * (k < true_classes ? -b : o) / (o + b);
  }
  T Curve(int64_t i, int64_t k, T z) const {
    T o = Logistic(z), n = Logistic(-z), b = noise[i * width + k];
    T bend = k < true_classes ? b * (T(1) + b) : (T(1) - 2 * o) * (o + b) - o * n;
    return Weight(i) * o * n * bend / ((o + b) * (o + b));
  }
};

template <class T>
struct NceKernel {
  static void Compute(KernelContext& ctx) {
    chosen_rows::Data<T> d(ctx.In(kInput), ctx.In(kWeight), ctx.InOrNull(kBias));
    std::vector<int64_t> classes = Draw(ctx, d.rows);
    Samples<T> samples(ctx, classes.data());
    Tensor *cost = ctx.OutOrNull(kCost), *logits = ctx.OutOrNull(kSampleLogits);
    for (int64_t i = 0; i < d.rows; ++i) {
      CheckInterrupt();
      T sum = 0;
      for (int64_t k = 0; k < samples.width; ++k) {
        T z = d.Score(i, samples.Row(i, k));
        if (logits) logits->mutable_data<T>()[i * samples.width + k] = Samples<T>::Logistic(z);
        sum += samples.Value(i, k, z);
      }
      if (cost) cost->mutable_data<T>()[i] = sum;
    }
    if (Tensor* out = ctx.OutOrNull(kSampleLabels))
      std::copy(classes.begin(), classes.end(), out->mutable_data<int64_t>());
  }

  static std::vector<int64_t> Draw(const KernelContext& ctx, int64_t rows) {
    const NceAttrs& a = ctx.attrs<NceAttrs>();
    std::vector<int64_t> label = Integers(ctx.In(kLabel), "Label"), classes;
    int64_t total = a.num_total_classes, n = rows ? static_cast<int64_t>(label.size()) / rows : 0;
    auto check = [total](int64_t c, const char* name) {
      ENFORCE(c >= 0 && c < total, OutOfRange, name, " must hold classes in [0, ", total, "), got ",
              c);
    };
    for (int64_t c : label) check(c, "Label");
    for (int32_t c : a.custom_neg_classes) check(c, "custom_neg_classes");
    std::vector<int64_t> alias;
    if (a.sampler == kCustom) {
      alias = Integers(ctx.In(kAlias), "CustomDistAlias");
      // -1 stands where a class has no alias.
      for (int64_t c : alias) check(c == -1 ? 0 : c, "CustomDistAlias");
    }
    int64_t drawn = a.num_neg_samples;
    std::vector<double> u(static_cast<size_t>(rows * drawn * 2));
    random::Generator(ctx, a.seed).Uniform(u.data(), static_cast<int64_t>(u.size()));
    for (int64_t i = 0; i < rows; ++i) {
      CheckInterrupt();
      for (int64_t k = 0; k < n; ++k) classes.push_back(label[i * n + k]);
      for (int64_t k = 0; k < drawn; ++k) {
        const double* pair = u.data() + 2 * (i * drawn + k);
        int64_t c = static_cast<int64_t>(pair[0] * static_cast<double>(total));
        if (a.sampler == kLogUniform)
          c = static_cast<int64_t>(std::exp(pair[0] * std::log(static_cast<double>(total) + 1))) -
              1;
        c = std::min(c, total - 1);
        if (a.sampler == kCustom && alias[c] >= 0 &&
            pair[1] > Samples<T>::At(ctx.In(kAliasProbs), c))
          c = alias[c];
        classes.push_back(a.custom_neg_classes.empty() ? c : a.custom_neg_classes[k]);
      }
    }
    return classes;
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
        const double b = static_cast<double>(samples.noise[i * samples.width + k]);
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
REGISTER_CPU_KERNEL(nce, NceKernel, float, double);
REGISTER_OPERATOR(nce_grad, grad::DefineNceGrad);
REGISTER_CPU_KERNEL(nce_grad, grad::NceGradKernel, float, double);
REGISTER_OPERATOR(nce_grad_grad, grad_grad::DefineNceGradGrad);
REGISTER_CPU_KERNEL(nce_grad_grad, grad_grad::NceGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(nce_grad_grad, NceThird);

}  // namespace
}  // namespace dygraph
