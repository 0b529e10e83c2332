#include "kernels/axis_map.h"
#include "kernels/loops.h"
#include "kernels/walk.h"

namespace dygraph::kernels {

namespace {

using detail::Divisor;

// The maps as kernels take them, with neighbouring axes that are copied as they are joined.
struct AxisMaps {
  int rank = 0;
  AxisMap axes[kMaxRank];
  Divisor out[kMaxRank];

  explicit AxisMaps(Span<const AxisMap> maps) {
    for (const AxisMap& m : maps) {
      if (rank > 0 && m.IsIdentity() && axes[rank - 1].IsIdentity()) {
        axes[rank - 1].in *= m.in;
        axes[rank - 1].out *= m.out;
        continue;
      }
      ENFORCE(rank < kMaxRank, InvalidArgument, "the rank must be at most ", kMaxRank,
              ", got more");
      axes[rank++] = m;
    }
    for (int i = 0; i < rank; ++i) out[i] = Divisor(axes[i].out);
  }
  int64_t Count() const {
    int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= axes[i].out;
    return n;
  }
  // The element of an axis of x for element i of y, -1 for none.
  static DYGRAPH_INLINE int64_t Along(const AxisMap& m, int64_t i) {
    int64_t at = i - m.before;
    if (at < 0 || at >= m.in) {
      if (m.outside == Outside::kFill) return -1;
      if (m.outside == Outside::kWrap) at = (at % m.in + m.in) % m.in;
      if (m.outside == Outside::kEdge) at = at < 0 ? 0 : m.in - 1;
      if (m.outside == Outside::kReflect) at = at < 0 ? -at : 2 * (m.in - 1) - at;
    }
    return m.reversed ? m.in - 1 - at : at;
  }
  DYGRAPH_INLINE int64_t Source(int64_t i) const {
    int64_t offset = 0, stride = 1;
    for (int k = rank - 1; k >= 0; --k) {
      const int64_t q = k > 0 ? out[k].Quotient(i) : 0;
      const int64_t from = Along(axes[k], i - q * out[k].by);
      if (from < 0) return -1;
      offset += from * stride;
      stride *= axes[k].in;
      i = q;
    }
    return offset;
  }
};

template <class U>
struct GatherUnit {
  AxisMaps maps;
  const U* x;
  U* y;
  U fill;
  DYGRAPH_INLINE void operator()(int64_t i) const {
    const int64_t from = maps.Source(i);
    y[i] = from < 0 ? fill : x[from];
  }
};
template <class U>
void GatherUnits(const AxisMaps& maps, const void* x, void* y, const void* fill) {
  ForEach(maps.Count(), GatherUnit<U>{maps, static_cast<const U*>(x), static_cast<U*>(y),
                                      *static_cast<const U*>(fill)});
}

}  // namespace

void GatherAxes(Span<const AxisMap> maps, const void* x, void* y, size_t element_size,
                const void* fill) {
  const AxisMaps joined(maps);
  switch (element_size) {
    case 1: return GatherUnits<uint8_t>(joined, x, y, fill);
    case 2: return GatherUnits<uint16_t>(joined, x, y, fill);
    case 4: return GatherUnits<uint32_t>(joined, x, y, fill);
    default: return GatherUnits<uint64_t>(joined, x, y, fill);
  }
}

}  // namespace dygraph::kernels
