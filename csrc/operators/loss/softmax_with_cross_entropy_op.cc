#include <cmath>
#include <vector>

#include "op/gradient_call.h"
#include "op/gradient_shapes.h"
#include "op/lod_rule.h"
#include "operators/labels.h"

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

// The classes of each row that have a part in the loss: Visit calls f(position, part). Labels are
// checked.
template <class T>
class Targets {
 public:
  Targets(const Tensor& label, const LossAttrs& a, const kernels::SoftmaxShape& s)
      : label_(label), ignored_(a.ignore_index), soft_(a.soft_label), shape_(s) {
    if (!soft_) labels::ClassLabels(label).Check(s.n, a.ignore_index);
  }
  template <class F>
  void Visit(int64_t row, F f) const {
    const int64_t first = row / shape_.inner * shape_.n * shape_.inner + row % shape_.inner;
    if (!soft_) {
      const int64_t c = labels::ClassLabels(label_)[row];
      if (c != ignored_) f(first + c * shape_.inner, T(1));
      return;
    }
    const T* part = label_.data<T>();
    for (int64_t i = 0; i < shape_.n; ++i) {
      const int64_t j = first + i * shape_.inner;
      if (part[j] != T(0)) f(j, part[j]);  // 0 log 0 is 0
    }
  }

 private:
  const Tensor& label_;
  int64_t ignored_;
  bool soft_;
  kernels::SoftmaxShape shape_;
};

