#include <algorithm>

#include "operators/arguments.h"
#include "operators/reduce/bins.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kWeights = 1, kOut = 0;

struct BincountAttrs {
  int32_t minlength = 0;
};

DType OutType(const InferContext& ctx) {
  if (!ctx.HasInput(kWeights)) return DType::kInt64;
  return ctx.dtype(kWeights) == DType::kFloat32 ? DType::kFloat32 : DType::kFloat64;
}

void InferShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  ENFORCE(x.rank() == 1, InvalidArgument, "X must have one axis, got shape ", x);
  if (ctx.HasInput(kWeights)) {
    const Dims& w = ctx.dims(kWeights);
    ENFORCE(w.rank() == 1 && (w[0] == x[0] || !BothKnown(w[0], x[0])), InvalidArgument,
            "Weights must have the shape of X, ", x, ", got ", w);
    const DType type = ctx.dtype(kWeights);
    ENFORCE(type == DType::kFloat32 || type == DType::kFloat64 || type == DType::kInt32 ||
                type == DType::kInt64,
            Type, "Weights must be of float32, float64, int32 or int64, got ", type,
            ". Convert with astype('float32')");
  }
  ctx.SetOutput(kOut, {ctx.runtime() ? 0 : -1}, OutType(ctx));  // the kernel knows the greatest
}

void DefineBincount(OpDef& op) {
  op.Comment(
        "Out[k] = how often k is in X, or with Weights the sum of the weights of these elements.")
      .Example(
          ">>> F.bincount(to_variable([1, 3, 1])).tolist()\n"
          "[0, 2, 0, 1]\n"
          ">>> F.bincount(to_variable([1, 3, 1]), weights=to_variable([0.5, 1.0, 2.0])).tolist()\n"
          "[0.0, 2.5, 0.0, 1.0]")
      .Input(kX, "X", "[n], int32 or int64, at least 0")
      .Input(kWeights, "Weights", "[n]", kDispensable)
      .Output(kOut, "Out",
              "[greatest of X + 1], or minlength if that is more; int64, with Weights their type, "
              "float64 for integers")
      .Attr(&BincountAttrs::minlength, "minlength", "the least size of Out", AtLeast(0))
      .Shape(InferShape)
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct BincountKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), *weights = ctx.InOrNull(kWeights);
    const T* v = x.data<T>();
    const T most = bins::Greatest(ctx, v, x.numel());
    ENFORCE(static_cast<int64_t>(most) < INT64_MAX, OutOfRange, "X must be less than ", INT64_MAX,
            ", got ", most);
    const int64_t size =
        std::max<int64_t>(static_cast<int64_t>(most) + 1, ctx.attrs<BincountAttrs>().minlength);
    Tensor& out = ctx.Out(kOut);
    if (!weights) {
      out.Allocate({size}, DType::kInt64, ctx.place());
      return bins::Count(v, x.numel(), out.mutable_data<int64_t>(), size);
    }
    VisitDType(weights->dtype(), [&](auto tag) {
      using W = typename decltype(tag)::type;
      if constexpr (std::is_same_v<W, float>) {
        Weigh<float>(ctx, v, *weights, size, &out);
      } else if constexpr (std::is_same_v<W, double> || std::is_same_v<W, int32_t> ||
                           std::is_same_v<W, int64_t>) {
        Weigh<double, W>(ctx, v, *weights, size, &out);
      }
    });
  }
  template <class S, class W = S>
  static void Weigh(KernelContext& ctx, const T* v, const Tensor& weights, int64_t size,
                    Tensor* out) {
    out->Allocate({size}, std::is_same_v<S, float> ? DType::kFloat32 : DType::kFloat64,
                  ctx.place());
    bins::Weigh(v, weights.data<W>(), weights.numel(), out->mutable_data<S>(), size);
  }
};

REGISTER_OPERATOR(bincount, DefineBincount);
REGISTER_KERNELS(bincount, BincountKernel, int32_t, int64_t);

}  // namespace
}  // namespace dygraph
