// Boxes by their corners: areas, intersection over union, centres and sizes, greedy suppression.
//
// `unit` is 0 for normalized corners and 1 for those of pixels, where a box from 2 to 4 is 3 wide.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/simd.h"
#include "op/op_registry.h"

namespace dygraph::boxes {

// What the operators get: [rows, 4] or [..., 4].
inline bool IsBoxes(const Dims& d) {
  return d.rank() >= 2 && (d[d.rank() - 1] == 4 || d[d.rank() - 1] < 0);
}
// InvalidArgument unless the slot holds boxes with `rank` axes.
inline void CheckBoxes(const Dims& d, const char* slot, int rank = 2) {
  ENFORCE(d.rank() == rank && IsBoxes(d), InvalidArgument, slot, " must hold boxes ",
          rank == 2 ? "[rows, 4]" : "with 4 numbers each in " + std::to_string(rank) + " axes",
          ", got shape ", d);
}

template <class T>
struct Box {
  T x0, y0, x1, y1;
  DYGRAPH_INLINE static Box At(const T* p) { return {p[0], p[1], p[2], p[3]}; }
  DYGRAPH_INLINE void Write(T* p) const { p[0] = x0, p[1] = y0, p[2] = x1, p[3] = y1; }
  DYGRAPH_INLINE T Width(T unit) const { return x1 - x0 + unit; }
  DYGRAPH_INLINE T Height(T unit) const { return y1 - y0 + unit; }
  DYGRAPH_INLINE Box operator*(T by) const { return {x0 * by, y0 * by, x1 * by, y1 * by}; }
  DYGRAPH_INLINE Box operator/(T by) const { return {x0 / by, y0 / by, x1 / by, y1 / by}; }
  // 0 where a corner is on the wrong side.
  DYGRAPH_INLINE T Area(T unit) const {
    return x1 < x0 || y1 < y0 ? T(0) : Width(unit) * Height(unit);
  }
  // Inside [0, right] x [0, bottom].
  DYGRAPH_INLINE Box Clipped(T right, T bottom) const {
    auto in = [](T v, T most) { return std::max(std::min(v, most), T(0)); };
    return {in(x0, right), in(y0, bottom), in(x1, right), in(y1, bottom)};
  }
};

// Of the two boxes whose areas are given.
template <class T>
DYGRAPH_INLINE T Intersection(const Box<T>& a, const Box<T>& b, T unit) {
  T w = std::min(a.x1, b.x1) - std::max(a.x0, b.x0) + unit;
  T h = std::min(a.y1, b.y1) - std::max(a.y0, b.y0) + unit;
  return std::max(w, T(0)) * std::max(h, T(0));
}

// Intersection over union; 0 for boxes that do not touch, NaN for two equal ones without area.
template <class T>
DYGRAPH_INLINE T Overlap(const Box<T>& a, const Box<T>& b, T unit) {
  if (b.x0 > a.x1 || b.x1 < a.x0 || b.y0 > a.y1 || b.y1 < a.y0) return T(0);
  T both = Intersection(a, b, unit);
  return both / (a.Area(unit) + b.Area(unit) - both);
}

template <class T>
struct CenterSize {
  T x, y, w, h;
  DYGRAPH_INLINE static CenterSize Of(const Box<T>& b, T unit) {
    T w = b.Width(unit), h = b.Height(unit);
    return {b.x0 + w / 2, b.y0 + h / 2, w, h};
  }
  DYGRAPH_INLINE Box<T> Corners(T unit) const {
    return {x - w / 2, y - h / 2, x + w / 2 - unit, y + h / 2 - unit};
  }
  // The box that `d` (shifts by parts of the size, logarithms of factors of it) makes of this one;
  // the logarithms are `most` at most.
  DYGRAPH_INLINE CenterSize Moved(const CenterSize& d,
                                  T most = std::numeric_limits<T>::infinity()) const {
    return {d.x * w + x, d.y * h + y, std::exp(std::min(d.w, most)) * w,
            std::exp(std::min(d.h, most)) * h};
  }
  // The reverse: what makes `target` of this box.
  DYGRAPH_INLINE CenterSize To(const CenterSize& target) const {
    return {(target.x - x) / w, (target.y - y) / h, std::log(std::abs(target.w / w)),
            std::log(std::abs(target.h / h))};
  }
};

// Positions of `scores` above `threshold`, the greatest first, equals in their order; `most` of
// them, -1: all.
template <class T>
std::vector<int64_t> Best(const T* scores, int64_t count, int64_t stride, T threshold,
                          int64_t most) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < count; ++i) {
    if (scores[i * stride] > threshold) order.push_back(i);
  }
  auto better = [&](int64_t i, int64_t j) {
    T a = scores[i * stride], b = scores[j * stride];
    return a > b || (a == b && i < j);
  };
  if (most >= 0 && most < static_cast<int64_t>(order.size())) {
    std::nth_element(order.begin(), order.begin() + most, order.end(), better);
    order.resize(most);
  }
  std::sort(order.begin(), order.end(), better);
  return order;
}

