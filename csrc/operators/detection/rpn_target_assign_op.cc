#include "operators/detection/anchor_targets.h"

namespace dygraph::targets {
namespace {

struct RpnTargetAssignAttrs {
  int32_t rpn_batch_size_per_im = 256;
  double rpn_straddle_thresh = 0.0;
  double rpn_positive_overlap = 0.7;
  double rpn_negative_overlap = 0.3;
  double rpn_fg_fraction = 0.25;
  bool use_random = true;
};

struct Rpn {
  using Attrs = RpnTargetAssignAttrs;
  static constexpr bool kLabels = false;
  static constexpr int kCrowd = 2, kInfo = 3;
  static Rule RuleOf(const Attrs& a) {
    return {a.rpn_positive_overlap, a.rpn_negative_overlap, a.rpn_batch_size_per_im,
            a.rpn_fg_fraction};
  }
  static double Straddle(const Attrs& a) { return a.rpn_straddle_thresh; }
  static bool Random(const Attrs& a) { return a.use_random; }
};

void DefineRpnTargetAssign(OpDef& op) {
  op.Comment(
        "What a region proposal network learns from (Ren et al., Faster R-CNN, 2015). Anchors are "
        "objects where they overlap a true box by rpn_positive_overlap, or as much as any anchor "
        "does, and background where they overlap all by less than rpn_negative_overlap. Of each "
        "image rpn_batch_size_per_im are taken, objects up to rpn_fg_fraction of them, at random "
        "or the first ones. ScoreIndex names them among the anchors of all images, objects before "
        "background; TargetLabel is 1 for objects. LocationIndex names those with a target box.")
      .Example(
          ">>> anchors = to_variable(np.array([[0.0, 0, 9, 9], [20, 20, 29, 29]]))\n"
          ">>> truth = to_variable(np.array([[0.0, 0, 9, 9]]), lod=[[0, 1]])\n"
          ">>> crowd = to_variable(np.array([[0]], \"int32\"), lod=[[0, 1]])\n"
          ">>> info = to_variable(np.array([[40.0, 40.0, 1.0]]))\n"
          ">>> where, scored, box, label, weight = F.rpn_target_assign(anchors, truth, crowd, "
          "info)\n"
          ">>> where.tolist(), scored.tolist(), box.tolist(), label.tolist()\n"
          "([0], [0, 1], [[0.0, 0.0, 0.0, 0.0]], [[1], [0]])");
  AddInputs<Rpn>(op);
  AddOutputs(op)
      .Attr(&RpnTargetAssignAttrs::rpn_batch_size_per_im, "rpn_batch_size_per_im",
            "labels of an image", AtLeast(0))
      .Attr(&RpnTargetAssignAttrs::rpn_straddle_thresh, "rpn_straddle_thresh",
            "pixels that an anchor may lie outside the image; below 0: any")
      .Attr(&RpnTargetAssignAttrs::rpn_positive_overlap, "rpn_positive_overlap",
            "overlap from which an anchor is an object")
      .Attr(&RpnTargetAssignAttrs::rpn_negative_overlap, "rpn_negative_overlap",
            "overlap below which it is background")
      .Attr(&RpnTargetAssignAttrs::rpn_fg_fraction, "rpn_fg_fraction",
            "most objects, as a part of the labels", Between(0, 1))
      .Attr(&RpnTargetAssignAttrs::use_random, "use_random",
            "draw them; False: take the first ones")
      .Random();
}

template <class T>
struct RpnTargetAssignKernel {
  static void Compute(KernelContext& ctx) { AssignAnchors<Rpn, T>(ctx); }
};

REGISTER_OPERATOR(rpn_target_assign, DefineRpnTargetAssign);
REGISTER_CPU_KERNEL(rpn_target_assign, RpnTargetAssignKernel, float, double);

}  // namespace
}  // namespace dygraph::targets
