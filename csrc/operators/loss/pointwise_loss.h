// Losses of one score and one label, element by element. A file gives a struct L:
//   kType, kScore, kLabel, kLoss   names of the operator and its slots
//   kStraight, kCurve              whether there is no curvature, and of which kind it is
//   Attrs                          its attributes, added by AddAttrs; void where there are none
//   Fn<T>                          made of the call and its data, which it checks; Value, Slope and
//                                  Curve are the loss and its two derivatives in the score, Bend
//                                  the third, where kCurve says kOther
// and gets the operator, its gradient and what that gradient gives the score. The label gets no
// gradient.
#pragma once

#include <string>
#include <type_traits>

#include "kernels/activations.h"
#include "kernels/elementwise.h"
#include "kernels/loops.h"
#include "operators/labels.h"

namespace dygraph::pointwise_loss {

constexpr int kScore = 0, kLabel = 1, kGiven = 2, kOut = 0;
constexpr int64_t kCost = 16;

// Whether L says `kHot`: worth a copy for each instruction set. Its functions then choose between
// numbers without branches.
template <class L, class = void>
constexpr bool kIsHot = false;
template <class L>
constexpr bool kIsHot<L, std::void_t<decltype(L::kHot)>> = L::kHot;

// What the curvature is, which says its slope: constant between kinks, so 0; a multiple of
// s (1 - s) with s = Logistic(x), so (1 - 2 s) times itself; or something else, whose slope is
// Bend.
enum class Curve { kFlat, kLogistic, kOther };

// given * v * (1 - 2 sigmoid(x)): what a logistic curvature at x is multiplied by in its gradient.
inline RecipeRef LogisticBend(GradBuilder& g, RecipeRef x, RecipeRef given, RecipeRef v) {
  RecipeRef bend = g.Temp();
  g.Call("scale", {g.Apply("sigmoid", {x})}, {bend}).Attr("scale", -2.0f).Attr("bias", 1.0f);
  return g.Apply("elementwise_mul", {g.Apply("elementwise_mul", {v, given}), bend});
}

inline std::string GradOf(const std::string& name) { return name + "@GRAD"; }

// The derivatives of a function as functions of it and its arguments.
struct SlopeOf {
  template <class F, class T>
  DYGRAPH_BOTH T operator()(const F& f, T x, T y) const {
    return f.Slope(x, y);
  }
};
struct CurveOf {
  template <class F, class T>
  DYGRAPH_BOTH T operator()(const F& f, T x, T y) const {
    return f.Curve(x, y);
  }
};
struct BendOf {
  template <class F, class T>
  DYGRAPH_BOTH T operator()(const F& f, T x, T y) const {
    return f.Bend(x, y);
  }
};

template <class L>
struct Loss {
  static constexpr bool kHasAttrs = !std::is_void_v<typename L::Attrs>;

  static void InferShape(InferContext& ctx) {
    labels::CheckSameShape(ctx, kScore, kLabel);
    ctx.SetOutput(kOut, ctx.dims(kScore));
  }

  static void Like(GradBuilder::CallRef call) {
    if constexpr (kHasAttrs) call.SameAttrs();
  }

  static void Define(OpDef& op, const char* comment, const char* score, const char* label) {
    op.Comment(comment)
        .Input(kScore, L::kScore, score)
        .Input(kLabel, L::kLabel, label)
        .Output(kOut, L::kLoss, (std::string("shape of ") + L::kScore).c_str())
        .Shape(InferShape)
        .ShareLoD(kScore)
        .Grad([](GradBuilder& g) {
          std::string type = std::string(L::kType) + "_grad";
          Like(g.Call(type.c_str(), {g.Input(kScore), g.Input(kLabel), g.OutputGrad(kOut)},
                      {g.InputGrad(kScore)}));
        });
    if constexpr (kHasAttrs) L::AddAttrs(op);
  }

  static OpDef& DefineLinear(OpDef& op, const char* comment) {
    op.Comment(comment)
        .Input(kScore, L::kScore, "as of the forward call")
        .Input(kLabel, L::kLabel, "as of the forward call")
        .Input(kGiven, GradOf(L::kLoss).c_str(), "its shape; what the derivative is multiplied by")
        .Output(kOut, GradOf(L::kScore).c_str(), "its shape")
        .Shape([](InferContext& ctx) {
          labels::CheckSameShape(ctx, kScore, kLabel);
          labels::CheckSameShape(ctx, kScore, kGiven);
          ctx.SetOutput(kOut, ctx.dims(kScore));
        });
    if constexpr (kHasAttrs) op.AttrsOf(L::kType);
    return op;
  }

