#include <numeric>

#include "operators/detection/boxes.h"

namespace dygraph::boxes {
namespace {

constexpr int kBoxes = 0, kKeep = 0;

struct NmsAttrs {
  double iou_threshold = 1.0;
};

void DefineNms(OpDef& op) {
  op.Comment(
        "KeepBoxesIdxs = the rows of Boxes, best first, that overlap with no row kept before by "
        "more than iou_threshold (intersection over union).")
      .Example(
          ">>> boxes = to_variable([[0.0, 0.0, 4.0, 4.0], [0.0, 0.0, 4.0, 3.0], [6.0, 6.0, 8.0, "
          "8.0]])\n"
          ">>> F.nms(boxes, iou_threshold=0.5).tolist()\n"
          "[0, 2]")
      .Input(kBoxes, "Boxes", "[n, 4], the best first")
      .Output(kKeep, "KeepBoxesIdxs", "[kept], int64")
      .Attr(&NmsAttrs::iou_threshold, "iou_threshold", "the greatest overlap of boxes kept")
      .Shape([](InferContext& ctx) {
        CheckBoxes(ctx.dims(kBoxes), "Boxes");
        ctx.SetOutput(kKeep, {ctx.runtime() ? 0 : -1}, DType::kInt64);
      })
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct NmsKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kBoxes);
    std::vector<int64_t> order(x.dim(0));
    std::iota(order.begin(), order.end(), int64_t{0});
    const std::vector<int64_t> kept = SuppressBoxes(
        order, x.data<T>(), static_cast<T>(ctx.attrs<NmsAttrs>().iou_threshold), T(1), T(0));
    Tensor& out = ctx.Out(kKeep);
    out.Allocate({static_cast<int64_t>(kept.size())}, DType::kInt64, ctx.place());
    std::copy(kept.begin(), kept.end(), out.mutable_data<int64_t>());
  }
};

REGISTER_OPERATOR(nms, DefineNms);
REGISTER_CPU_KERNEL(nms, NmsKernel, float, double);

}  // namespace
}  // namespace dygraph::boxes
