#include "operators/linalg/linalg.h"

namespace dygraph::linalg {
namespace {

constexpr int kX = 0, kOut = 0;

// Recipes do not depend on sizes; a term that only some shapes have is multiplied by this.
void DefineMatrixIsTall(OpDef& op) {
  op.Comment("Out = 1 where the matrices X have more rows than columns, otherwise 0.")
      .Example(">>> F.matrix_is_tall(to_variable(np.zeros((3, 2)))).item()\n1.0")
      .Input(kX, "X", "[..., m, n]; only its shape is read")
      .Output(kOut, "Out", "[1]")
      .Shape([](InferContext& ctx) {
        StackOf(ctx.dims(kX));
        ctx.SetOutput(kOut, {1});
      })
      .NoGrad();
}

template <class T>
struct MatrixIsTallKernel {
  static void Compute(KernelContext& ctx) {
    const Stack s = StackOf(ctx.In(kX).dims());
    *ctx.Out(kOut).mutable_data<T>() = s.m > s.n;
  }
};

REGISTER_OPERATOR(matrix_is_tall, DefineMatrixIsTall);
REGISTER_CPU_KERNEL(matrix_is_tall, MatrixIsTallKernel, float, double);

}  // namespace
}  // namespace dygraph::linalg
