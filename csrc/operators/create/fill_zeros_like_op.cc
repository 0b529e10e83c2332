#include <cstring>

#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct FillZerosLike2Attrs {
  DType dtype = DType::kUnset;
};

OpDef& Declare(OpDef& op, const char* example) {
  return op.Comment("Out has X's shape and is 0 everywhere.")
      .Example(example)
      .Input(kX, "X", "any shape; only its shape is read")
      .Output(kOut, "Out", "shape of X")
      .ShareLoD(kX)
      .NoGrad();
}
void DefineFillZerosLike(OpDef& op) {
  Declare(op,
          ">>> F.fill_zeros_like(to_variable([[1.0, 2.0]])).tolist()\n"
          "[[0.0, 0.0]]")
      .SameShape(kX, kOut);
}

void DefineFillZerosLike2(OpDef& op) {
  Declare(op,
          ">>> F.fill_zeros_like2(to_variable([[1.0, 2.0]]), dtype=\"int32\").tolist()\n"
          "[[0, 0]]")
      .Attr(&FillZerosLike2Attrs::dtype, "dtype", "element type of Out; unset: X's")
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOut, ctx.dims(kX), ctx.attrs<FillZerosLike2Attrs>().dtype);
      });
}

template <class>
struct FillZerosLikeKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kOut);
    if (out.numel() > 0) std::memset(out.mutable_raw_data(), 0, out.bytes());
  }
};

REGISTER_OPERATOR(fill_zeros_like, DefineFillZerosLike);
REGISTER_CPU_KERNEL(fill_zeros_like, FillZerosLikeKernel, bool, uint8_t, int8_t, int16_t, int32_t,
                    int64_t, float16, bfloat16, float, double);
REGISTER_OPERATOR(fill_zeros_like2, DefineFillZerosLike2);
REGISTER_CPU_KERNEL(fill_zeros_like2, FillZerosLikeKernel, bool, uint8_t, int8_t, int16_t, int32_t,
                    int64_t, float16, bfloat16, float, double);

}  // namespace
}  // namespace dygraph
