#include "kernels/loops.h"
#include "kernels/table.h"
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
    std::vector<int64_t> ends;  // of the sequence of each row
    for (int64_t s = 0; s < Count(offsets); ++s)
      ends.insert(ends.end(), static_cast<size_t>(offsets[s + 1] - offsets[s]), offsets[s + 1]);
    kernels::Table<int64_t> table(ends);
    const int64_t *end = table.data(), size = a.win_size;
    const T pad = static_cast<T>(a.pad_value);
    kernels::ForEach(
        static_cast<int64_t>(ends.size()),
        [=] DYGRAPH_FN(int64_t i) {
          for (int64_t k = 0; k < size; ++k) to[i * size + k] = i + k < end[i] ? from[i + k] : pad;
        },
        size);
  }
};

REGISTER_OPERATOR(sequence_enumerate, DefineSequenceEnumerate);
REGISTER_KERNELS(sequence_enumerate, SequenceEnumerateKernel, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::sequence
