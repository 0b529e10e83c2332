#include <algorithm>

#include "operators/arguments.h"
#include "operators/labels.h"

namespace dygraph {
namespace {

constexpr int kClsLoss = 0, kLocLoss = 1, kMatchIndices = 2, kMatchDist = 3, kNegIndices = 0,
              kUpdated = 1;

struct MineHardExamplesAttrs {
  double neg_pos_ratio = 1.0, neg_dist_threshold = 0.5;
  int32_t sample_size = 0;
  std::string mining_type = "max_negative";
};

bool IsMaxNegative(const MineHardExamplesAttrs& a) { return a.mining_type == "max_negative"; }

void InferShape(InferContext& ctx) {
  const auto& a = ctx.attrs<MineHardExamplesAttrs>();
  ENFORCE(ctx.rank(kClsLoss) == 2, InvalidArgument, "ClsLoss must have shape [images, boxes], got ",
          ctx.dims(kClsLoss));
  for (int slot : {kLocLoss, kMatchIndices, kMatchDist}) {
    if (ctx.HasInput(slot)) labels::CheckSameShape(ctx, kClsLoss, slot);
  }
  if (IsMaxNegative(a)) {
    ENFORCE(a.neg_pos_ratio > 0, InvalidArgument, "neg_pos_ratio must be above 0, got ",
            a.neg_pos_ratio);
    ENFORCE(a.neg_dist_threshold > 0 && a.neg_dist_threshold < 1, InvalidArgument,
            "neg_dist_threshold must lie between 0 and 1, got ", a.neg_dist_threshold);
  } else {
    ENFORCE(a.sample_size > 0, InvalidArgument,
            "sample_size must be above 0 for hard_example, got ", a.sample_size);
  }
  ctx.SetOutput(kNegIndices, {-1, 1}, DType::kInt32);
  ctx.SetOutput(kUpdated, ctx.dims(kMatchIndices), DType::kInt32);
}

void DefineMineHardExamples(OpDef& op) {
  op.Comment(
        "The boxes of greatest loss (OHEM, Shrivastava et al., 2016). max_negative: NegIndices = "
        "of those without a match whose MatchDist is below neg_dist_threshold, neg_pos_ratio for "
        "each box with a match. hard_example: of all boxes, sample_size by ClsLoss + LocLoss; "
        "NegIndices = those of them without a match, and UpdatedMatchIndices = -1 for all boxes "
        "but them.")
      .Example(
          ">>> loss, none = to_variable([[0.1, 0.3, 0.2]]), to_variable([[0.9, 0.0, 0.0]])\n"
          ">>> match = to_variable(np.array([[0, -1, -1]], 'int32'))\n"
          ">>> F.mine_hard_examples(loss, match, none)[0].tolist()\n"
          "[[1]]")
      .Input(kClsLoss, "ClsLoss", "[images, boxes]")
      .Input(kLocLoss, "LocLoss", "[images, boxes]", kDispensable)
      .Input(kMatchIndices, "MatchIndices", "[images, boxes], int32; -1: no match")
      .Input(kMatchDist, "MatchDist", "[images, boxes]")
      .Output(kNegIndices, "NegIndices", "[chosen boxes, 1], int32, with LoD: those of each image")
      .Output(kUpdated, "UpdatedMatchIndices", "[images, boxes], int32")
      .Attr(&MineHardExamplesAttrs::neg_pos_ratio, "neg_pos_ratio", "of max_negative")
      .Attr(&MineHardExamplesAttrs::neg_dist_threshold, "neg_dist_threshold", "of max_negative")
      .Attr(&MineHardExamplesAttrs::sample_size, "sample_size", "of hard_example")
      .Attr(&MineHardExamplesAttrs::mining_type, "mining_type", "max_negative or hard_example",
            OneOf({"max_negative", "hard_example"}))
      .Shape(InferShape)
      .KernelDTypeOf(kClsLoss)
      .MixedDTypes()
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct MineHardExamplesKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<MineHardExamplesAttrs>();
    const Tensor &cls = ctx.In(kClsLoss), &dists = ctx.In(kMatchDist);
    const Tensor* loc = ctx.InOrNull(kLocLoss);
    for (const Tensor* t : {&dists, loc}) {
      ENFORCE(!t || t->dtype() == cls.dtype(), Type,
              "LocLoss and MatchDist must be of the type of ClsLoss, ", cls.dtype(), ", got ",
              t->dtype());
    }
    const int64_t images = cls.dim(0), boxes = cls.dim(1);
    const bool negatives = IsMaxNegative(a);
    const T threshold = static_cast<T>(a.neg_dist_threshold);
    std::vector<int64_t> match = Integers(ctx.In(kMatchIndices), "MatchIndices"), offsets{0};
    std::vector<int32_t> chosen;
    for (int64_t i = 0; i < images; ++i) {
      const int64_t at = i * boxes;
      std::vector<int64_t> order;
      int64_t matched = 0;
      for (int64_t j = 0; j < boxes; ++j) {
        matched += match[at + j] != -1;
        if (!negatives || (match[at + j] == -1 && dists.data<T>()[at + j] < threshold))
          order.push_back(j);
      }
      auto loss = [&](int64_t j) {
        const T c = cls.data<T>()[at + j];
        return loc && !negatives ? c + loc->data<T>()[at + j] : c;
      };
      // A NaN is the greatest loss.
      auto key = [&](int64_t j) {
        const T v = loss(j);
        return v == v ? v : std::numeric_limits<T>::infinity();
      };
      double asked = a.sample_size;
      if (negatives) asked = matched ? static_cast<double>(matched) * a.neg_pos_ratio : 0;
      const auto most = static_cast<size_t>(std::min(asked, static_cast<double>(order.size())));
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t x, int64_t y) { return key(x) > key(y); });
      order.resize(most);
      std::sort(order.begin(), order.end());
      std::vector<char> hard(boxes, 0);
      for (int64_t j : order) {
        hard[j] = 1;
        if (match[at + j] < 0) chosen.push_back(static_cast<int32_t>(j));
      }
      for (int64_t j = 0; !negatives && j < boxes; ++j) {
        if (!hard[j]) match[at + j] = -1;
      }
      offsets.push_back(static_cast<int64_t>(chosen.size()));
    }
    if (Tensor* out = ctx.OutOrNull(kNegIndices)) {
      out->Allocate({offsets.back(), 1}, DType::kInt32, ctx.place());
      std::copy(chosen.begin(), chosen.end(), out->mutable_data<int32_t>());
      out->SetLoD(LoDLevels{offsets});
    }
    if (Tensor* out = ctx.OutOrNull(kUpdated)) {
      out->Allocate(cls.dims(), DType::kInt32, ctx.place());
      std::transform(match.begin(), match.end(), out->mutable_data<int32_t>(),
                     [](int64_t v) { return static_cast<int32_t>(v); });
    }
  }
};

REGISTER_OPERATOR(mine_hard_examples, DefineMineHardExamples);
REGISTER_CPU_KERNEL(mine_hard_examples, MineHardExamplesKernel, float, double);

}  // namespace
}  // namespace dygraph
