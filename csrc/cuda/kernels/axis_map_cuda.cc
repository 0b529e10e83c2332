#include "kernels/axis_map.h"
#include "kernels/axis_map_plan.h"
#include "kernels/broadcast.h"
#include "kernels/convert.h"
#include "kernels/elementwise.h"
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
  // The elements of an axis of y that come from one of x: up to 3 where x is mirrored, else a run.
  struct Origins {
    int64_t at[3];  // mirrored
    int64_t first, step, count;
    DYGRAPH_INLINE int64_t operator()(int64_t n) const {
      return step == 0 ? at[n] : first + n * step;
    }
  };
  static DYGRAPH_INLINE Origins OriginsOf(const AxisMap& m, int64_t i) {
    if (m.reversed) i = m.in - 1 - i;
    Origins o = {};
    o.step = 1;
    const int64_t self = i + m.before;
    if (m.outside == Outside::kWrap) {
      o.step = m.in;
      o.first = (self % m.in + m.in) % m.in;
      o.count = o.first < m.out ? (m.out - 1 - o.first) / m.in + 1 : 0;
    } else if (m.outside == Outside::kReflect) {
      o.step = 0;
      const int64_t places[3] = {m.before - i, self, 2 * (m.in - 1) - i + m.before};
      for (int k = 0; k < 3; ++k) {
        const bool again = (k == 0 && i == 0) || (k == 2 && i == m.in - 1);
        if (!again && places[k] >= 0 && places[k] < m.out) o.at[o.count++] = places[k];
      }
    } else {
      int64_t end = self + 1;
      o.first = self;
      if (m.outside == Outside::kEdge && i == 0) o.first = 0;
      if (m.outside == Outside::kEdge && i == m.in - 1) end = m.out;
      o.first = o.first < 0 ? 0 : o.first;
      o.count = (end < m.out ? end : m.out) - o.first;
      o.count = o.count < 0 ? 0 : o.count;
    }
    return o;
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

// x_grad[i] = the sum of g where y came from x's element i.
template <class T>
struct SumOrigins {
  AxisMaps maps;
  const T* g;
  T* x_grad;
  __device__ void operator()(int64_t i) const {
    AxisMaps::Origins origins[kMaxRank];
    int64_t at[kMaxRank], rest = i;
    for (int k = maps.rank - 1; k >= 0; --k) {
      const int64_t in = maps.axes[k].in;
      origins[k] = AxisMaps::OriginsOf(maps.axes[k], rest % in);
      rest /= in;
      at[k] = 0;
      if (origins[k].count == 0) {
        x_grad[i] = T(0);
        return;
      }
    }
    Wide<T> sum = 0;
    for (;;) {
      int64_t from = 0;
      for (int k = 0; k < maps.rank; ++k) from = from * maps.axes[k].out + origins[k](at[k]);
      sum += g[from];
      int k = maps.rank - 1;
      for (; k >= 0 && ++at[k] == origins[k].count; --k) at[k] = 0;
      if (k < 0) break;
    }
    x_grad[i] = sum;
  }
};

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

template <class T>
void ScatterAxes(Span<const AxisMap> maps, const T* g, T* x_grad) {
  int64_t n = 1, from = 1;
  for (const AxisMap& m : maps) {
    n *= m.in;
    from *= m.out;
  }
  if (n == 0) return;
  if (from == 0) return Fill(x_grad, n, T(0));
  if (AllTile(maps)) {
    const TiledAxes t(maps);
    if (t.dims.size() <= kMaxRank) return SumTo(t.dims, g, t.y_strides, x_grad, t.x_strides);
  }
  if (const std::vector<AxisMap> inverse = Inverse(maps); !inverse.empty()) {
    const T zero(0);
    return GatherAxes(inverse, g, x_grad, sizeof(T), &zero);
  }
  ForEach(n, SumOrigins<T>{AxisMaps(maps), g, x_grad});
}

template void ScatterAxes(Span<const AxisMap>, const float*, float*);
template void ScatterAxes(Span<const AxisMap>, const double*, double*);
template void ScatterAxes(Span<const AxisMap>, const float16*, float16*);
template void ScatterAxes(Span<const AxisMap>, const bfloat16*, bfloat16*);

}  // namespace dygraph::kernels
