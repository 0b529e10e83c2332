// What the operators of connectionist temporal classification share.
#pragma once

#include <limits>

#include "kernels/simd.h"
#include "operators/ragged.h"

namespace dygraph::ctc {

constexpr int kLogits = 0, kLabel = 1, kLogitsLength = 2, kLabelLength = 3, kCtcGrad = 0, kLoss = 1;
constexpr double kNever = -std::numeric_limits<double>::infinity();

struct WarpCtcAttrs {
  int32_t blank = 0;
  bool norm_by_times = false;
};

struct Batches {
  ragged::Batch steps, labels;
};

inline ragged::Batch StepsOf(const KernelContext& ctx, int logits, int length) {
  const Tensor& x = ctx.In(logits);
  const Tensor* lengths = ctx.InOrNull(length);
  if (!lengths) return ragged::FromLoD(x, "Logits", "LogitsLength");
  return ragged::FromLengths(*lengths, "LogitsLength", x.dim(1), x.dim(0), true);
}

inline Batches Read(const KernelContext& ctx) {
  const Tensor& label = ctx.In(kLabel);
  Batches b{StepsOf(ctx, kLogits, kLogitsLength), {}};
  if (const Tensor* lengths = ctx.InOrNull(kLabelLength)) {
    b.labels = ragged::FromLengths(*lengths, "LabelLength", label.dim(0), label.dim(1));
  } else {
    b.labels = ragged::FromLoD(label, "Label", "LabelLength");
    ENFORCE(b.labels.size() == b.steps.size(), InvalidArgument,
            "Logits and Label must have as many sequences, got ", b.steps.size(), " and ",
            b.labels.size());
  }
  return b;
}

inline std::vector<int64_t> ReadLabels(const KernelContext& ctx, const Batches& b,
                                       int64_t classes) {
  const int64_t blank = ctx.attrs<WarpCtcAttrs>().blank;
  std::vector<int64_t> label = Integers(ctx.In(kLabel), "Label");
  for (int64_t s = 0; s < b.labels.size(); ++s) {
    for (int64_t i = 0; i < b.labels.length[s]; ++i) {
      int64_t at = b.labels.Row(s, i);
      ENFORCE(label[at] >= 0 && label[at] < classes, OutOfRange,
              "every Label must be a class in [0, ", classes, "), got ", label[at], " at position ",
              at);
      ENFORCE(label[at] != blank, InvalidArgument, "Label must not hold blank, got ", blank,
              " at position ", at, ". Blanks between labels are put in by the loss");
    }
  }
  return label;
}

inline void CheckLossGrad(const Tensor& g, int64_t count) {
  ENFORCE(g.numel() == count, InvalidArgument, "Loss@GRAD must hold one number for each of the ",
          count, " sequences, got shape ", g.dims());
}

// What the gradient of a sequence is multiplied by.
template <class T>
DYGRAPH_INLINE T FactorOf(bool norm_by_times, int64_t steps) {
  return norm_by_times ? T(1) / static_cast<T>(steps < 1 ? 1 : steps) : T(1);
}

}  // namespace dygraph::ctc
