// operators/loss/noise.h on the device.
#pragma once

#include "cuda/errors_cuda.h"
#include "cuda/scratch.h"
#include "kernels/loops.h"
#include "kernels/table.h"
#include "operators/class_labels.h"
#include "operators/loss/noise_rule.h"
#include "operators/random/random.h"

namespace dygraph::nce {

// Probabilities of float or double.
struct Numbers {
  const float* narrow = nullptr;
  const double* wide = nullptr;
  Numbers() = default;
  explicit Numbers(const Tensor& t)
      : narrow(t.dtype() == DType::kFloat64 ? nullptr : t.data<float>()),
        wide(narrow ? nullptr : t.data<double>()) {}
  DYGRAPH_INLINE bool given() const { return narrow || wide; }
  DYGRAPH_INLINE double operator[](int64_t i) const {
    return narrow ? static_cast<double>(narrow[i]) : wide[i];
  }
};

// The true classes and the samples of each row with what they cost.
template <class T>
struct Samples : NoiseRule<T> {
  const int64_t* classes;
  int64_t width, true_classes, total;
  int sampler, drawn;
  Numbers probs;
  const T* weights = nullptr;
  cuda::IndexGuard guard;

  Samples(const KernelContext& ctx, const int64_t* list)
      : classes(list), guard({"nce", "SampleLabels"}, ctx.attrs<NceAttrs>().num_total_classes) {
    const NceAttrs& a = ctx.attrs<NceAttrs>();
    const Dims& label = ctx.In(kLabel).dims();
    true_classes = label.rank() == 1 ? 1 : label[1];
    width = true_classes + a.num_neg_samples;
    total = a.num_total_classes;
    sampler = a.sampler;
    drawn = a.num_neg_samples;
    if (const Tensor* w = ctx.InOrNull(kSampleWeight)) weights = w->data<T>();
    if (sampler == kCustom && ctx.HasInput(kProbs)) probs = Numbers(ctx.In(kProbs));
  }
  int64_t Most() const { return width; }
  DYGRAPH_INLINE int64_t Count(int64_t) const { return width; }
  DYGRAPH_INLINE int64_t Row(int64_t i, int64_t k) const { return guard(classes[i * width + k]); }
  DYGRAPH_INLINE T Noise(int64_t i, int64_t k) const {
    const int64_t c = Row(i, k);
    return static_cast<T>((probs.given() ? probs[c] : NoiseOf(sampler, c, total)) * drawn);
  }
  DYGRAPH_INLINE T Weight(int64_t i) const { return weights ? weights[i] : T(1); }
  DYGRAPH_INLINE T Value(int64_t i, int64_t k, T, T shown) const {
    return NoiseRule<T>::CostOf(k < true_classes, Noise(i, k), Weight(i), shown);
  }
  DYGRAPH_INLINE T Slope(int64_t i, int64_t k, T z) const {
    return NoiseRule<T>::SlopeOf(k < true_classes, Noise(i, k), Weight(i), z);
  }
  DYGRAPH_INLINE T Curve(int64_t i, int64_t k, T z) const {
    return NoiseRule<T>::CurveOf(k < true_classes, Noise(i, k), Weight(i), z);
  }
};

// classes [rows, true classes + samples] = Label with the samples behind it.
inline void Draw(const KernelContext& ctx, int64_t rows, int64_t* classes) {
  const NceAttrs& a = ctx.attrs<NceAttrs>();
  const int64_t total = a.num_total_classes, drawn = a.num_neg_samples;
  const int64_t n = rows ? ctx.In(kLabel).numel() / rows : 0;
  const int sampler = a.sampler;
  for (int32_t c : a.custom_neg_classes) {
    ENFORCE(c >= 0 && c < total, OutOfRange, "custom_neg_classes must hold classes in [0, ", total,
            "), got ", c);
  }
  labels::ClassLabels label(ctx.In(kLabel));
  label.CheckAll(total);
  labels::ClassLabels alias(ctx.In(sampler == kCustom ? kAlias : kLabel));
  alias.Check(total, -1);
  const Numbers keep = sampler == kCustom ? Numbers(ctx.In(kAliasProbs)) : Numbers();
  kernels::Table<int32_t> given(a.custom_neg_classes);
  const int32_t* fixed = a.custom_neg_classes.empty() ? nullptr : given.data();
  cuda::Workspace<double> numbers(rows * drawn * 2);
  double* u = numbers.data();
  random::Generator(ctx, a.seed).Uniform(u, rows * drawn * 2);
  kernels::ForEach(rows * (n + drawn), [=] DYGRAPH_FN(int64_t at) {
    const int64_t i = at / (n + drawn), k = at % (n + drawn) - n;
    if (k < 0) {
      classes[at] = label[i * n + k + n];
      return;
    }
    const double* pair = u + 2 * (i * drawn + k);
    int64_t c = ClassOf(sampler, pair[0], total);
    if (keep.given() && alias[c] >= 0 && pair[1] > keep[c]) c = alias[c];
    classes[at] = fixed ? fixed[k] : c;
  });
}

}  // namespace dygraph::nce
