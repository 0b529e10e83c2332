#include <cstring>

#include "operators/linalg/linalg.h"

namespace dygraph::linalg {
namespace {

constexpr int kInput = 0, kOutput = 0;

void DefineInverse(OpDef& op) {
  op.Comment("Output = Input^-1, of each matrix. One that is singular raises.")
      .Example(">>> F.inverse(to_variable([[4.0]])).tolist()\n[[0.25]]")
      .Input(kInput, "Input", "[..., n, n]")
      .Output(kOutput, "Output", "shape of Input")
      .Shape([](InferContext& ctx) {
        Stack s = SquareOf(ctx.dims(kInput), "Input");
        ctx.SetOutput(kOutput, s.With({s.n, s.n}));
      })
      // Giles, "Collected matrix derivative results" (2008), 2.2.3: -Output^T Output@GRAD Output^T
      .Grad([](GradBuilder& g) {
        Formula f(g);
        RecipeRef y = g.Output(kOutput);
        RecipeRef product = f.MatMul(f.MatMul(y, g.OutputGrad(kOutput), true), y, false, true);
        g.Call("scale", {product}, {g.InputGrad(kInput)}).Attr("scale", -1.0);
      });
}

template <class T>
struct Memory {
  explicit Memory(int64_t n, int64_t work) : pivots(n), size(work), work(work) {}
  lapack::Integers pivots;
  int64_t size;
  lapack::Numbers<T> work;
};

template <class T>
struct InverseKernel {
  static void Compute(KernelContext& ctx) {
    const Stack s = SquareOf(ctx.In(kInput).dims(), "Input");
    const T* x = ctx.In(kInput).data<T>();
    T* to = ctx.Out(kOutput).mutable_data<T>();
    if (s.count * s.n == 0) return;
    const int64_t size = s.n * s.n;
    std::vector<int64_t> infos(s.count);
    const int64_t work = lapack::GetriWork<T>(s.n);
    // the inverse of the transpose is the transpose of the inverse, so the order does not matter
    ForEach(
        s.count, 2 * Cube(s), [&] { return std::make_unique<Memory<T>>(s.n, work); },
        [&](int64_t i, Memory<T>& memory) {
          T* a = to + i * size;
          std::memcpy(a, x + i * size, size * sizeof(T));
          infos[i] = lapack::Getrf(s.n, s.n, a, memory.pivots);
          if (infos[i] == 0)
            infos[i] = lapack::Getri(s.n, a, memory.pivots, memory.work.data(), memory.size);
        });
    EnforceRegular(s, infos, "Input");
  }
};

REGISTER_OPERATOR(inverse, DefineInverse);
REGISTER_CPU_KERNEL(inverse, InverseKernel, float, double);

}  // namespace
}  // namespace dygraph::linalg
