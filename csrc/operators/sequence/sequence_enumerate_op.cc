#include "operators/sequence/sequence.h"

namespace dygraph::sequence {
namespace {

constexpr int kX = 0, kOut = 0;

struct SequenceEnumerateAttrs {
  int32_t win_size = 1;
  int32_t pad_value = 0;
};

void DefineSequenceEnumerate(OpDef& op) {
  op.Comment(
        "Out[i] = X[i], X[i + 1], ... X[i + win_size - 1], pad_value beyond the end of the "
        "sequence.")
      .Example(
          ">>> x = to_variable([[1], [2], [3]], lod=[[0, 2, 3]])\n"
          ">>> F.sequence_enumerate(x, win_size=2).tolist()\n"
          "[[1, 2], [2, 0], [3, 0]]")
      .Input(kX, "X", "[rows, 1] or [rows] with LoD, int32 or int64")
      .Output(kOut, "Out", "[rows, win_size]")
      .Attr(&SequenceEnumerateAttrs::win_size, "win_size", "numbers in a window", AtLeast(1))
      .Attr(&SequenceEnumerateAttrs::pad_value, "pad_value", "beyond the end of a sequence")
      .Shape([](InferContext& ctx) {
        const Dims& x = ctx.dims(kX);
        ENFORCE(x.rank() == 1 || (x.rank() == 2 && (x[1] == 1 || x[1] < 0)), InvalidArgument,
                "X must have shape [rows, 1] or [rows], got ", x);
        if (ctx.runtime()) LastLevel(ctx.value(kX).tensor(), "X");
        ctx.SetOutput(kOut, {x[0], ctx.attrs<SequenceEnumerateAttrs>().win_size});
      })
      .ShareLoD(kX)
      .NoGrad();
}

template <class T>
struct SequenceEnumerateKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const SequenceEnumerateAttrs& a = ctx.attrs<SequenceEnumerateAttrs>();
    const Offsets& offsets = LastLevel(x, "X");
    const T* from = x.data<T>();
    T* to = ctx.Out(kOut).mutable_data<T>();
    for (int64_t s = 0; s < Count(offsets); ++s) {
      for (int64_t i = offsets[s]; i < offsets[s + 1]; ++i) {
        for (int64_t k = i; k < i + a.win_size; ++k)
          *to++ = k < offsets[s + 1] ? from[k] : static_cast<T>(a.pad_value);
      }
    }
  }
};

REGISTER_OPERATOR(sequence_enumerate, DefineSequenceEnumerate);
REGISTER_CPU_KERNEL(sequence_enumerate, SequenceEnumerateKernel, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::sequence
