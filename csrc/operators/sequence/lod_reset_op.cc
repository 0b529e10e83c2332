#include "operators/arguments.h"
#include "operators/sequence/sequence.h"

namespace dygraph::sequence {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0;

struct LodResetAttrs {
  std::vector<int32_t> target_lod;
  bool append = false;
};

void DefineLodReset(OpDef& op) {
  op.Comment(
        "Out = X with another level of detail: Y's, or the offsets an integer Y without LoD holds, "
        "or target_lod; none where Y is of a floating type and has none. With append the level "
        "joins X's below its last one.")
      .Example(
          ">>> x = F.lod_reset(to_variable([[1.0], [2.0], [3.0]]), target_lod=[0, 1, 3])\n"
          ">>> x.lod(), x.tolist()\n"
          "([[0, 1, 3]], [[1.0], [2.0], [3.0]])")
      .Input(kX, "X", "at least one axis")
      .Input(kY, "Y", "with LoD, or [n] int32 or int64 offsets", kDispensable)
      .Output(kOut, "Out", "X")
      .Attr(&LodResetAttrs::target_lod, "target_lod", "offsets, used where Y is absent")
      .Attr(&LodResetAttrs::append, "append", "keep X's levels and add one below them")
      .SameShape(kX, kOut)
      .MixedDTypes()
      .KernelAllocates()
      .MayShare(kX, kOut)
      .Grad([](GradBuilder& g) { g.Call("assign", {g.OutputGrad(kOut)}, {g.InputGrad(kX)}); });
}

template <class>
struct LodResetKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const Tensor* y = ctx.InOrNull(kY);
    const LodResetAttrs& a = ctx.attrs<LodResetAttrs>();
    ENFORCE(x.rank() > 0, InvalidArgument, "X must have rows for a LoD to count, got shape []");
    LoDLevels lod;
    if (y) {
      bool holds_offsets = y->dtype() == DType::kInt32 || y->dtype() == DType::kInt64;
      lod = y->lod() || !holds_offsets ? y->lod_levels()
                                       : LoDLevels{Integers(CopyTo(*y, CPUPlace()), "Y")};
    } else {
      ENFORCE(!a.target_lod.empty(), InvalidArgument,
              "either Y or target_lod must be given, got neither");
      lod = {Offsets(a.target_lod.begin(), a.target_lod.end())};
    }
    if (a.append) {
      LoDLevels levels = x.lod_levels();
      levels.insert(levels.end(), lod.begin(), lod.end());
      lod = std::move(levels);
    }
    CheckLoD(lod, x.dim(0));
    Tensor& out = ctx.Out(kOut);
    out.ShareData(x);
    if (lod.empty()) {
      out.SetLoD(Ref<LoD>());
    } else {
      out.SetLoD(std::move(lod));
    }
  }
};

REGISTER_OPERATOR(lod_reset, DefineLodReset);
REGISTER_KERNELS(lod_reset, LodResetKernel, AllTypes);

}  // namespace
}  // namespace dygraph::sequence
