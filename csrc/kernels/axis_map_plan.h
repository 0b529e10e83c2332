// Copies by axis maps that are simpler ones in another form.
#pragma once

#include <vector>

#include "base/span.h"
#include "kernels/axis_map_types.h"

namespace dygraph::kernels {

inline bool AllTile(Span<const AxisMap> maps) {
  for (const AxisMap& m : maps) {
    if (!m.IsIdentity() && !m.IsTiling()) return false;
  }
  return true;
}

// A tiled axis as two: which copy, and where in it.
struct TiledAxes {
  std::vector<int64_t> dims, x_strides, y_strides;
  explicit TiledAxes(Span<const AxisMap> maps) {
    int64_t x_stride = 1, y_stride = 1;
    auto add = [this](int64_t n, int64_t xs, int64_t ys) {
      dims.insert(dims.begin(), n);
      x_strides.insert(x_strides.begin(), xs);
      y_strides.insert(y_strides.begin(), ys);
    };
    for (size_t k = maps.size(); k-- > 0;) {
      if (maps[k].in > 1) add(maps[k].in, x_stride, y_stride);
      if (maps[k].out != maps[k].in) add(maps[k].out / maps[k].in, 0, y_stride * maps[k].in);
      x_stride *= maps[k].in;
      y_stride *= maps[k].out;
    }
  }
};

// The maps back where no two elements of y come from one of x; else nothing.
inline std::vector<AxisMap> Inverse(Span<const AxisMap> maps) {
  std::vector<AxisMap> inverse;
  for (const AxisMap& m : maps) {
    const bool rolled = m.outside == Outside::kWrap && m.in == m.out && !m.reversed;
    if (!m.IsIdentity() && m.outside != Outside::kFill && !rolled) return {};
    AxisMap back = m;
    back.in = m.out;
    back.out = m.in;
    back.before = m.reversed ? m.in + m.before - m.out : -m.before;
    inverse.push_back(back);
  }
  return inverse;
}

}  // namespace dygraph::kernels
