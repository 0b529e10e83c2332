#include "operators/detection/anchor_targets.h"

namespace dygraph::targets {
namespace {

struct RetinanetTargetAssignAttrs {
  double positive_overlap = 0.5;
  double negative_overlap = 0.4;
};

struct Retinanet {
  using Attrs = RetinanetTargetAssignAttrs;
  static constexpr bool kLabels = true;
  static constexpr int kCrowd = 3, kInfo = 4;
  static Rule RuleOf(const Attrs& a) { return {a.positive_overlap, a.negative_overlap}; }
  static double Straddle(const Attrs&) { return -1; }
  static bool Random(const Attrs&) { return false; }
};

void DefineRetinanetTargetAssign(OpDef& op) {
  op.Comment(
        "What RetinaNet learns from (Lin et al., 2017). Anchors are objects, of the class of the "
        "true box they overlap most, where they overlap it by positive_overlap, or as much as any "
        "anchor does, and background where they overlap all by less than negative_overlap. "
        "ScoreIndex names them among the anchors of all images, objects before background; "
        "TargetLabel is their class, 0 for background. ForegroundNumber is 1 more than the number "
        "of objects.")
      .Example(
          ">>> anchors = to_variable(np.array([[0.0, 0, 9, 9], [20, 20, 29, 29]]))\n"
          ">>> one = lambda v: to_variable(np.array([[v]], \"int32\"), lod=[[0, 1]])\n"
          ">>> truth = to_variable(np.array([[0.0, 0, 9, 9]]), lod=[[0, 1]])\n"
          ">>> info = to_variable(np.array([[40.0, 40.0, 1.0]]))\n"
          ">>> found = F.retinanet_target_assign(anchors, truth, one(7), one(0), info)\n"
          ">>> [v.tolist() for v in found]\n"
          "[[0], [0, 1], [[0.0, 0.0, 0.0, 0.0]], [[7], [0]], [[1.0, 1.0, 1.0, 1.0]], [[2]]]");
  AddInputs<Retinanet>(op);
  AddOutputs(op)
      .Output(kForegroundNumber, "ForegroundNumber", "[N, 1] int32")
      .Attr(&RetinanetTargetAssignAttrs::positive_overlap, "positive_overlap",
            "overlap from which an anchor is an object")
      .Attr(&RetinanetTargetAssignAttrs::negative_overlap, "negative_overlap",
            "overlap below which it is background");
}

template <class T>
struct RetinanetTargetAssignKernel {
  static void Compute(KernelContext& ctx) { AssignAnchors<Retinanet, T>(ctx); }
};

REGISTER_OPERATOR(retinanet_target_assign, DefineRetinanetTargetAssign);
REGISTER_CPU_KERNEL(retinanet_target_assign, RetinanetTargetAssignKernel, float, double);

}  // namespace
}  // namespace dygraph::targets
