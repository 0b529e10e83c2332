#include <map>

#include "operators/arguments.h"
#include "operators/detection/boxes.h"

namespace dygraph::boxes {
namespace {

constexpr int kBoxes = 0, kCategories = 1, kKeep = 0;

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
      .Input(kCategories, "Categories", "[n] integers: only boxes of one category are compared",
             kDispensable)
      .Output(kKeep, "KeepBoxesIdxs", "[kept], int64")
      .Attr(&NmsAttrs::iou_threshold, "iou_threshold", "the greatest overlap of boxes kept")
      .Shape([](InferContext& ctx) {
        CheckBoxes(ctx.dims(kBoxes), "Boxes");
        if (ctx.HasInput(kCategories)) {
          const Dims &boxes = ctx.dims(kBoxes), &c = ctx.dims(kCategories);
          ENFORCE(c.rank() == 1 && (c[0] == boxes[0] || !BothKnown(c[0], boxes[0])),
                  InvalidArgument, "Categories must hold one for each row of Boxes ", boxes,
                  ", got shape ", c);
        }
        ctx.SetOutput(kKeep, {ctx.runtime() ? 0 : -1}, DType::kInt64);
      })
      .KernelDTypeOf(kBoxes)
      .MixedDTypes()
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct NmsKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kBoxes);
    std::vector<int64_t> of(x.dim(0), 0), kept;
    if (const Tensor* categories = ctx.InOrNull(kCategories))
      of = Integers(*categories, "Categories");
    std::map<int64_t, std::vector<int64_t>> rows;
    for (int64_t i = 0; i < x.dim(0); ++i) rows[of[i]].push_back(i);
    const T threshold = static_cast<T>(ctx.attrs<NmsAttrs>().iou_threshold);
    for (const auto& category : rows) {
      const auto found = SuppressBoxes<true>(category.second, x.data<T>(), threshold, T(1), T(0));
      kept.insert(kept.end(), found.begin(), found.end());
    }
    std::sort(kept.begin(), kept.end());
    Tensor& out = ctx.Out(kKeep);
    out.Allocate({static_cast<int64_t>(kept.size())}, DType::kInt64, ctx.place());
    std::copy(kept.begin(), kept.end(), out.mutable_data<int64_t>());
  }
};

REGISTER_OPERATOR(nms, DefineNms);
REGISTER_CPU_KERNEL(nms, NmsKernel, float, double);

}  // namespace
}  // namespace dygraph::boxes
