#include "operators/shape/axis_maps.h"

namespace dygraph::axis_maps {
namespace {

struct Pad3dAttrs {
  std::vector<int32_t> paddings;
  std::string mode = "constant";
  double value = 0.0;
  std::string data_format = "NCDHW";
};

struct Pad3d : Description {
  static constexpr const char *kType = "pad3d", *kGradType = "pad3d_grad";
  static constexpr int kInputs = 2;
  static void AddInputs(OpDef& op) {
    op.Input(0, "X", "volumes [n, c, d, h, w], or [n, d, h, w, c] with data_format NDHWC")
        .Input(1, "Paddings", "six integers, in place of the attribute", kDispensable | kOnHost);
  }
  static Maps Of(const Call& call, const Dims& x) {
    const Pad3dAttrs& a = *static_cast<const Pad3dAttrs*>(call.attrs);
    ENFORCE(x.rank() == 5, InvalidArgument, "X must have five axes, got shape ", x);
    IntList paddings = ReadIntList(call, 1, -1, a.paddings);
    ENFORCE(paddings.values.size() == 6, InvalidArgument,
            "paddings must be six numbers, left, right, top, bottom, front, back, got ",
            paddings.values.size());
    int first = a.data_format == "NDHWC" ? 1 : 2;
    Maps maps;
    for (int i = 0; i < 5; ++i) {
      int k = 2 * (2 - (i - first));  // the last axis in space first
      if (k < 0 || k > 4) {
        maps.Push(Padded(x[i], 0, 0));
        continue;
      }
      if (!paddings.known) {
        maps.Push(Padded(-1, 0, 0));
        continue;
      }
      int64_t before = paddings.values[k], after = paddings.values[k + 1];
      AxisMap m = Padded(x[i], before, after);
      if (x[i] >= 0 && a.mode != "constant" && before + after > 0) {
        bool reflects = a.mode == "reflect", repeats = a.mode == "replicate";
        int64_t most = reflects ? x[i] - 1 : x[i];
        ENFORCE(x[i] > 0, InvalidArgument, "X must have elements to pad with, got shape ", x);
        ENFORCE(repeats || (before <= most && after <= most), InvalidArgument, "paddings of mode ",
                a.mode, " must be at most ", most, " for an axis of ", x[i], ", got ", before,
                " and ", after);
        m.outside = reflects ? Outside::kReflect : repeats ? Outside::kEdge : Outside::kWrap;
      }
      maps.Push(m);
    }
    return maps;
  }
  static double Fill(const Call& call) { return static_cast<const Pad3dAttrs*>(call.attrs)->value; }
  static AttrFn ZeroFill() {
    return [](const void* forward, void* backward) {
      *static_cast<Pad3dAttrs*>(backward) = *static_cast<const Pad3dAttrs*>(forward);
      static_cast<Pad3dAttrs*>(backward)->value = 0;
    };
  }
};

void DefinePad3D(OpDef& op) {
  op.Comment(
        "Out = the volumes of X with places around them: value there (constant), the volume "
        "mirrored at its border (reflect), its border repeated (replicate) or its other end "
        "(circular).")
      .Example(
          ">>> x = to_variable([[[[[1.0, 2.0, 3.0]]]]])\n"
          ">>> F.pad3d(x, paddings=[1, 2, 0, 0, 0, 0], mode=\"circular\").tolist()\n"
          "[[[[[3.0, 1.0, 2.0, 3.0, 1.0, 2.0]]]]]");
  Define<Pad3d>(op)
      .Attr(&Pad3dAttrs::paddings, "paddings", "left, right, top, bottom, front, back")
      .Attr(&Pad3dAttrs::mode, "mode", "constant, reflect, replicate or circular",
            OneOf({"constant", "reflect", "replicate", "circular"}))
      .Attr(&Pad3dAttrs::value, "value", "what stands there with mode constant")
      .Attr(&Pad3dAttrs::data_format, "data_format", "NCDHW or NDHWC: where the channels stand",
            OneOf({"NCDHW", "NDHWC"}));
}

template <class T>
using Pad3DKernel = Kernel<Pad3d, T>;
template <class T>
using Pad3DGradKernel = GradKernel<Pad3d, T>;

REGISTER_OPERATOR(pad3d, DefinePad3D);
REGISTER_KERNELS(pad3d, Pad3DKernel, AllTypes);
REGISTER_OPERATOR(pad3d_grad, DefineGrad<Pad3d>);
REGISTER_KERNELS(pad3d_grad, Pad3DGradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(pad3d_grad, Pad3DGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::axis_maps
