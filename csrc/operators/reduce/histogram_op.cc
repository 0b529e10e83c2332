#include <algorithm>
#include <cmath>

#include "op/op_registry.h"
#include "platform/interrupt.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct HistogramAttrs {
  int64_t bins = 100;
  double min = 0;
  double max = 0;
};

void DefineHistogram(OpDef& op) {
  op.Comment(
        "Out[k] = how many elements of X lie in bin k of `bins` equally wide ones from min to max. "
        "A bin holds its lower edge, the last one both. Where min and max are equal, X gives them. "
        "Elements outside, and NaN, are left out.")
      .Example(
          ">>> F.histogram(to_variable([0.0, 1.0, 1.5, 4.0]), bins=4, min=0, max=4).tolist()\n"
          "[1, 2, 0, 1]")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "[bins], int64")
      .Attr(&HistogramAttrs::bins, "bins", "how many", AtLeast(1))
      .Attr(&HistogramAttrs::min, "min", "the lower edge of the first bin")
      .Attr(&HistogramAttrs::max, "max", "the upper edge of the last bin, at least min")
      .Shape([](InferContext& ctx) {
        const HistogramAttrs& a = ctx.attrs<HistogramAttrs>();
        ENFORCE(std::isfinite(a.min) && std::isfinite(a.max) && a.min <= a.max, InvalidArgument,
                "min must be at most max, and both finite, got ", a.min, " and ", a.max);
        ctx.SetOutput(kOut, {a.bins}, DType::kInt64);
      })
      .NoGrad();
}

template <class T>
struct HistogramKernel {
  static void Compute(KernelContext& ctx) {
    using F = std::conditional_t<std::is_same_v<T, float>, float, double>;
    const HistogramAttrs& a = ctx.attrs<HistogramAttrs>();
    const Tensor& x = ctx.In(kX);
    const T* v = x.data<T>();
    const int64_t n = x.numel(), bins = a.bins;
    F least = static_cast<F>(a.min), most = static_cast<F>(a.max);
    if (least == most && n > 0) {
      auto [low, high] = std::minmax_element(v, v + n);
      least = static_cast<F>(*low), most = static_cast<F>(*high);
      for (int64_t i = 0; i < n; ++i) {
        ENFORCE(std::isfinite(static_cast<F>(v[i])), InvalidArgument,
                "X must be finite where min and max are equal, got ", v[i], ". Give min and max");
      }
    }
    if (least == most) least -= F(1), most += F(1);
    ENFORCE(least < most && std::isfinite(most - least), InvalidArgument,
            "the range of the bins must be finite, got ", least, " to ", most,
            ". Convert X with astype('float64')");
    int64_t* to = ctx.Out(kOut).mutable_data<int64_t>();
    std::fill(to, to + bins, int64_t{0});
    const F width = most - least, count = static_cast<F>(bins);
    InPieces(n, int64_t{1} << 20, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const F value = static_cast<F>(v[i]);
        if (!(value >= least && value <= most)) continue;
        ++to[std::min(static_cast<int64_t>((value - least) * count / width), bins - 1)];
      }
    });
  }
};

REGISTER_OPERATOR(histogram, DefineHistogram);
REGISTER_CPU_KERNEL(histogram, HistogramKernel, int32_t, int64_t, float, double);

}  // namespace
}  // namespace dygraph
