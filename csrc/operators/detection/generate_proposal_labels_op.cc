#include "operators/detection/targets.h"

namespace dygraph::targets {
namespace {

constexpr int kRpnRois = 0, kGtClasses = 1, kIsCrowd = 2, kGtBoxes = 3, kImInfo = 4,
              kMaxOverlap = 5;
constexpr int kRois = 0, kLabels = 1, kTargets = 2, kInside = 3, kOutside = 4,
              kMaxOverlapWithGT = 5;

struct GenerateProposalLabelsAttrs {
  int32_t batch_size_per_im = 256;
  double fg_fraction = 0.25;
  double fg_thresh = 0.25;
  double bg_thresh_hi = 0.5;
  double bg_thresh_lo = 0.0;
  std::vector<float> bbox_reg_weights = {0.1f, 0.1f, 0.2f, 0.2f};
  int32_t class_nums = 81;
  bool use_random = true;
  bool is_cls_agnostic = false;
  bool is_cascade_rcnn = false;
};

void Describe(InferContext& ctx) {
  const auto& a = ctx.attrs<GenerateProposalLabelsAttrs>();
  boxes::CheckBoxes(ctx.dims(kRpnRois), "RpnRois");
  CheckTruth(ctx, kGtBoxes, {kGtClasses, kIsCrowd}, kImInfo, -1);
  CheckType(ctx, kGtBoxes, kRpnRois);
  CheckType(ctx, kImInfo, kRpnRois);
  if (ctx.HasInput(kMaxOverlap)) {
    const Dims &overlap = ctx.dims(kMaxOverlap), &rois = ctx.dims(kRpnRois);
    CheckType(ctx, kMaxOverlap, kRpnRois);
    ENFORCE(overlap.HasUnknown() || rois[0] < 0 || Numel(overlap) == rois[0], InvalidArgument,
            "MaxOverlap must hold a number for each row of RpnRois ", rois, ", got shape ",
            overlap);
  }
  ENFORCE(a.bbox_reg_weights.size() == 4, InvalidArgument, "bbox_reg_weights must be 4 numbers, ",
          "got ", a.bbox_reg_weights.size());
  ENFORCE(!a.is_cascade_rcnn || ctx.HasInput(kMaxOverlap), InvalidArgument,
          "is_cascade_rcnn needs MaxOverlap, the MaxOverlapWithGT of the stage before");
  if (ctx.runtime()) return;
  const DType dtype = ctx.dtype(kRpnRois);
  ctx.SetOutput(kRois, {-1, 4}, dtype);
  ctx.SetOutput(kLabels, {-1, 1}, DType::kInt32);
  for (int slot : {kTargets, kInside, kOutside})
    ctx.SetOutput(slot, {-1, 4 * int64_t{a.class_nums}}, dtype);
  ctx.SetOutput(kMaxOverlapWithGT, {-1}, dtype);
}

void DefineGenerateProposalLabels(OpDef& op) {
  op.Comment(
        "The regions that the head of a detector learns from (Ren et al., Faster R-CNN, 2015). The "
        "true boxes join the proposals. A region is an object where it overlaps a true box by "
        "fg_thresh, and background where its greatest overlap is in [bg_thresh_lo, bg_thresh_hi). "
        "Of each image batch_size_per_im are taken, objects up to fg_fraction of them, at random "
        "or the first ones. BboxTargets has the target box in the columns of the region's class.")
      .Example(
          ">>> box = to_variable(np.array([[0.0, 0, 9, 9]]), lod=[[0, 1]])\n"
          ">>> one = lambda v: to_variable(np.array([[v]], \"int32\"), lod=[[0, 1]])\n"
          ">>> info = to_variable(np.array([[40.0, 40.0, 1.0]]))\n"
          ">>> found = F.generate_proposal_labels(box, one(1), one(0), box, info, class_nums=2)\n"
          ">>> found[0].tolist(), found[1].tolist(), found[3].tolist()[0]\n"
          "([[0.0, 0.0, 9.0, 9.0], [0.0, 0.0, 9.0, 9.0]], [[1], [1]], [0.0, 0.0, 0.0, 0.0, 1.0, "
          "1.0, 1.0, 1.0])")
      .Input(kRpnRois, "RpnRois",
             "[rows, 4] corners in the scaled image, with those of each image as level of detail")
      .Input(kGtClasses, "GtClasses", "[boxes, 1] int32, with the boxes of each image")
      .Input(kIsCrowd, "IsCrowd", "[boxes, 1] int32, 1 for boxes that are no regions themselves")
      .Input(kGtBoxes, "GtBoxes", "[boxes, 4], the true boxes before scaling")
      .Input(kImInfo, "ImInfo", "[N, 3]: height and width of each scaled image, and its scale")
      .Input(kMaxOverlap, "MaxOverlap",
             "[rows], MaxOverlapWithGT of the stage before: regions of 1, true boxes, are left out",
             kDispensable)
      .Output(kRois, "Rois", "[regions, 4], with those of each image as level of detail")
      .Output(kLabels, "LabelsInt32", "[regions, 1], the class, 0 for background")
      .Output(kTargets, "BboxTargets", "[regions, 4 * class_nums]")
      .Output(kInside, "BboxInsideWeights", "[regions, 4 * class_nums], 1 where there is a target")
      .Output(kOutside, "BboxOutsideWeights", "the same")
      .Output(kMaxOverlapWithGT, "MaxOverlapWithGT",
              "[regions], how much each overlaps a true box at most", kExtra)
      .Attr(&GenerateProposalLabelsAttrs::batch_size_per_im, "batch_size_per_im",
            "most regions of an image", AtLeast(0))
      .Attr(&GenerateProposalLabelsAttrs::fg_fraction, "fg_fraction",
            "most objects, as a part of them", Between(0, 1))
      .Attr(&GenerateProposalLabelsAttrs::fg_thresh, "fg_thresh",
            "overlap from which a region is an object")
      .Attr(&GenerateProposalLabelsAttrs::bg_thresh_hi, "bg_thresh_hi",
            "overlap below which it is background")
      .Attr(&GenerateProposalLabelsAttrs::bg_thresh_lo, "bg_thresh_lo",
            "overlap from which it is background")
      .Attr(&GenerateProposalLabelsAttrs::bbox_reg_weights, "bbox_reg_weights",
            "what the numbers of a target box are divided by")
      .Attr(&GenerateProposalLabelsAttrs::class_nums, "class_nums",
            "number of classes, with background", AtLeast(1))
      .Attr(&GenerateProposalLabelsAttrs::use_random, "use_random",
            "draw them; False: take the first ones")
      .Attr(&GenerateProposalLabelsAttrs::is_cls_agnostic, "is_cls_agnostic",
            "all targets stand in the columns of class 1")
      .Attr(&GenerateProposalLabelsAttrs::is_cascade_rcnn, "is_cascade_rcnn",
            "a stage of a cascade behind the first: all regions are taken")
      .MixedDTypes()
      .KernelDTypeOf(kRpnRois)
      .VarType(Describe)
      .KernelAllocates()
      .Random()
      .NoGrad();
}

template <class T>
struct GenerateProposalLabelsKernel {
  using Box = boxes::Box<T>;
  std::vector<T> rois, targets, weights, overlap;
  std::vector<int32_t> labels;

