#include "operators/sequence/sequence.h"

namespace dygraph::sequence {
namespace {

constexpr int kX = 0, kOut = 0;

struct SequenceEraseAttrs {
  std::vector<int32_t> tokens;
};

void CheckShape(const Dims& x) {
  ENFORCE(x.rank() == 1 || (x.rank() == 2 && (x[1] == 1 || x[1] < 0)), InvalidArgument,
          "X must have shape [rows, 1] or [rows], got ", x);
}

void DefineSequenceErase(OpDef& op) {
  op.Comment("X without the numbers that are among tokens; sequences become shorter.")
      .Example(
          ">>> x = to_variable([[1], [2], [3]], lod=[[0, 2, 3]])\n"
          ">>> out = F.sequence_erase(x, tokens=[2])\n"
          ">>> out.tolist(), out.lod()\n"
          "([[1], [3]], [[0, 1, 2]])")
      .Input(kX, "X", "[rows, 1] with LoD, int32 or int64")
      .Output(kOut, "Out", "what is left, with its LoD")
      .Attr(&SequenceEraseAttrs::tokens, "tokens", "the numbers to take away")
      .Shape([](InferContext& ctx) {
        CheckShape(ctx.dims(kX));
        if (ctx.runtime()) LastLevel(ctx.value(kX).tensor(), "X");
        ctx.SetOutput(kOut, WithRows(ctx.dims(kX), -1));
      })
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct SequenceEraseKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const Offsets& offsets = LastLevel(x, "X");
    const std::vector<int32_t>& tokens = ctx.attrs<SequenceEraseAttrs>().tokens;
    const T* from = x.data<T>();
    std::vector<T> kept;
    Offsets last{0};
    for (int64_t s = 0; s < Count(offsets); ++s) {
      for (int64_t i = offsets[s]; i < offsets[s + 1]; ++i) {
        if (std::find(tokens.begin(), tokens.end(), from[i]) == tokens.end())
          kept.push_back(from[i]);
      }
      last.push_back(static_cast<int64_t>(kept.size()));
    }
    Tensor& out = ctx.Out(kOut);
    out.Allocate(WithRows(x.dims(), last.back()), x.dtype(), ctx.place());
    std::copy(kept.begin(), kept.end(), out.mutable_data<T>());
    LoDLevels lod = UpperLevels(x.lod_levels());
    lod.push_back(std::move(last));
    out.SetLoD(std::move(lod));
  }
};

REGISTER_OPERATOR(sequence_erase, DefineSequenceErase);
REGISTER_CPU_KERNEL(sequence_erase, SequenceEraseKernel, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::sequence
