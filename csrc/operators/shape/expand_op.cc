#include "operators/shape/axis_maps.h"

namespace dygraph::axis_maps {
namespace {

struct ExpandAttrs {
  std::vector<int32_t> expand_times;
};

struct Expand : Description {
  static constexpr const char *kType = "expand", *kGradType = "expand_grad";
  static constexpr int kInputs = 3;
  static void AddInputs(OpDef& op) {
    op.Input(0, "X", "any shape")
        .Input(1, "ExpandTimes", "one integer for each axis, in place of the attribute",
               kDispensable | kOnHost)
        .Input(2, "expand_times_tensor", "the same as a list of single integers",
               kDispensable | kDuplicable | kOnHost);
  }
  static Maps Of(const Call& call, const Dims& x) {
    IntList times =
        ReadIntList(call, 1, 2, static_cast<const ExpandAttrs*>(call.attrs)->expand_times);
    ENFORCE(times.values.size() == x.size(), InvalidArgument,
            "expand_times must have a number for each axis of X ", x, ", got ", times.values.size(),
            " numbers");
    Maps maps;
    for (int i = 0; i < x.rank(); ++i) {
      int64_t n = times.values[i];
      ENFORCE(n > 0 || !times.known || n == -1, InvalidArgument,
              "the numbers in expand_times must be at least 1, got ", n, " for axis ", i);
      ENFORCE(n > 0 || !call.in.at(0)->tensor().has_data(), InvalidArgument,
              "the numbers in expand_times must be at least 1 in a call that computes, got ", n);
      maps.Push(Tiled(x[i], n));
    }
    return maps;
  }
};

void DefineExpand(OpDef& op) {
  op.Comment("Out = X, repeated expand_times[i] times along axis i.");
  Define<Expand>(op).Attr(&ExpandAttrs::expand_times, "expand_times", "repetitions, one an axis");
}

template <class T>
using ExpandKernel = Kernel<Expand, T>;
template <class T>
using ExpandGradKernel = GradKernel<Expand, T>;

REGISTER_OPERATOR(expand, DefineExpand);
REGISTER_KERNELS(expand, ExpandKernel, AllTypes);
REGISTER_OPERATOR(expand_grad, DefineGrad<Expand>);
REGISTER_KERNELS(expand_grad, ExpandGradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(expand_grad, ExpandGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::axis_maps
