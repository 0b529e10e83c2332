// Compiled for each device.
#include "operators/quantize/quantize.h"

#include "kernels/reduce.h"

namespace dygraph::quantize {

namespace {

template <class T>
struct AbsMaxOp : kernels::MaxOp<T> {
  static constexpr T kInit = 0;
  DYGRAPH_INLINE static T Add(T a, T x) { return kernels::MaxOp<T>::Add(a, std::abs(x)); }
};

template <class T>
void AbsMaxAround(const Tensor& x, const Channels& c, T* to) {
  const int64_t dims[] = {c.outer, c.count, c.inner};
  const bool reduced[] = {true, false, true};
  kernels::Reduce<AbsMaxOp<T>>(x.data<T>(), {dims, 3}, {reduced, 3}, to);
}

template <class T, bool kEven, bool kBack>
struct Rounded {
  T levels;
  DYGRAPH_INLINE T operator()(T x, T scale) const {
    const T inverse = scale <= T(1e-30) ? T(1) / (scale + T(1e-6)) : T(1) / scale;
    T whole;
    if constexpr (kEven) {
      whole = std::nearbyint(levels * inverse * x);
      whole = whole < -levels - 1 ? -levels - 1 : whole > levels ? levels : whole;
    } else {
      T within = x < -scale ? -scale : x > scale ? scale : x;
      whole = std::round(levels * inverse * within);
    }
    return kBack ? whole * scale / levels : whole;
  }
};

// `f` with one scale for all.
template <class T, class F>
struct WithScale {
  F f;
  Number<T> scale;
  DYGRAPH_INLINE T operator()(T v) const { return f(v, scale()); }
};

// Calls run(function) with the one that the attributes ask for.
template <class T, class F>
void Choose(const FakeAttrs& a, bool back, F run) {
  const T levels = static_cast<T>(Levels(a.bit_length));
  if (a.round_type == 0) {
    back ? run(Rounded<T, true, true>{levels}) : run(Rounded<T, true, false>{levels});
  } else {
    back ? run(Rounded<T, false, true>{levels}) : run(Rounded<T, false, false>{levels});
  }
}

}  // namespace

template <class T>
void AbsMax(const Tensor& x, T* to) {
  AbsMaxAround(x, Channels({x.numel(), 1}, 1), to);
}

template <class T>
void AbsMaxOfChannels(const Tensor& x, int axis, T* to) {
  AbsMaxAround(x, Channels(x.dims(), axis), to);
}

template <class T>
void Round(const T* x, T* y, int64_t n, const Tensor& scale, const FakeAttrs& a, bool back) {
  const Number<T> number(scale);
  Choose<T>(a, back,
            [=](auto f) { kernels::Map(x, y, n, WithScale<T, decltype(f)>{f, number}, 4); });
}

template <class T>
void RoundChannels(const Tensor& x, Tensor* out, int axis, const T* scales, const FakeAttrs& a,
                   bool back) {
  Choose<T>(a, back, [&](auto f) {
    MapChannels(x.data<T>(), out->mutable_data<T>(), Channels(x.dims(), axis), scales, f);
  });
}

template void AbsMax(const Tensor&, float*);
template void AbsMax(const Tensor&, double*);
template void AbsMaxOfChannels(const Tensor&, int, float*);
template void AbsMaxOfChannels(const Tensor&, int, double*);
template void Round(const float*, float*, int64_t, const Tensor&, const FakeAttrs&, bool);
template void Round(const double*, double*, int64_t, const Tensor&, const FakeAttrs&, bool);
template void RoundChannels(const Tensor&, Tensor*, int, const float*, const FakeAttrs&, bool);
template void RoundChannels(const Tensor&, Tensor*, int, const double*, const FakeAttrs&, bool);

}  // namespace dygraph::quantize
