#include "kernels/parallel.h"
#include "kernels/simd.h"
#include "op/lod_rule.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0;

void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &y = ctx.dims(kY);
  ENFORCE(x.rank() == 1 || x.rank() == 2, InvalidArgument, "X must have one axis or two, got ", x);
  ENFORCE(x == y || x.HasUnknown() || y.HasUnknown(), InvalidArgument,
          "X and Y must have one shape, got ", x, " and ", y);
  ctx.SetOutput(kOut, Dims(x.begin(), x.end() - 1));
}

void DefineDot(OpDef& op) {
  op.Comment("Out = the sum of X Y over the last axis.")
      .Example(
          ">>> F.dot(to_variable([1.0, 2.0, 3.0]), to_variable([4.0, 5.0, 6.0])).item()\n"
          "32.0")
      .Input(kX, "X", "[n] or [rows, n]")
      .Input(kY, "Y", "shape of X")
      .Output(kOut, "Out", "[] or [rows]")
      .ShareLoD(kX)
      .Shape(InferShape)
      .Grad([](GradBuilder& g) {
        RecipeRef each = g.Temp();
        g.Call("unsqueeze2", {g.OutputGrad(kOut)}, {each}).Attr("axes", std::vector<int32_t>{-1});
        g.Call("elementwise_mul", {each, g.Input(kY)}, {g.InputGrad(kX)});
        g.Call("elementwise_mul", {each, g.Input(kX)}, {g.InputGrad(kY)});
      });
}

template <class T>
struct DotKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    Tensor& out = ctx.Out(kOut);
    int64_t n = x.dims().back();
    const T *a = x.data<T>(), *b = ctx.In(kY).data<T>();
    T* to = out.mutable_data<T>();
    using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;  // integers wrap
    kernels::ParallelRows(out.numel(), n, [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        Sum lanes[8] = {};
        int64_t i = 0;
        for (; i + 8 <= n; i += 8) {
          for (int k = 0; k < 8; ++k)
            lanes[k] += static_cast<Sum>(a[r * n + i + k]) * static_cast<Sum>(b[r * n + i + k]);
        }
        for (; i < n; ++i)
          lanes[0] += static_cast<Sum>(a[r * n + i]) * static_cast<Sum>(b[r * n + i]);
        Sum total = 0;
        for (Sum lane : lanes) total += lane;
        to[r] = static_cast<T>(total);
      }
    });
  }
};

REGISTER_OPERATOR(dot, DefineDot);
REGISTER_LOD_ALSO(dot, kY);
REGISTER_LOD_RULE(dot, [](const LoDCall& c) { return c.from.rank() > 1; });
REGISTER_CPU_KERNEL(dot, DotKernel, int32_t, int64_t, float, double);

}  // namespace
}  // namespace dygraph
