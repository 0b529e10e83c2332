#include "kernels/elementwise.h"
#include "kernels/fold.h"
#include "op/lod_rule.h"
#include "operators/labels.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kLabel = 1, kWeight = 2, kOut = 0, kTotalWeight = 1;

struct NllAttrs {
  int64_t ignore_index = -100;
  std::string reduction = "mean";
};

// Checks Label and Weight against X [N, C, ...]; gives the shape of the loss of each.
Dims CheckedDims(const InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &label = ctx.dims(kLabel);
  ENFORCE(x.rank() >= 2, InvalidArgument,
          "X must hold logarithms of probabilities [N, C] or [N, C, d1, ...], got shape ", x);
  Dims each;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != 1) each.push_back(x[i]);
  }
  ENFORCE(labels::Fits(label, each), InvalidArgument, "Label must have the shape ", each,
          ", that of X ", x, " without its class axis 1, got ", label);
  DType type = ctx.dtype(kLabel);
  ENFORCE(type == DType::kInt64 || type == DType::kInt32, Type,
          "Label must hold int64 or int32 class numbers, got ", type,
          ". Convert with astype('int64')");
  if (ctx.HasInput(kWeight)) {
    const Dims& w = ctx.dims(kWeight);
    ENFORCE(w.rank() == 1 && (w[0] == x[1] || !BothKnown(w[0], x[1])), InvalidArgument,
            "Weight must have the shape [C] with the classes of X ", x, ", got ", w);
    ENFORCE(ctx.dtype(kWeight) == ctx.dtype(kX), Type, "Weight must be of the type of X, ",
            ctx.dtype(kX), ", got ", ctx.dtype(kWeight));
  }
  return each;
}

Dims LossDims(const InferContext& ctx) {
  Dims each = CheckedDims(ctx);
  return ctx.attrs<NllAttrs>().reduction == "none" ? each : Dims();
}

OpDef& AddInputs(OpDef& op) {
  return op.Input(kX, "X", "logarithms of probabilities [N, C] or [N, C, d1, ...]")
      .Input(kLabel, "Label", "int64 or int32 classes, shape of X without axis 1")
      .Input(kWeight, "Weight", "a factor for each class [C]; 1", kDispensable);
}

void DefineNll(OpDef& op) {
  AddInputs(op.Comment("Out = -Weight[Label] * X[Label], 0 where Label is ignore_index; 'sum' adds "
                       "them up, 'mean' divides by Total_weight, the sum of Weight[Label] (a total "
                       "of 0 gives 0). Label and Weight get no gradient.")
                .Example(">>> log_probability = to_variable([[-0.5, -1.5], [-2.0, -0.25]])\n"
                         ">>> loss, weight = F.nll_loss(log_probability, to_variable([0, 1]))\n"
                         ">>> loss.item(), weight.item()\n"
                         "(0.375, 2.0)"))
      .Output(kOut, "Out", "shape of Label, or [] when reduced")
      .Output(kTotalWeight, "Total_weight", "[]")
      .Attr(&NllAttrs::ignore_index, "ignore_index", "a Label without loss or gradient")
      .Attr(&NllAttrs::reduction, "reduction", "none, mean or sum", OneOf({"none", "mean", "sum"}))
      .MixedDTypes()
      .ShareLoD(kX)
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOut, LossDims(ctx));
        ctx.SetOutput(kTotalWeight, Dims());
      })
      .Grad([](GradBuilder& g) {
        g.Call("nll_loss_grad",
               {g.InputShape(kX), g.Input(kLabel), g.Input(kWeight), g.OutputGrad(kOut)},
               {g.InputGrad(kX)})
            .SameAttrs();
      });
}

// The labels of a call: which element of X each row takes, and with what weight.
template <class T>
struct Terms {
  Terms(const KernelContext& ctx, const Dims& x)
      : classes(ctx.In(kLabel)),
        weight(ctx.InOrNull(kWeight) ? ctx.In(kWeight).data<T>() : nullptr),
        ignored(ctx.attrs<NllAttrs>().ignore_index),
        count(x[1]),
        inner(Numel(x, 2, x.rank())),
        rows(x[0] * inner) {
    classes.Check(count, ignored);
  }
  // Without a part in the loss it has no weight, and `at` is -1.
  struct Term {
    int64_t at;
    T weight;
  };
  DYGRAPH_INLINE Term operator[](int64_t r) const {
    const int64_t c = classes[r];
    if (c == ignored) return {-1, T(0)};
    return {(r / inner * count + c) * inner + r % inner, weight ? weight[c] : T(1)};
  }
  labels::ClassLabels classes;
  const T* weight;
  int64_t ignored, count, inner, rows;
};

