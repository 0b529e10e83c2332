// Losses of the difference of two scores, A - B, element by element, with a label where there is
// one. A file gives a struct L:
//   kType, kA, kB, kLabel, kLoss  names of the operator and its slots; kLabel nullptr without one
//   kLabelFirst                   whether the label is declared before the scores
//   kExtra                        an intermediate output, or nullptr; Fn::Extra computes it
//   kColumns                      optional: the three may be [n] and [n, 1] in any mixture
//   Attrs, AddAttrs, Fn<T>        as in pointwise_loss.h, of the difference and the label
// Both scores have a gradient, the label has none.
#pragma once

#include "operators/loss/pointwise_loss.h"

namespace dygraph::difference_loss {

template <class L, class = void>
constexpr bool kHasColumns = false;
template <class L>
constexpr bool kHasColumns<L, std::void_t<decltype(L::kColumns)>> = L::kColumns;

// InvalidArgument unless both slots have one shape, an axis of 1 at the end left out of account.
inline void CheckSameColumn(InferContext& ctx, int a, int b) {
  auto column = [&](int slot) {
    Dims d = ctx.dims(slot);
    if (d.rank() == 2 && (d[1] == 1 || d[1] < 0)) d.pop_back();
    return d;
  };
  if (labels::Fits(column(a), column(b))) return;
  labels::CheckSameShape(ctx, a, b);
}

template <class L>
struct Loss {
  static constexpr bool kHasAttrs = !std::is_void_v<typename L::Attrs>;
  static constexpr bool kLabeled = L::kLabel != nullptr;
  // Order of declaration: programs name slots, so only this file knows it.
  static constexpr bool kFirst = L::kLabelFirst;
  static constexpr int kA = kFirst ? 1 : 0, kB = kA + 1, kGiven = kLabeled ? 3 : 2,
                       kLabel = !kLabeled ? -1
                                : kFirst  ? 0
                                          : 2;
  static constexpr int kExtra = 0, kOut = L::kExtra ? 1 : 0;

  static void Like(GradBuilder::CallRef call) {
    if constexpr (kHasAttrs) call.SameAttrs();
  }
  static void CheckShapes(InferContext& ctx) {
    Check(ctx, kA, kB);
    if constexpr (kLabeled) Check(ctx, kA, kLabel);
  }
  static void Check(InferContext& ctx, int a, int b) {
    (kHasColumns<L> ? CheckSameColumn : labels::CheckSameShape)(ctx, a, b);
  }
  // A value of another slot in the shape of `a`, which a recipe adds it to.
  static RecipeRef Like(GradBuilder& g, int a, RecipeRef value) {
    if constexpr (!kHasColumns<L>) return value;
    return g.Apply("reshape2_grad", {g.InputShape(a), value});
  }
  static void AddInputs(OpDef& op, const char* score, const char* label) {
    if constexpr (kFirst) op.Input(kLabel, L::kLabel, label);
    op.Input(kA, L::kA, score).Input(kB, L::kB, "its shape");
    if constexpr (kLabeled && !kFirst) op.Input(kLabel, L::kLabel, label);
  }
  // The inputs of a call of `type`: the scores, the label and what is given.
  static GradBuilder::CallRef Call(GradBuilder& g, const std::string& type, RecipeRef given,
                                   std::initializer_list<RecipeSlot> out) {
    if constexpr (!kLabeled) {
      return g.Call(type.c_str(), {g.Input(kA), g.Input(kB), given}, out);
    } else {  // in the order of declaration
      return g.Call(type.c_str(), {g.Input(0), g.Input(1), g.Input(2), given}, out);
    }
  }

  static void Define(OpDef& op, const char* comment, const char* score, const char* label) {
    op.Comment(comment);
    AddInputs(op, score, label);
    if constexpr (L::kExtra != nullptr) {
      op.Output(kExtra, L::kExtra, "shape of the scores", kIntermediate);
    }
    op.Output(kOut, L::kLoss, "shape of the scores")
        .ShareLoD(kA)
        .Shape([](InferContext& ctx) {
          CheckShapes(ctx);
          if constexpr (L::kExtra != nullptr) ctx.SetOutput(kExtra, ctx.dims(kA));
          ctx.SetOutput(kOut, ctx.dims(kHasColumns<L> ? kLabel : kA));
        })
        .Grad([](GradBuilder& g) {
          Like(Call(g, std::string(L::kType) + "_grad", g.OutputGrad(kOut),
                    {g.InputGrad(kA), g.InputGrad(kB)}));
        });
    if constexpr (kHasAttrs) L::AddAttrs(op);
  }

