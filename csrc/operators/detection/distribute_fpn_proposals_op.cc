#include "operators/detection/boxes.h"
#include "operators/detection/rois.h"

namespace dygraph::rois {
namespace {

constexpr int kFpnRois = 0, kRoisNum = 1;
constexpr int kMultiFpnRois = 0, kRestoreIndex = 1, kMultiNum = 2;

struct DistributeFpnProposalsAttrs {
  int32_t min_level = 2;
  int32_t max_level = 5;
  int32_t refer_level = 4;
  int32_t refer_scale = 224;
  bool pixel_offset = true;
};

int LevelsOf(const DistributeFpnProposalsAttrs& a) {
  ENFORCE(a.min_level <= a.max_level && int64_t{a.max_level} - a.min_level < 64, InvalidArgument,
          "max_level must be min_level or up to 63 above it, got ", a.min_level, " and ",
          a.max_level);
  return a.max_level - a.min_level + 1;
}

void DefineDistributeFpnProposals(OpDef& op) {
  op.Comment(
        "The regions by the level of a feature pyramid that suits their size (Lin et al., 2017): "
        "floor(refer_level + log2(sqrt(area) / refer_scale)), from min_level to max_level. "
        "RestoreIndex says where each region stands when the levels are put one after another.")
      .Example(
          ">>> rois = to_variable(np.array([[0.0, 0, 99, 99], [0, 0, 9, 9]]), lod=[[0, 2]])\n"
          ">>> levels, restore = F.distribute_fpn_proposals(\n"
          "...     rois, min_level=3, max_level=4, refer_level=4, refer_scale=64)\n"
          ">>> [v.tolist() for v in levels], restore.tolist()\n"
          "([[[0.0, 0.0, 9.0, 9.0]], [[0.0, 0.0, 99.0, 99.0]]], [[1], [0]])")
      .Input(kFpnRois, "FpnRois", "[regions, 4] with those of each image as level of detail")
      .Input(kRoisNum, "RoisNum",
             "[N] integers, how many regions each image has, in place of the level of detail",
             kDispensable)
      .Output(kMultiFpnRois, "MultiFpnRois",
              "[regions of the level, 4] for each level, with those of each image as level of "
              "detail",
              kDuplicable)
      .Output(kRestoreIndex, "RestoreIndex", "[regions, 1] int32")
      .Output(kMultiNum, "MultiLevelRoIsNum", "[N] int32 for each level, counts of regions",
              kDuplicable | kExtra)
      .Attr(&DistributeFpnProposalsAttrs::min_level, "min_level", "the finest level")
      .Attr(&DistributeFpnProposalsAttrs::max_level, "max_level", "the coarsest level")
      .Attr(&DistributeFpnProposalsAttrs::refer_level, "refer_level",
            "the level of regions as large as refer_scale")
      .Attr(&DistributeFpnProposalsAttrs::refer_scale, "refer_scale", "a side, in pixels",
            AtLeast(1))
      .Attr(&DistributeFpnProposalsAttrs::pixel_offset, "pixel_offset",
            "a box from 2 to 4 is 3 wide, not 2")
      .OutputCount([](int slot, const Call& call) {
        const auto& a = *static_cast<const DistributeFpnProposalsAttrs*>(call.attrs);
        return slot == kRestoreIndex ? 1 : LevelsOf(a);
      })
      .MixedDTypes()
      .KernelDTypeOf(kFpnRois)
      .VarType([](InferContext& ctx) {
        const Dims& rois = ctx.dims(kFpnRois);
        boxes::CheckBoxes(rois, "FpnRois");
        const int levels = LevelsOf(ctx.attrs<DistributeFpnProposalsAttrs>());
        ENFORCE(ctx.OutputCount(kMultiFpnRois) == levels, InvalidArgument,
                "there must be one MultiFpnRois for each level, ", levels, ", got ",
                ctx.OutputCount(kMultiFpnRois));
        if (ctx.runtime()) return;
        for (int k = 0; k < levels; ++k)
          ctx.SetOutputAt(kMultiFpnRois, k, {-1, 4}, ctx.dtype(kFpnRois));
        for (int k = 0; k < ctx.OutputCount(kMultiNum); ++k)
          ctx.SetOutputAt(kMultiNum, k, {-1}, DType::kInt32);
        ctx.SetOutput(kRestoreIndex, {rois[0], 1}, DType::kInt32);
      })
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct DistributeFpnProposalsKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<DistributeFpnProposalsAttrs>();
    const int levels = LevelsOf(a);
    const Tensor& rois = ctx.In(kFpnRois);
    const std::vector<int64_t> ends = Offsets(ctx, kFpnRois, kRoisNum, -1, "FpnRois");
    CheckBoxes<T>(rois, 1, "FpnRois");
    const T *from = rois.data<T>(), unit = a.pixel_offset ? T(1) : T(0);
    const int64_t rows = rois.dim(0);
    std::vector<std::vector<int64_t>> members(levels);
    std::vector<std::vector<int64_t>> offsets(levels, {0});
    for (size_t i = 0; i + 1 < ends.size(); ++i) {
      for (int64_t r = ends[i]; r < ends[i + 1]; ++r) {
        const T side = std::sqrt(boxes::Box<T>::At(from + r * 4).Area(unit));
        const T level = std::floor(std::log2(side / static_cast<T>(a.refer_scale) + T(1e-6)) +
                                   static_cast<T>(a.refer_level));
        const T low = static_cast<T>(a.min_level), high = static_cast<T>(a.max_level);
        members[static_cast<int>(std::clamp(level, low, high)) - a.min_level].push_back(r);
      }
      for (int k = 0; k < levels; ++k)
        offsets[k].push_back(static_cast<int64_t>(members[k].size()));
    }
    std::vector<int32_t> restore(static_cast<size_t>(rows));
    int32_t at = 0;
    for (int k = 0; k < levels; ++k) {
      for (int64_t r : members[k]) restore[r] = at++;
      if (Tensor* t = ctx.OutOrNull(kMultiFpnRois, k)) {
        t->Allocate({offsets[k].back(), 4}, rois.dtype(), ctx.place());
        T* to = t->mutable_data<T>();
        for (int64_t r : members[k]) to = std::copy_n(from + r * 4, 4, to);
        t->SetLoD(LoDLevels{offsets[k]});
      }
      if (k < ctx.OutputCount(kMultiNum))
        images::WriteCounts(offsets[k], ctx.OutOrNull(kMultiNum, k), ctx.place());
    }
    if (Tensor* t = ctx.OutOrNull(kRestoreIndex)) {
      t->Allocate({rows, 1}, DType::kInt32, ctx.place());
      std::copy(restore.begin(), restore.end(), t->mutable_data<int32_t>());
    }
  }
};

REGISTER_OPERATOR(distribute_fpn_proposals, DefineDistributeFpnProposals);
REGISTER_CPU_KERNEL(distribute_fpn_proposals, DistributeFpnProposalsKernel, float, double);

}  // namespace
}  // namespace dygraph::rois
