// Special functions, whose slopes are special functions too: the gradient of one is a recipe. An
// operator is a struct as in activation.h with F and
//
//   static constexpr const char *kIn = "X", *kResult = "Out";  // the names of its slots
//   // Out@GRAD = `incoming` times the slope, as calls that make `result`.
//   static void Gradient(GradBuilder& g, RecipeRef x, RecipeRef incoming, RecipeRef result);
#pragma once

#include "kernels/special_vector.h"
#include "operators/activation/activation.h"

namespace dygraph::activation {

struct Special : Elementwise {
  static constexpr const char *kIn = "X", *kResult = "Out";
  static constexpr int64_t kCost = 60;
};

template <class P>
void DefineSpecial(OpDef& op) {
  op.Comment(P::kComment)
      .Example(P::kExample)
      .Input(kX, P::kIn, "any shape")
      .Output(kOut, P::kResult, "shape of the input")
      .SameShape(kX, kOut)
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .Grad(
          [](GradBuilder& g) { P::Gradient(g, g.Input(kX), g.OutputGrad(kOut), g.InputGrad(kX)); });
  P::Declare(op);
}

// I0, I1 and their scaled forms; orders of the derivatives come from bessel_i.
struct Bessel : Special {
  static constexpr const char *kIn = "x", *kResult = "out";
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 60;
};

// I_n' = (I_(n-1) + I_(n+1)) / 2, I_(-1) being I_1; what scales adds -sign(x) times the function.
void BesselGradient(GradBuilder& g, int order, bool scaled, RecipeRef x, RecipeRef incoming,
                    RecipeRef result);

template <int order, bool scaled>
struct BesselOfFloat {
  DYGRAPH_INLINE float operator()(float x) const { return kernels::BesselIOf<order, scaled>(x); }
};
template <int order, bool scaled>
struct BesselOfDouble {
  kernels::BesselI bessel = Made();
  static const kernels::BesselI& Made() {
    static const kernels::BesselI made(order, scaled);
    return made;
  }
  DYGRAPH_BOTH double operator()(double x) const { return bessel(x); }
};
template <int order, bool scaled>
struct BesselF {
  template <class T>
  using F = std::conditional_t<std::is_same_v<T, float>, BesselOfFloat<order, scaled>,
                               BesselOfDouble<order, scaled>>;
};

}  // namespace dygraph::activation

#define REGISTER_SPECIAL(type, P)                                   \
  REGISTER_OPERATOR(type, ::dygraph::activation::DefineSpecial<P>); \
  template <class T>                                                \
  using P##Kernel = ::dygraph::activation::Kernel<P, T>;            \
  REGISTER_KERNELS(type, P##Kernel, float, double);                 \
  REGISTER_DEVICE_TYPES(type, P##Kernel, float16, bfloat16)
