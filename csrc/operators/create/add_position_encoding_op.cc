#include <cmath>
#include <vector>

#include "kernels/loops.h"
#include "op/placed_list.h"
#include "operators/sequence/sequence.h"

namespace dygraph::sequence {
namespace {

constexpr int kX = 0, kOut = 0;

struct AddPositionEncodingAttrs {
  double alpha = 1.0, beta = 1.0;
};

void DefineAddPositionEncoding(OpDef& op) {
  op.Comment(
        "Out = alpha * X + beta * P, where row t of a sequence has P[j] = sin(t / 10000^(j / (h - "
        "1))) and P[h + j] = cos of the same, for j < h = D / 2. After Vaswani et al., "
        "\"Attention is all you need\", 2017.")
      .Example(
          ">>> out = F.add_position_encoding(to_variable(np.zeros((1, 2, 4))))\n"
          ">>> np.round(out.numpy(), 4).tolist()  # two sines, two cosines\n"
          "[[[0.0, 0.0, 1.0, 1.0], [0.8415, 0.0001, 0.5403, 1.0]]]")
      .Input(kX, "X", "[rows, D] with LoD or [batch, time, D]; D even")
      .Output(kOut, "Out", "shape and LoD of X")
      .Attr(&AddPositionEncodingAttrs::alpha, "alpha", "factor of X")
      .Attr(&AddPositionEncodingAttrs::beta, "beta", "factor of the encoding")
      .Shape([](InferContext& ctx) {
        const Dims& x = ctx.dims(kX);
        ENFORCE(x.rank() == 2 || x.rank() == 3, InvalidArgument,
                "X must be [rows, D] with LoD or [batch, time, D], got ", x);
        int64_t width = x[x.rank() - 1];
        ENFORCE(width < 0 || width % 2 == 0, InvalidArgument,
                "the width of X must be even, for sines and cosines, got ", x);
        if (ctx.runtime() && x.rank() == 2) LastLevel(ctx.value(kX).tensor(), "X");
        ctx.SetOutput(kOut, x);
      })
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        g.Call("scale", {g.OutputGrad(kOut)}, {g.InputGrad(kX)})
            .Attr("scale", g.attrs<AddPositionEncodingAttrs>().alpha);
      });
}

template <class T>
struct AddPositionEncodingKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& in = ctx.In(kX);
    const AddPositionEncodingAttrs& a = ctx.attrs<AddPositionEncodingAttrs>();
    if (in.numel() == 0) return;
    int64_t width = in.dim(in.rank() - 1), half = width / 2;
    std::vector<double> rates(half);
    for (int64_t j = 0; j < half; ++j)
      rates[j] = half > 1 ? std::pow(10000.0, -static_cast<double>(j) / (half - 1)) : 1e-4;
    std::vector<int64_t> places;  // of the rows in their sequences
    if (in.rank() == 2) {
      const Offsets& offsets = LastLevel(in, "X");
      for (int64_t s = 0; s < Count(offsets); ++s) {
        for (int64_t row = offsets[s]; row < offsets[s + 1]; ++row)
          places.push_back(row - offsets[s]);
      }
    }
    const PlacedList<double> placed_rates(ctx, rates);
    const PlacedList<int64_t> placed(ctx, places);
    const double* rate = placed_rates.data();
    const int64_t* place = in.rank() == 2 ? placed.data() : nullptr;
    const int64_t rows = in.numel() / width, times = in.rank() == 3 ? in.dim(1) : 1;
    const T *x = in.data<T>(), alpha = static_cast<T>(a.alpha), beta = static_cast<T>(a.beta);
    T* y = ctx.Out(kOut).mutable_data<T>();
    constexpr int64_t kCost = 64;
    kernels::ForEach(
        rows * half,
        [=] DYGRAPH_FN(int64_t i) {
          const int64_t row = i / half, j = i - row * half, k = row * width + j;
          const double angle = static_cast<double>(place ? place[row] : row % times) * rate[j];
          y[k] = alpha * x[k] + beta * static_cast<T>(std::sin(angle));
          y[k + half] = alpha * x[k + half] + beta * static_cast<T>(std::cos(angle));
        },
        kCost);
  }
};

REGISTER_OPERATOR(add_position_encoding, DefineAddPositionEncoding);
REGISTER_KERNELS(add_position_encoding, AddPositionEncodingKernel, float, double);

}  // namespace
}  // namespace dygraph::sequence
