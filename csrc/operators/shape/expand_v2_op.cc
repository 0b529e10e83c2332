#include "operators/shape/axis_maps.h"

namespace dygraph::axis_maps {
namespace {

struct ExpandV2Attrs {
  std::vector<int32_t> shape;
};

struct ExpandV2 : Description {
  static constexpr const char *kType = "expand_v2", *kGradType = "expand_v2_grad";
  static constexpr int kInputs = 3;
  static void AddInputs(OpDef& op) {
    op.Input(0, "X", "any shape")
        .Input(1, "Shape", "integers, in place of the attribute", kDispensable | kOnHost)
        .Input(2, "expand_shapes_tensor", "the same as a list of single integers",
               kDispensable | kDuplicable | kOnHost);
  }
  static Maps Of(const Call& call, const Dims& x) {
    IntList shape = ReadIntList(call, 1, 2, static_cast<const ExpandV2Attrs*>(call.attrs)->shape);
    int rank = static_cast<int>(shape.values.size()), lead = rank - x.rank();
    ENFORCE(lead >= 0, InvalidArgument, "shape must have at least as many sizes as X ", x,
            " has axes, got ", Dims(shape.values));
    Maps maps;
    for (int i = 0; i < rank; ++i) {
      int64_t want = shape.values[i], size = i < lead ? 1 : x[i - lead];
      if (!shape.known) {
        maps.Push(Tiled(size, -1));
        continue;
      }
      if (want == -1 && i >= lead) want = size;
      ENFORCE(want >= 0 || size < 0, InvalidArgument,
              "the sizes in shape must be at least 0, or -1 for an axis of X ", x, ", got ",
              Dims(shape.values));
      ENFORCE(size == want || size == 1 || size < 0, InvalidArgument,
              "an axis of X must have 1 element or as many as shape says, got X ", x, " and shape ",
              Dims(shape.values));
      AxisMap m = size == want ? Tiled(size, 1) : Tiled(1, want);
      if (size < 0) m.out = want;
      maps.Push(m);
    }
    return maps;
  }
};

void DefineExpandV2(OpDef& op) {
  op.Comment("Out = X broadcast to shape by NumPy's rule; -1 keeps the size of an axis of X.")
      .Example(
          ">>> F.expand_v2(to_variable([[1], [2]]), shape=[-1, 3]).tolist()\n"
          "[[1, 1, 1], [2, 2, 2]]");
  Define<ExpandV2>(op).Attr(&ExpandV2Attrs::shape, "shape", "sizes of Out");
}

template <class T>
using ExpandV2Kernel = Kernel<ExpandV2, T>;
template <class T>
using ExpandV2GradKernel = GradKernel<ExpandV2, T>;

REGISTER_OPERATOR(expand_v2, DefineExpandV2);
REGISTER_KERNELS(expand_v2, ExpandV2Kernel, AllTypes);
REGISTER_OPERATOR(expand_v2_grad, DefineGrad<ExpandV2>);
REGISTER_KERNELS(expand_v2_grad, ExpandV2GradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(expand_v2_grad, ExpandV2GradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::axis_maps
