#include <algorithm>

#include "op/gradient_call.h"
#include "op/gradient_shapes.h"
#include "op/op_registry.h"
#include "operators/conv/shift_loops.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct TemporalShiftAttrs {
  int32_t seg_num = 1;
  double shift_ratio = 0.25;
  std::string data_format = "NCHW";
  bool last() const { return data_format == "NHWC"; }
};

void CheckX(const Dims& x, const TemporalShiftAttrs& a) {
  ENFORCE(x.rank() == 4, InvalidArgument, "X must have 4 axes, [N * seg_num, ",
          a.last() ? "H, W, C" : "C, H, W", "], got shape ", x);
  ENFORCE(x[0] < 0 || x[0] % a.seg_num == 0, InvalidArgument,
          "the first size of X must be a multiple of seg_num ", a.seg_num, ", got shape ", x);
}

void DefineTemporalShift(OpDef& op) {
  op.Comment(
        "X holds clips of seg_num frames. The first shift_ratio of the channels are taken from the "
        "frame before, as many after them from the frame behind, the rest from the frame itself; "
        "beyond a clip's ends are zeros (Lin, Gan and Han, 2018).")
      .Example(
          ">>> x = to_variable(np.arange(1.0, 9.0).reshape(2, 4, 1, 1))  # two frames\n"
          ">>> F.temporal_shift(x, seg_num=2).numpy().reshape(2, 4).tolist()\n"
          "[[0.0, 6.0, 3.0, 4.0], [1.0, 0.0, 7.0, 8.0]]")
      .Input(kX, "X", "[N * seg_num, C, H, W], or [N * seg_num, H, W, C] with data_format NHWC")
      .Output(kOut, "Out", "shape of X")
      .Attr(&TemporalShiftAttrs::seg_num, "seg_num", "frames of a clip", AtLeast(1))
      .Attr(&TemporalShiftAttrs::shift_ratio, "shift_ratio", "share of channels moved each way",
            Between(0, 0.5))
      .Attr(&TemporalShiftAttrs::data_format, "data_format", "the order of X's axes",
            OneOf({"NCHW", "NHWC"}))
      .Shape([](InferContext& ctx) {
        CheckX(ctx.dims(kX), ctx.attrs<TemporalShiftAttrs>());
        ctx.SetOutput(kOut, ctx.dims(kX));
      })
      .ShareLoD(kX)
      .Grad(CallGradient);
}

// way 1: from the frame before; -1, the gradient: the other way round.
template <class T>
void Shift(const Tensor& x, const TemporalShiftAttrs& a, int way, Tensor* out) {
  const Dims& d = x.dims();
  int64_t frames = a.seg_num, channels = a.last() ? d[3] : d[1];
  const float ratio = static_cast<float>(a.shift_ratio);  // the same channels for every type
  int64_t first = static_cast<int64_t>(static_cast<float>(channels) * ratio);
  int64_t second = static_cast<int64_t>(static_cast<float>(channels) * 2 * ratio);
  const T* from = x.data<T>();
  T* to = out->mutable_data<T>();
  // A frame is `pieces` times the channels in three runs that move alike, each `size` long.
  const int64_t pieces = a.last() ? d[1] * d[2] : 1, size = a.last() ? 1 : d[2] * d[3];
  shift::Move(from, {d[0] * pieces, frames, pieces, channels * size, first * size, second * size},
              way, to);
}

template <class T>
struct TemporalShiftKernel {
  static void Compute(KernelContext& ctx) {
    Shift<T>(ctx.In(kX), ctx.attrs<TemporalShiftAttrs>(), 1, &ctx.Out(kOut));
  }
};

namespace grad {
constexpr int kOutGrad = 0, kXGrad = 0;

void DefineTemporalShiftGrad(OpDef& op) {
  op.Comment("X@GRAD: the channels of Out@GRAD moved back.")
      .Input(kOutGrad, "Out@GRAD", "shape of X")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("temporal_shift")
      .Shape([](InferContext& ctx) {
        CheckX(ctx.dims(kOutGrad), ctx.attrs<TemporalShiftAttrs>());
        ctx.SetOutput(kXGrad, ctx.dims(kOutGrad));
      })
      .Grad([](GradBuilder& g) {
        g.Call("temporal_shift", {g.OutputGrad(kXGrad)}, {g.InputGrad(kOutGrad)}).SameAttrs();
      });
}

template <class T>
struct TemporalShiftGradKernel {
  static void Compute(KernelContext& ctx) {
    Shift<T>(ctx.In(kOutGrad), ctx.attrs<TemporalShiftAttrs>(), -1, &ctx.Out(kXGrad));
  }
};
}  // namespace grad

REGISTER_GRADIENT_SHAPES(temporal_shift, {"X", "Out"});
REGISTER_OPERATOR(temporal_shift, DefineTemporalShift);
REGISTER_KERNELS(temporal_shift, TemporalShiftKernel, float, double);
REGISTER_OPERATOR(temporal_shift_grad, grad::DefineTemporalShiftGrad);
REGISTER_KERNELS(temporal_shift_grad, grad::TemporalShiftGradKernel, float, double);

}  // namespace
}  // namespace dygraph
