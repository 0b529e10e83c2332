// Tests of numbers for infinity and NaN: over a whole tensor as Fluid's isfinite, isinf and isnan
// do, and elementwise as the operators called _v2 do. Integers are finite. A policy has
// kEach, the test, and kAll: whether all elements must pass or one is enough.
#pragma once

#include "kernels/convert.h"
#include "kernels/elementwise.h"
#include "op/op_registry.h"
#include "operators/arithmetic/decide.h"

namespace dygraph::finiteness {

constexpr int kX = 0, kOut = 0;

struct Finite {
  static constexpr bool kAll = true;
  template <class T>
  DYGRAPH_INLINE static bool F(T x) {
    return x - x == T(0);
  }
};
struct Infinite {
  static constexpr bool kAll = false;
  template <class T>
  DYGRAPH_INLINE static bool F(T x) {
    if constexpr (kIsComplex<T>)
      return F(x.real()) || F(x.imag());
    else
      return x == x && x - x != T(0);
  }
};
struct NotANumber {
  static constexpr bool kAll = false;
  template <class T>
  DYGRAPH_INLINE static bool F(T x) {
    return x != x;
  }
};

inline void DefineWhole(OpDef& op, const char* comment, const char* example) {
  op.Comment(comment)
      .Example(example)
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "[], bool")
      .Shape([](InferContext& ctx) { ctx.SetOutput(kOut, Dims(), DType::kBool); })
      .KeepsLayout()
      .NoGrad();
}

inline void DefineEach(OpDef& op, const char* comment, const char* example) {
  op.Comment(comment)
      .Example(example)
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X, bool")
      .ShareLoD(kX)
      .Shape([](InferContext& ctx) { ctx.SetOutput(kOut, ctx.dims(kX), DType::kBool); })
      .KeepsLayout()
      .NoGrad();
}

template <class P, class T>
struct WholeKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    bool* out = ctx.Out(kOut).mutable_data<bool>();
    if constexpr (std::is_integral_v<T>) {
      kernels::Fill(out, 1, P::kAll);
    } else {
      Decide<P>(x.data<T>(), x.numel(), out);
    }
  }
};

template <class P, class T>
struct EachKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const T* from = x.data<T>();
    bool* to = ctx.Out(kOut).mutable_data<bool>();
    if constexpr (std::is_integral_v<T>) {
      kernels::Fill(to, x.numel(), P::kAll);
    } else {
      kernels::MapPlain(from, to, x.numel(), [] DYGRAPH_FN(kernels::Wide<T> v) { return P::F(v); });
    }
  }
};

}  // namespace dygraph::finiteness
