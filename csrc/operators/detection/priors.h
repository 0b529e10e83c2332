// Boxes at the cells of a feature map, the same ones at each cell, moved to the cell's centre.
#pragma once

#include <algorithm>
#include <cmath>

#include "op/op_registry.h"
#include "operators/detection/cells.h"

namespace dygraph::priors {

constexpr int kInput = 0, kImage = 1, kBoxes = 0, kVariances = 1;

// A check that all numbers of a list are above 0.
inline AttrCheck EachAboveZero() {
  return [](const std::string& name, const AttrValue& value) {
    for (float v : std::get<std::vector<float>>(value)) {
      ENFORCE(v > 0, InvalidArgument, name, " must hold numbers above 0, got ", ToString(value));
    }
  };
}

// The variances are 4 numbers above 0.
inline AttrCheck FourAboveZero() {
  return [](const std::string& name, const AttrValue& value) {
    ENFORCE(std::get<std::vector<float>>(value).size() == 4, InvalidArgument, name,
            " must hold 4 numbers, got ", ToString(value));
    EachAboveZero()(name, value);
  };
}

inline void CheckMap(const Dims& d, const char* slot) {
  ENFORCE(d.rank() == 4, InvalidArgument, slot, " must be images [N, C, H, W], got shape ", d);
}

// Both outputs hold [H, W, count, 4] numbers, or all boxes in one axis.
inline void SetOutputs(InferContext& ctx, int64_t count, bool flat = false) {
  const Dims& map = ctx.dims(kInput);
  Dims out{map[2], map[3], count, 4};
  if (flat) out = {MulSizes(MulSizes(map[2], map[3]), count), 4};
  ctx.SetOutput(kBoxes, out);
  ctx.SetOutput(kVariances, out);
}

// The size of a cell in the image: the steps, or image over map where one of them is 0.
struct Cells {
  double width, height;
  Cells(const Tensor& map, const Tensor& image, double step_w, double step_h)
      : width(step_w), height(step_h) {
    if (step_w != 0 && step_h != 0) return;
    width = static_cast<double>(image.dim(3)) / static_cast<double>(map.dim(3));
    height = static_cast<double>(image.dim(2)) / static_cast<double>(map.dim(2));
  }
};

// boxes(row, column, to) writes the boxes of one cell.
template <class T, class F>
void Fill(KernelContext& ctx, const std::vector<float>& variances, const F& boxes) {
  const Tensor& map = ctx.In(kInput);
  const int64_t rows = map.dim(2), columns = map.dim(3);
  for (int slot : {kBoxes, kVariances}) {
    Tensor* out = ctx.OutOrNull(slot);
    if (!out || out->numel() == 0) continue;
    const int64_t width = out->numel() / (rows * columns);  // of the numbers of a cell
    T* to = out->mutable_data<T>();
    FillCells(ctx, rows, columns, width, to, [&](int64_t row, int64_t column, T* at) {
      if (slot == kBoxes) {
        boxes(row, column, at);
      } else {
        for (int64_t i = 0; i < width; ++i) at[i] = static_cast<T>(variances[i % 4]);
      }
    });
  }
}

// A box by its centre and half its size, as parts of the image.
template <class T>
T* Put(double x, double y, double half_w, double half_h, double image_w, double image_h, T* to) {
  *to++ = static_cast<T>((x - half_w) / image_w);
  *to++ = static_cast<T>((y - half_h) / image_h);
  *to++ = static_cast<T>((x + half_w) / image_w);
  *to++ = static_cast<T>((y + half_h) / image_h);
  return to;
}
template <class T>
void ClipToImage(T* from, const T* end) {
  for (; from != end; ++from) *from = std::min(std::max(*from, T(0)), T(1));
}

}  // namespace dygraph::priors
