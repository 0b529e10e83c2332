#include <cmath>

#include "kernels/elementwise.h"
#include "op/gradient_call.h"
#include "op/gradient_shapes.h"
#include "op/lod_rule.h"
#include "operators/loss/class_gradient.h"
#include "operators/loss/targets.h"

namespace dygraph {
namespace {

constexpr int kLogits = 0, kLabel = 1, kSoftmax = 0, kLoss = 1;

struct LossAttrs {
  bool soft_label = false;
  bool numeric_stable_mode = true;
  int32_t ignore_index = -100;
  int32_t axis = -1;
  bool use_softmax = true;
};

void InferShape(InferContext& ctx) {
  const LossAttrs& a = ctx.attrs<LossAttrs>();
  Dims loss = labels::InferLoss(ctx, kLogits, "Logits", kLabel, a.axis, a.soft_label);
  ctx.SetOutput(kSoftmax, ctx.dims(kLogits));
  ctx.SetOutput(kLoss, loss);
}

void DefineSoftmaxWithCrossEntropy(OpDef& op) {
  op.Comment(
        "Softmax = softmax(Logits) along axis, and Loss = -log(Softmax[Label]), or -sum(Label * "
        "log(Softmax)) with "
        "soft_label; 0 where Label is ignore_index. Label gets no gradient. Without use_softmax "
        "Logits are probabilities already, and Softmax is Logits.")
      .Example(
          ">>> logits = to_variable([[0.0, 0.0], [0.0, 1.0]])\n"
          ">>> loss = F.softmax_with_cross_entropy(logits, to_variable([[0], [1]]))\n"
          ">>> [round(v, 4) for v in loss.numpy().ravel().tolist()]  # log 2 and log(1 + 1 / e)\n"
          "[0.6931, 0.3133]")
      .Input(kLogits, "Logits", "scores [..., C, ...], the classes along axis")
      .Input(kLabel, "Label",
             "int64 or int32 classes, shaped as Logits with 1 class or without the axis; soft: as "
             "Logits")
      .Output(kSoftmax, "Softmax", "shape of Logits", kIntermediate)
      .Output(kLoss, "Loss", "shape of Logits with 1 class")
      .Attr(&LossAttrs::soft_label, "soft_label", "Label holds distributions")
      .Attr(&LossAttrs::numeric_stable_mode, "numeric_stable_mode",
            "of programs; the stable formula is always used")
      .Attr(&LossAttrs::ignore_index, "ignore_index", "a Label without loss or gradient")
      .Attr(&LossAttrs::axis, "axis", "the class axis")
      .Attr(&LossAttrs::use_softmax, "use_softmax", "False: Logits are probabilities")
      .MixedDTypes()
      .Shape(InferShape)
      .ShareLoD(kLogits)
      .Grad(CallGradient);
}

template <class T>
struct SoftmaxWithCrossEntropyKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kLogits), &label = ctx.In(kLabel);
    const LossAttrs& a = ctx.attrs<LossAttrs>();
    kernels::SoftmaxShape s = labels::ShapeOf(x.dims(), a.axis);
    T* loss = ctx.Out(kLoss).mutable_data<T>();
    const T* xd = x.data<T>();
    if (!a.use_softmax) return OfProbabilities(ctx, x, label, s, loss);
    if (a.soft_label) {
      kernels::Softmax(xd, s, ctx.Out(kSoftmax).mutable_data<T>(), loss);
      return Soft(xd, label.data<T>(), s, loss);
    }
    labels::ClassLabels classes(label);
    classes.Check(s.n, a.ignore_index);
    kernels::Softmax(xd, s, ctx.Out(kSoftmax).mutable_data<T>(), loss);
    const int64_t ignored = a.ignore_index;
    kernels::ForEach(s.rows(), [=] DYGRAPH_FN(int64_t r) {
      const int64_t c = classes[r];
      loss[r] =
          c == ignored ? T(0) : loss[r] - xd[(r / s.inner * s.n + c) * s.inner + r % s.inner];
    });
  }
  static void OfProbabilities(KernelContext& ctx, const Tensor& x, const Tensor& label,
                              const kernels::SoftmaxShape& s, T* loss) {
    const LossAttrs& a = ctx.attrs<LossAttrs>();
    ctx.device().CopyWithin(ctx.Out(kSoftmax).mutable_raw_data(), x.raw_data(), x.bytes());
    const labels::Targets<T> targets(label, a.soft_label, a.ignore_index, s);
    const T* p = x.data<T>();
    kernels::ForEachRowPlain(s.rows(), s.n, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
      const labels::RowTargets<T> row = targets[r];
      const T sum = kernels::Fold(
          team, row.count, T(0),
          [=](int64_t i) {
            const T part = row.Part(i);
            return part == T(0) ? T(0) : -(part * std::log(p[row.At(i)]));  // 0 log 0 is 0
          },
          kernels::Sum());
      team.Once([=] { loss[r] = sum; });
    });
  }
  // `loss` holds log(sum(exp(x))).
  static void Soft(const T* x, const T* label, kernels::SoftmaxShape s, T* loss) {
    kernels::ForEachRowPlain(
        s.rows(), s.n,
        [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
          const int64_t first = r / s.inner * s.n * s.inner + r % s.inner;
          const T total = loss[r];
          const T sum = kernels::Fold(
              team, s.n, T(0),
              [=](int64_t i) {
                const int64_t j = first + i * s.inner;
                return label[j] != T(0) ? label[j] * (total - x[j]) : T(0);  // 0 log 0 is 0
              },
              kernels::Sum());
          team.Once([=] { loss[r] = sum; });
        },
        3);
  }
};

