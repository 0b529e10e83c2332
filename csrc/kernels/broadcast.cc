#include "kernels/broadcast.h"

#include "kernels/reduce.h"

namespace dygraph::kernels {

namespace detail {
extern const Walk<2> kNoWalk{};
}

template <class T>
void Repeat(Span<const int64_t> dims, const T* x, Span<const int64_t> strides, T* out) {
  Broadcast(dims, x, strides, x, strides, out, [](T v, T) { return v; });
}

template <class T>
void SumTo(Span<const int64_t> dims, const T* g, Span<const int64_t> g_strides, T* out,
           Span<const int64_t> out_strides) {
  FixedArray<bool, kMaxRank> reduced;
  bool dense = true;
  int64_t stride = 1;
  for (int64_t i = static_cast<int64_t>(dims.size()) - 1; i >= 0; --i) {
    reduced[i] = out_strides[i] == 0;
    dense &= dims[i] == 1 || g_strides[i] == stride;
    stride *= dims[i];
  }
  if (dense) {
    Reduce<SumOp<T>>(g, dims, Span<const bool>(reduced.data(), dims.size()), out);
    return;
  }
  Walk<2> kept;
  Walk<1> inner;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (reduced[i]) {
      inner.Push(dims[i], {g_strides[i]});
    } else {
      kept.Push(dims[i], {g_strides[i], out_strides[i]});
    }
  }
  int64_t runs = inner.Count(0, inner.rank);
  ParallelRows(kept.Count(0, kept.rank), runs * 2, [&](int64_t begin, int64_t end) {
    Odometer<2> at(kept, kept.rank, begin);
    for (int64_t k = begin; k < end; ++k, at.Next()) {
      typename SumOp<T>::Total total{};
      Odometer<1> in(inner, inner.rank, 0);
      for (int64_t r = 0; r < runs; ++r, in.Next()) total += g[at.offset[0] + in.offset[0]];
      out[at.offset[1]] = static_cast<T>(total);
    }
  });
}

// Complex numbers are pairs of real ones, along one more axis.
template <class T>
void SumPairs(Span<const int64_t> dims, const T* g, Span<const int64_t> g_strides, T* out,
              Span<const int64_t> out_strides) {
  Dims pairs(dims.begin(), dims.end()), from(g_strides.begin(), g_strides.end()),
      to(out_strides.begin(), out_strides.end());
  for (int64_t& stride : from) stride *= 2;
  for (int64_t& stride : to) stride *= 2;
  pairs.push_back(2);
  from.push_back(1);
  to.push_back(1);
  using Real = typename T::value_type;
  SumTo(pairs, reinterpret_cast<const Real*>(g), from, reinterpret_cast<Real*>(out), to);
}
template <>
void SumTo(Span<const int64_t> dims, const complex64* g, Span<const int64_t> g_strides,
           complex64* out, Span<const int64_t> out_strides) {
  SumPairs(dims, g, g_strides, out, out_strides);
}
template <>
void SumTo(Span<const int64_t> dims, const complex128* g, Span<const int64_t> g_strides,
           complex128* out, Span<const int64_t> out_strides) {
  SumPairs(dims, g, g_strides, out, out_strides);
}

template void Repeat(Span<const int64_t>, const complex64*, Span<const int64_t>, complex64*);
template void Repeat(Span<const int64_t>, const complex128*, Span<const int64_t>, complex128*);
template void Repeat(Span<const int64_t>, const float*, Span<const int64_t>, float*);
template void Repeat(Span<const int64_t>, const double*, Span<const int64_t>, double*);
template void SumTo(Span<const int64_t>, const float*, Span<const int64_t>, float*,
                    Span<const int64_t>);
template void SumTo(Span<const int64_t>, const double*, Span<const int64_t>, double*,
                    Span<const int64_t>);

}  // namespace dygraph::kernels