  static void DefineGrad(OpDef& op) {
    DefineLinear(op, "The slope of the loss in the score, times the gradient of the loss.")
        .Grad([](GradBuilder& g) {
          std::string type = std::string(L::kType) + "_grad";
          RecipeRef v = g.OutputGrad(kOut);
          Like(g.Call(type.c_str(), {g.Input(kScore), g.Input(kLabel), v}, {g.InputGrad(kGiven)}));
          if constexpr (!L::kStraight) {
            type += "_grad";
            RecipeRef product = g.Apply("elementwise_mul", {v, g.Input(kGiven)});
            Like(g.Call(type.c_str(), {g.Input(kScore), g.Input(kLabel), product},
                        {g.InputGrad(kScore)}));
          }
        });
  }

  static void DefineGradGrad(OpDef& op) {
    DefineLinear(op,
                 "The curvature of the loss in the score, times what is given: what the gradient "
                 "operator gives the score.");
    op.Grad([](GradBuilder& g) {
      std::string type = std::string(L::kType) + "_grad_grad";
      RecipeRef x = g.Input(kScore), v = g.OutputGrad(kOut);
      Like(g.Call(type.c_str(), {x, g.Input(kLabel), v}, {g.InputGrad(kGiven)}));
      if constexpr (L::kCurve == Curve::kLogistic) {
        Like(g.Call(type.c_str(), {x, g.Input(kLabel), LogisticBend(g, x, g.Input(kGiven), v)},
                    {g.InputGrad(kScore)}));
      }
      if constexpr (L::kCurve == Curve::kOther) {
        type += "_grad";
        RecipeRef product = g.Apply("elementwise_mul", {v, g.Input(kGiven)});
        Like(g.Call(type.c_str(), {x, g.Input(kLabel), product}, {g.InputGrad(kScore)}));
      }
    });
  }

  // Where kCurve says kOther: linear in what is given, and the last in the score.
  static void DefineThird(OpDef& op) {
    DefineLinear(op,
                 "The third derivative of the loss in the score, times what is given: what the "
                 "second gradient operator gives the score.")
        .Grad([](GradBuilder& g) {
          std::string type = std::string(L::kType) + "_grad_grad_grad";
          Like(g.Call(type.c_str(), {g.Input(kScore), g.Input(kLabel), g.OutputGrad(kOut)},
                      {g.InputGrad(kGiven)}));
          if (g.Wants(kScore))
            g.Call("third_grad_limit", {g.OutputGrad(kOut)}, {g.InputGrad(kScore)});
        });
  }

  template <class T>
  struct Kernel {
    static void Compute(KernelContext& ctx) {
      const Tensor &x = ctx.In(kScore), &y = ctx.In(kLabel);
      const T *xd = x.data<T>(), *yd = y.data<T>();
      typename L::template Fn<T> f(ctx, xd, yd, x.numel());
      T* out = ctx.Out(kOut).mutable_data<T>();
      if constexpr (kIsHot<L>) {
        auto value = [f] DYGRAPH_FN(T a, T b) { return f.Value(a, b); };
        return kernels::Zip(xd, yd, out, x.numel(), value, kCost);
      }
      kernels::ForEach(
          x.numel(), [=] DYGRAPH_FN(int64_t i) { out[i] = f.Value(xd[i], yd[i]); }, kCost);
    }
  };

  template <class T, class F>
  static void Times(KernelContext& ctx, F derivative) {
    const Tensor &x = ctx.In(kScore), &y = ctx.In(kLabel);
    const T *xd = x.data<T>(), *yd = y.data<T>(), *g = ctx.In(kGiven).data<T>();
    typename L::template Fn<T> f(ctx, xd, yd, x.numel());
    T* out = ctx.Out(kOut).mutable_data<T>();
    if constexpr (kIsHot<L>) {
      auto product = [f, derivative] DYGRAPH_FN(T a, T b, T d) { return d * derivative(f, a, b); };
      return kernels::Zip3(xd, yd, g, out, x.numel(), product, kCost);
    }
    kernels::ForEach(
        x.numel(), [=] DYGRAPH_FN(int64_t i) { out[i] = g[i] * derivative(f, xd[i], yd[i]); },
        kCost);
  }
  template <class T>
  struct GradKernel {
    static void Compute(KernelContext& ctx) { Times<T>(ctx, SlopeOf()); }
  };
  template <class T>
  struct GradGradKernel {
    static void Compute(KernelContext& ctx) { Times<T>(ctx, CurveOf()); }
  };
  template <class T>
  struct ThirdKernel {
    static void Compute(KernelContext& ctx) { Times<T>(ctx, BendOf()); }
  };
};

}  // namespace dygraph::pointwise_loss
