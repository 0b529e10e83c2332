// Batches of sequences of different lengths, as the operators over sequences take them: rows one
// after another with a LoD, or padded to one length with a tensor of lengths.
#pragma once

#include "operators/arguments.h"

namespace dygraph::ragged {

// Element t of sequence s stands in row begin[s] + t * stride.
struct Batch {
  std::vector<int64_t> begin, length;
  int64_t stride = 1;
  int64_t size() const { return static_cast<int64_t>(begin.size()); }
  int64_t Row(int64_t s, int64_t t) const { return begin[s] + t * stride; }
  int64_t Longest() const {
    return length.empty() ? 0 : *std::max_element(length.begin(), length.end());
  }
};

inline Batch FromLoD(const Tensor& t, const char* slot, const char* length_slot) {
  const LoDLevels& lod = t.lod_levels();
  ENFORCE(!lod.empty(), InvalidArgument, slot,
          " must have a level of detail that says where its sequences begin, got shape ", t.dims(),
          " without one. Give to_variable(lod=...), or a padded ", slot, " with ", length_slot);
  const std::vector<int64_t>& offsets = lod.back();
  Batch b;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    b.begin.push_back(offsets[i]);
    b.length.push_back(offsets[i + 1] - offsets[i]);
  }
  return b;
}

// `longest` steps of `count` sequences; time_major: [longest, count], else [count, longest].
inline Batch FromLengths(const Tensor& lengths, const char* slot, int64_t count, int64_t longest,
                         bool time_major = false) {
  Batch b;
  b.length = Integers(lengths, slot);
  b.stride = time_major ? count : 1;
  ENFORCE(lengths.numel() == count, InvalidArgument, slot, " must hold one length for each of the ",
          count, " sequences, got shape ", lengths.dims());
  for (int64_t s = 0; s < count; ++s) {
    ENFORCE(b.length[s] >= 0 && b.length[s] <= longest, OutOfRange, slot, " must lie in [0, ",
            longest, "], the padded length, got ", b.length[s], " at position ", s);
    b.begin.push_back(time_major ? s : s * longest);
  }
  return b;
}

// The number of sequences of a LoD, -1 where a program is being built.
inline int64_t CountOf(const InferContext& ctx, int slot) {
  if (!ctx.runtime()) return -1;
  const LoDLevels& lod = ctx.value(slot).tensor().lod_levels();
  return lod.empty() ? -1 : static_cast<int64_t>(lod.back().size()) - 1;
}

}  // namespace dygraph::ragged
