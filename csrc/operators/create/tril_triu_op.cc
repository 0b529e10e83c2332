#include <algorithm>

#include "kernels/loops.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct TrilTriuAttrs {
  int32_t diagonal = 0;
  bool lower = true;
};

void DefineTrilTriu(OpDef& op) {
  op.Comment(
        "Out = X on and below (lower) or on and above a diagonal of its last two axes, 0 "
        "elsewhere.")
      .Example(
          ">>> x = to_variable([[1, 2], [3, 4]])\n"
          ">>> F.tril_triu(x).tolist(), F.tril_triu(x, lower=False).tolist()\n"
          "([[1, 0], [3, 4]], [[1, 2], [0, 4]])")
      .Input(kX, "X", "at least two axes")
      .Output(kOut, "Out", "shape of X")
      .Attr(&TrilTriuAttrs::diagonal, "diagonal", "0: the main one; above it positive")
      .Attr(&TrilTriuAttrs::lower, "lower", "keep the lower triangle; false: the upper one")
      .ShareLoD(kX)
      .Shape([](InferContext& ctx) {
        ENFORCE(ctx.rank(kX) >= 2, InvalidArgument, "X must have at least two axes, got shape ",
                ctx.dims(kX));
        ctx.SetOutput(kOut, ctx.dims(kX));
      })
      .Grad([](GradBuilder& g) {
        g.Call("tril_triu", {g.OutputGrad(kOut)}, {g.InputGrad(kX)}).SameAttrs();
      });
}

template <class T>
struct TrilTriuKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const TrilTriuAttrs& a = ctx.attrs<TrilTriuAttrs>();
    int64_t n = x.dim(x.rank() - 1), m = x.dim(x.rank() - 2), diagonal = a.diagonal;
    bool lower = a.lower;
    const T* from = x.data<T>();
    T* to = ctx.Out(kOut).mutable_data<T>();
    kernels::ForEachRow(
        x.numel() == 0 ? 0 : x.numel() / n, n, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
          // columns [first, last) stay
          const int64_t at = r % m + diagonal;
          const int64_t first = lower ? 0 : std::min(std::max<int64_t>(at, 0), n);
          const int64_t last = lower ? std::min(std::max<int64_t>(at + 1, 0), n) : n;
          const T* x_row = from + r * n;
          T* y_row = to + r * n;
          team.Each(n, [=](int64_t k) { y_row[k] = k >= first && k < last ? x_row[k] : T(0); });
        });
  }
};

REGISTER_OPERATOR(tril_triu, DefineTrilTriu);
REGISTER_KERNELS(tril_triu, TrilTriuKernel, AllTypes);

}  // namespace
}  // namespace dygraph
