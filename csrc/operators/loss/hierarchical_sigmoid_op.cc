#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/labels.h"
#include "operators/loss/chosen_rows_loops.h"
#include "operators/loss/turns.h"

namespace dygraph::hierarchical_sigmoid {
namespace {

void CheckInputs(InferContext& ctx) {
  chosen_rows::CheckTable(ctx, kX, kW, kBias);
  const Dims &x = ctx.dims(kX), &w = ctx.dims(kW), &label = ctx.dims(kLabel);
  ENFORCE(labels::Fits(label, {x[0], 1}) || labels::Fits(label, {x[0]}), InvalidArgument,
          "Label must have the shape [N, 1] or [N] with the rows of X ", x, ", got ", label);
  ENFORCE(ctx.HasInput(kPathTable) == ctx.HasInput(kPathCode), InvalidArgument,
          "PathTable and PathCode must be given together or not at all, got one of them");
  if (ctx.HasInput(kPathTable)) {
    const Dims& table = ctx.dims(kPathTable);
    ENFORCE(table.rank() == 2 && (table[0] == x[0] || !BothKnown(table[0], x[0])), InvalidArgument,
            "PathTable must have the shape [N, L] with the rows of X ", x, ", got ", table);
    labels::CheckSameShape(ctx, kPathTable, kPathCode);
    return;
  }
  int64_t classes = ctx.attrs<HierarchicalSigmoidAttrs>().num_classes;
  ENFORCE(w[0] >= classes - 1 || w[0] < 0, InvalidArgument,
          "W must have a row for each of the num_classes - 1 = ", classes - 1,
          " inner nodes, got shape ", w);
}

int64_t Steps(InferContext& ctx) {
  if (ctx.HasInput(kPathTable)) return ctx.dims(kPathTable)[1];
  return Depth(ctx.attrs<HierarchicalSigmoidAttrs>().num_classes);
}

OpDef& AddInputs(OpDef& op) {
  return op.Input(kX, "X", "features [N, D]")
      .Input(kW, "W", "a row for each inner node [num_classes - 1, D]")
      .Input(kLabel, "Label", "int64 or int32 classes [N, 1] or [N]")
      .Input(kPathTable, "PathTable", "[N, L] rows of W from the root; below 0 past the end",
             kDispensable)
      .Input(kPathCode, "PathCode", "[N, L] turns, 0 or 1", kDispensable)
      .Input(kBias, "Bias", "one for each row of W", kDispensable);
}

void DefineHierarchicalSigmoid(OpDef& op) {
  AddInputs(
      op.Comment("A softmax over many classes as turns in a binary tree (Morin and Bengio, "
                 "2005): with z = X . W[node] + Bias[node], within [-40, 40], Out = sum over "
                 "the nodes on Label's path of log(1 + exp(z)) - turn * z. The tree is the "
                 "complete one, or PathTable and PathCode give each sample's path. As in "
                 "Fluid each step that a path is shorter than the longest adds log(2), a "
                 "constant.")
          .Example(
              ">>> x, w = to_variable([[1.0], [1.0]]), to_variable([[2.0]])\n"
              ">>> loss = F.hierarchical_sigmoid(x, w, to_variable([[0], [1]]), num_classes=2)\n"
              ">>> [round(v, 4) for v in loss.numpy().ravel().tolist()]  # log(1 + e^2), less 2\n"
              "[2.1269, 0.1269]"))
      .Output(kOut, "Out", "[N, 1]")
      .Output(kPreOut, "PreOut", "log(1 + exp(z)) [N, L]", kIntermediate)
      .Output(kWOut, "W_Out", "W itself; only when asked for", kIntermediate | kExtra)
      .Attr(&HierarchicalSigmoidAttrs::num_classes, "num_classes", "leaves of the complete tree",
            AtLeast(2))
      .Attr(&HierarchicalSigmoidAttrs::is_sparse, "is_sparse", "W@GRAD is selected rows")
      .Attr(&HierarchicalSigmoidAttrs::remote_prefetch, "remote_prefetch", "of programs; not read")
      .Attr(&HierarchicalSigmoidAttrs::trainer_id, "trainer_id", "of programs; not read")
      .Attr(&HierarchicalSigmoidAttrs::height_sections, "height_sections", "not read")
      .Attr(&HierarchicalSigmoidAttrs::epmap, "epmap", "of programs; not read")
      .Attr(&HierarchicalSigmoidAttrs::table_names, "table_names", "of programs; not read")
      .MixedDTypes()
      .ShareLoD(kX)
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        int64_t n = ctx.dims(kX)[0];
        ctx.SetOutput(kOut, {n, 1});
        ctx.SetOutput(kPreOut, {n, Steps(ctx)});
        ctx.SetOutput(kWOut, ctx.dims(kW));
      })
      .Grad(CallGradient);
}