  static OpDef& DefineLinear(OpDef& op, const char* comment) {
    using pointwise_loss::GradOf;
    op.Comment(comment);
    AddInputs(op, "as of the forward call", "as of the forward call");
    op.Input(kGiven, GradOf(L::kLoss).c_str(), "shape of the scores")
        .Output(0, GradOf(L::kA).c_str(), "its shape")
        .Output(1, GradOf(L::kB).c_str(), "its shape")
        .Shape([](InferContext& ctx) {
          CheckShapes(ctx);
          Check(ctx, kA, kGiven);
          ctx.SetOutput(0, ctx.dims(kA));
          ctx.SetOutput(1, ctx.dims(kB));
        });
    if constexpr (kHasAttrs) op.AttrsOf(L::kType);
    return op;
  }
  static void DefineGrad(OpDef& op) {
    DefineLinear(op, "The slope of the loss times its gradient, with a minus for the second score.")
        .Grad([](GradBuilder& g) {
          std::string type = std::string(L::kType) + "_grad";
          RecipeRef minus = Like(g, kA, g.ApplyScale(g.OutputGrad(1), -1.0f)), v = g.Temp();
          g.Call("sum", {RecipeSlot({g.OutputGrad(0), minus})}, {v});
          RecipeRef back = kHasColumns<L> ? g.Temp() : g.InputGrad(kGiven);
          Like(Call(g, type, v, {back, {}}));
          if constexpr (kHasColumns<L>)
            g.Call("reshape2_grad", {g.InputShape(kGiven), back}, {g.InputGrad(kGiven)});
          if constexpr (!L::kStraight) {
            RecipeRef product = g.Apply("elementwise_mul", {v, Like(g, kA, g.Input(kGiven))});
            Like(Call(g, type + "_grad", product, {g.InputGrad(kA), g.InputGrad(kB)}));
          }
        });
  }
  static void DefineGradGrad(OpDef& op) {
    using pointwise_loss::Curve;
    DefineLinear(op,
                 "The curvature of the loss times what is given, with a minus for the second "
                 "score.");
    if constexpr (L::kCurve != Curve::kOther) {
      op.Grad([](GradBuilder& g) {
        std::string type = std::string(L::kType) + "_grad_grad";
        RecipeRef minus = Like(g, kA, g.ApplyScale(g.OutputGrad(1), -1.0f)), v = g.Temp();
        g.Call("sum", {RecipeSlot({g.OutputGrad(0), minus})}, {v});
        RecipeRef back = kHasColumns<L> ? g.Temp() : g.InputGrad(kGiven);
        Like(Call(g, type, v, {back, {}}));
        if constexpr (kHasColumns<L>)
          g.Call("reshape2_grad", {g.InputShape(kGiven), back}, {g.InputGrad(kGiven)});
        if constexpr (L::kCurve == Curve::kLogistic) {
          RecipeRef d = g.Apply("elementwise_sub", {g.Input(kA), Like(g, kA, g.Input(kB))});
          RecipeRef given = Like(g, kA, g.Input(kGiven));
          Like(Call(g, type, pointwise_loss::LogisticBend(g, d, given, v),
                    {g.InputGrad(kA), g.InputGrad(kB)}));
        }
      });
    }
  }

  template <class F, class T>
  DYGRAPH_BOTH static T ExtraOf(const F& f, T d, T y) {
    if constexpr (L::kExtra != nullptr) {
      return f.Extra(d, y);
    } else {
      return T(0);
    }
  }
  template <class T>
  struct Kernel {
    static void Compute(KernelContext& ctx) {
      const Tensor& a = ctx.In(kA);
      const T *ad = a.data<T>(), *bd = ctx.In(kB).template data<T>();
      const T* label = kLabeled ? ctx.In(kLabel).template data<T>() : bd;
      typename L::template Fn<T> f(ctx);
      Tensor* out = ctx.OutOrNull(kOut);
      T* loss = out ? out->mutable_data<T>() : nullptr;
      T* extra = nullptr;
      if constexpr (L::kExtra != nullptr) {
        Tensor* t = ctx.OutOrNull(kExtra);
        if (t) extra = t->mutable_data<T>();
      }
      kernels::ForEach(a.numel(), [=] DYGRAPH_FN(int64_t i) {
        if (loss) loss[i] = f.Value(ad[i] - bd[i], label[i]);
        if (extra) extra[i] = ExtraOf(f, ad[i] - bd[i], label[i]);
      });
    }
  };
  template <class T, class F>
  static void Times(KernelContext& ctx, F derivative) {
    const Tensor& a = ctx.In(kA);
    const T *ad = a.data<T>(), *bd = ctx.In(kB).template data<T>();
    const T* label = kLabeled ? ctx.In(kLabel).template data<T>() : bd;
    const T* g = ctx.In(kGiven).template data<T>();
    typename L::template Fn<T> f(ctx);
    Tensor *to_a = ctx.OutOrNull(0), *to_b = ctx.OutOrNull(1);
    T* da = to_a ? to_a->mutable_data<T>() : nullptr;
    T* db = to_b ? to_b->mutable_data<T>() : nullptr;
    kernels::ForEach(a.numel(), [=] DYGRAPH_FN(int64_t i) {
      T v = g[i] * derivative(f, ad[i] - bd[i], label[i]);
      if (db) db[i] = -v;
      if (da) da[i] = v;
    });
  }
  template <class T>
  struct GradKernel {
    static void Compute(KernelContext& ctx) { Times<T>(ctx, pointwise_loss::SlopeOf()); }
  };
  template <class T>
  struct GradGradKernel {
    static void Compute(KernelContext& ctx) { Times<T>(ctx, pointwise_loss::CurveOf()); }
  };
};

}  // namespace dygraph::difference_loss
