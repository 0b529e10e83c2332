#include "operators/shape/axis_maps.h"

namespace dygraph::axis_maps {
namespace {

struct PadConstantLikeAttrs {
  double pad_value = 0.0;
};

struct PadConstantLike : Description {
  static constexpr const char *kType = "pad_constant_like", *kGradType = "pad_constant_like_grad";
  static constexpr int kData = 1, kInputs = 2;
  static constexpr uint32_t kShapeOnly = 1u << 0;
  static constexpr const char* kGradSlot = "Y@GRAD";
  static void AddInputs(OpDef& op) {
    op.Input(0, "X", "its shape is read").Input(1, "Y", "as many axes, none longer");
  }
  static Maps Of(const Call& call, const Dims& y) {
    const Dims& x = call.in.at(0)->dims();
    ENFORCE(x.rank() == y.rank(), InvalidArgument, "Y must have as many axes as X ", x,
            ", got shape ", y);
    Maps maps;
    for (int i = 0; i < x.rank(); ++i) {
      ENFORCE(y[i] <= x[i] || x[i] < 0, InvalidArgument,
              "no axis of Y may be longer than that of X ", x, ", got shape ", y);
      AxisMap m;
      m.in = y[i];
      m.out = x[i];
      maps.Push(m);
    }
    return maps;
  }
  static double Fill(const Call& call) {
    return static_cast<const PadConstantLikeAttrs*>(call.attrs)->pad_value;
  }
  static AttrFn ZeroFill() {
    return [](const void*, void* backward) {
      static_cast<PadConstantLikeAttrs*>(backward)->pad_value = 0;
    };
  }
};

void DefinePadConstantLike(OpDef& op) {
  op.Comment(
        "Out = Y in the first places of each axis of a tensor of X's shape, pad_value elsewhere.")
      .Example(
          ">>> x, y = to_variable(np.zeros((2, 3))), to_variable([[1.0, 2.0]])\n"
          ">>> F.pad_constant_like(x, y, pad_value=-1.0).tolist()\n"
          "[[1.0, 2.0, -1.0], [-1.0, -1.0, -1.0]]");
  Define<PadConstantLike>(op).Attr(&PadConstantLikeAttrs::pad_value, "pad_value",
                                   "what stands elsewhere");
}

template <class T>
using PadConstantLikeKernel = Kernel<PadConstantLike, T>;
template <class T>
using PadConstantLikeGradKernel = GradKernel<PadConstantLike, T>;

REGISTER_OPERATOR(pad_constant_like, DefinePadConstantLike);
REGISTER_KERNELS(pad_constant_like, PadConstantLikeKernel, AllTypes);
REGISTER_OPERATOR(pad_constant_like_grad, DefineGrad<PadConstantLike>);
REGISTER_KERNELS(pad_constant_like_grad, PadConstantLikeGradKernel, float, double, complex64,
                 complex128);

}  // namespace
}  // namespace dygraph::axis_maps
