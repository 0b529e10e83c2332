#include <cmath>
#include <limits>

#include "kernels/add_at.h"
#include "kernels/elementwise.h"
#include "kernels/fold.h"
#include "kernels/value_check.h"
#include "op/index_guard.h"

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

// The edges of all bins; the sum of two ranges holds both.
template <class F>
struct Range {
  F least, most;
  DYGRAPH_INLINE Range operator+(Range b) const {
    return {b.least < least ? b.least : least, b.most > most ? b.most : most};
  }
};

template <class T>
struct HistogramKernel {
  static void Compute(KernelContext& ctx) {
    using F = std::conditional_t<std::is_same_v<T, float>, float, double>;
    const HistogramAttrs& a = ctx.attrs<HistogramAttrs>();
    const Tensor& x = ctx.In(kX);
    const T* v = x.data<T>();
    const int64_t n = x.numel(), bins = a.bins;
    const F given_least = static_cast<F>(a.min), given_most = static_cast<F>(a.max);
    const bool of_x = given_least == given_most && n > 0;
    Scratch room = ctx.Workspace(sizeof(Range<F>));
    Range<F>* range = room.as<Range<F>>();
    if (of_x) {
      kernels::CheckEach(
          v, n, [] DYGRAPH_FN(T x) { return std::isfinite(static_cast<F>(x)); },
          "X must be finite where min and max are equal, got %. Give min and max");
    }
    const Range<F> given{given_least, given_most};
    const F inf = std::numeric_limits<F>::infinity();
    kernels::FoldAll(
        of_x ? n : 0, Range<F>{inf, -inf},
        [=] DYGRAPH_FN(int64_t i) { return Range<F>{static_cast<F>(v[i]), static_cast<F>(v[i])}; },
        kernels::Sum(),
        [=] DYGRAPH_FN(Range<F> found) {
          *range = of_x ? found : given;
          if (range->least == range->most) range->least -= F(1), range->most += F(1);
        });
    CheckEach(1, [=](int64_t) {
      ENFORCE(range->least < range->most && std::isfinite(range->most - range->least),
              InvalidArgument, "the range of the bins must be finite, got ", range->least, " to ",
              range->most, ". Convert X with astype('float64')");
    });
    int64_t* to = ctx.Out(kOut).mutable_data<int64_t>();
    kernels::Fill(to, bins, int64_t{0});
    kernels::ForEachAdding(n, [=] DYGRAPH_FN(int64_t i) {
      const F value = static_cast<F>(v[i]), least = range->least, most = range->most;
      if (!(value >= least && value <= most)) return;
      const F width = most - least, count = static_cast<F>(bins);
      const int64_t bin = static_cast<int64_t>((value - least) * count / width);
      kernels::AddAt(to + (bin < bins ? bin : bins - 1), int64_t{1});
    });
  }
};

REGISTER_OPERATOR(histogram, DefineHistogram);
REGISTER_KERNELS(histogram, HistogramKernel, int32_t, int64_t, float, double);

}  // namespace
}  // namespace dygraph
