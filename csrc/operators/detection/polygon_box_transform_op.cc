#include "op/op_registry.h"
#include "operators/detection/box_pairs.h"

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
    const int64_t cells = height * width;
    boxes::ForEachPair(
        x.dim(0) * channels, cells,
        [=] DYGRAPH_FN(int64_t plane, int64_t cell) {
          const int64_t pixel = plane % channels % 2 == 0 ? cell % width : cell / width;
          to[plane * cells + cell] = static_cast<T>(4 * pixel) - from[plane * cells + cell];
        },
        1);
  }
};

REGISTER_OPERATOR(polygon_box_transform, DefinePolygonBoxTransform);
REGISTER_KERNELS(polygon_box_transform, PolygonBoxTransformKernel, float, double);

}  // namespace
}  // namespace dygraph
