// Tests of numbers for infinity and NaN: over a whole tensor as Fluid's isfinite, isinf and isnan
// do, and elementwise as the operators called _v2 do. Integers are finite. A policy has
// kEach, the test, and kAll: whether all elements must pass or one is enough.
#pragma once

#include <atomic>

#include "kernels/cast.h"
#include "kernels/elementwise.h"
#include "op/op_registry.h"

namespace dygraph::finiteness {

constexpr int kX = 0, kOut = 0;

// In a type that has no arithmetic of its own a number is tested as float.
template <class T>
using Tested = std::conditional_t<kernels::detail::kIsHalf<T>, float, T>;

struct Finite {
  static constexpr bool kAll = true;
  template <class T>
  static bool F(T x) {
    return x - x == T(0);
  }
};
struct Infinite {
  static constexpr bool kAll = false;
  template <class T>
  static bool F(T x) {
    if constexpr (kIsComplex<T>)
      return F(x.real()) || F(x.imag());
    else
      return x == x && x - x != T(0);
  }
};
struct NotANumber {
  static constexpr bool kAll = false;
  template <class T>
  static bool F(T x) {
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
      *out = P::kAll;
    } else {
      using V = Tested<T>;
      const T* v = x.data<T>();
      std::atomic<bool> odd{false};  // an element that decides
      ParallelFor(x.numel(), kernels::Grain(), [&odd, v](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end && !odd.load(std::memory_order_relaxed); at += 4096) {
          int64_t last = std::min(at + 4096, end);
          bool any = false;
          for (int64_t i = at; i < last; ++i) any |= P::F(static_cast<V>(v[i])) != P::kAll;
          if (any) odd.store(true, std::memory_order_relaxed);
        }
      });
      *out = odd.load() != P::kAll;
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
      ParallelFor(x.numel(), kernels::Grain(), [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) to[i] = P::F(static_cast<Tested<T>>(from[i]));
      });
    }
  }
};

}  // namespace dygraph::finiteness
