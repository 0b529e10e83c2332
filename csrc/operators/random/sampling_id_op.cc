#include "kernels/loops.h"
#include "operators/random/random.h"

namespace dygraph::random {
namespace {

constexpr int kX = 0, kIds = 0;

struct SamplingIdAttrs {
  double min = 0.0;
  double max = 1.0;
  int32_t seed = 0;
};

void DefineSamplingId(OpDef& op) {
  op.Comment("Out[i] = a column drawn with the probabilities in row i of X.")
      .Example(
          ">>> F.sampling_id(to_variable([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])).tolist()\n"
          "[1, 2]")
      .Input(kX, "X", "[rows, columns] probabilities")
      .Output(kIds, "Out", "[rows], int64")
      .Attr(&SamplingIdAttrs::min, "min", "least of the numbers drawn to compare with")
      .Attr(&SamplingIdAttrs::max, "max", "greatest of them")
      .Attr(&SamplingIdAttrs::seed, "seed",
            "0: the generator's; others give the same numbers at each call")
      .ShareLoD(kX)
      .Shape([](InferContext& ctx) {
        const Dims& x = ctx.dims(kX);
        ENFORCE(x.rank() == 2 && x[1] != 0, InvalidArgument,
                "X must be a matrix with columns to choose from, got shape ", x);
        ctx.SetOutput(kIds, {x[0]}, DType::kInt64);
      })
      .Random()
      .NoGrad();
}

template <class T>
struct SamplingIdKernel {
  static void Compute(KernelContext& ctx) {
    const SamplingIdAttrs& a = ctx.attrs<SamplingIdAttrs>();
    const Tensor& x = ctx.In(kX);
    int64_t rows = x.dim(0), columns = x.dim(1);
    Scratch space = ctx.Workspace(static_cast<size_t>(rows) * sizeof(double));
    double* drawn = space.as<double>();
    Generator(ctx, a.seed).Uniform(drawn, rows);
    const double low = NumberFor<T>(a.min), high = NumberFor<T>(a.max);
    const T* p = x.data<T>();
    int64_t* to = ctx.Out(kIds).mutable_data<int64_t>();
    kernels::ForEach(
        rows,
        [=] DYGRAPH_FN(int64_t i) {
          const T* weight = p + i * columns;
          double left = low + drawn[i] * (high - low);
          int64_t at = 0;
          while (at < columns - 1 && !((left -= static_cast<double>(weight[at])) < 0)) ++at;
          to[i] = at;
        },
        columns);
  }
};

REGISTER_OPERATOR(sampling_id, DefineSamplingId);
REGISTER_KERNELS(sampling_id, SamplingIdKernel, float, double);

}  // namespace
}  // namespace dygraph::random
