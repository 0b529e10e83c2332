#include <cmath>
#include <unordered_set>

#include "kernels/loops.h"
#include "op/gradient_shapes.h"
#include "op/index_guard.h"
#include "operators/labels.h"
#include "operators/random/random.h"

namespace dygraph {
namespace {

constexpr int kLogits = 0, kLabels = 1, kGivenSamples = 2, kGivenProbabilities = 3, kSamples = 0,
              kProbabilities = 1, kLogitsDim = 2, kLabelsDim = 3, kSampledLogits = 4,
              kSampledLabels = 5;

struct SampleLogitsAttrs {
  bool use_customized_samples = false;
  bool uniq = true;
  bool remove_accidental_hits = true;
  int32_t num_samples = 1;
  int32_t seed = 0;
};

void InferShape(InferContext& ctx) {
  const SampleLogitsAttrs& a = ctx.attrs<SampleLogitsAttrs>();
  const Dims &x = ctx.dims(kLogits), &label = ctx.dims(kLabels);
  ENFORCE(x.rank() == 2, InvalidArgument, "Logits must hold scores [N, C], got shape ", x);
  ENFORCE(label.rank() == 2 && (label[0] == x[0] || !BothKnown(label[0], x[0])), InvalidArgument,
          "Labels must have the shape [N, true classes] for Logits ", x, ", got ", label);
  DType type = ctx.dtype(kLabels);
  ENFORCE(type == DType::kInt64 || type == DType::kInt32, Type,
          "Labels must hold int64 or int32 class numbers, got ", type,
          ". Convert with astype('int64')");
  int64_t width = AddSizes(label[1], a.num_samples);
  ENFORCE(a.use_customized_samples || !a.uniq || x[1] < 0 || a.num_samples <= x[1], InvalidArgument,
          "num_samples must be at most the number of classes of Logits ", x,
          " where samples are unique, got ", a.num_samples);
  for (int slot : {kGivenSamples, kGivenProbabilities}) {
    const char* name = slot == kGivenSamples ? "CustomizedSamples" : "CustomizedProbabilities";
    ENFORCE(ctx.HasInput(slot) || !a.use_customized_samples, InvalidArgument,
            "use_customized_samples needs ", name, ", got none");
    if (!a.use_customized_samples) continue;
    ENFORCE(labels::Fits(ctx.dims(slot), {x[0], width}), InvalidArgument, name,
            " must have the shape [N, true classes + num_samples], ", Dims{x[0], width}, ", got ",
            ctx.dims(slot));
  }
  ENFORCE(!a.use_customized_samples || ctx.dtype(kGivenProbabilities) == ctx.dtype(kLogits), Type,
          "CustomizedProbabilities must be of the type of Logits, ", ctx.dtype(kLogits), ", got ",
          ctx.dtype(kGivenProbabilities));
  ctx.SetOutput(kSamples, {x[0], width}, DType::kInt64);
  ctx.SetOutput(kProbabilities, {x[0], width});
  ctx.SetOutput(kLogitsDim, {0, x[0], x[1]});
  ctx.SetOutput(kLabelsDim, {0, label[0], label[1]});
  ctx.SetOutput(kSampledLogits, {x[0], width});
  ctx.SetOutput(kSampledLabels, label, DType::kInt64);
}

void DefineSampleLogits(OpDef& op) {
  op.Comment(
        "The scores of the true classes and of num_samples others, less the logarithm of how often "
        "each is to be expected, for a softmax over few classes (Jean et al., 2015). One set of "
        "samples, log-uniform over [0, C), serves all rows. A sample that is a true class of a row "
        "loses 1e20 there where remove_accidental_hits. SampledLabels are 0 to true classes - 1.")
      .Example(
          ">>> logits, labels = to_variable(np.zeros((2, 9))), to_variable([[3], [5]])\n"
          ">>> F.sample_logits(logits, labels, num_samples=4).tolist()  # true ones come first\n"
          "[[0], [0]]")
      .Input(kLogits, "Logits", "scores [N, C]")
      .Input(kLabels, "Labels", "int64 or int32 classes [N, true classes]")
      .Input(kGivenSamples, "CustomizedSamples", "classes to take, true ones first", kDispensable)
      .Input(kGivenProbabilities, "CustomizedProbabilities", "of those", kDispensable)
      .Output(kSamples, "Samples", "[N, true classes + num_samples], int64", kIntermediate)
      .Output(kProbabilities, "Probabilities", "expected counts, its shape", kIntermediate)
      .Output(kLogitsDim, "LogitsDim", "no elements, shape [0] + Logits'", kIntermediate)
      .Output(kLabelsDim, "LabelsDim", "no elements, shape [0] + Labels'", kIntermediate)
      .Output(kSampledLogits, "SampledLogits", "shape of Samples", kIntermediate)
      .Output(kSampledLabels, "SampledLabels", "shape of Labels, int64")
      .Attr(&SampleLogitsAttrs::use_customized_samples, "use_customized_samples",
            "take CustomizedSamples")
      .Attr(&SampleLogitsAttrs::uniq, "uniq", "samples differ from each other")
      .Attr(&SampleLogitsAttrs::remove_accidental_hits, "remove_accidental_hits",
            "push samples down that are true classes")
      .Attr(&SampleLogitsAttrs::num_samples, "num_samples", "how many", Between(0, 1 << 20))
      .Attr(&SampleLogitsAttrs::seed, "seed", "0: the generator's; others fix the samples")
      .MixedDTypes()
      .KernelDTypeOf(kLogits)
      .Random()
      .ShareLoD(kLogits)
      .Shape(InferShape)
      .Grad([](GradBuilder& g) {
        // Given samples are read where they came from: as a part of a gradient the call makes none.
        bool given = g.attrs<SampleLogitsAttrs>().use_customized_samples;
        g.Call("sample_logits_grad",
               {g.InputShape(kLogits), g.Input(kLabels),
                given ? g.Input(kGivenSamples) : g.Output(kSamples), g.OutputGrad(kSampledLogits),
                given ? g.Input(kGivenProbabilities) : g.Output(kProbabilities)},
               {g.InputGrad(kLogits)})
            .SameAttrs();
      });
}

// Log-uniform classes in [0, range), and how many draws it took.
struct Drawn {
  std::vector<int64_t> classes;
  int64_t tries = 0;
};

Drawn Draw(const kernels::Philox& generator, int64_t count, int64_t range, bool unique) {
  Drawn d;
  std::unordered_set<int64_t> seen;
  double log_range = std::log(static_cast<double>(range) + 1), u[64];
  // Late classes are rare: after enough tries the lowest ones that are left fill up.
  int64_t patience = 64 * (count + 16) * (unique ? 16 : 1);
  while (static_cast<int64_t>(d.classes.size()) < count && d.tries < patience) {
    generator.Uniform(u, 64, d.tries / 64 * 64);
    for (int i = 0; i < 64 && static_cast<int64_t>(d.classes.size()) < count; ++i) {
      ++d.tries;
      int64_t c = std::min(static_cast<int64_t>(std::exp(u[i] * log_range)) - 1, range - 1);
      if (!unique || seen.insert(c).second) d.classes.push_back(c);
    }
  }
  for (int64_t c = 0; static_cast<int64_t>(d.classes.size()) < count; ++c) {
    if (seen.insert(c).second) d.classes.push_back(c);
  }
  return d;
}

template <class T>
struct SampleLogitsKernel {
  static void Compute(KernelContext& ctx) {
    const SampleLogitsAttrs& a = ctx.attrs<SampleLogitsAttrs>();
    const Tensor& logits = ctx.In(kLogits);
    int64_t rows = logits.dim(0), classes = logits.dim(1), truth = ctx.In(kLabels).dim(1);
    int64_t width = truth + a.num_samples;
    labels::ClassLabels label(ctx.In(kLabels));
    label.CheckAll(classes);
    std::vector<int64_t> samples(static_cast<size_t>(rows * width));
    std::vector<double> expected(samples.size());
    if (a.use_customized_samples) {
      samples = Integers(ctx.In(kGivenSamples), "CustomizedSamples");
      for (size_t i = 0; i < samples.size(); ++i) {
        ENFORCE(samples[i] >= 0 && samples[i] < classes, OutOfRange,
                "CustomizedSamples must hold classes in [0, ", classes, "), got ", samples[i],
                " at position ", i);
      }
      const T* given = ctx.In(kGivenProbabilities).data<T>();
      std::copy(given, given + expected.size(), expected.begin());
    } else if (rows > 0) {
      Drawn d = Draw(random::Generator(ctx, a.seed), a.num_samples, classes, a.uniq);
      double tries = static_cast<double>(d.tries), log_range = std::log(classes + 1.0);
      for (int64_t i = 0; i < rows * width; ++i) {
        int64_t k = i % width, c = k < truth ? label[i / width * truth + k] : d.classes[k - truth];
        samples[i] = c;
        double p = std::log((c + 2.0) / (c + 1.0)) / log_range;
        expected[i] = a.uniq ? -std::expm1(tries * std::log1p(-p)) : tries * p;
      }
    }
    Write(ctx, label, samples, expected, truth, width);
  }
  static void Write(KernelContext& ctx, const labels::ClassLabels& label,
                    const std::vector<int64_t>& samples, const std::vector<double>& expected,
                    int64_t truth, int64_t width) {
    const Tensor& logits = ctx.In(kLogits);
    int64_t classes = logits.dim(1);
    bool remove = ctx.attrs<SampleLogitsAttrs>().remove_accidental_hits;
    if (Tensor* out = ctx.OutOrNull(kSamples))
      std::copy(samples.begin(), samples.end(), out->mutable_data<int64_t>());
    Tensor *p = ctx.OutOrNull(kProbabilities), *out = ctx.OutOrNull(kSampledLogits);
    for (size_t i = 0; i < samples.size(); ++i) {
      auto at = static_cast<int64_t>(i);
      int64_t row = at / width;
      if (p) p->mutable_data<T>()[i] = static_cast<T>(expected[i]);
      if (!out) continue;
      double v = logits.data<T>()[row * classes + samples[i]] - std::log(expected[i]);
      for (int64_t k = 0; remove && at % width >= truth && k < truth; ++k) {
        if (label[row * truth + k] == samples[i]) {
          v -= 1e20;
          break;
        }
      }
      out->mutable_data<T>()[i] = static_cast<T>(v);
    }
    Tensor* index = ctx.OutOrNull(kSampledLabels);
    for (int64_t i = 0; index && i < index->numel(); ++i)
      index->mutable_data<int64_t>()[i] = i % truth;
  }
};

namespace grad {
constexpr int kLogits = 0, kLabels = 1, kSamples = 2, kSampledGrad = 3, kProbabilities = 4,
              kLogitsGrad = 0;

void DefineSampleLogitsGrad(OpDef& op) {
  op.Comment("Logits@GRAD adds SampledLogits@GRAD at Samples, 0 elsewhere.")
      .Input(kLogits, "Logits", "its shape")
      .Input(kLabels, "Labels", "as of the forward call")
      .Input(kSamples, "Samples", "result of the forward call")
      .Input(kSampledGrad, "SampledLogits@GRAD", "shape of Samples")
      .Input(kProbabilities, "Probabilities", "result of the forward call")
      .Output(kLogitsGrad, "Logits@GRAD", "shape of Logits")
      .AttrsOf("sample_logits")
      .MixedDTypes()
      .KernelDTypeOf(kSampledGrad)
      .Shape([](InferContext& ctx) {
        const Dims& x = ctx.dims(kLogits);
        ENFORCE(x.rank() == 2 && ctx.rank(kSamples) == 2 &&
                    labels::Fits({x[0]}, {ctx.dims(kSamples)[0]}),
                InvalidArgument, "Samples must have as many rows as Logits ", x, ", got shape ",
                ctx.dims(kSamples));
        labels::CheckSameShape(ctx, kSamples, kSampledGrad);
        ctx.SetOutput(kLogitsGrad, x);
      })
      .Grad([](GradBuilder& g) {
        // Linear: the way back of what arrives is to take it at Samples, with probabilities of 1.
        RecipeRef ones = g.Temp();
        g.Call("fill_any_like", {g.Input(kProbabilities)}, {ones}).Attr("value", 1.0f);
        int32_t count = g.attrs<SampleLogitsAttrs>().num_samples;
        g.Call("sample_logits",
               {g.OutputGrad(kLogitsGrad), g.Input(kLabels), g.Input(kSamples), ones},
               {{}, {}, {}, {}, g.InputGrad(kSampledGrad), {}})
            .Attr("use_customized_samples", true)
            .Attr("remove_accidental_hits", false)
            .Attr("num_samples", count);
      });
}

template <class T>
struct SampleLogitsGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& samples = ctx.In(kSamples);
    int64_t classes = ctx.In(kLogits).dim(1), width = samples.dim(1);
    const labels::ClassLabels list(samples);
    CheckEach(samples.numel(), [=](int64_t i) {
      ENFORCE(list[i] >= 0 && list[i] < classes, OutOfRange, "Samples must hold classes in [0, ",
              classes, "), got ", list[i]);
    });
    const IndexGuard guard(ctx, kSamples, classes);
    const T* g = ctx.In(kSampledGrad).data<T>();
    Tensor& out = ctx.Out(kLogitsGrad);
    T* dx = out.mutable_data<T>();
    kernels::Fill(dx, out.numel(), T(0));
    kernels::ForEach(
        samples.dim(0),
        [=] DYGRAPH_FN(int64_t row) {
          for (int64_t i = row * width; i < (row + 1) * width; ++i)
            dx[row * classes + guard(list[i])] += g[i];
        },
        width);
  }
};
}  // namespace grad

REGISTER_GRADIENT_SHAPES(sample_logits, {"CustomizedSamples", "Samples"},
                         {"CustomizedProbabilities", "Probabilities"});
REGISTER_OPERATOR(sample_logits, DefineSampleLogits);
REGISTER_CPU_KERNEL(sample_logits, SampleLogitsKernel, float, double);
REGISTER_OPERATOR(sample_logits_grad, grad::DefineSampleLogitsGrad);
REGISTER_KERNELS(sample_logits_grad, grad::SampleLogitsGradKernel, float, double);

}  // namespace
}  // namespace dygraph
