#include "operators/sequence/erase_loops.h"

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
    Tensor& out = ctx.Out(kOut);
    Offsets last = KeepOthers(ctx, offsets, tokens, x.data<T>(), x.dims(), &out);
    LoDLevels lod = UpperLevels(x.lod_levels());
    lod.push_back(std::move(last));
    out.SetLoD(std::move(lod));
  }
};

REGISTER_OPERATOR(sequence_erase, DefineSequenceErase);
REGISTER_KERNELS(sequence_erase, SequenceEraseKernel, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::sequence
