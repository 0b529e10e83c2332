// Rows that belong to the images of a batch: the last level of detail says how many to which.
#pragma once

#include <string>
#include <vector>

#include "operators/arguments.h"

namespace dygraph::images {

// Where the rows of each image begin; without a level of detail there is one image.
inline std::vector<int64_t> OffsetsOf(const Tensor& t) {
  const LoDLevels& lod = t.lod_levels();
  return lod.empty() ? std::vector<int64_t>{0, t.dim(0)} : lod.back();
}

// The number of images, -1 while a program is described.
inline int64_t CountOf(const InferContext& ctx, int slot) {
  if (!ctx.runtime()) return -1;
  const LoDLevels& lod = ctx.value(slot).tensor().lod_levels();
  return lod.empty() ? 1 : static_cast<int64_t>(lod.back().size()) - 1;
}

// The same where there must be a level of detail with `images` images.
inline const std::vector<int64_t>& OffsetsFor(const Tensor& t, const char* slot, int64_t images) {
  const LoDLevels& lod = t.lod_levels();
  const auto count = lod.empty() ? -1 : static_cast<int64_t>(lod.back().size()) - 1;
  ENFORCE(count == images, InvalidArgument, slot, " must have a level of detail with ", images,
          " images, got ", count < 0 ? "none" : std::to_string(count),
          ". Give it with to_variable(value, lod=[[0, 2, 5]])");
  return lod.back();
}

// The same by counts; InvalidArgument unless they are those of `rows` rows.
inline std::vector<int64_t> OffsetsOfCounts(const Tensor& counts, const char* slot, int64_t rows) {
  std::vector<int64_t> offsets{0};
  for (int64_t n : Integers(counts, slot)) {
    ENFORCE(n >= 0 && n <= rows, InvalidArgument, slot, " must be counts in [0, ", rows,
            "], the number of rows, got ", n);
    offsets.push_back(offsets.back() + n);
  }
  ENFORCE(offsets.back() == rows, InvalidArgument, slot, " must sum to the ", rows, " rows, got ",
          offsets.back());
  return offsets;
}

// The counts, int32 [images]. No output: nothing.
inline void WriteCounts(const std::vector<int64_t>& offsets, Tensor* out, Place place) {
  if (!out) return;
  const auto images = static_cast<int64_t>(offsets.size()) - 1;
  out->Allocate({images}, DType::kInt32, place);
  int32_t* to = out->mutable_data<int32_t>();
  for (int64_t i = 0; i < images; ++i) to[i] = static_cast<int32_t>(offsets[i + 1] - offsets[i]);
}

}  // namespace dygraph::images
