#include "operators/shape/axis_maps.h"

namespace dygraph::axis_maps {
namespace {

struct Pad2dAttrs {
  std::vector<int32_t> paddings = {0, 0, 0, 0};
  double pad_value = 0.0;
  std::string mode = "constant";
  std::string data_format = "NCHW";
};

struct Pad2d : Description {
  static constexpr const char *kType = "pad2d", *kGradType = "pad2d_grad";
  static constexpr int kInputs = 2;
  static void AddInputs(OpDef& op) {
    op.Input(0, "X", "images [n, c, h, w], or [n, h, w, c] with data_format NHWC")
        .Input(1, "Paddings", "four integers, in place of the attribute", kDispensable | kOnHost);
  }
  static Maps Of(const Call& call, const Dims& x) {
    const Pad2dAttrs& a = *static_cast<const Pad2dAttrs*>(call.attrs);
    ENFORCE(x.rank() == 4, InvalidArgument, "X must have four axes, got shape ", x);
    IntList paddings = ReadIntList(call, 1, -1, a.paddings);
    ENFORCE(paddings.values.size() == 4, InvalidArgument,
            "paddings must be four numbers, top, bottom, left, right, got ",
            paddings.values.size());
    int first = a.data_format == "NHWC" ? 1 : 2;
    Maps maps;
    for (int i = 0; i < 4; ++i) {
      int k = 2 * (i - first);
      if (k < 0 || k > 2) {
        maps.Push(Padded(x[i], 0, 0));
        continue;
      }
      if (!paddings.known) {
        maps.Push(Padded(-1, 0, 0));
        continue;
      }
      int64_t before = paddings.values[k], after = paddings.values[k + 1];
      AxisMap m = Padded(x[i], before, after);
      if (x[i] >= 0 && a.mode == "reflect") {
        ENFORCE(before < std::max<int64_t>(x[i], 1) && after < std::max<int64_t>(x[i], 1),
                InvalidArgument, "paddings that reflect must be less than the size of the axis, ",
                x[i], ", got ", before, " and ", after);
        m.outside = Outside::kReflect;
      } else if (x[i] >= 0 && a.mode == "edge") {
        ENFORCE(x[i] > 0 || m.out == 0, InvalidArgument,
                "X must have an edge to repeat, got shape ", x);
        m.outside = Outside::kEdge;
      }
      maps.Push(m);
    }
    return maps;
  }
  static double Fill(const Call& call) {
    return static_cast<const Pad2dAttrs*>(call.attrs)->pad_value;
  }
  static AttrFn ZeroFill() {
    return [](const void* forward, void* backward) {
      *static_cast<Pad2dAttrs*>(backward) = *static_cast<const Pad2dAttrs*>(forward);
      static_cast<Pad2dAttrs*>(backward)->pad_value = 0;
    };
  }
};

void DefinePad2D(OpDef& op) {
  op.Comment(
        "Out = the images of X with places around them: pad_value there (constant), the image "
        "mirrored at its border (reflect) or its border repeated (edge).")
      .Example(
          ">>> x = to_variable([[[[1.0, 2.0, 3.0]]]])\n"
          ">>> F.pad2d(x, paddings=[0, 0, 1, 2]).tolist()\n"
          "[[[[0.0, 1.0, 2.0, 3.0, 0.0, 0.0]]]]\n"
          ">>> F.pad2d(x, paddings=[0, 0, 1, 2], mode=\"reflect\").tolist()\n"
          "[[[[2.0, 1.0, 2.0, 3.0, 2.0, 1.0]]]]");
  Define<Pad2d>(op)
      .Attr(&Pad2dAttrs::paddings, "paddings", "top, bottom, left, right")
      .Attr(&Pad2dAttrs::pad_value, "pad_value", "what stands there with mode constant")
      .Attr(&Pad2dAttrs::mode, "mode", "constant, reflect or edge",
            OneOf({"constant", "reflect", "edge"}))
      .Attr(&Pad2dAttrs::data_format, "data_format", "NCHW or NHWC: where the channels stand",
            OneOf({"NCHW", "NHWC"}));
}

template <class T>
using Pad2DKernel = Kernel<Pad2d, T>;
template <class T>
using Pad2DGradKernel = GradKernel<Pad2d, T>;

REGISTER_OPERATOR(pad2d, DefinePad2D);
REGISTER_KERNELS(pad2d, Pad2DKernel, AllTypes);
REGISTER_OPERATOR(pad2d_grad, DefineGrad<Pad2d>);
REGISTER_KERNELS(pad2d_grad, Pad2DGradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(pad2d_grad, Pad2DGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::axis_maps
