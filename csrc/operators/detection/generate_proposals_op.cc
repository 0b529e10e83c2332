#include "operators/detection/proposals.h"

namespace dygraph::proposals {
namespace {

void DefineGenerateProposals(OpDef& op) {
  op.Comment(
        "The regions that a region proposal network proposes (Ren et al., Faster R-CNN, 2015): the "
        "pre_nms_topN best anchors of each image, moved by BboxDeltas times Variances, cut at the "
        "image, without those below min_size and those that overlap a better one by more than "
        "nms_thresh; post_nms_topN at most. Corners are those of pixels: a box from 2 to 4 is 3 "
        "wide. An image without any has one region of zeros.")
      .Example(
          ">>> one = lambda *v: to_variable(np.array(v, float))\n"
          ">>> rois, scores = F.generate_proposals(\n"
          "...     one(0.9).reshape([1, 1, 1, 1]), dygraph.zeros([1, 4, 1, 1], \"float64\"),\n"
          "...     one([20.0, 20.0, 1.0]), one(2, 2, 30, 9).reshape([1, 1, 1, 4]),\n"
          "...     one(1, 1, 1, 1).reshape([1, 1, 1, 4]))\n"
          ">>> rois.tolist(), scores.tolist()\n"
          "([[2.0, 2.0, 19.0, 9.0]], [[0.9]])");
  AddSlots(op, "ImInfo", "[N, 3]: height and width of each image, and how much it was scaled")
      .Output(kLoD, "RpnRoisLod", "[N] int64, where the regions of each image end", kExtra);
  AddAttrs(op).VarType([](InferContext& ctx) { Describe(ctx, 3); }).KernelAllocates().NoGrad();
}

template <class T>
struct GenerateProposalsKernel {
  static void Compute(KernelContext& ctx) { proposals::Compute<T>(ctx, ctx.attrs<Attrs>(), true); }
};

REGISTER_OPERATOR(generate_proposals, DefineGenerateProposals);
REGISTER_CPU_KERNEL(generate_proposals, GenerateProposalsKernel, float, double);

}  // namespace
}  // namespace dygraph::proposals
