#include <cmath>

#include "operators/elementwise.h"

namespace dygraph::elementwise {
namespace {

struct AllcloseAttrs {
  std::string rtol = "1e-05", atol = "1e-08";  // texts, so that a double's digits survive
  bool equal_nan = false;
};

double Tolerance(const std::string& text, const char* name) {
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  ENFORCE(!text.empty() && *end == 0 && value >= 0, InvalidArgument, "the attribute ", name,
          " must be a number of at least 0, as a text, got '", text, "'");
  return value;
}

void DefineAllclose(OpDef& op) {
  op.Comment(
        "Out = True where |Input - Other| <= atol + rtol * |Other| holds for all elements. Shapes "
        "broadcast as NumPy's.")
      .Input(kX, "Input", "any shape")
      .Input(kY, "Other", "broadcasts with Input")
      .Output(kOut, "Out", "[], bool")
      .Attr(&AllcloseAttrs::rtol, "rtol", "relative tolerance, a number as a text")
      .Attr(&AllcloseAttrs::atol, "atol", "absolute tolerance, a number as a text")
      .Attr(&AllcloseAttrs::equal_nan, "equal_nan", "a NaN equals a NaN")
      .Shape([](InferContext& ctx) {
        BroadcastDims(ctx.dims(kX), ctx.dims(kY));
        const auto& a = ctx.attrs<AllcloseAttrs>();
        Tolerance(a.rtol, "rtol");
        Tolerance(a.atol, "atol");
        ctx.SetOutput(kOut, Dims(), DType::kBool);
      })
      .NoGrad();
}

template <class T>
struct AllcloseKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    const auto& a = ctx.attrs<AllcloseAttrs>();
    const double rtol = Tolerance(a.rtol, "rtol"), atol = Tolerance(a.atol, "atol");
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
