#include "operators/detection/boxes.h"
#include "operators/detection/box_pairs.h"

namespace dygraph::boxes {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0;

struct IouSimilarityAttrs {
  bool box_normalized = true;
};

void DefineIouSimilarity(OpDef& op) {
  op.Comment(
        "Out[i, j] = intersection over union of the boxes X[i] and Y[j]. The union is 1e-10 "
        "larger, so that it is never 0.")
      .Example(
          ">>> x, y = to_variable([[0.0, 0.0, 2.0, 2.0]]), to_variable([[1.0, 0.0, 3.0, 2.0]])\n"
          ">>> round(F.iou_similarity(x, y).item(), 4)\n"
          "0.3333")
      .Input(kX, "X", "[n, 4]: the left, upper, right and lower side of each box")
      .Input(kY, "Y", "[m, 4]")
      .Output(kOut, "Out", "[n, m]")
      .Attr(&IouSimilarityAttrs::box_normalized, "box_normalized",
            "False: sides are pixels, and a box from 2 to 4 is 3 wide")
      .Shape([](InferContext& ctx) {
        CheckBoxes(ctx.dims(kX), "X");
        CheckBoxes(ctx.dims(kY), "Y");
        ctx.SetOutput(kOut, {ctx.dims(kX)[0], ctx.dims(kY)[0]});
      })
      .ShareLoD(kX)
      .NoGrad();
}

template <class T>
struct IouSimilarityKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    const int64_t n = x.dim(0), m = y.dim(0);
    const T *a = x.data<T>(), *b = y.data<T>();
    T* to = ctx.Out(kOut).mutable_data<T>();
    const T unit = ctx.attrs<IouSimilarityAttrs>().box_normalized ? T(0) : T(1);
    ForEachPair(
        n, m,
        [=] DYGRAPH_FN(int64_t i, int64_t j) {
          const Box<T> one = Box<T>::At(a + i * 4), two = Box<T>::At(b + j * 4);
          const T area = one.Width(unit) * one.Height(unit);
          const T both = Intersection(one, two, unit);
          to[i * m + j] =
              both / (area + two.Width(unit) * two.Height(unit) - both + static_cast<T>(1e-10));
        },
        16);
  }
};

REGISTER_OPERATOR(iou_similarity, DefineIouSimilarity);
REGISTER_KERNELS(iou_similarity, IouSimilarityKernel, float, double);

}  // namespace
}  // namespace dygraph::boxes
