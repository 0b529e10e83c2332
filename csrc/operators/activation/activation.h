// Elementwise functions of one input whose gradient is Out@GRAD times a slope. An operator is its
// formula, its slope and its words:
//
//   struct Relu6 : Elementwise {
//     static constexpr const char *kComment = "...", *kGradComment = "...";
//     static constexpr const char* kExample = "...";  // of its help()
//     static constexpr bool kFromOut = true;   // the slope is worked out from Out, else from X
//     static constexpr bool kHot = false;      // worth a copy for each instruction set
//     static constexpr bool kFloat = false;    // float32 of integers, as NumPy's and Paddle's
//     static constexpr int64_t kCost = 1, kGradCost = kCost;  // of one element, in additions
//     struct Attrs { double threshold = 6.0; };
//     static void Declare(OpDef& op);          // its attributes
//     template <class T> struct F {
//       explicit F(const Attrs& a);            // where there are attributes
//       T operator()(T x) const;
//       T Slope(T x_or_out) const;
//       // or, where Out@GRAD times the slope would round differently or make a NaN of 0 * inf:
//       T Gradient(T x_or_out, T out_grad) const;
//     };
//     // The slope's own slope, times `product`, as a call that makes `result`; none where it is 0.
//     static void Bend(GradBuilder& g, RecipeRef x_or_out, RecipeRef product, RecipeRef result);
//   };
//   REGISTER_ELEMENTWISE(relu6, Relu6, float, double);  // the types of X; gradients: float, double
#pragma once

#include <cmath>
#include <type_traits>

#include "kernels/convert.h"
#include "kernels/elementwise.h"
#include "kernels/math.h"
#include "op/gradient_call.h"
#include "op/op_registry.h"
#include "op/pointwise.h"

