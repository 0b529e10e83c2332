// What allclose and isclose share: whether two numbers are equal within tolerances, which are given
// as texts, so that a double's digits survive, or by tensors.
#pragma once

#include <cmath>
#include <string>

#include "operators/arithmetic/binary.h"

namespace dygraph::elementwise::closeness {

struct Attrs {
  std::string rtol = "1e-05", atol = "1e-08";
  bool equal_nan = false;
};

constexpr int kRtol = 2, kAtol = 3;

inline double Tolerance(const std::string& text, const char* name) {
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  ENFORCE(!text.empty() && *end == 0 && value >= 0, InvalidArgument, "the attribute ", name,
          " must be a number of at least 0, as a text, got '", text, "'");
  return value;
}

// What the slot holds, where it is given, else the attribute.
inline double Tolerance(KernelContext& ctx, int slot, const std::string& text, const char* name) {
  const Tensor* t = ctx.InOrNull(slot);
  if (!t) return Tolerance(text, name);
  const bool wide = t->dtype() == DType::kFloat64;
  ENFORCE(wide || t->dtype() == DType::kFloat32, Type, name, " must be float64 or float32, got ",
          t->dtype());
  const double value = wide ? *t->data<double>() : *t->data<float>();
  ENFORCE(value >= 0, InvalidArgument, name, " must be at least 0, got ", value);
  return value;
}

inline void CheckOne(InferContext& ctx, int slot, const char* name) {
  if (!ctx.HasInput(slot)) return;
  const Dims& d = ctx.dims(slot);
  ENFORCE(d.HasUnknown() || Numel(d) == 1, InvalidArgument, name,
          " must hold one number, got shape ", d);
}

// The common shape of valid operands.
inline Dims Check(InferContext& ctx) {
  const auto& a = ctx.attrs<Attrs>();
  Tolerance(a.rtol, "rtol");
  Tolerance(a.atol, "atol");
  CheckOne(ctx, kRtol, "Rtol");
  CheckOne(ctx, kAtol, "Atol");
  ENFORCE(ctx.dtype(kX) == ctx.dtype(kY), Type, "Input and Other must be of one type, got ",
          ctx.dtype(kX), " and ", ctx.dtype(kY), ". Convert with astype()");
  return BroadcastDims(ctx.dims(kX), ctx.dims(kY));
}

inline OpDef& Define(OpDef& op) {
  return op.Input(kX, "Input", "any shape")
      .Input(kY, "Other", "broadcasts with Input")
      .Input(kRtol, "Rtol", "one float64, in place of rtol", kDispensable | kOnHost)
      .Input(kAtol, "Atol", "one float64, in place of atol", kDispensable | kOnHost)
      .Attr(&Attrs::rtol, "rtol", "relative tolerance, a number as a text")
      .Attr(&Attrs::atol, "atol", "absolute tolerance, a number as a text")
      .Attr(&Attrs::equal_nan, "equal_nan", "a NaN equals a NaN")
      .MixedDTypes()
      .NoGrad();
}

template <class T>
void Compare(KernelContext& ctx, Tensor* close) {
  const auto& a = ctx.attrs<Attrs>();
  const double rtol = Tolerance(ctx, kRtol, a.rtol, "Rtol"),
               atol = Tolerance(ctx, kAtol, a.atol, "Atol");
  const bool nan = a.equal_nan;
  Apply<T, bool>(ctx.In(kX), ctx.In(kY), -1, close, [=] DYGRAPH_FN(T u, T v) {
    double p = static_cast<double>(u), q = static_cast<double>(v);
    return p == q || std::abs(p - q) <= atol + rtol * std::abs(q) * (std::isfinite(q) ? 1 : 0) ||
           (nan && p != p && q != q);
  });
}

}  // namespace dygraph::elementwise::closeness
