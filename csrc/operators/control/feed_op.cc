#include "operators/control/array.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct FeedAttrs {
  int32_t col = 0;
};

void DefineFeed(OpDef& op) {
  op.Comment(
        "Out = element `col` of X, the list of what a program is fed. In a program it says which "
        "variable takes a value that Executor.run is given.")
      .Example(
          ">>> fed = F.write_to_array(to_variable([2.0]), to_variable(np.array([0])))\n"
          ">>> dygraph.run_op('feed', {'X': fed}, {'col': 0})['Out'].tolist()\n"
          "[2.0]")
      .Input(kX, "X", "what is fed", kTakesArray)
      .Output(kOut, "Out", "the element")
      .Attr(&FeedAttrs::col, "col", "its number", AtLeast(0))
      .VarType([](InferContext&) {})
      .KernelDType(array::TypeOf<kX>)
      .MixedDTypes()
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct FeedKernel {
  static void Compute(KernelContext& ctx) {
    const TensorArray& x = array::ArrayIn(ctx.call(), kX);
    const int32_t col = ctx.attrs<FeedAttrs>().col;
    ENFORCE(static_cast<size_t>(col) < x.items.size(), OutOfRange, "col must be in [0, ",
            x.items.size(), "), got ", col);
    array::RequireWritten("X", x, static_cast<size_t>(col));
    ctx.OutValue(kOut) = Value(x.items[static_cast<size_t>(col)]);
  }
};

REGISTER_OPERATOR(feed, DefineFeed);
REGISTER_MOVING_KERNEL(feed, FeedKernel);

}  // namespace
}  // namespace dygraph
