// What slice, strided_slice and set_value share: a box of elements start, start + step, ... along
// each axis, as NumPy counts them.
#pragma once

#include "kernels/strided_copy.h"
#include "op/lod_rule.h"
#include "operators/arguments.h"
#include "operators/clear.h"

namespace dygraph::slicing {

struct Region {
  Dims dims;   // of the box, all axes; -1 unknown
  Dims start;  // first element along each axis
  Dims step;
  Dims kept;  // dims without the axes that an index takes away
};

// Attributes as they stand, for a call that gives no tensor in their place.
template <class A>
struct AttrInts {
  const std::vector<A>& values;
  static constexpr bool known = true;
};
template <class A>
AttrInts(const std::vector<A>&) -> AttrInts<A>;

// `steps` may be empty (all 1). Starts and ends may be negative (from the end) or lie outside
// (clamped). An axis in `decrease` must be left with one element and disappears.
template <class A, class Ints, class Steps>  // IntList, AttrInts
Region MakeRegion(const Dims& x, const std::vector<A>& axes, const Ints& starts, const Ints& ends,
                  const Steps& steps, const std::vector<A>& decrease) {
  Region r{x, {}, {}, {}};
  std::fill_n(r.start.Extend(x.size()), x.size(), 0);
  std::fill_n(r.step.Extend(x.size()), x.size(), 1);
  size_t n = axes.size();
  ENFORCE(starts.values.size() == n && ends.values.size() == n &&
              (steps.values.empty() || steps.values.size() == n),
          InvalidArgument, "axes, starts, ends and strides must be equally long, got ", n, ", ",
          starts.values.size(), ", ", ends.values.size(), " and ", steps.values.size());
  bool known = starts.known && ends.known && steps.known;
  uint32_t seen = 0, gone = 0;
  for (int64_t a : decrease) gone |= 1u << NormalizeAxis(a, x.rank(), "decrease_axis");
  ENFORCE(n == 0 || x.rank() > 0, InvalidArgument, "Input must have axes to slice, got shape []");
  for (size_t i = 0; i < n; ++i) {
    int axis = NormalizeAxis(axes[i], x.rank(), "axes");
    ENFORCE(!(seen >> axis & 1), InvalidArgument, "axes must not repeat, got ", axes[i], " twice");
    seen |= 1u << axis;
    int64_t size = x[axis], start = starts.values[i], end = ends.values[i];
    int64_t step = steps.values.empty() ? 1 : steps.values[i];
    ENFORCE(step != 0 || !known, InvalidArgument, "a stride must not be 0, got 0 for axis ",
            axes[i]);
    if (!known || size < 0) {
      r.dims[axis] = -1;
      continue;
    }
    if (gone >> axis & 1) {
      ENFORCE(start >= -size && start < size, OutOfRange, "an index must lie within its axis, got ",
              start, " for axis ", axis, " of Input ", x);
    }
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    auto clamp = [&](int64_t at) { return std::min(std::max(at < 0 ? at + size : at, low), high); };
    start = clamp(start);
    end = clamp(end);
    bool any = step > 0 ? start < end : start > end;
    int64_t count = any ? (step > 0 ? end - start - 1 : start - end - 1) : -1;  // steps of 1
    if (step != 1 && any) {
      int64_t width = step > 0 ? step : -step;
      // A division of 32 bits takes a third of the time.
      bool narrow = (count | width) >> 32 == 0;
      count = narrow ? static_cast<uint32_t>(count) / static_cast<uint32_t>(width) : count / width;
    }
    ++count;
    r.start[axis] = any ? start : 0;
    r.step[axis] = count > 1 ? step : 1;  // an unused step may have any size
    r.dims[axis] = count;
  }
  if (gone == 0) {
    r.kept = r.dims;
    return r;
  }
  for (int i = 0; i < x.rank(); ++i) {
    if (!(gone >> i & 1)) {
      r.kept.push_back(r.dims[i]);
      continue;
    }
    ENFORCE(r.dims[i] == 1 || r.dims[i] < 0, InvalidArgument,
            "an axis in decrease_axis must be left with one element, got ", r.dims[i], " for axis ",
            i, " of Input ", x, ". Name axes of size 1, or choose one element by starts and ends");
  }
  return r;
}

// Rows stay where the box has all of them; while a program is described, whatever their number.
template <class Attrs>
bool KeepsRows(const LoDCall& c, Region (*region_of)(const Call&, const Dims&)) {
  Dims x = c.from.dims();
  for (int64_t a : c.attrs<Attrs>().decrease_axis) {
    if (!c.IsBehindFirst(a)) return false;
  }
  constexpr int64_t kSomeSize = 1009;
  if (x[0] < 0) x[0] = kSomeSize;
  Region r = region_of(c.call, x);
  return r.dims[0] == x[0] && r.start[0] == 0 && r.step[0] == 1;
}

// Where the box lies in a dense array of shape `x`, in elements.
struct BoxStrides {
  int64_t offset = 0;
  int64_t size = 1;
  int64_t strides[kMaxRank];
  int64_t dense_strides[kMaxRank];  // of an array that has the shape of the box

  BoxStrides(const Dims& x, const Region& r) {
    int64_t stride = 1;
    for (size_t i = x.size(); i-- > 0; stride *= x[i]) {
      offset += r.start[i] * stride;
      strides[i] = r.step[i] * stride;
      dense_strides[i] = size;
      size *= r.dims[i];
    }
  }
};

// dense = x[box] and x[box] = dense, `dense` having the shape of the box. Types of equal size are
// the same to it.
inline void Gather(const Tensor& x, const Region& r, Tensor* dense) {
  BoxStrides at(x.dims(), r);
  if (at.size == 0) return;
  size_t size = SizeOf(x.dtype()), rank = r.dims.size();
  const char* from =
      static_cast<const char*>(x.raw_data()) + at.offset * static_cast<int64_t>(size);
  kernels::CopyStrided(r.dims, from, {at.strides, rank}, dense->mutable_raw_data(),
                       {at.dense_strides, rank}, size);
}
inline void Scatter(const void* dense, const Dims& dense_strides, const Region& r, Tensor* x) {
  BoxStrides at(x->dims(), r);
  if (at.size == 0) return;
  size_t size = SizeOf(x->dtype());
  char* to = static_cast<char*>(x->mutable_raw_data()) + at.offset * static_cast<int64_t>(size);
  kernels::CopyStrided(r.dims, dense, dense_strides, to, {at.strides, r.dims.size()}, size);
}

}  // namespace dygraph::slicing