template <class T>
struct HierarchicalSigmoidKernel {
  static void Compute(KernelContext& ctx) {
    chosen_rows::Data<T> d(ctx.In(kX), ctx.In(kW), ctx.InOrNull(kBias));
    int64_t steps = ctx.HasInput(kPathTable)
                        ? ctx.In(kPathTable).dim(1)
                        : Depth(ctx.attrs<HierarchicalSigmoidAttrs>().num_classes);
    Tensor *out = ctx.OutOrNull(kOut), *pre = ctx.OutOrNull(kPreOut), *w = ctx.OutOrNull(kWOut);
    chosen_rows::Sums(d, Turns<T>(ctx), steps, pre ? pre->mutable_data<T>() : nullptr,
                      out ? out->mutable_data<T>() : nullptr);
    if (w) ctx.device().CopyWithin(w->mutable_data<T>(), d.w, d.height * d.width * sizeof(T));
  }
};

namespace grad {
constexpr int kOutGrad = 6, kXGrad = 0, kWGrad = 1, kBiasGrad = 2;

void CheckGradient(InferContext& ctx) {
  CheckInputs(ctx);
  ENFORCE(labels::Fits(ctx.dims(kOutGrad), {ctx.dims(kX)[0], 1}), InvalidArgument,
          "Out@GRAD must have the shape [N, 1] for X ", ctx.dims(kX), ", got ", ctx.dims(kOutGrad));
}

void DefineHierarchicalSigmoidGrad(OpDef& op) {
  AddInputs(
      op.Comment("With s = Out@GRAD * (sigmoid(z) - turn) of each node on a path: X@GRAD adds "
                 "s * W[node], W@GRAD[node] adds s * X, Bias@GRAD[node] adds s. With "
                 "is_sparse W@GRAD is selected rows."))
      .Input(kOutGrad, "Out@GRAD", "[N, 1]")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kWGrad, "W@GRAD", "shape of W, or selected rows of it")
      .Output(kBiasGrad, "Bias@GRAD", "shape of Bias")
      .AttrsOf("hierarchical_sigmoid")
      .MixedDTypes()
      .VarType([](InferContext& ctx) {
        CheckInputs(ctx);
        if (ctx.attrs<HierarchicalSigmoidAttrs>().is_sparse)
          chosen_rows::MakeRows(ctx, kWGrad, ctx.dims(kW), ctx.dtype(kW));
      })
      .Shape([](InferContext& ctx) {
        CheckGradient(ctx);
        ctx.SetOutput(kXGrad, ctx.dims(kX));
        if (!ctx.attrs<HierarchicalSigmoidAttrs>().is_sparse) ctx.SetOutput(kWGrad, ctx.dims(kW));
        if (ctx.HasInput(kBias)) ctx.SetOutput(kBiasGrad, ctx.dims(kBias));
      })
      .Grad(CallGradient);
}

