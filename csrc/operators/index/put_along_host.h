// put_along_axis in loops of the host.
#pragma once

#include <vector>

#include "kernels/broadcast.h"
#include "kernels/integer.h"
#include "operators/index/along_axis.h"
#include "operators/index/put_along.h"

namespace dygraph::indexing {

// A call's index, checked, in full, and the positions in Input that it addresses.
struct Places {
  Target target;
  Tensor index;
  Places(const PutAlongAxisAttrs& a, const Dims& x, const Tensor& given, const Dims& value)
      : target(CheckShapes(a, x, given.dims(), value)) {
    RequireInside(given, x, target.axis, "Input");
    index = RepeatedIndex(given, target.shape);
  }
  std::vector<int64_t> At(const Dims& x) const { return PositionsAlong(index, x, target.axis); }
};

// to, a copy of Input, takes n values at the positions.
template <class T>
void Put(Reduce reduce, bool self, const int64_t* at, int64_t n, const T* v, T* to) {
  if (!self && reduce != Reduce::kAssign) {
    for (int64_t i = n - 1; i >= 0; --i)  // a start that leaves the first value as it is
      to[at[i]] = reduce == Reduce::kMultiply ? T(1) : IsExtreme(reduce) ? v[i] : T(0);
  }
  for (int64_t i = 0; i < n; ++i) {
    T& now = to[at[i]];
    switch (reduce) {
      case Reduce::kAssign: now = v[i]; break;
      case Reduce::kMultiply: now = kernels::Times(now, v[i]); break;
      case Reduce::kLeast:
      case Reduce::kMost: now = Beats(reduce, v[i], now) && now == now ? v[i] : now; break;
      default: now = kernels::Plus(now, v[i]);
    }
  }
}

// How many values go into an element's mean; -1 for an element that none is put to.
inline std::vector<int64_t> Counts(const std::vector<int64_t>& at, int64_t elements, bool self) {
  std::vector<int64_t> counts(elements, -1);
  for (int64_t position : at) {
    if (counts[position] < 0) counts[position] = self;
    ++counts[position];
  }
  return counts;
}

// For all but products Result = wx Input + the sum of wv Value with weights that the gradients take
// for constants: 1 or 0, one over the count, one over the number of those that are equal.
template <class T>
struct Weights {
  std::vector<T> x, v;
  Weights(const PutAlongAxisAttrs& a, const std::vector<int64_t>& at, int64_t elements,
          const T* input, const T* value)
      : x(elements, T(1)), v(at.size(), T(1)) {
    const Reduce reduce = ReduceOf(a);
    const bool self = a.include_self && reduce != Reduce::kAssign;
    const int64_t n = at.size();
    for (int64_t position : at) x[position] = T(self);
    if (reduce == Reduce::kAssign) {
      std::vector<bool> lost = Overwritten(at.data(), n, elements);
      for (int64_t i = 0; i < n; ++i) v[i] = T(!lost[i]);
    } else if (reduce == Reduce::kMean) {
      std::vector<int64_t> counts = Counts(at, elements, self);
      for (int64_t position : at) x[position] = T(self) / T(counts[position]);
      for (int64_t i = 0; i < n; ++i) v[i] = T(1) / T(counts[at[i]]);
    } else if (IsExtreme(reduce)) {
      std::vector<T> best(input, input + elements);
      Put(reduce, self, at.data(), n, value, best.data());
      auto is = [](T a, T b) { return a == b || (a != a && b != b); };
      std::vector<T> equal(elements, T(0));
      for (int64_t position : at) equal[position] = T(self && is(input[position], best[position]));
      for (int64_t i = 0; i < n; ++i) equal[at[i]] += T(is(value[i], best[at[i]]));
      for (int64_t i = 0; i < n; ++i) {
        const int64_t p = at[i];
        v[i] = is(value[i], best[p]) ? T(1) / equal[p] : T(0);
        x[p] = self && is(input[p], best[p]) ? T(1) / equal[p] : T(0);
      }
    }
  }
};

// Value's gradient from that of Value repeated to `shape`.
template <class T>
void SumToValue(const Dims& shape, const std::vector<T>& full, Tensor* out) {
  if (out->dims() == shape) {
    std::copy(full.begin(), full.end(), out->mutable_data<T>());
  } else if (full.empty()) {
    Clear(out);
  } else {
    kernels::SumTo(shape, full.data(), Strides(shape), out->mutable_data<T>(),
                   RepeatedStrides(out->dims(), shape));
  }
}

// to[i] = g[at[i]] times all factors of that element but v[i]: those before it times those after
// it, so that no zero divides. x: an element's first factor, or nullptr. `running` is as long as x.
template <class V>
void TimesOthers(const std::vector<int64_t>& at, const V* x, const V* v, const V* g, V* running,
                 V* to) {
  int64_t n = at.size();
  for (int64_t position : at) running[position] = x ? x[position] : V(1);
  for (int64_t i = 0; i < n; ++i) {
    to[i] = running[at[i]] * g[at[i]];
    running[at[i]] *= v[i];
  }
  for (int64_t position : at) running[position] = V(1);
  for (int64_t i = n - 1; i >= 0; --i) {
    to[i] *= running[at[i]];
    running[at[i]] *= v[i];
  }
}

}  // namespace dygraph::indexing