// Keeps of `order`, best first, what overlaps with nothing kept by more than `threshold`, which is
// multiplied by `eta` after each that is kept as long as it is above 0.5.
template <class F, class T>
std::vector<int64_t> Suppress(const std::vector<int64_t>& order, T threshold, T eta,
                              const F& overlap) {
  std::vector<int64_t> kept;
  for (int64_t i : order) {
    bool keep = std::all_of(kept.begin(), kept.end(),
                            [&](int64_t k) { return overlap(i, k) <= threshold; });
    if (!keep) continue;
    kept.push_back(i);
    if (eta < 1 && threshold > T(0.5)) threshold *= eta;
  }
  return kept;
}

// The same for boxes [rows, 4] by their corners, in blocks that the compiler vectorises. An overlap
// that is NaN, as that of two equal boxes without area, is above the threshold, or with NaNKeeps
// not.
template <bool NaNKeeps = false, class T>
std::vector<int64_t> SuppressBoxes(const std::vector<int64_t>& order, const T* boxes, T threshold,
                                   T eta, T unit) {
  constexpr int64_t kBlock = 32;
  const auto n = static_cast<int64_t>(order.size());
  std::vector<int64_t> kept;
  std::vector<T> held(5 * n);  // x0, y0, x1, y1 and areas of those kept
  T *x0 = held.data(), *y0 = x0 + n, *x1 = y0 + n, *y1 = x1 + n, *area = y1 + n;
  for (int64_t i : order) {
    const Box<T> b = Box<T>::At(boxes + i * 4);
    const T mine = b.Area(unit);
    const auto count = static_cast<int64_t>(kept.size());
    bool keep = true;
    for (int64_t begin = 0; keep && begin < count; begin += kBlock) {
      const int64_t end = std::min(begin + kBlock, count);
      int beyond = 0;
      for (int64_t k = begin; k < end; ++k) {
        T w = std::min(b.x1, x1[k]) - std::max(b.x0, x0[k]);
        T h = std::min(b.y1, y1[k]) - std::max(b.y0, y0[k]);
        T both = (w + unit) * (h + unit);
        T part = both / (mine + area[k] - both);
        beyond |= static_cast<int>(w >= T(0)) & static_cast<int>(h >= T(0)) &
                  static_cast<int>(NaNKeeps ? part > threshold : !(part <= threshold));
      }
      keep = !beyond;
    }
    if (!keep) continue;
    x0[count] = b.x0, y0[count] = b.y0, x1[count] = b.x1, y1[count] = b.y1, area[count] = mine;
    kept.push_back(i);
    if (eta < 1 && threshold > T(0.5)) threshold *= eta;
  }
  return kept;
}

}  // namespace dygraph::boxes
