#include "kernels/parallel.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kInput = 0, kOutput = 0;

void DefinePolygonBoxTransform(OpDef& op) {
  op.Comment(
        "Corners of quadrilaterals from their distances to the cells of a map a quarter of the "
        "image's size (EAST, Zhou et al., 2017): in even channels Output = 4 * column - Input, in "
        "odd ones 4 * row - Input.")
      .Example(
          ">>> F.polygon_box_transform(to_variable([[[[1.0, 1.0]], [[0.5, 0.5]]]])).tolist()\n"
          "[[[[-1.0, 3.0]], [[-0.5, -0.5]]]]")
      .Input(kInput, "Input", "[N, 2 * corners, H, W]")
      .Output(kOutput, "Output", "shape of Input")
      .Shape([](InferContext& ctx) {
        const Dims& x = ctx.dims(kInput);
        ENFORCE(x.rank() == 4 && x[1] % 2 <= 0, InvalidArgument,
                "Input must have shape [N, 2 * corners, H, W], got ", x);
        ctx.SetOutput(kOutput, x);
      })
      .ShareLoD(kInput)
      .Grad([](GradBuilder& g) {
        g.Call("scale", {g.OutputGrad(kOutput)}, {g.InputGrad(kInput)}).Attr("scale", -1.0);
      });
}

template <class T>
struct PolygonBoxTransformKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kInput);
    const int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3);
    const T* from = x.data<T>();
    T* to = ctx.Out(kOutput).mutable_data<T>();
    if (x.numel() == 0) return;
    kernels::ParallelRows(x.dim(0) * channels, height * width, [=](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        const bool across = plane % channels % 2 == 0;
        for (int64_t i = plane * height * width; i < (plane + 1) * height * width; ++i) {
          const int64_t cell = i % (height * width);
          to[i] = static_cast<T>(4 * (across ? cell % width : cell / width)) - from[i];
        }
      }
    });
  }
};

REGISTER_OPERATOR(polygon_box_transform, DefinePolygonBoxTransform);
REGISTER_CPU_KERNEL(polygon_box_transform, PolygonBoxTransformKernel, float, double);

}  // namespace
}  // namespace dygraph
