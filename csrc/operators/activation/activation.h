// Elementwise functions of one input whose gradient is Out@GRAD * slope. A policy describes one:
//
//   struct Relu6 {
//     static constexpr const char *kComment = "...", *kGradComment = "...";
//     static constexpr const char* kExample = "...";  // of its help()
//     static constexpr bool kFromOut = true;   // the slope is worked out from Out, else from X
//     static constexpr bool kHot = false;      // worth a copy for each instruction set
//     static constexpr int64_t kCost = 1;      // work of one element in additions
//     struct Attrs { float threshold = 6.0f; };
//     static void Declare(OpDef& op);          // its attributes
//     template <class T> struct F {
//       explicit F(const Attrs& a);
//       T operator()(T x) const;
//       T Slope(T x_or_out) const;
//     };
//     // The slope's own slope, times `product`, as a call that makes `result`; none where it is 0.
//     static void Bend(GradBuilder& g, RecipeRef x_or_out, RecipeRef product, RecipeRef result);
//   };
#pragma once

#include <cmath>
#include <type_traits>

#include "kernels/elementwise.h"
#include "kernels/math.h"
#include "op/op_registry.h"

namespace dygraph::activation {

constexpr int kX = 0, kOut = 0;

// What most policies say.
struct Plain {
  static constexpr const char* kExample = "";
  static constexpr bool kFromOut = false, kHot = false;
  static constexpr int64_t kCost = 20;
  struct Attrs {};
  static void Declare(OpDef&) {}
  static void Bend(GradBuilder&, RecipeRef, RecipeRef, RecipeRef) {}
};

template <class P>
constexpr bool kHasAttrs = !std::is_empty_v<typename P::Attrs>;

template <class P>
typename P::Attrs AttrsOf(const KernelContext& ctx) {
  if constexpr (kHasAttrs<P>) {
    return ctx.attrs<typename P::Attrs>();
  } else {
    return {};
  }
}

namespace grad {
constexpr int kGiven = 0, kOutGrad = 1, kXGrad = 0;
}

// P::kType is the operator's name.
template <class P>
void Define(OpDef& op) {
  op.Comment(P::kComment)
      .Example(P::kExample)
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X");
  P::Declare(op);
  op.SameShape(kX, kOut).KeepsLayout().ShareLoD(kX).InPlace(kX, kOut).Grad([](GradBuilder& g) {
    static const std::string type = std::string(P::kType) + "_grad";
    auto call =
        g.Call(type.c_str(), {P::kFromOut ? g.Output(kOut) : g.Input(kX), g.OutputGrad(kOut)},
               {g.InputGrad(kX)});
    if (kHasAttrs<P>) call.SameAttrs();
  });
}

template <class P>
void DefineGrad(OpDef& op) {
  op.Comment(P::kGradComment)
      .Input(grad::kGiven, P::kFromOut ? "Out" : "X", P::kFromOut ? "the result" : "the input")
      .Input(grad::kOutGrad, "Out@GRAD", "shape of X")
      .Output(grad::kXGrad, "X@GRAD", "shape of X");
  if (kHasAttrs<P>) op.AttrsOf(P::kType);
  op.SameShape(grad::kOutGrad, grad::kXGrad)
      .KeepsLayout()
      .InPlace(grad::kOutGrad, grad::kXGrad)
      .Grad([](GradBuilder& g) {
        static const std::string type = std::string(P::kType) + "_grad";
        RecipeRef given = g.Input(grad::kGiven), incoming = g.OutputGrad(grad::kXGrad);
        auto call = g.Call(type.c_str(), {given, incoming}, {g.InputGrad(grad::kOutGrad)});
        if (kHasAttrs<P>) call.SameAttrs();
        if (!g.Wants(grad::kGiven)) return;
        P::Bend(g, given, g.Apply("elementwise_mul", {incoming, g.Input(grad::kOutGrad)}),
                g.InputGrad(grad::kGiven));
      });
}

template <class P, class T>
struct Kernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const typename P::template F<T> f(AttrsOf<P>(ctx));
    const T* from = x.data<T>();
    T* to = ctx.Out(kOut).mutable_data<T>();
    if constexpr (P::kHot) {
      kernels::Map(from, to, x.numel(), [f](T v) { return f(v); }, P::kCost);
    } else {
      ParallelFor(x.numel(), kernels::Grain(P::kCost), [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) to[i] = f(from[i]);
      });
    }
  }
};

template <class P, class T>
struct GradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& given = ctx.In(grad::kGiven);
    const typename P::template F<T> f(AttrsOf<P>(ctx));
    const T *from = given.data<T>(), *g = ctx.In(grad::kOutGrad).data<T>();
    T* to = ctx.Out(grad::kXGrad).mutable_data<T>();
    if constexpr (P::kHot) {
      kernels::Zip(from, g, to, given.numel(), [f](T v, T d) { return d * f.Slope(v); }, P::kCost);
    } else {
      ParallelFor(given.numel(), kernels::Grain(P::kCost), [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) to[i] = g[i] * f.Slope(from[i]);
      });
    }
  }
};

// Pieces of recipes.
inline RecipeRef Times(GradBuilder& g, RecipeRef a, RecipeRef b) {
  return g.Apply("elementwise_mul", {a, b});
}
inline RecipeRef Line(GradBuilder& g, RecipeRef x, float scale, float bias) {
  RecipeRef t = g.Temp();
  g.Call("scale", {x}, {t}).Attr("scale", scale).Attr("bias", bias);
  return t;
}
// result = scale * a * b
inline void Finish(GradBuilder& g, RecipeRef a, RecipeRef b, float scale, RecipeRef result) {
  g.Call("scale", {Times(g, a, b)}, {result}).Attr("scale", scale);
}

}  // namespace dygraph::activation
