#include "operators/detection/proposals.h"

namespace dygraph::proposals {
namespace {

void DefineGenerateProposalsV2(OpDef& op) {
  op.Comment(
        "The regions that a region proposal network proposes, as generate_proposals gives them, "
        "for images that were not scaled; without pixel_offset a box from 2 to 4 is 2 wide.")
      .Example(
          ">>> one = lambda *v: to_variable(np.array(v, float))\n"
          ">>> rois, scores = F.generate_proposals_v2(\n"
          "...     one(0.9).reshape([1, 1, 1, 1]), dygraph.zeros([1, 4, 1, 1], \"float64\"),\n"
          "...     one([20.0, 20.0]), one(2, 2, 30, 9).reshape([1, 1, 1, 4]),\n"
          "...     one(1, 1, 1, 1).reshape([1, 1, 1, 4]), pixel_offset=False)\n"
          ">>> rois.tolist(), scores.tolist()\n"
          "([[2.0, 2.0, 20.0, 9.0]], [[0.9]])");
  AddSlots(op, "ImShape", "[N, 2]: height and width of each image");
  AddAttrs(op)
      .Attr(&Attrs::pixel_offset, "pixel_offset", "a box from 2 to 4 is 3 wide, not 2")
      .VarType([](InferContext& ctx) { Describe(ctx, 2); })
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct GenerateProposalsV2Kernel {
  static void Compute(KernelContext& ctx) { proposals::Compute<T>(ctx, ctx.attrs<Attrs>(), false); }
};

REGISTER_OPERATOR(generate_proposals_v2, DefineGenerateProposalsV2);
REGISTER_CPU_KERNEL(generate_proposals_v2, GenerateProposalsV2Kernel, float, double);

}  // namespace
}  // namespace dygraph::proposals