template <class T>
struct SoftmaxWithCrossEntropyKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kLogits), &label = ctx.In(kLabel);
    const LossAttrs& a = ctx.attrs<LossAttrs>();
    kernels::SoftmaxShape s = labels::ShapeOf(x.dims(), a.axis);
    T* loss = ctx.Out(kLoss).mutable_data<T>();
    const T* xd = x.data<T>();
    if (!a.use_softmax) return OfProbabilities(x, label, a, s, &ctx.Out(kSoftmax), loss);
    if (a.soft_label) {
      kernels::Softmax(xd, s, ctx.Out(kSoftmax).mutable_data<T>(), loss);
      return Soft(xd, label.data<T>(), s, loss);
    }
    labels::ClassLabels classes(label);
    classes.Check(s.n, a.ignore_index);
    kernels::Softmax(xd, s, ctx.Out(kSoftmax).mutable_data<T>(), loss);
    for (int64_t r = 0; r < s.rows(); ++r) {
      int64_t c = classes[r];
      loss[r] = c == a.ignore_index ? T(0)
                                    : loss[r] - xd[(r / s.inner * s.n + c) * s.inner + r % s.inner];
    }
  }
  static void OfProbabilities(const Tensor& x, const Tensor& label, const LossAttrs& a,
                              const kernels::SoftmaxShape& s, Tensor* softmax, T* loss) {
    std::copy_n(x.data<T>(), x.numel(), softmax->mutable_data<T>());
    const Targets<T> targets(label, a, s);
    const T* p = x.data<T>();
    for (int64_t r = 0; r < s.rows(); ++r) {
      T sum = 0;
      targets.Visit(r, [&](int64_t j, T t) { sum -= t * std::log(p[j]); });
      loss[r] = sum;
    }
  }
  // `loss` holds log(sum(exp(x))).
  static void Soft(const T* x, const T* label, const kernels::SoftmaxShape& s, T* loss) {
    kernels::ParallelRows(s.rows(), s.n * 3, [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        T sum = 0;
        for (int64_t i = 0; i < s.n; ++i) {
          int64_t j = (r / s.inner * s.n + i) * s.inner + r % s.inner;
          if (label[j] != T(0)) sum += label[j] * (loss[r] - x[j]);  // 0 log 0 is 0
        }
        loss[r] = sum;
      }
    });
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
    if (!a.use_softmax) return OfProbabilities(y, label, a, s, g, h, dx);
    if (h) {
      if (g && dx == y.data<T>()) {  // Softmax is read once more
        Tensor copy(y.dims(), y.dtype(), y.place());
        std::copy_n(y.data<T>(), y.numel(), copy.mutable_data<T>());
        y = copy;
      }
      kernels::SoftmaxGrad(y.data<T>(), h->data<T>(), s, dx);
      if (!g) return;
    } else if (!g) {
      return std::fill(dx, dx + y.numel(), T(0));
    }
    const T *gd = g->data<T>(), *yd = y.data<T>();
    bool add = h != nullptr;
    if (a.soft_label) {
      const T* ld = label.data<T>();
      return kernels::ParallelRows(s.rows(), s.n * 4, [=](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          int64_t at = r / s.inner * s.n * s.inner + r % s.inner;
          T mass = 0;
          for (int64_t i = 0; i < s.n; ++i) mass += ld[at + i * s.inner];
          for (int64_t i = 0; i < s.n; ++i) {
            int64_t j = at + i * s.inner;
            dx[j] = gd[r] * (yd[j] * mass - ld[j]) + (add ? dx[j] : T(0));
          }
        }
      });
    }
    labels::ClassLabels classes(label);
    classes.Check(s.n, a.ignore_index);
    int64_t ignored = a.ignore_index;
    kernels::ParallelRows(s.outer, s.n * s.inner, [=](int64_t begin, int64_t end) {
      kernels::Simd([=] {
        for (int64_t o = begin; o < end; ++o) {
          if (s.inner == 1) {
            T f = classes[o] == ignored ? T(0) : gd[o];
            Scaled(yd + o * s.n, f, s.n, dx + o * s.n, add);
            continue;
          }
          for (int64_t c = 0; c < s.n; ++c) {
            int64_t at = (o * s.n + c) * s.inner;
            for (int64_t k = 0; k < s.inner; ++k) {
              T f = classes[o * s.inner + k] == ignored ? T(0) : gd[o * s.inner + k];
              dx[at + k] = yd[at + k] * f + (add ? dx[at + k] : T(0));
            }
          }
        }
      });
      for (int64_t r = begin * s.inner; r < end * s.inner; ++r) {
        int64_t c = classes[r];
        if (c != ignored) dx[(r / s.inner * s.n + c) * s.inner + r % s.inner] -= gd[r];
      }
    });
  }
  // dx may be where y lies.
  static void OfProbabilities(const Tensor& y, const Tensor& label, const LossAttrs& a,
                              const kernels::SoftmaxShape& s, const Tensor* g, const Tensor* h,
                              T* dx) {
    std::vector<T> p(y.data<T>(), y.data<T>() + y.numel());
    for (int64_t i = 0; i < y.numel(); ++i) dx[i] = h ? h->data<T>()[i] : T(0);
    if (!g) return;
    const Targets<T> targets(label, a, s);
    const T* gd = g->data<T>();
    for (int64_t r = 0; r < s.rows(); ++r)
      targets.Visit(r, [&](int64_t j, T t) { dx[j] -= gd[r] * t / p[j]; });
  }
  static DYGRAPH_INLINE void Scaled(const T* y, T f, int64_t n, T* to, bool add) {
    if (add) {
      DYGRAPH_IVDEP
      for (int64_t j = 0; j < n; ++j) to[j] += y[j] * f;
    } else {
      DYGRAPH_IVDEP
      for (int64_t j = 0; j < n; ++j) to[j] = y[j] * f;
    }
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
    if (!a.use_softmax) return OfProbabilities(label, a, s, yd, v, g, to_loss, to_softmax);
    if (!a.soft_label) labels::ClassLabels(label).Check(s.n, a.ignore_index);
    for (int64_t r = 0; r < s.rows(); ++r) {
      int64_t at = r / s.inner * s.n * s.inner + r % s.inner;
      T mass = 1, dot = 0;
      if (a.soft_label) {
        const T* ld = label.data<T>();
        mass = 0;
        for (int64_t i = 0; i < s.n; ++i) {
          mass += ld[at + i * s.inner];
          dot -= v[at + i * s.inner] * ld[at + i * s.inner];
        }
      } else if (int64_t c = labels::ClassLabels(label)[r]; c == a.ignore_index) {
        mass = 0;
      } else {
        dot = -v[at + c * s.inner];
      }
      for (int64_t i = 0; i < s.n; ++i) dot += mass * v[at + i * s.inner] * yd[at + i * s.inner];
      if (to_loss) to_loss->mutable_data<T>()[r] = dot;
      if (!to_softmax) continue;
      T factor = g ? g->data<T>()[r] * mass : T(0);
      T* to = to_softmax->mutable_data<T>();
      for (int64_t i = 0; i < s.n; ++i) to[at + i * s.inner] = factor * v[at + i * s.inner];
    }
  }
  static void OfProbabilities(const Tensor& label, const LossAttrs& a,
                              const kernels::SoftmaxShape& s, const T* y, const T* v,
                              const Tensor* g, Tensor* to_loss, Tensor* to_softmax) {
    const Targets<T> targets(label, a, s);
    T* dy = to_softmax ? to_softmax->mutable_data<T>() : nullptr;
    if (dy) std::fill(dy, dy + s.rows() * s.n, T(0));
    for (int64_t r = 0; r < s.rows(); ++r) {
      const T factor = g ? g->data<T>()[r] : T(0);
      T sum = 0;
      targets.Visit(r, [&](int64_t j, T t) {
        sum -= v[j] * t / y[j];
        if (dy) dy[j] = factor * v[j] * t / (y[j] * y[j]);
      });
      if (to_loss) to_loss->mutable_data<T>()[r] = sum;
    }
  }
};
}  // namespace grad_grad

REGISTER_GRADIENT_SHAPES(softmax_with_cross_entropy, {"Logits", "Softmax"});
REGISTER_OPERATOR(softmax_with_cross_entropy, DefineSoftmaxWithCrossEntropy);
REGISTER_LOD_ALSO(softmax_with_cross_entropy, kLabel);
REGISTER_CPU_KERNEL(softmax_with_cross_entropy, SoftmaxWithCrossEntropyKernel, float, double);
REGISTER_OPERATOR(softmax_with_cross_entropy_grad, grad::DefineGrad);
REGISTER_CPU_KERNEL(softmax_with_cross_entropy_grad, grad::GradKernel, float, double);
REGISTER_OPERATOR(softmax_with_cross_entropy_grad_grad, grad_grad::DefineGradGrad);
REGISTER_CPU_KERNEL(softmax_with_cross_entropy_grad_grad, grad_grad::GradGradKernel, float, double);

}  // namespace
}  // namespace dygraph
