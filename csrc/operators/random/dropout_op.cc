
#include "kernels/convert.h"
#include "kernels/elementwise.h"
#include "kernels/philox.h"
#include "op/gradient_shapes.h"
#include "op/open_attr.h"
#include "op/pointwise.h"
#include "operators/arguments.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kSeed = 1, kOut = 0, kMask = 1;

struct DropoutAttrs {
  double dropout_prob = 0.5;
  bool fix_seed = false;
  int32_t seed = 0;
  bool is_test = false;
  std::string dropout_implementation = "downgrade_in_infer";
  bool upscales() const { return dropout_implementation == "upscale_in_train"; }
  // What elements of type T that stay are multiplied by.
  template <class T>
  T TrainFactor() const {
    if (!upscales()) return 1;
    const double p = NumberFor<T>(dropout_prob);
    return static_cast<T>(p < 1 ? 1 / (1 - p) : 0);
  }
  template <class T>
  T TestFactor() const {
    return upscales() ? 1 : static_cast<T>(1 - double{NumberFor<T>(dropout_prob)});
  }
};

void InferShape(InferContext& ctx) {
  ctx.SetOutput(kOut, ctx.dims(kX), ctx.dtype(kX));
  ctx.SetOutput(kMask, ctx.attrs<DropoutAttrs>().is_test ? Dims{0} : ctx.dims(kX), DType::kUInt8);
}

void DefineDropout(OpDef& op) {
  op.Comment(
        "Training: Out = X * Mask, where Mask is 0 with probability dropout_prob and otherwise 1; "
        "upscale_in_train divides by 1 - "
        "dropout_prob. With is_test: Out = X * (1 - dropout_prob) for downgrade_in_infer, X for "
        "upscale_in_train.")
      .Example(
          ">>> x = to_variable(np.ones(1000))\n"
          ">>> out = F.dropout(x, dropout_prob=0.5, dropout_implementation=\"upscale_in_train\")\n"
          ">>> sorted(set(out.tolist()))\n"
          "[0.0, 2.0]")
      .Input(kX, "X", "any shape")
      .Input(kSeed, "Seed", "one integer, in place of the generator's seed and stream",
             kDispensable | kOnHost)
      .Output(kOut, "Out", "shape of X")
      .Output(kMask, "Mask", "uint8, 1 where an element stayed; shape [0] with is_test",
              kIntermediate)
      .Attr(&DropoutAttrs::dropout_prob, "dropout_prob", "probability of an element to become 0",
            Between(0, 1))
      .Attr(&DropoutAttrs::fix_seed, "fix_seed", "draw from `seed`: the same mask at each call")
      .Attr(&DropoutAttrs::seed, "seed", "with fix_seed")
      .Attr(&DropoutAttrs::is_test, "is_test", "drop nothing")
      .Attr(&DropoutAttrs::dropout_implementation, "dropout_implementation",
            "when to make up for what is missing",
            OneOf({"downgrade_in_infer", "upscale_in_train"}))
      .Shape(InferShape)
      .MixedDTypes()
      .KeepsLayout()
      .ShareLoD(kX)
      .Random()
      .Grad([](GradBuilder& g) {
        const DropoutAttrs& a = g.attrs<DropoutAttrs>();
        if (a.is_test && IsOpen(a.dropout_prob)) {  // linear
          g.Call("dropout", {g.OutputGrad(kOut)}, {g.InputGrad(kX)}).SameAttrs();
        } else if (a.is_test) {
          g.Call("scale", {g.OutputGrad(kOut)}, {g.InputGrad(kX)})
              .Number("scale", {a.TestFactor<float>(), a.TestFactor<double>()});
        } else {
          g.Call("dropout_grad", {g.Output(kMask), g.OutputGrad(kOut)}, {g.InputGrad(kX)})
              .SameAttrs();
        }
      });
}

