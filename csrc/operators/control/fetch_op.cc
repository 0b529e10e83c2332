#include "operators/control/array.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;
constexpr int32_t kMostElements = 1 << 24;

struct FetchAttrs {
  int32_t col = 0;
};

void DefineFetch(OpDef& op) {
  op.Comment(
        "Out = a list with X as element `col`: what a program returns. In a program it says which "
        "variable Executor.run returns.")
      .Example(
          ">>> out = dygraph.run_op('fetch', {'X': to_variable([2.0])}, {'col': 0})['Out']\n"
          ">>> len(out), F.read_from_array(out, to_variable(np.array([0]))).tolist()\n"
          "(1, [2.0])")
      .Input(kX, "X", "a tensor")
      .Output(kOut, "Out", "the list", kUpdated)
      .Attr(&FetchAttrs::col, "col", "its number in the list", AtLeast(0))
      .VarType([](InferContext& ctx) {
        if (!ctx.runtime()) array::Describe(ctx, kOut, ctx.dims(kX), ctx.dtype(kX));
      })
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .KernelAllocates()
      .ShareLoD(kX)
      .NoGrad();
}

template <class T>
struct FetchKernel {
  static void Compute(KernelContext& ctx) {
    const int32_t col = ctx.attrs<FetchAttrs>().col;
    ENFORCE(col < kMostElements, OutOfRange, "col must be in [0, ", kMostElements, "), got ", col);
    TensorArray& array = ctx.OutValue(kOut).MutableArray();
    if (array.items.size() <= static_cast<size_t>(col)) array.items.resize(col + 1);
    array.items[static_cast<size_t>(col)] = ctx.In(kX);
  }
};

REGISTER_OPERATOR(fetch, DefineFetch);
REGISTER_MOVING_KERNEL(fetch, FetchKernel);

}  // namespace
}  // namespace dygraph