// A sum of losses and one of weights.
struct Sums {
  double loss, weight;
  DYGRAPH_INLINE Sums operator+(Sums b) const { return {loss + b.loss, weight + b.weight}; }
};

template <class T>
struct NllKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const std::string& reduction = ctx.attrs<NllAttrs>().reduction;
    const T* xd = x.data<T>();
    Tensor *out = ctx.OutOrNull(kOut), *weight = ctx.OutOrNull(kTotalWeight);
    const bool none = reduction == "none", mean = reduction == "mean";
    T *to = out ? out->mutable_data<T>() : nullptr, *each = none ? to : nullptr;
    T* total = weight ? weight->mutable_data<T>() : nullptr;
    const Terms<T> terms(ctx, x.dims());
    kernels::FoldAll(
        terms.rows, Sums{0, 0},
        [=] DYGRAPH_FN(int64_t r) {
          const auto term = terms[r];
          if (each) each[r] = T(0);
          if (term.at < 0) return Sums{0, 0};
          const T loss = -term.weight * xd[term.at];
          if (each) each[r] = loss;
          return Sums{static_cast<double>(loss), static_cast<double>(term.weight)};
        },
        kernels::Sum(),
        [=] DYGRAPH_FN(Sums sums) {
          if (total) *total = static_cast<T>(sums.weight);
          if (!to || none) return;
          const double share = sums.weight != 0 ? sums.loss / sums.weight : 0;
          *to = static_cast<T>(mean ? share : sums.loss);
        });
  }
};

namespace grad {
constexpr int kOutGrad = 3, kXGrad = 0;

void DefineNllGrad(OpDef& op) {
  AddInputs(op.Comment("X@GRAD = -Weight[Label] * Out@GRAD at Label and 0 elsewhere; with "
                       "reduction 'mean' over Total_weight."))
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("nll_loss")
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .Shape([](InferContext& ctx) {
        Dims loss = LossDims(ctx);
        ENFORCE(labels::Fits(ctx.dims(kOutGrad), loss), InvalidArgument,
                "Out@GRAD must have the shape of Out, ", loss, ", got ", ctx.dims(kOutGrad));
        ctx.SetOutput(kXGrad, ctx.dims(kX));
      })
      .Grad([](GradBuilder& g) {
        // Linear in Out@GRAD, and the way back of what arrives is the loss itself.
        g.Call("nll_loss", {g.OutputGrad(kXGrad), g.Input(kLabel), g.Input(kWeight)},
               {g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct NllGradKernel {
  static void Compute(KernelContext& ctx) {
    const Dims& x = ctx.In(kX).dims();
    const std::string& reduction = ctx.attrs<NllAttrs>().reduction;
    Tensor& out = ctx.Out(kXGrad);
    T* dx = out.mutable_data<T>();
    const T* g = ctx.In(kOutGrad).data<T>();
    bool each = reduction == "none";
    const bool mean = reduction == "mean";
    const Terms<T> terms(ctx, x);
    Scratch room = ctx.Workspace(sizeof(T));
    T* scale = room.as<T>();
    if (mean) {
      kernels::FoldAll(
          terms.rows, 0.0,
          [=] DYGRAPH_FN(int64_t r) { return static_cast<double>(terms[r].weight); },
          kernels::Sum(), [=] DYGRAPH_FN(double total) {
            *scale = total != 0 ? static_cast<T>(1 / total) : T(0);
          });
    }
    kernels::Fill(dx, out.numel(), T(0));
    kernels::ForEach(terms.rows, [=] DYGRAPH_FN(int64_t r) {
      const auto term = terms[r];
      if (term.at >= 0) dx[term.at] = -term.weight * g[each ? r : 0] * (mean ? *scale : T(1));
    });
  }
};
}  // namespace grad

REGISTER_OPERATOR(nll_loss, DefineNll);
REGISTER_LOD_ALSO(nll_loss, kLabel);
REGISTER_KERNELS(nll_loss, NllKernel, float, double);
REGISTER_OPERATOR(nll_loss_grad, grad::DefineNllGrad);
REGISTER_KERNELS(nll_loss_grad, grad::NllGradKernel, float, double);

}  // namespace
}  // namespace dygraph
