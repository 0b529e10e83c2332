#include "operators/detection/boxes.h"
#include "operators/detection/rois.h"

namespace dygraph::rois {
namespace {

constexpr int kMultiRois = 0, kMultiScores = 1, kMultiNum = 2, kFpnRois = 0, kRoisNum = 1;

struct CollectFpnProposalsAttrs {
  int32_t post_nms_topN = 1000;
};

void DefineCollectFpnProposals(OpDef& op) {
  op.Comment(
        "The post_nms_topN regions with the greatest scores of all levels of a feature pyramid and "
        "all images, image after image.")
      .Example(
          ">>> rois = [to_variable(np.full((2, 4), k), lod=[[0, 2]]) for k in (1.0, 2.0)]\n"
          ">>> scores = [to_variable(np.array([[a], [b]]), lod=[[0, 2]])\n"
          "...           for a, b in ((0.1, 0.8), (0.9, 0.2))]\n"
          ">>> F.collect_fpn_proposals(rois, scores, post_nms_topN=2).tolist()\n"
          "[[2.0, 2.0, 2.0, 2.0], [1.0, 1.0, 1.0, 1.0]]")
      .Input(kMultiRois, "MultiLevelRois",
             "[regions, 4] for each level, with those of each image as level of detail",
             kDuplicable)
      .Input(kMultiScores, "MultiLevelScores", "[regions, 1] for each level, with the same",
             kDuplicable)
      .Input(kMultiNum, "MultiLevelRoIsNum",
             "[N] integers for each level, counts in place of the levels of detail",
             kDuplicable | kDispensable)
      .Output(kFpnRois, "FpnRois", "[regions, 4] with those of each image as level of detail")
      .Output(kRoisNum, "RoisNum", "[N] int32, how many regions each image has", kExtra)
      .Attr(&CollectFpnProposalsAttrs::post_nms_topN, "post_nms_topN",
            "most regions of all images together", AtLeast(0))
      .MixedDTypes()
      .KernelDTypeOf(kMultiRois)
      .VarType([](InferContext& ctx) {
        const int levels = ctx.InputCount(kMultiRois);
        ENFORCE(ctx.InputCount(kMultiScores) == levels, InvalidArgument,
                "MultiLevelScores must be as many as MultiLevelRois, ", levels, ", got ",
                ctx.InputCount(kMultiScores));
        const int counts = ctx.InputCount(kMultiNum);
        ENFORCE(counts == 0 || counts == levels, InvalidArgument,
                "MultiLevelRoIsNum must be as many as MultiLevelRois, ", levels, ", got ", counts);
        for (int k = 0; k < levels; ++k) {
          const Dims &rois = ctx.dims(kMultiRois, k), &scores = ctx.dims(kMultiScores, k);
          boxes::CheckBoxes(rois, "MultiLevelRois");
          ENFORCE(scores.rank() >= 1 && (scores[0] == rois[0] || !BothKnown(scores[0], rois[0])) &&
                      (scores.HasUnknown() || Numel(scores) == scores[0]),
                  InvalidArgument, "MultiLevelScores must be [regions, 1] for regions ", rois,
                  ", got shape ", scores);
          for (int slot : {kMultiRois, kMultiScores}) {
            ENFORCE(ctx.dtype(slot, k) == ctx.dtype(kMultiRois), Type,
                    "MultiLevelRois and MultiLevelScores must be of one type, got ",
                    ctx.dtype(kMultiRois), " and ", ctx.dtype(slot, k), ". Convert with astype()");
          }
        }
        if (ctx.runtime()) return;
        ctx.SetOutput(kFpnRois, {-1, 4}, ctx.dtype(kMultiRois));
        ctx.SetOutput(kRoisNum, {-1}, DType::kInt32);
      })
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct CollectFpnProposalsKernel {
  struct Region {
    T score;
    int64_t image;
    const T* box;
  };
  static std::vector<int64_t> OffsetsOf(const KernelContext& ctx, int k) {
    const Tensor& rois = ctx.In(kMultiRois, k);
    if (ctx.InputCount(kMultiNum) > 0)
      return images::OffsetsOfCounts(ctx.In(kMultiNum, k), "MultiLevelRoIsNum", rois.dim(0));
    const LoDLevels& lod = rois.lod_levels();
    ENFORCE(!lod.empty(), InvalidArgument, "MultiLevelRois must have a level of detail that says ",
            "which image each region lies in, got level ", k, " without one. Give ",
            "to_variable(lod=...) or MultiLevelRoIsNum");
    return lod.back();
  }
  static void Compute(KernelContext& ctx) {
    std::vector<Region> all;
    size_t count = 0;  // of images
    for (int k = 0; k < ctx.InputCount(kMultiRois); ++k) {
      const std::vector<int64_t> ends = OffsetsOf(ctx, k);
      ENFORCE(k == 0 || ends.size() - 1 == count, InvalidArgument,
              "the levels must have the same images, got ", count, " and ", ends.size() - 1);
      count = ends.size() - 1;
      const T* box = ctx.In(kMultiRois, k).data<T>();
      const T* score = ctx.In(kMultiScores, k).data<T>();
      for (size_t i = 0; i < count; ++i) {
        for (int64_t r = ends[i]; r < ends[i + 1]; ++r) {
          ENFORCE(!std::isnan(score[r]), InvalidArgument,
                  "MultiLevelScores must be numbers, got nan in level ", k, ", row ", r);
          all.push_back({score[r], static_cast<int64_t>(i), box + r * 4});
        }
      }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Region& a, const Region& b) { return a.score > b.score; });
    const auto most = static_cast<size_t>(ctx.attrs<CollectFpnProposalsAttrs>().post_nms_topN);
    if (all.size() > most) all.resize(most);
    std::stable_sort(all.begin(), all.end(),
                     [](const Region& a, const Region& b) { return a.image < b.image; });
    std::vector<int64_t> ends(count + 1, 0);
    for (const Region& r : all) ++ends[r.image + 1];
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    if (Tensor* t = ctx.OutOrNull(kFpnRois)) {
      t->Allocate({ends.back(), 4}, ctx.In(kMultiRois).dtype(), ctx.place());
      T* to = t->mutable_data<T>();
      for (const Region& r : all) to = std::copy_n(r.box, 4, to);
      t->SetLoD(LoDLevels{ends});
    }
    images::WriteCounts(ends, ctx.OutOrNull(kRoisNum), ctx.place());
  }
};

REGISTER_OPERATOR(collect_fpn_proposals, DefineCollectFpnProposals);
REGISTER_CPU_KERNEL(collect_fpn_proposals, CollectFpnProposalsKernel, float, double);

}  // namespace
}  // namespace dygraph::rois
