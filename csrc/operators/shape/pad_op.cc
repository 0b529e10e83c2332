#include "op/open_attr.h"
#include "operators/shape/axis_maps.h"

namespace dygraph::axis_maps {
namespace {

struct PadAttrs {
  std::vector<int32_t> paddings;
  double pad_value = 0.0;
};

struct Pad : Description {
  static constexpr const char *kType = "pad", *kGradType = "pad_grad";
  static Maps Of(const Call& call, const Dims& x) {
    const std::vector<int32_t>& paddings = static_cast<const PadAttrs*>(call.attrs)->paddings;
    ENFORCE(paddings.size() == 2 * x.size(), InvalidArgument,
            "paddings must have two numbers for each axis of X ", x, ", got ", paddings.size(),
            " numbers");
    Maps maps;
    for (int i = 0; i < x.rank(); ++i)
      maps.Push(Padded(x[i], paddings[2 * i], paddings[2 * i + 1]));
    return maps;
  }
  static double Fill(const Call& call) {
    return static_cast<const PadAttrs*>(call.attrs)->pad_value;
  }
  static AttrFn ZeroFill() {
    return [](const void* forward, void* backward) {
      *static_cast<PadAttrs*>(backward) = *static_cast<const PadAttrs*>(forward);
      static_cast<PadAttrs*>(backward)->pad_value = 0;
    };
  }
};

void DefinePad(OpDef& op) {
  op.Comment(
      "Out = X with paddings[2 i] places before and paddings[2 i + 1] after it along axis i.");
  Define<Pad>(op)
      .Attr(&PadAttrs::paddings, "paddings", "before and after, for each axis")
      .Attr(&PadAttrs::pad_value, "pad_value", "what stands there");
}

template <class T>
using PadKernel = Kernel<Pad, T>;
template <class T>
using PadGradKernel = GradKernel<Pad, T>;

REGISTER_OPERATOR(pad, DefinePad);
REGISTER_OPEN_ATTRS(pad, "pad_value");
REGISTER_KERNELS(pad, PadKernel, AllTypes);
REGISTER_OPERATOR(pad_grad, DefineGrad<Pad>);
REGISTER_KERNELS(pad_grad, PadGradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(pad_grad, PadGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::axis_maps