template <class T>
struct HierarchicalSigmoidGradKernel {
  static void Compute(KernelContext& ctx) {
    chosen_rows::Data<T> d(ctx.In(kX), ctx.In(kW), ctx.InOrNull(kBias));
    Turns<T> turns(ctx);
    T* dx = chosen_rows::Cleared<T>(ctx.OutOrNull(kXGrad));
    T* db = ctx.HasInput(kBias) ? chosen_rows::Cleared<T>(ctx.OutOrNull(kBiasGrad)) : nullptr;
    chosen_rows::Gradients(d, turns, ctx.In(kOutGrad).data<T>(), dx,
                           ctx.HasOutput(kWGrad) ? &ctx.OutValue(kWGrad) : nullptr,
                           ctx.attrs<HierarchicalSigmoidAttrs>().is_sparse, db, ctx.place());
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kOutGrad = 6, kVx = 7, kVw = 8, kVb = 9, kXResult = 0, kWResult = 1, kBiasResult = 2,
              kOutGradResult = 3;

void DefineHierarchicalSigmoidGradGrad(OpDef& op);

struct HierarchicalSigmoidThird {
  static constexpr uint32_t kServes = higher::Slots(kX, kW, kBias, kOutGrad, kVx, kVw, kVb);
  static void Define(OpDef& op) { DefineHierarchicalSigmoidGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) {
    return {{kX, kVx, kXResult}, {kW, kVw, kWResult}, {kBias, kVb, kBiasResult}};
  }
  static std::vector<higher::Result> Results(const KernelContext&) {
    return {{kOutGrad, kOutGradResult}};
  }
  static void Run(higher::Problem& p) {
    const Dims& x = p.ctx.In(kX).dims();
    Turns<double> turns(p.ctx);
    for (int64_t i = 0; i < x[0]; ++i) {
      higher::Scalar sum = kernels::Constant(0);
      for (int64_t k = 0; k < turns.Count(i); ++k) {
        higher::Scalar z = chosen_rows::Score(p, i, turns.Row(i, k), x[1]);
        if (turns.Flat(ValueOf(z))) continue;
        sum = sum + (turns.Turn(i, k) ? Softplus(z * -1.0) : Softplus(z));
      }
      p.Set(0, i, sum);
      p.Flush();
    }
  }
};

void DefineHierarchicalSigmoidGradGrad(OpDef& op) {
  AddInputs(op.Comment("What hierarchical_sigmoid_grad gives its inputs."))
      .Input(kOutGrad, "Out@GRAD", "[N, 1]")
      .Input(kVx, "X@GRAD@GRAD", "shape of X", kDispensable)
      .Input(kVw, "W@GRAD@GRAD", "shape of W", kDispensable)
      .Input(kVb, "Bias@GRAD@GRAD", "shape of Bias", kDispensable)
      .Output(kXResult, "X@GRAD", "shape of X")
      .Output(kWResult, "W@GRAD", "shape of W")
      .Output(kBiasResult, "Bias@GRAD", "shape of Bias")
      .Output(kOutGradResult, "Out@GRAD@GRAD", "[N, 1]")
      .AttrsOf("hierarchical_sigmoid")
      .MixedDTypes()
      .Shape([](InferContext& ctx) {
        grad::CheckGradient(ctx);
        if (ctx.HasInput(kVx)) labels::CheckSameShape(ctx, kX, kVx);
        if (ctx.HasInput(kVw)) labels::CheckSameShape(ctx, kW, kVw);
        if (ctx.HasInput(kVb)) labels::CheckSameShape(ctx, kBias, kVb);
        ctx.SetOutput(kXResult, ctx.dims(kX));
        ctx.SetOutput(kWResult, ctx.dims(kW));
        if (ctx.HasInput(kBias)) ctx.SetOutput(kBiasResult, ctx.dims(kBias));
        ctx.SetOutput(kOutGradResult, ctx.dims(kOutGrad));
      })
      .Grad(higher::Recipe<HierarchicalSigmoidThird>);
}

template <class T>
struct HierarchicalSigmoidGradGradKernel {
  static const T* DataOf(const Tensor* t) { return t ? t->data<T>() : nullptr; }
  static void Compute(KernelContext& ctx) {
    using chosen_rows::Cleared;
    chosen_rows::Data<T> d(ctx.In(kX), ctx.In(kW), ctx.InOrNull(kBias));
    chosen_rows::SecondGradients(
        d, Turns<T>(ctx), ctx.In(kOutGrad).data<T>(), DataOf(ctx.InOrNull(kVx)),
        DataOf(ctx.InOrNull(kVw)), DataOf(ctx.InOrNull(kVb)), Cleared<T>(ctx.OutOrNull(kXResult)),
        Cleared<T>(ctx.OutOrNull(kWResult)),
        ctx.HasInput(kBias) ? Cleared<T>(ctx.OutOrNull(kBiasResult)) : nullptr,
        Cleared<T>(ctx.OutOrNull(kOutGradResult)));
  }
};
}  // namespace grad_grad
using grad_grad::HierarchicalSigmoidThird;

REGISTER_OPERATOR(hierarchical_sigmoid, DefineHierarchicalSigmoid);
REGISTER_LOD_ALSO(hierarchical_sigmoid, kLabel);
REGISTER_LOD_RULE(hierarchical_sigmoid, [](const LoDCall& c) { return c.out_slot != kWOut; });
REGISTER_KERNELS(hierarchical_sigmoid, HierarchicalSigmoidKernel, float, double);
REGISTER_OPERATOR(hierarchical_sigmoid_grad, grad::DefineHierarchicalSigmoidGrad);
REGISTER_KERNELS(hierarchical_sigmoid_grad, grad::HierarchicalSigmoidGradKernel, float, double);
REGISTER_OPERATOR(hierarchical_sigmoid_grad_grad, grad_grad::DefineHierarchicalSigmoidGradGrad);
REGISTER_KERNELS(hierarchical_sigmoid_grad_grad, grad_grad::HierarchicalSigmoidGradGradKernel,
                 float, double);
REGISTER_THIRD_GRADIENT(hierarchical_sigmoid_grad_grad, HierarchicalSigmoidThird);

}  // namespace
}  // namespace dygraph::hierarchical_sigmoid
