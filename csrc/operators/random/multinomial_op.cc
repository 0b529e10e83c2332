#include <cmath>

#include "operators/random/random.h"
#include "operators/random/weights.h"
#include "platform/interrupt.h"

namespace dygraph::random {
namespace {

constexpr int kX = 0, kOut = 0;

struct MultinomialAttrs {
  int32_t num_samples = 1;
  bool replacement = false;
};

void DefineMultinomial(OpDef& op) {
  op.Comment(
        "Out = the numbers of elements of each row of X, drawn with probabilities in proportion to "
        "the elements, again and again or, without replacement, each at most once.")
      .Example(">>> F.multinomial(to_variable([[0.0, 3.0], [1.0, 0.0]])).tolist()\n[[1], [0]]")
      .Input(kX, "X", "weights of at least 0, [n] or [batch, n]")
      .Output(kOut, "Out", "[num_samples] or [batch, num_samples], int64")
      .Attr(&MultinomialAttrs::num_samples, "num_samples", "draws of each row", AtLeast(1))
      .Attr(&MultinomialAttrs::replacement, "replacement", "an element may be drawn again")
      .Shape([](InferContext& ctx) {
        const MultinomialAttrs& a = ctx.attrs<MultinomialAttrs>();
        Dims out = ctx.dims(kX);
        ENFORCE(out.rank() == 1 || out.rank() == 2, InvalidArgument,
                "X must be weights [n] or [batch, n], got shape ", out);
        int64_t& n = out[out.rank() - 1];
        ENFORCE(n != 0 && (a.replacement || a.num_samples <= n || n < 0), InvalidArgument,
                "X must have ", a.replacement ? 1 : a.num_samples, " weights in a row, got shape ",
                ctx.dims(kX), ". replacement=True draws an element again");
        n = a.num_samples;
        ctx.SetOutput(kOut, out, DType::kInt64);
      })
      .ShareLoD(kX)
      .Random()
      .NoGrad();
}

// With replacement: each draw is a number below the sum of the weights, and falls into one of them.
template <class T>
void DrawAgain(const T* weight, int64_t n, const kernels::Philox& generator, int64_t first,
               int64_t count, std::vector<double>* sums, int64_t* to) {
  double sum = 0;
  int64_t last = 0;
  for (int64_t i = 0; i < n; ++i) {
    (*sums)[i] = sum += static_cast<double>(weight[i]);
    if (weight[i] > T(0)) last = i;
  }
  std::vector<double> drawn(static_cast<size_t>(count));
  generator.Uniform(drawn.data(), count, first);
  for (int64_t k = 0; k < count; ++k) {  // the first sum above the number
    const int64_t at = std::upper_bound(sums->begin(), sums->end(), drawn[k] * sum) - sums->begin();
    to[k] = std::min(at, last);
  }
}

// Without: the first of exponential times, each with its weight as rate, come in this distribution.
template <class T>
void DrawOnce(const T* weight, int64_t n, const kernels::Philox& generator, int64_t row,
              int64_t count, std::vector<double>* times, int64_t* to) {
  generator.Uniform(times->data(), n, row * n);
  std::vector<std::pair<double, int64_t>> order;
  order.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    if (weight[i] > T(0))
      order.emplace_back(-std::log1p(-(*times)[i]) / static_cast<double>(weight[i]), i);
  }
  std::partial_sort(order.begin(), order.begin() + count, order.end());
  for (int64_t k = 0; k < count; ++k) to[k] = order[k].second;
}

template <class T>
struct MultinomialKernel {
  static void Compute(KernelContext& ctx) {
    const MultinomialAttrs& a = ctx.attrs<MultinomialAttrs>();
    const Tensor& x = ctx.In(kX);
    const int64_t n = x.dim(x.rank() - 1), rows = x.numel() / n, count = a.num_samples;
    const T* weight = x.data<T>();
    RequireWithin(weight, x.numel(), std::numeric_limits<T>::max(), "be finite and at least 0");
    const int64_t needed = a.replacement ? 1 : count;
    for (int64_t r = 0; r < rows; ++r) {
      const T* row = weight + r * n;
      const int64_t positive = std::count_if(row, row + n, [](T w) { return w > T(0); });
      ENFORCE(positive >= needed, InvalidArgument, "each row of X must have ", needed,
              " positive weights, got ", positive, " in row ", r,
              ". replacement=True draws an element again");
    }
    int64_t* to = ctx.Out(kOut).mutable_data<int64_t>();
    const kernels::Philox generator = Generator(ctx, 0);
    kernels::ParallelRows(rows, n * 16 + count * 16, [=](int64_t begin, int64_t end) {
      std::vector<double> room(static_cast<size_t>(n));
      for (int64_t r = begin; r < end; ++r) {
        CheckInterrupt();
        const T* row = weight + r * n;
        if (a.replacement) {
          DrawAgain(row, n, generator, r * count, count, &room, to + r * count);
        } else {
          DrawOnce(row, n, generator, r, count, &room, to + r * count);
        }
      }
    });
  }
};

REGISTER_OPERATOR(multinomial, DefineMultinomial);
REGISTER_CPU_KERNEL(multinomial, MultinomialKernel, float, double);

}  // namespace
}  // namespace dygraph::random
