#include "operators/shape/axis_maps.h"

namespace dygraph::axis_maps {
namespace {

struct CropTensorAttrs {
  std::vector<int32_t> offsets, shape;
};

struct CropTensor : Description {
  static constexpr const char *kType = "crop_tensor", *kGradType = "crop_tensor_grad";
  static constexpr int kInputs = 5;
  static void AddInputs(OpDef& op) {
    op.Input(0, "X", "any shape")
        .Input(1, "Shape", "integers, in place of the attribute", kDispensable | kOnHost)
        .Input(2, "Offsets", "integers, in place of the attribute", kDispensable | kOnHost)
        .Input(3, "ShapeTensor", "the sizes as a list of single integers",
               kDispensable | kDuplicable | kOnHost)
        .Input(4, "OffsetsTensor", "the offsets as a list of single integers",
               kDispensable | kDuplicable | kOnHost);
  }
  static Maps Of(const Call& call, const Dims& x) {
    const CropTensorAttrs& a = *static_cast<const CropTensorAttrs*>(call.attrs);
    IntList shape = ReadIntList(call, 1, 3, a.shape), offsets = ReadIntList(call, 2, 4, a.offsets);
    if (offsets.values.empty()) offsets.values.resize(x.size(), 0);
    if (shape.values.empty()) shape.values.resize(x.size(), -1);
    ENFORCE(shape.values.size() == x.size() && offsets.values.size() == x.size(), InvalidArgument,
            "shape and offsets must have a number for each axis of X ", x, ", got shape ",
            Dims(shape.values), " and offsets ", Dims(offsets.values));
    Maps maps;
    for (int i = 0; i < x.rank(); ++i) {
      int64_t offset = offsets.values[i], size = shape.values[i];
      if (!shape.known || !offsets.known || x[i] < 0) {
        maps.Push(Cropped(-1, 0, shape.known ? size : -1));
        continue;
      }
      ENFORCE(offset >= 0 && offset <= x[i], InvalidArgument, "the offsets must lie within X ", x,
              ", got ", Dims(offsets.values));
      maps.Push(Cropped(x[i], offset, size == -1 ? x[i] - offset : size));
    }
    return maps;
  }
};

void DefineCropTensor(OpDef& op) {
  op.Comment(
      "Out = the part of X of the given shape that begins at offsets; -1 takes all that is left.");
  op.Example(
      ">>> x = to_variable([[0, 1, 2], [3, 4, 5]])\n"
      ">>> F.crop_tensor(x, offsets=[1, 1], shape=[1, -1]).tolist()\n"
      "[[4, 5]]");
  Define<CropTensor>(op)
      .Attr(&CropTensorAttrs::offsets, "offsets",
            "where the part begins, one number an axis; empty: 0")
      .Attr(&CropTensorAttrs::shape, "shape", "sizes of Out; -1: to the end; empty: all -1");
}

template <class T>
using CropTensorKernel = Kernel<CropTensor, T>;
template <class T>
using CropTensorGradKernel = GradKernel<CropTensor, T>;

REGISTER_OPERATOR(crop_tensor, DefineCropTensor);
REGISTER_KERNELS(crop_tensor, CropTensorKernel, AllTypes);
REGISTER_OPERATOR(crop_tensor_grad, DefineGrad<CropTensor>);
REGISTER_KERNELS(crop_tensor_grad, CropTensorGradKernel, float, double, complex64, complex128);

}  // namespace
}  // namespace dygraph::axis_maps
