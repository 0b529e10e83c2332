#include "kernels/loops.h"
#include "op/open_attr.h"
#include "operators/random/random.h"

namespace dygraph::random {
namespace {

struct UniformRandomAttrs {
  std::vector<int64_t> shape;
  double min = -1.0;
  double max = 1.0;
  int32_t seed = 0;
  int32_t diag_num = 0;
  int32_t diag_step = 0;
  double diag_val = 1.0;
  DType dtype = DType::kFloat32;
};

void DefineUniformRandom(OpDef& op) {
  AddSlots(op.Comment("Out is drawn from the uniform distribution over [min, max). With diag_num > "
                      "0 the elements i * diag_step + i, i < "
                      "diag_num, are diag_val.")
               .Example(">>> x = F.uniform_random(shape=[20, 30], min=0.0, max=2.0)\n"
                        ">>> x.shape, bool(((x.numpy() >= 0.0) & (x.numpy() < 2.0)).all())\n"
                        "((20, 30), True)"))
      .Attr(&UniformRandomAttrs::shape, "shape", "sizes of Out")
      .Attr(&UniformRandomAttrs::min, "min", "least value")
      .Attr(&UniformRandomAttrs::max, "max", "upper limit")
      .Attr(&UniformRandomAttrs::seed, "seed",
            "0: the generator's; others give the same numbers at each call")
      .Attr(&UniformRandomAttrs::diag_num, "diag_num", "how many elements get diag_val", AtLeast(0))
      .Attr(&UniformRandomAttrs::diag_step, "diag_step",
            "their distance, less one; the width of a square matrix", AtLeast(0))
      .Attr(&UniformRandomAttrs::diag_val, "diag_val", "their value")
      .Attr(&UniformRandomAttrs::dtype, "dtype", "float32 or float64")
      .Shape(InferShape<UniformRandomAttrs>)
      .KernelDType(KernelDType<UniformRandomAttrs>)
      .MixedDTypes()
      .Random()
      .NoGrad();
}

template <class T>
struct UniformRandomKernel {
  static void Compute(KernelContext& ctx) {
    const UniformRandomAttrs& a = ctx.attrs<UniformRandomAttrs>();
    const T low = static_cast<T>(a.min), most = static_cast<T>(a.max), width = most - low;
    ENFORCE(low <= most, InvalidArgument, "min must not be above max, got ",
            ToString(FloatValue(a.min)), " and ", ToString(FloatValue(a.max)));
    Tensor& out = ctx.Out(kOut);
    T* y = out.mutable_data<T>();
    int64_t n = out.numel();
    int64_t last = (int64_t{a.diag_num} - 1) * (int64_t{a.diag_step} + 1);
    ENFORCE(a.diag_num == 0 || last < n, OutOfRange,
            "the last diagonal element must lie within Out ", out.dims(), ", got number ", last);
    Generator(ctx, a.seed).Uniform(y, n);
    kernels::Map(y, y, n, [=] DYGRAPH_FN(T u) {
      T v = low + width * u;
      // rounding may reach max, which is not part of the interval
      return v < most || width == 0 ? v : low;
    });
    const int64_t step = int64_t{a.diag_step} + 1;
    const T value = static_cast<T>(a.diag_val);
    if (a.diag_num > 0)
      kernels::ForEach(a.diag_num, [=] DYGRAPH_FN(int64_t i) { y[i * step] = value; });
  }
};

REGISTER_OPERATOR(uniform_random, DefineUniformRandom);
REGISTER_OPEN_ATTRS(uniform_random, "min", "max");
REGISTER_KERNELS(uniform_random, UniformRandomKernel, float, double);

}  // namespace
}  // namespace dygraph::random