kernels::Philox Generator(const KernelContext& ctx, const DropoutAttrs& a) {
  if (const Tensor* seed = ctx.InOrNull(kSeed)) {
    ENFORCE(seed->numel() == 1, InvalidArgument, "Seed must hold one integer, got shape ",
            seed->dims());
    return kernels::Philox(static_cast<uint64_t>(Integers(*seed, "Seed")[0]), 0);
  }
  if (a.fix_seed) return kernels::Philox(static_cast<uint64_t>(a.seed), 0);
  return kernels::Philox::OfCall(ctx.random_seed(), ctx.random_stream());
}

template <class T>
struct DropoutKernel {
  using W = kernels::Wide<T>;
  static void Compute(KernelContext& ctx) {
    const DropoutAttrs& a = ctx.attrs<DropoutAttrs>();
    const Tensor& in = ctx.In(kX);
    const T* x = in.data<T>();
    T* y = ctx.Out(kOut).mutable_data<T>();
    if (a.is_test) {
      W factor = a.TestFactor<W>();
      return kernels::Map(x, y, in.numel(), [=] DYGRAPH_FN(W v) { return v * factor; });
    }
    kernels::Philox generator = Generator(ctx, a);
    W factor = a.TrainFactor<W>();
    // An element goes where 32 random bits lie below the threshold: never at 0, always at 1.
    uint64_t threshold = static_cast<uint64_t>(double{NumberFor<W>(a.dropout_prob)} * 0x1p32);
    bool all = threshold > UINT32_MAX;
    uint32_t limit = all ? 0 : static_cast<uint32_t>(threshold);
    uint8_t* mask = ctx.Out(kMask).mutable_data<uint8_t>();
    generator.EachRaw<uint32_t>(in.numel(), [=] DYGRAPH_FN(int64_t i, uint32_t bits) {
      const bool stays = (bits >= limit) & !all;
      mask[i] = stays;
      y[i] = stays ? x[i] * factor : W(0);
    });
  }
};

namespace grad {
constexpr int kMask = 0, kOutGrad = 1, kXGrad = 0;

void DefineDropoutGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD where an element stayed, times what it was multiplied by, else 0.")
      .Input(kMask, "Mask", "result of dropout")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of Out")
      .AttrsOf("dropout")
      .SameShape(kOutGrad, kXGrad)
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .KeepsLayout()
      .InPlace(kOutGrad, kXGrad)
      .Grad([](GradBuilder& g) {
        g.Call("dropout_grad", {g.Input(kMask), g.OutputGrad(kXGrad)}, {g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct DropoutGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &mask = ctx.In(kMask), &g = ctx.In(kOutGrad);
    ENFORCE(mask.dims() == g.dims(), InvalidArgument, "Mask must have the shape of Out@GRAD, ",
            g.dims(), ", got ", mask.dims());
    using W = kernels::Wide<T>;
    W factor = ctx.attrs<DropoutAttrs>().TrainFactor<W>();
    kernels::Zip(mask.data<uint8_t>(), g.data<T>(), ctx.Out(kXGrad).mutable_data<T>(), g.numel(),
                 [=] DYGRAPH_FN(uint8_t m, W v) { return m ? v * factor : W(0); });
  }
};
}  // namespace grad

REGISTER_GRADIENT_SHAPES(dropout, {"X", "Out"}, {"Seed", ""});
REGISTER_OPERATOR(dropout, DefineDropout);
REGISTER_OPEN_ATTRS(dropout, "dropout_prob");
REGISTER_KERNELS(dropout, DropoutKernel, float, double);
REGISTER_DEVICE_TYPES(dropout, DropoutKernel, float16, bfloat16);
REGISTER_OPERATOR(dropout_grad, grad::DefineDropoutGrad);
REGISTER_POINTWISE(dropout_grad);
REGISTER_KERNELS(dropout_grad, grad::DropoutGradKernel, float, double);
REGISTER_DEVICE_TYPES(dropout_grad, grad::DropoutGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph
