#include "operators/clear.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct FillZerosLike2Attrs {
  DType dtype = DType::kUnset;
};

OpDef& Declare(OpDef& op, const char* example, int kinds) {
  return op.Comment("Out has X's shape and is 0 everywhere.")
      .Example(example)
      .Input(kX, "X", "any shape; only its shape is read", kinds)
      .Output(kOut, "Out", "shape of X")
      .ShareLoD(kX)
      .NoGrad();
}
void DefineFillZerosLike(OpDef& op) {
  Declare(op,
          ">>> F.fill_zeros_like(to_variable([[1.0, 2.0]])).tolist()\n"
          "[[0.0, 0.0]]",
          kTakesArray)
      .VarType([](InferContext& ctx) {
        Value* out = ctx.call().out.at(kOut);
        if (out && ctx.value(kX).is_array()) *out = ctx.value(kX);
      })
      .Shape([](InferContext& ctx) {
        if (!ctx.value(kX).is_array()) ctx.SetOutput(kOut, ctx.dims(kX), ctx.dtype(kX));
      })
      .KernelDType([](const Call& call) {
        const DType dtype = call.in.at(kX)->dtype();  // unset: an array that holds nothing
        return dtype == DType::kUnset ? DType::kFloat32 : dtype;
      });
}

void DefineFillZerosLike2(OpDef& op) {
  Declare(op,
          ">>> F.fill_zeros_like2(to_variable([[1.0, 2.0]]), dtype=\"int32\").tolist()\n"
          "[[0, 0]]",
          kSingle)
      .Attr(&FillZerosLike2Attrs::dtype, "dtype", "element type of Out; unset: X's")
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOut, ctx.dims(kX), ctx.attrs<FillZerosLike2Attrs>().dtype);
      });
}

template <class>
struct FillZerosLikeKernel {
  static void Compute(KernelContext& ctx) {
    if (!ctx.InValue(kX).is_array()) return Clear(&ctx.Out(kOut));
    for (Tensor& t : ctx.OutValue(kOut).MutableArray().items) {
      if (t.dtype() == DType::kUnset) continue;  // never written
      const Ref<LoD> lod = t.lod_ref();
      t.Allocate(t.dims(), t.dtype(), ctx.place());
      t.SetLoD(lod);
      Clear(&t);
    }
  }
};

REGISTER_OPERATOR(fill_zeros_like, DefineFillZerosLike);
REGISTER_KERNELS(fill_zeros_like, FillZerosLikeKernel, AllTypes);
REGISTER_OPERATOR(fill_zeros_like2, DefineFillZerosLike2);
REGISTER_KERNELS(fill_zeros_like2, FillZerosLikeKernel, AllTypes);

}  // namespace
}  // namespace dygraph
