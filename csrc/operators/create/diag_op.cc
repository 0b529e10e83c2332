#include "kernels/loops.h"
#include "operators/clear.h"

namespace dygraph {
namespace {

constexpr int kDiagonal = 0, kOut = 0;

void DefineDiag(OpDef& op) {
  op.Comment("Out = Diagonal on the main diagonal of a square matrix, 0 elsewhere.")
      .Input(kDiagonal, "Diagonal", "[n]")
      .Output(kOut, "Out", "[n, n]")
      .Shape([](InferContext& ctx) {
        const Dims& d = ctx.dims(kDiagonal);
        ENFORCE(d.rank() == 1, InvalidArgument, "Diagonal must have one axis, got shape ", d);
        ctx.SetOutput(kOut, {d[0], d[0]});
      })
      .NoGrad();
}

template <class T>
struct DiagKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& diagonal = ctx.In(kDiagonal);
    Tensor& out = ctx.Out(kOut);
    const T* from = diagonal.data<T>();
    T* to = out.mutable_data<T>();
    int64_t n = diagonal.numel();
    Clear(&out);
    kernels::ForEach(n, [=] DYGRAPH_FN(int64_t i) { to[i * (n + 1)] = from[i]; });
  }
};

REGISTER_OPERATOR(diag, DefineDiag);
REGISTER_KERNELS(diag, DiagKernel, AllTypes);

}  // namespace
}  // namespace dygraph
