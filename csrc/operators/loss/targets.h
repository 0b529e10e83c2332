// The classes that have a part in the loss of a row of scores: the label's, or with soft_label all
// those of a distribution.
#pragma once

#include <optional>

#include "kernels/fold.h"
#include "operators/labels.h"

namespace dygraph::labels {

// Those of one row: the i-th is element At(i) of the scores and has Part(i).
template <class T>
struct RowTargets {
  int64_t count, first, step;
  const T* parts;  // nullptr: 1
  DYGRAPH_INLINE int64_t At(int64_t i) const { return first + i * step; }
  DYGRAPH_INLINE T Part(int64_t i) const { return parts ? parts[At(i)] : T(1); }
};

template <class T>
class Targets {
 public:
  // Class numbers are checked.
  Targets(const Tensor& label, bool soft, int64_t ignored, const kernels::SoftmaxShape& s)
      : parts_(soft ? label.data<T>() : nullptr), ignored_(ignored), n_(s.n), inner_(s.inner) {
    if (soft) return;
    classes_.emplace(label);
    classes_->Check(s.n, ignored);
  }
  DYGRAPH_INLINE RowTargets<T> operator[](int64_t row) const {
    const int64_t first = row / inner_ * n_ * inner_ + row % inner_;
    if (!classes_) return {n_, first, inner_, parts_};
    const int64_t c = (*classes_)[row];
    return {c == ignored_ ? 0 : 1, first + c * inner_, inner_, nullptr};
  }

 private:
  std::optional<ClassLabels> classes_;
  const T* parts_;
  int64_t ignored_, n_, inner_;
};

}  // namespace dygraph::labels
