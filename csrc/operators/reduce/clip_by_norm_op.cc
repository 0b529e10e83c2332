#include "kernels/elementwise.h"
#include "op/number.h"
#include "op/op_registry.h"
#include "operators/reduce/length.h"
#include "operators/selected_rows.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct ClipByNormAttrs {
  double max_norm = 1.0;
};

void DefineClipByNorm(OpDef& op) {
  op.Comment(
        "Out = X where its L2 norm is at most max_norm, else X * max_norm / norm. Selected rows "
        "are merged first and give selected rows.")
      .Example(
          ">>> out = F.clip_by_norm(to_variable([3.0, 4.0]), max_norm=1.0)\n"
          ">>> [round(v, 4) for v in out.tolist()]\n"
          "[0.6, 0.8]")
      .Input(kX, "X", "any shape; a tensor or selected rows", kTakesRows)
      .Output(kOut, "Out", "shape of X")
      .Attr(&ClipByNormAttrs::max_norm, "max_norm", "the largest norm", AtLeast(0))
      .VarType(selected_rows::VarTypeOf<kX, kOut>)
      .ShareLoD(kX)
      .Shape(selected_rows::ShapeOf<kX, kOut>)
      .KeepsLayout()
      .InPlace(kX, kOut)
      .NoGrad();
}

template <class T>
struct ClipByNormKernel {
  static void Compute(KernelContext& ctx) {
    if (!ctx.IsRows(kX)) return Clip(ctx, ctx.In(kX), &ctx.Out(kOut));
    Ref<SelectedRows> merged = ctx.InRows(kX).Merged();
    Tensor out(merged->value().dims(), DTypeOf<T>::value, ctx.place());
    Clip(ctx, merged->value(), &out);
    ctx.OutValue(kOut).SetRows(selected_rows::WithValue(*merged, std::move(out)));
  }

  static void Clip(const KernelContext& ctx, const Tensor& x, Tensor* out) {
    const double most = NumberFor<T>(ctx.attrs<ClipByNormAttrs>().max_norm);
    Tensor share({1}, DTypeOf<T>::value, ctx.place());
    T* to = share.mutable_data<T>();
    reduce::WithLength(x.data<T>(), x.numel(), [=] DYGRAPH_FN(double norm) {
      *to = norm > most ? static_cast<T>(most / norm) : T(1);
    });
    const Number<T> factor(share);
    kernels::Map(x.data<T>(), out->mutable_data<T>(), x.numel(),
                 [factor] DYGRAPH_FN(T v) { return v * factor(); });
  }
};

REGISTER_OPERATOR(clip_by_norm, DefineClipByNorm);
REGISTER_KERNELS(clip_by_norm, ClipByNormKernel, float, double);

}  // namespace
}  // namespace dygraph