  // The true boxes, then the proposals, all before scaling.
  static std::vector<Box> Regions(const KernelContext& ctx, const std::vector<Box>& truth,
                                  int64_t begin, int64_t end, T scale) {
    const bool cascade = ctx.attrs<GenerateProposalLabelsAttrs>().is_cascade_rcnn;
    const T* from = ctx.In(kRpnRois).data<T>();
    const T* most = cascade ? ctx.In(kMaxOverlap).data<T>() : nullptr;
    std::vector<Box> list = truth;
    for (int64_t r = begin; r < end; ++r) {
      const Box b = Box::At(from + r * 4);
      if (cascade && !(b.Width(T(1)) > T(0) && b.Height(T(1)) > T(0) && most[r] < T(1))) continue;
      list.push_back(b / scale);
    }
    if (cascade && list.size() == truth.size()) list.push_back({0, 0, 0, 0});
    return list;
  }

  void AddImage(const GenerateProposalLabelsAttrs& a, const std::vector<Box>& truth,
                const int64_t* classes, const int64_t* crowd, const std::vector<Box>& regions,
                T scale, Draws* draws) {
    const std::vector<T> table = Overlaps(regions, truth);
    const size_t m = truth.size();
    std::vector<int64_t> objects, matched, background;
    std::vector<T> most(regions.size(), T(0));
    for (size_t i = 0; i < regions.size(); ++i) {
      const T* row = table.data() + i * m;
      if (m) most[i] = *std::max_element(row, row + m);
      if (i < m && crowd[i]) most[i] = T(-1);
      if (m && most[i] >= static_cast<T>(a.fg_thresh)) {
        size_t j = 0;
        while (j + 1 < m && !(std::abs(most[i] - row[j]) < T(1e-5))) ++j;
        objects.push_back(static_cast<int64_t>(i));
        matched.push_back(static_cast<int64_t>(j));
      } else if (most[i] >= static_cast<T>(a.bg_thresh_lo) &&
                 most[i] < static_cast<T>(a.bg_thresh_hi)) {
        background.push_back(static_cast<int64_t>(i));
      }
    }
    if (!a.is_cascade_rcnn) {
      Sample(Part(a.fg_fraction, a.batch_size_per_im), draws, &objects, &matched);
      Sample(a.batch_size_per_im - static_cast<int64_t>(objects.size()), draws, &background);
    }
    const size_t width = 4 * static_cast<size_t>(a.class_nums), found = objects.size();
    objects.insert(objects.end(), background.begin(), background.end());
    for (size_t k = 0; k < objects.size(); ++k) {
      const Box& region = regions[objects[k]];
      T corners[4];
      (region * scale).Write(corners);
      rois.insert(rois.end(), corners, corners + 4);
      overlap.push_back(most[objects[k]]);
      const int64_t label = k < found ? classes[matched[k]] : 0;
      ENFORCE(label >= 0 && label < a.class_nums, OutOfRange, "GtClasses must lie in [0, ",
              a.class_nums, "), got ", label);
      labels.push_back(static_cast<int32_t>(label));
      targets.resize(targets.size() + width, T(0));
      weights.resize(weights.size() + width, T(0));
      if (label == 0) continue;
      const size_t column = 4 * static_cast<size_t>(a.is_cls_agnostic ? 1 : label);
      ENFORCE(column < width, InvalidArgument,
              "class_nums must be at least 2 with is_cls_agnostic, got ", a.class_nums);
      const size_t at = targets.size() - width + column;
      WriteDelta(region, truth[matched[k]], a.bbox_reg_weights.data(), &targets[at]);
      std::fill_n(&weights[at], 4, T(1));
    }
  }

  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<GenerateProposalLabelsAttrs>();
    const int64_t images = ctx.In(kImInfo).dim(0);
    const std::vector<int64_t>& proposals = RowsByImage(ctx, kRpnRois, images);
    const std::vector<int64_t>& rows = RowsByImage(ctx, kGtBoxes, images);
    const std::vector<int64_t> classes = Integers(ctx.In(kGtClasses), "GtClasses");
    const std::vector<int64_t> crowd = Integers(ctx.In(kIsCrowd), "IsCrowd");
    for (int slot : {kRpnRois, kGtBoxes}) CheckBoxes<T>(ctx, slot);
    const T *info = ctx.In(kImInfo).data<T>(), *truth = ctx.In(kGtBoxes).data<T>();
    Draws draws(ctx);
    GenerateProposalLabelsKernel all;
    std::vector<int64_t> ends{0};
    for (int64_t i = 0; i < images; ++i) {
      CheckInterrupt();
      const T scale = info[i * 3 + 2];
      ENFORCE(scale > T(0), InvalidArgument, "ImInfo must hold scales above 0, got ", scale,
              " for image ", i);
      std::vector<Box> boxes;
      for (int64_t t = rows[i]; t < rows[i + 1]; ++t) boxes.push_back(Box::At(truth + t * 4));
      all.AddImage(a, boxes, classes.data() + rows[i], crowd.data() + rows[i],
                   Regions(ctx, boxes, proposals[i], proposals[i + 1], scale), scale,
                   a.use_random ? &draws : nullptr);
      ends.push_back(static_cast<int64_t>(all.labels.size()));
    }
    const DType dtype = ctx.In(kRpnRois).dtype();
    const int64_t width = 4 * int64_t{a.class_nums};
    Give(ctx, kRois, all.rois, 4, dtype, {ends});
    Give(ctx, kLabels, all.labels, 1, DType::kInt32, {ends});
    Give(ctx, kTargets, all.targets, width, dtype, {ends});
    Give(ctx, kInside, all.weights, width, dtype, {ends});
    Give(ctx, kOutside, all.weights, width, dtype, {ends});
    Give(ctx, kMaxOverlapWithGT, all.overlap, 1, dtype, {ends}, true);
  }
};

REGISTER_OPERATOR(generate_proposal_labels, DefineGenerateProposalLabels);
REGISTER_CPU_KERNEL(generate_proposal_labels, GenerateProposalLabelsKernel, float, double);

}  // namespace
}  // namespace dygraph::targets