namespace dygraph::activation {

constexpr int kX = 0, kOut = 0;

// What most of them say.
struct Elementwise {
  static constexpr const char* kExample = "";
  static constexpr bool kFromOut = false, kHot = false, kFloat = false;
  static constexpr int64_t kCost = 20, kGradCost = 0;  // 0: kCost
  struct Attrs {};
  static void Declare(OpDef&) {}
  static void Bend(GradBuilder&, RecipeRef, RecipeRef, RecipeRef) {}
};

namespace grad {
constexpr int kGiven = 0, kOutGrad = 1, kXGrad = 0;
}

template <class P>
constexpr bool kHasAttrs = !std::is_empty_v<typename P::Attrs>;

inline bool IsFloat(DType t) { return t == DType::kFloat32 || t == DType::kFloat64; }
// The type that a function of T computes in.
template <class P, class T>
using Computed = std::conditional_t<P::kFloat && std::is_integral_v<T>, float, T>;

// P names its operators in kType, kGradType, and help texts in kResultOf, kInputOf.
template <class P>
void Define(OpDef& op) {
  op.Comment(P::kComment)
      .Example(P::kExample)
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", P::kFloat ? "shape of X; float32 of integers" : "shape of X")
      .SameShape(kX, kOut)
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .Grad(CallGradient);
  P::Declare(op);
  if (P::kFloat) {
    op.Shape([](InferContext& ctx) {
      DType type = ctx.dtype(kX);
      ctx.SetOutput(kOut, ctx.dims(kX), IsFloat(type) ? type : DType::kFloat32);
    });
  }
}

template <class P>
void DefineGrad(OpDef& op) {
  const char* shape = P::kFromOut ? "shape of Out" : "shape of X";
  op.Comment(P::kGradComment)
      .Input(grad::kGiven, P::kFromOut ? "Out" : "X", P::kFromOut ? P::kResultOf : P::kInputOf)
      .Input(grad::kOutGrad, "Out@GRAD", shape)
      .Output(grad::kXGrad, "X@GRAD", shape)
      .SameShape(grad::kOutGrad, grad::kXGrad)
      .KeepsLayout()
      .InPlace(grad::kOutGrad, grad::kXGrad)
      .Grad([](GradBuilder& g) {
        RecipeRef given = g.Input(grad::kGiven), incoming = g.OutputGrad(grad::kXGrad);
        auto call = g.Call(P::kGradType, {given, incoming}, {g.InputGrad(grad::kOutGrad)});
        if (kHasAttrs<P>) call.SameAttrs();
        if (!g.Wants(grad::kGiven)) return;
        P::Bend(g, given, g.Apply("elementwise_mul", {incoming, g.Input(grad::kOutGrad)}),
                g.InputGrad(grad::kGiven));
      });
  if (kHasAttrs<P>) op.AttrsOf(P::kType);
}

template <class P, class T>
typename P::template F<T> FunctionOf(const KernelContext& ctx) {
  if constexpr (kHasAttrs<P>) {
    return typename P::template F<T>(ctx.attrs<typename P::Attrs>());
  } else {
    return {};
  }
}

template <class F, class T, class = void>
struct HasSlope : std::false_type {};
template <class F, class T>
struct HasSlope<F, T, std::void_t<decltype(&F::Slope)>> : std::true_type {};

template <class P, class T>
struct Kernel {
  static void Compute(KernelContext& ctx) {
    using Out = Computed<P, T>;
    using C = kernels::Wide<Out>;
    const Tensor& x = ctx.In(kX);
    const auto f = FunctionOf<P, C>(ctx);
    const T* from = x.data<T>();
    Out* to = ctx.Out(kOut).template mutable_data<Out>();
    auto each = [f] DYGRAPH_FN(kernels::Wide<T> v) { return f(static_cast<C>(v)); };
    if constexpr (P::kHot) {
      kernels::Map(from, to, x.numel(), each, P::kCost);
    } else {
      kernels::MapPlain(from, to, x.numel(), each, P::kCost);
    }
  }
};

template <class P, class T>
struct GradKernel {
  using C = kernels::Wide<T>;
  using F = typename P::template F<C>;
  static DYGRAPH_INLINE C Gradient(const F& f, C given, C g) {
    if constexpr (HasSlope<F, C>::value) {
      return g * f.Slope(given);
    } else {
      return f.Gradient(given, g);
    }
  }
  static void Compute(KernelContext& ctx) {
    const Tensor& given = ctx.In(grad::kGiven);
    const F f = FunctionOf<P, C>(ctx);
    const T *from = given.data<T>(), *g = ctx.In(grad::kOutGrad).data<T>();
    T* to = ctx.Out(grad::kXGrad).mutable_data<T>();
    constexpr int64_t kCost = P::kGradCost ? P::kGradCost : P::kCost;
    auto each = [f] DYGRAPH_FN(C v, C d) { return Gradient(f, v, d); };
    if constexpr (P::kHot) {
      kernels::Zip(from, g, to, given.numel(), each, kCost);
    } else {
      kernels::ZipPlain(from, g, to, given.numel(), each, kCost);
    }
  }
};

// Pieces of recipes.
inline RecipeRef Times(GradBuilder& g, RecipeRef a, RecipeRef b) {
  return g.Apply("elementwise_mul", {a, b});
}
inline RecipeRef Line(GradBuilder& g, RecipeRef x, RecipeNumber scale, RecipeNumber bias) {
  RecipeRef t = g.Temp();
  g.Call("scale", {x}, {t}).Number("scale", scale).Number("bias", bias);
  return t;
}
// result = scale * a * b
inline void Finish(GradBuilder& g, RecipeRef a, RecipeRef b, RecipeNumber scale, RecipeRef result) {
  g.Call("scale", {Times(g, a, b)}, {result}).Number("scale", scale);
}

}  // namespace dygraph::activation

// The operators of a policy without their kernels, for those that write one of their own.
#define REGISTER_ELEMENTWISE_OPERATORS(type, P)                                                 \
  struct P##Named : P {                                                                         \
    static constexpr const char *kType = #type, *kGradType = #type "_grad";                     \
    static constexpr const char *kResultOf = "result of " #type, *kInputOf = "input of " #type; \
  };                                                                                            \
  REGISTER_OPERATOR(type, ::dygraph::activation::Define<P##Named>);                             \
  REGISTER_POINTWISE(type);                                                                     \
  REGISTER_OPERATOR(type##_grad, ::dygraph::activation::DefineGrad<P##Named>);                  \
  REGISTER_POINTWISE(type##_grad)

#define REGISTER_ELEMENTWISE(type, P, ...)                       \
  REGISTER_ELEMENTWISE_OPERATORS(type, P);                       \
  template <class T>                                             \
  using P##Kernel = ::dygraph::activation::Kernel<P, T>;         \
  template <class T>                                             \
  using P##GradKernel = ::dygraph::activation::GradKernel<P, T>; \
  REGISTER_ELEMENTWISE_KERNELS(type, P, __VA_ARGS__)

// The kernels alone, where P##Kernel and P##GradKernel are templates of the file.
#define REGISTER_ELEMENTWISE_KERNELS(type, P, ...)             \
  REGISTER_KERNELS(type, P##Kernel, __VA_ARGS__);              \
  REGISTER_DEVICE_TYPES(type, P##Kernel, float16, bfloat16);   \
  REGISTER_KERNELS(type##_grad, P##GradKernel, float, double); \
  REGISTER_DEVICE_TYPES(type##_grad, P##GradKernel, float16, bfloat16)
