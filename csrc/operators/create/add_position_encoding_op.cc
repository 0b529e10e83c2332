#include <cmath>

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
    const T* x = in.data<T>();
    T *y = ctx.Out(kOut).mutable_data<T>(), alpha = static_cast<T>(a.alpha),
      beta = static_cast<T>(a.beta);
    std::vector<double> rate(half);
    for (int64_t j = 0; j < half; ++j)
      rate[j] = half > 1 ? std::pow(10000.0, -static_cast<double>(j) / (half - 1)) : 1e-4;
    auto encode = [&](int64_t row, int64_t t) {
      for (int64_t j = 0; j < half; ++j) {
        double angle = static_cast<double>(t) * rate[j];
        int64_t k = row * width + j;
        y[k] = alpha * x[k] + beta * static_cast<T>(std::sin(angle));
        y[k + half] = alpha * x[k + half] + beta * static_cast<T>(std::cos(angle));
      }
    };
    if (in.rank() == 3) {
      for (int64_t row = 0; row < in.dim(0) * in.dim(1); ++row) encode(row, row % in.dim(1));
      return;
    }
    const Offsets& offsets = LastLevel(in, "X");
    for (int64_t s = 0; s < Count(offsets); ++s) {
      for (int64_t row = offsets[s]; row < offsets[s + 1]; ++row) encode(row, row - offsets[s]);
    }
  }
};

REGISTER_OPERATOR(add_position_encoding, DefineAddPositionEncoding);
REGISTER_CPU_KERNEL(add_position_encoding, AddPositionEncodingKernel, float, double);

}  // namespace
}  // namespace dygraph::sequence
