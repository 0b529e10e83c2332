#include "operators/shape/axis_maps.h"

namespace dygraph::axis_maps {
namespace {

struct CropAttrs {
  std::vector<int32_t> offsets, shape;
};

struct Crop : Description {
  static constexpr const char *kType = "crop", *kGradType = "crop_grad";
  static constexpr int kInputs = 3;
  static constexpr uint32_t kShapeOnly = 1u << 1;
  static void AddInputs(OpDef& op) {
    op.Input(0, "X", "any shape")
        .Input(1, "Y", "its shape is that of Out, in place of the attribute", kDispensable)
        .Input(2, "Offsets", "one integer for each axis, in place of the attribute",
               kDispensable | kOnHost);
  }
  static Maps Of(const Call& call, const Dims& x) {
    const CropAttrs& a = *static_cast<const CropAttrs*>(call.attrs);
    Dims shape =
        call.in.count(1) > 0 ? call.in.at(1)->dims() : Dims(a.shape.begin(), a.shape.end());
    IntList offsets = ReadIntList(call, 2, -1, a.offsets);
    if (offsets.values.empty()) offsets.values.resize(x.size(), 0);
    ENFORCE(shape.size() == x.size() && offsets.values.size() == x.size(), InvalidArgument,
            "shape and offsets must have a number for each axis of X ", x, ", got shape ", shape,
            " and offsets ", Dims(offsets.values));
    Maps maps;
    const int64_t least = call.in.count(1) > 0 ? 0 : -1;  // the size of Y may be open
    for (int i = 0; i < x.rank(); ++i) {
      bool known = offsets.known && shape[i] >= least;
      maps.Push(Cropped(known ? x[i] : -1, offsets.values[i], shape[i]));
    }
    return maps;
  }
};

void DefineCrop(OpDef& op) {
  op.Comment("Out = the part of X of Y's shape, or of the attribute's, that begins at offsets.")
      .Example(
          ">>> x = to_variable([[0, 1, 2], [3, 4, 5]])\n"
          ">>> F.crop(x, offsets=[0, 1], shape=[2, 2]).tolist()\n"
          "[[1, 2], [4, 5]]");
  Define<Crop>(op)
      .Attr(&CropAttrs::offsets, "offsets", "where the part begins, one number an axis; empty: 0")
      .Attr(&CropAttrs::shape, "shape", "sizes of Out");
}

template <class T>
using CropKernel = Kernel<Crop, T>;
template <class T>
using CropGradKernel = GradKernel<Crop, T>;

REGISTER_OPERATOR(crop, DefineCrop);
REGISTER_KERNELS(crop, CropKernel, AllTypes);
REGISTER_OPERATOR(crop_grad, DefineGrad<Crop>);
REGISTER_KERNELS(crop_grad, CropGradKernel, float, double, complex64, complex128);

}  // namespace
}  // namespace dygraph::axis_maps
