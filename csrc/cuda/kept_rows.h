// Sequences of numbers of which some are kept: a thread for each sequence.
#pragma once

#include <vector>

#include "cuda/scratch.h"
#include "kernels/loops.h"
#include "kernels/table.h"

namespace dygraph::cuda {

// Those numbers t of each sequence for which rule.Keeps(numbers of the sequence, t). Waits for
// their counts.
template <class T, class Rule>
class KeptRows {
 public:
  KeptRows(const T* x, const std::vector<int64_t>& offsets, const Rule& rule)
      : x_(x), rule_(rule), from_(offsets), offsets_(offsets.size(), 0) {
    const int64_t count = static_cast<int64_t>(offsets.size()) - 1;
    Workspace<int64_t> room(count);
    Count(x, from_.data(), count, rule, room.data());
    if (count > 0)
      GetDeviceContext(CurrentPlace())
          .CopyToHost(offsets_.data() + 1, room.data(),
                      static_cast<size_t>(count) * sizeof(int64_t));
    for (size_t s = 1; s < offsets_.size(); ++s) offsets_[s] += offsets_[s - 1];
  }
  // Of what is kept.
  const std::vector<int64_t>& offsets() const { return offsets_; }
  void Write(T* to) {
    kernels::Table<int64_t> table(offsets_);
    Copy(x_, from_.data(), static_cast<int64_t>(offsets_.size()) - 1, rule_, table.data(), to);
  }
  static void Count(const T* x, const int64_t* from, int64_t count, const Rule& by, int64_t* kept) {
    const Rule rule = by;
    kernels::ForEach(count, [=] DYGRAPH_FN(int64_t s) {
      const int64_t length = from[s + 1] - from[s];
      int64_t n = 0;
      for (int64_t t = 0; t < length; ++t) n += rule.Keeps(x + from[s], t);
      kept[s] = n;
    });
  }
  static void Copy(const T* x, const int64_t* from, int64_t count, const Rule& by,
                   const int64_t* to, T* y) {
    const Rule rule = by;
    kernels::ForEach(count, [=] DYGRAPH_FN(int64_t s) {
      const int64_t length = from[s + 1] - from[s];
      int64_t at = to[s];
      for (int64_t t = 0; t < length; ++t) {
        if (rule.Keeps(x + from[s], t)) y[at++] = x[from[s] + t];
      }
    });
  }

 private:
  const T* x_;
  Rule rule_;
  kernels::Table<int64_t> from_;
  std::vector<int64_t> offsets_;
};

}  // namespace dygraph::cuda
