#include "op/open_attr.h"
#include "operators/shape/axis_maps.h"

namespace dygraph::axis_maps {
namespace {

struct TileAttrs {
  std::vector<int32_t> repeat_times;
};

struct Tile : Description {
  static constexpr const char *kType = "tile", *kGradType = "tile_grad";
  static constexpr int kInputs = 3;
  static void AddInputs(OpDef& op) {
    op.Input(0, "X", "any shape")
        .Input(1, "RepeatTimes", "integers, in place of the attribute", kDispensable | kOnHost)
        .Input(2, "repeat_times_tensor", "the same as a list of single integers",
               kDispensable | kDuplicable | kOnHost);
  }
  // The shorter of X's shape and repeat_times gets ones in front.
  static Maps Of(const Call& call, const Dims& x) {
    IntList times =
        ReadIntList(call, 1, 2, static_cast<const TileAttrs*>(call.attrs)->repeat_times);
    int count = static_cast<int>(times.values.size()), rank = std::max(count, x.rank());
    Maps maps;
    for (int i = 0; i < rank; ++i) {
      int xi = i - (rank - x.rank()), ti = i - (rank - count);
      int64_t n = ti < 0 ? 1 : times.values[ti];
      ENFORCE(n >= 0 || !times.known, InvalidArgument,
              "the numbers in repeat_times must be at least 0, got ", n);
      maps.Push(Tiled(xi < 0 ? 1 : x[xi], n));
    }
    return maps;
  }
};

void DefineTile(OpDef& op) {
  op.Comment(
      "Out = X, repeated repeat_times[i] times along axis i; X or repeat_times gets ones in front "
      "where it is the shorter one, as NumPy's tile.");
  Define<Tile>(op).Attr(&TileAttrs::repeat_times, "repeat_times", "repetitions, last axis last");
}

template <class T>
using TileKernel = Kernel<Tile, T>;
template <class T>
using TileGradKernel = GradKernel<Tile, T>;

REGISTER_OPERATOR(tile, DefineTile);
REGISTER_OPEN_ATTRS(tile, "repeat_times");
REGISTER_KERNELS(tile, TileKernel, AllTypes);
REGISTER_OPERATOR(tile_grad, DefineGrad<Tile>);
REGISTER_KERNELS(tile_grad, TileGradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(tile_grad, TileGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::axis_maps
