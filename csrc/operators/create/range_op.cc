#include <cmath>

#include "kernels/loops.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kStart = 0, kEnd = 1, kStep = 2, kOut = 0;

// How many steps lead from start to before end.
template <class T>
int64_t Count(T start, T end, T step) {
  ENFORCE(step != 0, InvalidArgument, "Step must not be 0, got Start ", start, " and End ", end);
  if constexpr (std::is_integral_v<T>) {
    __int128 way = static_cast<__int128>(end) - start, by = step;
    if (by < 0) {
      way = -way;
      by = -by;
    }
    __int128 count = way <= 0 ? 0 : (way + by - 1) / by;
    ENFORCE(count <= INT64_MAX, OutOfRange, "Out must have less than 2^63 elements, from ", start,
            " to ", end, " by ", step);
    return static_cast<int64_t>(count);
  } else {
    double count = std::ceil((static_cast<double>(end) - start) / step);
    ENFORCE(count < 9e18, InvalidArgument, "Start, End and Step must lead to an end, got ", start,
            ", ", end, " and ", step);
    return count > 0 ? static_cast<int64_t>(count) : 0;
  }
}

void InferShape(InferContext& ctx) {
  bool known = true;
  for (int slot : {kStart, kEnd, kStep}) {
    const Tensor& t = ctx.value(slot).tensor();
    ENFORCE(t.dims().HasUnknown() || t.numel() == 1, InvalidArgument,
            "Start, End and Step must have one element each, got shape ", t.dims());
    known &= t.has_data();
  }
  int64_t count = -1;
  auto read = [&](auto zero) {
    using T = decltype(zero);
    count = Count(ctx.value(kStart).tensor().data<T>()[0], ctx.value(kEnd).tensor().data<T>()[0],
                  ctx.value(kStep).tensor().data<T>()[0]);
  };
  if (known) {
    switch (ctx.dtype(kStart)) {
      case DType::kInt32: read(int32_t()); break;
      case DType::kInt64: read(int64_t()); break;
      case DType::kFloat32: read(float()); break;
      default: read(double()); break;
    }
  }
  ctx.SetOutput(kOut, {count});
}

void DefineRange(OpDef& op) {
  op.Comment("Out = Start, Start + Step, Start + 2 Step, ... up to before End.")
      .Example(
          ">>> F.range(to_variable([1.0]), to_variable([2.0]), to_variable([0.25])).tolist()\n"
          "[1.0, 1.25, 1.5, 1.75]")
      .Input(kStart, "Start", "one number", kOnHost)
      .Input(kEnd, "End", "one number", kOnHost)
      .Input(kStep, "Step", "one number, not 0", kOnHost)
      .Output(kOut, "Out", "one axis; empty where Step leads away from End")
      .Shape(InferShape)
      .NoGrad();
}

template <class T>
struct RangeKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kOut);
    T start = ctx.In(kStart).data<T>()[0], step = ctx.In(kStep).data<T>()[0];
    T* to = out.mutable_data<T>();
    // floats are rounded once
    using Wide = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
    kernels::ForEach(out.numel(), [=] DYGRAPH_FN(int64_t i) {
      to[i] = static_cast<T>(static_cast<Wide>(start) + static_cast<Wide>(i) * step);
    });
  }
};

REGISTER_OPERATOR(range, DefineRange);
REGISTER_KERNELS(range, RangeKernel, int32_t, int64_t, float, double);

}  // namespace
}  // namespace dygraph
