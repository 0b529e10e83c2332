#include "operators/shape/axis_maps.h"

namespace dygraph::axis_maps {
namespace {

struct RollAttrs {
  std::vector<int64_t> shifts, dims;
};

struct Roll : Description {
  static constexpr const char *kType = "roll", *kGradType = "roll_grad";
  static constexpr int kInputs = 2, kShiftsTensor = 1;
  static void AddInputs(OpDef& op) {
    op.Input(0, "X", "any shape")
        .Input(kShiftsTensor, "ShiftsTensor", "[n] int32 or int64, in place of shifts",
               kDispensable | kOnHost);
  }
  static AxisMap Rolled(int64_t size, int64_t shift) {
    AxisMap m;
    m.in = m.out = size;
    m.outside = Outside::kWrap;
    if (size > 0) m.before = (shift % size + size) % size;
    return m;
  }
  static Maps Of(const Call& call, const Dims& x) {
    const RollAttrs& a = *static_cast<const RollAttrs*>(call.attrs);
    const IntList shifts_of = ReadIntList(call, kShiftsTensor, -1, a.shifts);
    const auto& given = shifts_of.values;
    Maps maps;
    maps.out = x;
    if (a.dims.empty()) {  // as if X had one axis
      ENFORCE(given.size() == 1, InvalidArgument,
              "shifts must be one number where dims is empty, got ", given.size(), " numbers");
      if (!x.HasUnknown()) maps.axes.push_back(Rolled(Numel(x), given[0]));
      return maps;
    }
    ENFORCE(given.size() == a.dims.size(), InvalidArgument,
            "shifts and dims must be equally long, got ", given.size(), " and ", a.dims.size());
    ENFORCE(!x.empty(), InvalidArgument, "X must have axes to roll along, got shape []");
    Dims shifts(x.size(), 0);
    for (size_t i = 0; i < a.dims.size(); ++i) {
      int axis = NormalizeAxis(a.dims[i], x.rank(), "dims");
      if (x[axis] > 0) shifts[axis] = (shifts[axis] + given[i] % x[axis]) % x[axis];
    }
    for (int i = 0; i < x.rank(); ++i) maps.axes.push_back(Rolled(x[i], shifts[i]));
    return maps;
  }
};

void DefineRoll(OpDef& op) {
  op.Comment(
      "Out = X with its elements moved on by shifts[i] places along dims[i]; what leaves at the "
      "end "
      "comes in at the beginning. Without dims X is rolled as if it had one axis.");
  Define<Roll>(op)
      .Attr(&RollAttrs::shifts, "shifts", "places to move on, one number for each of dims")
      .Attr(&RollAttrs::dims, "dims", "the axes; negative ones count from the end");
}

template <class T>
using RollKernel = Kernel<Roll, T>;
template <class T>
using RollGradKernel = GradKernel<Roll, T>;

REGISTER_OPERATOR(roll, DefineRoll);
REGISTER_KERNELS(roll, RollKernel, AllTypes);
REGISTER_OPERATOR(roll_grad, DefineGrad<Roll>);
REGISTER_KERNELS(roll_grad, RollGradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(roll_grad, RollGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::axis_maps
