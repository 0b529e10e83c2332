// What the operators of transducers share.
#pragma once

#include <limits>

#include "operators/arguments.h"

namespace dygraph::rnnt {

constexpr int kInput = 0, kLabel = 1, kInputLengths = 2, kLabelLengths = 3, kLoss = 0,
              kRnntGrad = 1;
constexpr double kNever = -std::numeric_limits<double>::infinity();

struct WarpRnntAttrs {
  int32_t blank = 0;
  double fastemit_lambda = 0.0;
};

// A call's sequences, checked.
struct Batch {
  int64_t count, steps, states, classes;
  int64_t width;  // of label
  std::vector<int64_t> length, labels, label;

  explicit Batch(const KernelContext& ctx) {
    const Dims& x = ctx.In(kInput).dims();
    count = x[0], steps = x[1], states = x[2], classes = x[3];
    width = ctx.In(kLabel).dim(1);
    length = Integers(ctx.In(kInputLengths), "input_lengths");
    labels = Integers(ctx.In(kLabelLengths), "label_lengths");
    label = Integers(ctx.In(kLabel), "label");
    const int64_t most = std::min(width, states - 1), blank = ctx.attrs<WarpRnntAttrs>().blank;
    for (int64_t s = 0; s < count; ++s) {
      ENFORCE(length[s] >= 0 && length[s] <= steps, OutOfRange, "input_lengths must lie in [0, ",
              steps, "], the steps of input, got ", length[s], " at position ", s);
      ENFORCE(labels[s] >= 0 && labels[s] <= most, OutOfRange, "label_lengths must lie in [0, ",
              most, "], what label and input have room for, got ", labels[s], " at position ", s);
      for (int64_t i = 0; i < labels[s]; ++i) {
        const int64_t c = LabelAt(s, i);
        ENFORCE(c >= 0 && c < classes, OutOfRange, "every label must be a class in [0, ", classes,
                "), got ", c, " at position ", s * width + i);
        ENFORCE(c != blank, InvalidArgument, "label must not hold blank, got ", blank,
                " at position ", s * width + i);
      }
    }
  }
  int64_t LabelAt(int64_t s, int64_t i) const { return label[s * width + i]; }
  // Of the scores of sequence s at step t behind u labels.
  int64_t Cell(int64_t s, int64_t t, int64_t u) const { return (s * steps + t) * states + u; }
};

}  // namespace dygraph::rnnt
