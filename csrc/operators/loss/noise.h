// The classes of nce, drawn, and as terms of operators/loss/chosen_rows_loops.h.
#pragma once

#include <algorithm>
#include <vector>

#include "operators/class_labels.h"
#include "operators/loss/noise_rule.h"
#include "operators/random/random.h"
#include "platform/interrupt.h"

namespace dygraph::nce {

// The true classes and the samples of each row with what they cost.
template <class T>
struct Samples : NoiseRule<T> {
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
    for (int64_t i = 0; i < label[0] * width; ++i) {
      double p =
          probs ? At(*probs, classes[i]) : NoiseOf(a.sampler, classes[i], a.num_total_classes);
      noise.push_back(static_cast<T>(p * a.num_neg_samples));
    }
  }
  static double At(const Tensor& t, int64_t i) {
    return t.dtype() == DType::kFloat64 ? t.data<double>()[i] : double{t.data<float>()[i]};
  }
  int64_t Count(int64_t) const { return width; }
  int64_t Row(int64_t i, int64_t k) const { return classes[i * width + k]; }
  T Noise(int64_t i, int64_t k) const { return noise[i * width + k]; }
  T Weight(int64_t i) const { return weights ? weights[i] : T(1); }
  T Value(int64_t i, int64_t k, T, T shown) const {
    return NoiseRule<T>::CostOf(k < true_classes, Noise(i, k), Weight(i), shown);
  }
  T Slope(int64_t i, int64_t k, T z) const {
    return NoiseRule<T>::SlopeOf(k < true_classes, Noise(i, k), Weight(i), z);
  }
  T Curve(int64_t i, int64_t k, T z) const {
    return NoiseRule<T>::CurveOf(k < true_classes, Noise(i, k), Weight(i), z);
  }
};

// classes [rows, true classes + samples] = Label with the samples behind it.
inline void Draw(const KernelContext& ctx, int64_t rows, int64_t* classes) {
  const NceAttrs& a = ctx.attrs<NceAttrs>();
  std::vector<int64_t> label = Integers(ctx.In(kLabel), "Label");
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
    for (int64_t k = 0; k < n; ++k) *classes++ = label[i * n + k];
    for (int64_t k = 0; k < drawn; ++k) {
      const double* pair = u.data() + 2 * (i * drawn + k);
      int64_t c = ClassOf(a.sampler, pair[0], total);
      if (a.sampler == kCustom && alias[c] >= 0 &&
          pair[1] > Samples<double>::At(ctx.In(kAliasProbs), c))
        c = alias[c];
      *classes++ = a.custom_neg_classes.empty() ? c : a.custom_neg_classes[k];
    }
  }
}

}  // namespace dygraph::nce
