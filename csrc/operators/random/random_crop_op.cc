#include "op/lod_rule.h"
#include "operators/random/crop_loops.h"

namespace dygraph::random {
namespace {

constexpr int kX = 0, kSeed = 1, kCrop = 0, kSeedOut = 1;

struct RandomCropAttrs {
  std::vector<int32_t> shape;
  int32_t startup_seed = 0;
};

void DefineRandomCrop(OpDef& op) {
  op.Comment(
        "Out = of each instance of X, a part of the sizes `shape` at a place of its own, all "
        "places equally likely.")
      .Example(
          ">>> F.random_crop(to_variable(np.ones((8, 3, 32, 32))), shape=[3, 28, 28]).shape\n"
          "(8, 3, 28, 28)")
      .Input(kX, "X", "[..., sizes]: as many sizes as `shape`, behind those of the instances")
      .Input(kSeed, "Seed", "one int64, in place of the seed", kDispensable | kOnHost)
      .Output(kCrop, "Out", "[..., shape]")
      .Output(kSeedOut, "SeedOut", "the Seed for the next call", kExtra)
      .Attr(&RandomCropAttrs::shape, "shape", "the sizes of a part", EachAtLeast(0))
      .Attr(&RandomCropAttrs::startup_seed, "startup_seed",
            "0: the generator's; others give the same places at each call")
      .ShareLoD(kX)
      .Shape([](InferContext& ctx) {
        const Dims& x = ctx.dims(kX);
        const auto& shape = ctx.attrs<RandomCropAttrs>().shape;
        int rank = static_cast<int>(shape.size()), batch = x.rank() - rank;
        ENFORCE(rank >= 1 && batch >= 0, InvalidArgument,
                "shape must have a size for the last axes of X ", x, ", got ", rank, " sizes");
        Dims out = x;
        for (int i = 0; i < rank; ++i) {
          out[batch + i] = shape[i];
          ENFORCE(x[batch + i] < 0 || shape[i] <= x[batch + i], InvalidArgument,
                  "the sizes in shape must be at most those of X ", x, ", got ", shape[i],
                  " for axis ", batch + i);
        }
        ENFORCE(!ctx.HasInput(kSeed) || ctx.dims(kSeed).HasUnknown() || Numel(ctx.dims(kSeed)) == 1,
                InvalidArgument, "Seed must hold one integer, got shape ", ctx.dims(kSeed));
        ctx.SetOutput(kCrop, out);
        ctx.SetOutput(kSeedOut, {1}, DType::kInt64);
      })
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .Random()
      .NoGrad();
}

template <class T>
struct RandomCropKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<RandomCropAttrs>();
    const Tensor& x = ctx.In(kX);
    int axes = static_cast<int>(a.shape.size()), batch = x.rank() - axes;
    int64_t instances = Numel(x.dims(), 0, batch), size = Numel(x.dims(), batch, x.rank());
    std::vector<int64_t> strides(static_cast<size_t>(axes), 1);
    for (int i = axes - 2; i >= 0; --i) strides[i] = strides[i + 1] * x.dim(batch + i + 1);
    kernels::Philox generator = Generator(ctx, a.startup_seed);
    if (const Tensor* seed = ctx.InOrNull(kSeed)) {
      int64_t value = Integers(*seed, "Seed")[0];
      generator = kernels::Philox(static_cast<uint64_t>(value), 0);
      if (Tensor* next = ctx.OutOrNull(kSeedOut))
        kernels::Fill(next->mutable_data<int64_t>(), 1, value + 1);
    } else if (Tensor* next = ctx.OutOrNull(kSeedOut)) {
      kernels::Fill(next->mutable_data<int64_t>(), 1, int64_t{a.startup_seed});
    }
    if (ctx.Out(kCrop).numel() == 0) return;
    const Dims sizes(x.dims().begin() + batch, x.dims().end());
    CopyParts(generator, x.data<T>(), instances, size, sizes, a.shape, strides,
              ctx.Out(kCrop).mutable_data<T>());
  }
};

REGISTER_OPERATOR(random_crop, DefineRandomCrop);
REGISTER_LOD_RULE(random_crop, RowsOfFirstOutput);
REGISTER_KERNELS(random_crop, RandomCropKernel, uint8_t, int8_t, int16_t, int32_t, int64_t, float,
                 double);

}  // namespace
}  // namespace dygraph::random
