// Regions of images as the pooling operators take them: boxes (x1, y1, x2, y2) in rows, and for
// each the image it lies in, by counts (RoisNum), by offsets (RoisLod) or by the level of detail of
// ROIs.
#pragma once

#include <cmath>
#include <limits>
#include <numeric>

#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/arguments.h"
#include "operators/detection/images.h"

namespace dygraph::rois {

inline void CheckShapes(const Dims& x, const Dims& rois, const char* slot = "ROIs") {
  ENFORCE(x.rank() == 4, InvalidArgument, "X must be images [N, C, H, W], got shape ", x);
  ENFORCE(rois.rank() == 2 && (rois[1] == 4 || rois[1] < 0), InvalidArgument, slot,
          " must be boxes [regions, 4], got shape ", rois);
}

constexpr int32_t kMostSamples = 1000;  // along an axis of a bin; more would run for hours

// ROIs must have the type of X; integers beside them may have any.
inline void CheckTypes(const InferContext& ctx, int x, int rois) {
  ENFORCE(ctx.dtype(x) == ctx.dtype(rois), Type, "X and ROIs must be of one type, got ",
          ctx.dtype(x), " and ", ctx.dtype(rois), ". Convert with astype()");
}

inline AttrCheck Scale() {
  return [](const std::string& name, const AttrValue& value) {
    ENFORCE(NumberOf(value) > 0 && NumberOf(value) <= 1e6, InvalidArgument, name,
            " must lie in (0, 1e6], got ", ToString(value));
  };
}

inline void CheckOffsets(const std::vector<int64_t>& offsets, int64_t rows, const char* slot) {
  bool fits = !offsets.empty() && offsets.front() == 0 && offsets.back() == rows;
  for (size_t i = 0; fits && i + 1 < offsets.size(); ++i) fits = offsets[i] <= offsets[i + 1];
  ENFORCE(fits, InvalidArgument, slot, " must rise from 0 to the ", rows, " regions, got ",
          Dims(Span<const int64_t>(offsets)));
}

// Where the regions of each image begin, and behind the last their number. Slots of -1 are absent.
inline std::vector<int64_t> Offsets(const KernelContext& ctx, int rois, int counts, int offsets,
                                    const char* slot = "ROIs") {
  const int64_t rows = ctx.In(rois).dim(0);
  if (counts >= 0 && ctx.HasInput(counts)) {
    const char* name = ctx.call().op->inputs[counts].name.c_str();
    return images::OffsetsOfCounts(ctx.In(counts), name, rows);
  }
  if (offsets >= 0 && ctx.HasInput(offsets)) {
    std::vector<int64_t> ends = Integers(ctx.In(offsets), "RoisLod");
    CheckOffsets(ends, rows, "RoisLod");
    return ends;
  }
  const LoDLevels& lod = ctx.In(rois).lod_levels();
  ENFORCE(!lod.empty(), InvalidArgument, slot, " must have a level of detail that says which image",
          " each region lies in, got shape ", ctx.In(rois).dims(),
          " without one. Give to_variable(lod=...)",
          counts >= 0 ? " or the number of regions of each image" : "");
  return lod.back();
}

// The image of each region; OutOfRange where there are more than `images`.
inline std::vector<int64_t> Images(const KernelContext& ctx, int rois, int counts, int offsets,
                                   int64_t images) {
  const std::vector<int64_t> ends = Offsets(ctx, rois, counts, offsets);
  ENFORCE(static_cast<int64_t>(ends.size()) - 1 == images, InvalidArgument,
          "the regions must be those of ", images, " images, as X has, got those of ",
          ends.size() - 1);
  std::vector<int64_t> of;
  for (int64_t i = 0; i < images; ++i) of.insert(of.end(), ends[i + 1] - ends[i], i);
  return of;
}

// Boxes that are no numbers, or so large that pixels could not be counted, are refused.
template <class T>
void CheckBoxes(const Tensor& boxes, double scale, const char* slot = "ROIs") {
  const T* at = boxes.data<T>();
  for (int64_t i = 0; i < boxes.numel(); ++i) {
    ENFORCE(std::abs(static_cast<double>(at[i])) * scale <= 1e9, InvalidArgument, slot,
            " must hold finite numbers of pixels, at most 1e9, got ", at[i], " in row ",
            i / boxes.dim(1));
  }
}

}  // namespace dygraph::rois
