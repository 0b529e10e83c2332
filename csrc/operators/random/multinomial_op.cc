#include "operators/random/multinomial_loops.h"
#include "operators/random/weights.h"

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

template <class T>
struct MultinomialKernel {
  static void Compute(KernelContext& ctx) {
    const MultinomialAttrs& a = ctx.attrs<MultinomialAttrs>();
    const Tensor& x = ctx.In(kX);
    const int64_t n = x.dim(x.rank() - 1), rows = x.numel() / n, count = a.num_samples;
    const T* weight = x.data<T>();
    RequireWithin(weight, x.numel(), std::numeric_limits<T>::max(),
                  "X must be finite and at least 0, got %");
    DrawMultinomial(ctx, weight, rows, n, count, a.replacement,
                    ctx.Out(kOut).mutable_data<int64_t>());
  }
};

REGISTER_OPERATOR(multinomial, DefineMultinomial);
REGISTER_KERNELS(multinomial, MultinomialKernel, float, double);

}  // namespace
}  // namespace dygraph::random