// The inputs of a gradient must fit the forward call. Callers other than the tape may pass any
// shape.
Dims CheckGradient(const InferContext& ctx, int label, int softmax, int loss_grad, int like_softmax,
                   const char* name) {
  const LossAttrs& a = ctx.attrs<LossAttrs>();
  Dims loss = labels::InferLoss(ctx, softmax, "Softmax", label, a.axis, a.soft_label);
  ENFORCE(!ctx.HasInput(loss_grad) || ctx.dims(loss_grad) == loss, InvalidArgument,
          "Loss@GRAD must have the shape of Loss, ", loss, ", got ", ctx.dims(loss_grad));
  ENFORCE(!ctx.HasInput(like_softmax) || ctx.dims(like_softmax) == ctx.dims(softmax),
          InvalidArgument, name, " must have the shape of Softmax, ", ctx.dims(softmax), ", got ",
          ctx.dims(like_softmax));
  return loss;
}

namespace grad {
constexpr int kLabel = 0, kSoftmax = 1, kLossGrad = 2, kSoftmaxGrad = 3, kLogitsGrad = 0;

void InferGradShape(InferContext& ctx) {
  CheckGradient(ctx, kLabel, kSoftmax, kLossGrad, kSoftmaxGrad, "Softmax@GRAD");
  ctx.SetOutput(kLogitsGrad, ctx.dims(kSoftmax));
}

void DefineGrad(OpDef& op) {
  op.Comment(
        "Logits@GRAD = Loss@GRAD * (Softmax - onehot(Label)), 0 at ignore_index; with soft_label "
        "Loss@GRAD * (Softmax * "
        "sum(Label) - Label). A gradient of Softmax itself is added as softmax_grad gives it. "
        "Without use_softmax "
        "-Loss@GRAD * Label / Softmax + Softmax@GRAD.")
      .Input(kLabel, "Label", "as of the forward call")
      .Input(kSoftmax, "Softmax", "result of the forward call")
      .Input(kLossGrad, "Loss@GRAD", "shape of Loss", kDispensable)
      .Input(kSoftmaxGrad, "Softmax@GRAD", "shape of Softmax", kDispensable)
      .Output(kLogitsGrad, "Logits@GRAD", "shape of Softmax")
      .AttrsOf("softmax_with_cross_entropy")
      .MixedDTypes()
      .KernelDTypeOf(kSoftmax)
      .InPlace(kSoftmax, kLogitsGrad)
      .Shape(InferGradShape)
      .Grad([](GradBuilder& g) {
        RecipeRef v = g.OutputGrad(kLogitsGrad), a = g.Temp();
        RecipeSlot to_softmax(a);
        g.Call("softmax_with_cross_entropy_grad_grad",
               {g.Input(kLabel), g.Input(kSoftmax), g.Input(kLossGrad), v},
               {g.InputGrad(kLossGrad), a})
            .SameAttrs();
        if (g.HasInput(kSoftmaxGrad) && !g.attrs<LossAttrs>().use_softmax) {
          g.Call("assign", {v}, {g.InputGrad(kSoftmaxGrad)});
        } else if (g.HasInput(kSoftmaxGrad)) {
          AttrValue axis = g.attrs<LossAttrs>().axis;
          g.Call("softmax_grad", {g.Input(kSoftmax), v}, {g.InputGrad(kSoftmaxGrad)})
              .Attr("axis", axis);
          RecipeRef b = g.Temp();
          g.Call("softmax_grad_grad", {g.Input(kSoftmax), g.Input(kSoftmaxGrad), v}, {b})
              .Attr("axis", axis);
          to_softmax.push_back(b);
        }
        g.Call("sum", {to_softmax}, {g.InputGrad(kSoftmax)});
      });
}

template <class T>
struct GradKernel {
  static void Compute(KernelContext& ctx) {
    Tensor y = ctx.In(kSoftmax);
    const Tensor& label = ctx.In(kLabel);
    const Tensor *g = ctx.InOrNull(kLossGrad), *h = ctx.InOrNull(kSoftmaxGrad);
    const LossAttrs& a = ctx.attrs<LossAttrs>();
    kernels::SoftmaxShape s = labels::ShapeOf(y.dims(), a.axis);
    T* dx = ctx.Out(kLogitsGrad).mutable_data<T>();
    if (!a.use_softmax) return OfProbabilities(ctx, y, label, s, g, h, dx);
    if (h) {
      if (g && dx == y.data<T>()) y = Copied(ctx, y);  // Softmax is read once more
      kernels::SoftmaxGrad(y.data<T>(), h->data<T>(), s, dx);
      if (!g) return;
    } else if (!g) {
      return kernels::Fill(dx, y.numel(), T(0));
    }
    const T *gd = g->data<T>(), *yd = y.data<T>();
    bool add = h != nullptr;
    if (a.soft_label) {
      const T* ld = label.data<T>();
      return kernels::ForEachRowPlain(
          s.rows(), s.n,
          [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
            const int64_t at = r / s.inner * s.n * s.inner + r % s.inner;
            const T mass = kernels::Fold(
                team, s.n, T(0), [=](int64_t i) { return ld[at + i * s.inner]; }, kernels::Sum());
            team.Each(s.n, [=](int64_t i) {
              const int64_t j = at + i * s.inner;
              dx[j] = gd[r] * (yd[j] * mass - ld[j]) + (add ? dx[j] : T(0));
            });
          },
          4);
    }
    labels::ClassLabels classes(label);
    classes.Check(s.n, a.ignore_index);
    labels::ClassGradient(yd, gd, classes, a.ignore_index, s, add, dx);
  }
  static Tensor Copied(KernelContext& ctx, const Tensor& t) {
    Tensor copy(t.dims(), t.dtype(), t.place());
    ctx.device().CopyWithin(copy.mutable_raw_data(), t.raw_data(), t.bytes());
    return copy;
  }
  // dx may be where y lies.
  static void OfProbabilities(KernelContext& ctx, const Tensor& y, const Tensor& label,
                              const kernels::SoftmaxShape& s, const Tensor* g, const Tensor* h,
                              T* dx) {
    const LossAttrs& a = ctx.attrs<LossAttrs>();
    const Tensor copy = Copied(ctx, y);
    if (h) {
      ctx.device().CopyWithin(dx, h->raw_data(), h->bytes());
    } else {
      kernels::Fill(dx, y.numel(), T(0));
    }
    if (!g) return;
    const labels::Targets<T> targets(label, a.soft_label, a.ignore_index, s);
    const T *gd = g->data<T>(), *p = copy.data<T>();
    kernels::ForEachRowPlain(s.rows(), s.n, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
      const labels::RowTargets<T> row = targets[r];
      team.Each(row.count, [=](int64_t i) {
        const T part = row.Part(i);
        const int64_t j = row.At(i);
        if (part != T(0)) dx[j] -= gd[r] * part / p[j];
      });
    });
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kLabel = 0, kSoftmax = 1, kLossGrad = 2, kV = 3, kLossResult = 0, kSoftmaxResult = 1;

void InferGradGradShape(InferContext& ctx) {
  ctx.SetOutput(kLossResult,
                CheckGradient(ctx, kLabel, kSoftmax, kLossGrad, kV, "Logits@GRAD@GRAD"));
  ctx.SetOutput(kSoftmaxResult, ctx.dims(kSoftmax));
}

// With t the labels, y = Softmax and u, U for what arrives, the value is
// -sum(u V t / y) + sum(U Loss@GRAD V t / y^2).
void ThirdOrderWithoutSoftmax(GradBuilder& g) {
  RecipeRef label = g.Input(kLabel), y = g.Input(kSoftmax), v = g.Input(kV);
  RecipeRef to_loss = g.OutputGrad(kLossResult), to_y = g.OutputGrad(kSoftmaxResult);
  const char* self = "softmax_with_cross_entropy_grad_grad";
  RecipeRef v_first = g.Temp(), y_first = g.Temp();
  RecipeSlot to_v(v_first), to_softmax(y_first);
  g.Call("softmax_with_cross_entropy_grad", {label, y, to_loss, {}}, {v_first}).SameAttrs();
  g.Call(self, {label, y, to_loss, v}, {{}, y_first}).SameAttrs();
  if (g.HasInput(kLossGrad)) {
    RecipeRef loss_grad = g.Input(kLossGrad), v_second = g.Temp(), y_second = g.Temp();
    RecipeRef both = g.Apply("elementwise_mul", {to_y, v});
    RecipeRef ratio = g.Apply("elementwise_div", {both, y});
    g.Call(self, {label, y, loss_grad, to_y}, {{}, v_second}).SameAttrs();
    g.Call(self, {label, y, {}, g.ApplyScale(ratio, -1.0f)}, {g.InputGrad(kLossGrad), {}}).SameAttrs();
    g.Call(self, {label, y, loss_grad, g.ApplyScale(ratio, -2.0f)}, {{}, y_second}).SameAttrs();
    to_v.push_back(v_second);
    to_softmax.push_back(y_second);
  }
  g.Call("sum", {to_v}, {g.InputGrad(kV)});
  g.Call("sum", {to_softmax}, {g.InputGrad(kSoftmax)});
}

void DefineGradGrad(OpDef& op) {
  op.Comment(
        "What softmax_with_cross_entropy_grad gives Loss@GRAD, sum(V * (Softmax - onehot(Label))) "
        "over the classes, and "
        "Softmax, Loss@GRAD * V; with soft_label as there. Without use_softmax "
        "-sum(V * Label / Softmax) and Loss@GRAD * V * Label / Softmax^2.")
      .Input(kLabel, "Label", "as of the forward call")
      .Input(kSoftmax, "Softmax", "result of the forward call")
      .Input(kLossGrad, "Loss@GRAD", "shape of Loss", kDispensable)
      .Input(kV, "Logits@GRAD@GRAD", "shape of Softmax")
      .Output(kLossResult, "Loss@GRAD@GRAD", "shape of Loss")
      .Output(kSoftmaxResult, "Softmax@GRAD", "shape of Softmax")
      .AttrsOf("softmax_with_cross_entropy")
      .MixedDTypes()
      .KernelDTypeOf(kSoftmax)
      .Shape(InferGradGradShape)
      .Grad([](GradBuilder& g) {
        if (!g.attrs<LossAttrs>().use_softmax) return ThirdOrderWithoutSoftmax(g);
        // With u and U for what arrives, m the mass of a row's labels and t the labels, the value
        // is sum(u V (m Softmax - t)) + sum(U Loss@GRAD m V).
        RecipeRef label = g.Input(kLabel), y = g.Input(kSoftmax), v = g.Input(kV);
        RecipeRef to_loss = g.OutputGrad(kLossResult), to_y = g.OutputGrad(kSoftmaxResult);
        const char* self = "softmax_with_cross_entropy_grad_grad";
        g.Call(self, {label, y, to_loss, v}, {{}, g.InputGrad(kSoftmax)}).SameAttrs();
        RecipeRef a = g.Temp();
        RecipeSlot to_v(a);
        g.Call("softmax_with_cross_entropy_grad", {label, y, to_loss, {}}, {a}).SameAttrs();
        if (g.HasInput(kLossGrad)) {
          RecipeRef b = g.Temp(), with = g.Temp(), without = g.Temp();
          g.Call(self, {label, y, g.Input(kLossGrad), to_y}, {{}, b}).SameAttrs();
          to_v.push_back(b);
          // sum(U m V): V in place of Softmax, less what no Softmax at all gives.
          RecipeRef none = g.ApplyScale(y, 0.0f);
          g.Call(self, {label, v, {}, to_y}, {with, {}}).SameAttrs();
          g.Call(self, {label, none, {}, to_y}, {without, {}}).SameAttrs();
          g.Call("elementwise_sub", {with, without}, {g.InputGrad(kLossGrad)});
        }
        g.Call("sum", {to_v}, {g.InputGrad(kV)});
      });
}

template <class T>
struct GradGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &y = ctx.In(kSoftmax), &label = ctx.In(kLabel);
    const LossAttrs& a = ctx.attrs<LossAttrs>();
    kernels::SoftmaxShape s = labels::ShapeOf(y.dims(), a.axis);
    const T *yd = y.data<T>(), *v = ctx.In(kV).data<T>();
    const Tensor* g = ctx.InOrNull(kLossGrad);
    Tensor *to_loss = ctx.OutOrNull(kLossResult), *to_softmax = ctx.OutOrNull(kSoftmaxResult);
    T* dg = to_loss ? to_loss->mutable_data<T>() : nullptr;
    T* dy = to_softmax ? to_softmax->mutable_data<T>() : nullptr;
    const T* gd = g ? g->data<T>() : nullptr;
    const labels::Targets<T> targets(label, a.soft_label, a.ignore_index, s);
    if (!a.use_softmax) return OfProbabilities(targets, s, yd, v, gd, dg, dy);
    const bool soft = a.soft_label;
    kernels::ForEachRowPlain(s.rows(), s.n, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
      const labels::RowTargets<T> row = targets[r];
      const int64_t at = r / s.inner * s.n * s.inner + r % s.inner;
      T mass = static_cast<T>(row.count);
      if (soft) {
        mass = kernels::Fold(
            team, s.n, T(0), [=](int64_t i) { return row.Part(i); }, kernels::Sum());
      }
      const T start = kernels::Fold(
          team, row.count, T(0), [=](int64_t i) { return -(v[row.At(i)] * row.Part(i)); },
          kernels::Sum());
      const T dot = kernels::SumFrom(team, s.n, start, [=](int64_t i) {
        return mass * v[at + i * s.inner] * yd[at + i * s.inner];
      });
      team.Once([=] {
        if (dg) dg[r] = dot;
      });
      if (!dy) return;
      const T factor = gd ? gd[r] * mass : T(0);
      team.Each(s.n, [=](int64_t i) { dy[at + i * s.inner] = factor * v[at + i * s.inner]; });
    });
  }
  static void OfProbabilities(const labels::Targets<T>& targets, const kernels::SoftmaxShape& s,
                              const T* y, const T* v, const T* g, T* dg, T* dy) {
    if (dy) kernels::Fill(dy, s.rows() * s.n, T(0));
    kernels::ForEachRowPlain(s.rows(), s.n, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
      const labels::RowTargets<T> row = targets[r];
      const T factor = g ? g[r] : T(0);
      const T sum = kernels::Fold(
          team, row.count, T(0),
          [=](int64_t i) {
            const T part = row.Part(i);
            const int64_t j = row.At(i);
            if (part == T(0)) return T(0);
            if (dy) dy[j] = factor * v[j] * part / (y[j] * y[j]);
            return -(v[j] * part / y[j]);
          },
          kernels::Sum());
      team.Once([=] {
        if (dg) dg[r] = sum;
      });
    });
  }
};
}  // namespace grad_grad

REGISTER_GRADIENT_SHAPES(softmax_with_cross_entropy, {"Logits", "Softmax"});
REGISTER_OPERATOR(softmax_with_cross_entropy, DefineSoftmaxWithCrossEntropy);
REGISTER_LOD_ALSO(softmax_with_cross_entropy, kLabel);
REGISTER_KERNELS(softmax_with_cross_entropy, SoftmaxWithCrossEntropyKernel, float, double);
REGISTER_OPERATOR(softmax_with_cross_entropy_grad, grad::DefineGrad);
REGISTER_KERNELS(softmax_with_cross_entropy_grad, grad::GradKernel, float, double);
REGISTER_OPERATOR(softmax_with_cross_entropy_grad_grad, grad_grad::DefineGradGrad);
REGISTER_KERNELS(softmax_with_cross_entropy_grad_grad, grad_grad::GradGradKernel, float, double);

}  // namespace
}  // namespace dygraph
