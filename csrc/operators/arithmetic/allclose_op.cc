#include <cmath>

#include "operators/arithmetic/binary.h"

namespace dygraph::elementwise {
namespace {

struct AllcloseAttrs {
  std::string rtol = "1e-05", atol = "1e-08";  // texts, so that a double's digits survive
  bool equal_nan = false;
};

constexpr int kRtol = 2, kAtol = 3;

double Tolerance(const std::string& text, const char* name) {
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  ENFORCE(!text.empty() && *end == 0 && value >= 0, InvalidArgument, "the attribute ", name,
          " must be a number of at least 0, as a text, got '", text, "'");
  return value;
}

// What the slot holds, where it is given, else the attribute.
double Tolerance(KernelContext& ctx, int slot, const std::string& text, const char* name) {
  const Tensor* t = ctx.InOrNull(slot);
  if (!t) return Tolerance(text, name);
  const bool wide = t->dtype() == DType::kFloat64;
  ENFORCE(wide || t->dtype() == DType::kFloat32, Type, name, " must be float64 or float32, got ",
          t->dtype());
  const double value = wide ? *t->data<double>() : *t->data<float>();
  ENFORCE(value >= 0, InvalidArgument, name, " must be at least 0, got ", value);
  return value;
}

void CheckOne(InferContext& ctx, int slot, const char* name) {
  if (!ctx.HasInput(slot)) return;
  const Dims& d = ctx.dims(slot);
  ENFORCE(d.HasUnknown() || Numel(d) == 1, InvalidArgument, name,
          " must hold one number, got shape ", d);
}

void DefineAllclose(OpDef& op) {
  op.Comment(
        "Out = True where |Input - Other| <= atol + rtol * |Other| holds for all elements. Shapes "
        "broadcast as NumPy's.")
      .Input(kX, "Input", "any shape")
      .Input(kY, "Other", "broadcasts with Input")
      .Input(kRtol, "Rtol", "one float64, in place of rtol", kDispensable)
      .Input(kAtol, "Atol", "one float64, in place of atol", kDispensable)
      .Output(kOut, "Out", "[], bool")
      .Attr(&AllcloseAttrs::rtol, "rtol", "relative tolerance, a number as a text")
      .Attr(&AllcloseAttrs::atol, "atol", "absolute tolerance, a number as a text")
      .Attr(&AllcloseAttrs::equal_nan, "equal_nan", "a NaN equals a NaN")
      .Shape([](InferContext& ctx) {
        BroadcastDims(ctx.dims(kX), ctx.dims(kY));
        const auto& a = ctx.attrs<AllcloseAttrs>();
        Tolerance(a.rtol, "rtol");
        Tolerance(a.atol, "atol");
        CheckOne(ctx, kRtol, "Rtol");
        CheckOne(ctx, kAtol, "Atol");
        ENFORCE(ctx.dtype(kX) == ctx.dtype(kY), Type, "Input and Other must be of one type, got ",
                ctx.dtype(kX), " and ", ctx.dtype(kY), ". Convert with astype()");
        ctx.SetOutput(kOut, Dims(), DType::kBool);
      })
      .MixedDTypes()
      .NoGrad();
}

template <class T>
struct AllcloseKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    const auto& a = ctx.attrs<AllcloseAttrs>();
    const double rtol = Tolerance(ctx, kRtol, a.rtol, "Rtol"),
                 atol = Tolerance(ctx, kAtol, a.atol, "Atol");
    Tensor close(BroadcastDims(x.dims(), y.dims()), DType::kBool, x.place());
    Apply<T, bool>(x, y, -1, &close, [rtol, atol, nan = a.equal_nan](T u, T v) {
      double p = static_cast<double>(u), q = static_cast<double>(v);
      return p == q || std::abs(p - q) <= atol + rtol * std::abs(q) * (std::isfinite(q) ? 1 : 0) ||
             (nan && p != p && q != q);
    });
    const bool* ok = close.data<bool>();
    bool all = true;
    for (int64_t i = 0; i < close.numel(); ++i) all &= ok[i];
    *ctx.Out(kOut).mutable_data<bool>() = all;
  }
};

REGISTER_OPERATOR(allclose, DefineAllclose);
REGISTER_CPU_KERNEL(allclose, AllcloseKernel, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::elementwise
