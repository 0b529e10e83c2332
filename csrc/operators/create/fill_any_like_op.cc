#include "op/open_attr.h"
#include "operators/create/filling.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct FillAnyLikeAttrs {
  double value = 0.0;
  std::string str_value;
  DType dtype = DType::kUnset;
};

void DefineFillAnyLike(OpDef& op) {
  op.Comment(
        "Out has X's shape and `value` everywhere. str_value wins over value: it holds float64 and "
        "int64 exactly.")
      .Example(
          ">>> F.fill_any_like(to_variable([[1.0, 2.0]]), value=7.0).tolist()\n"
          "[[7.0, 7.0]]")
      .Input(kX, "X", "any shape; only its shape is read")
      .Output(kOut, "Out", "shape of X")
      .Attr(&FillAnyLikeAttrs::value, "value", "what to fill with")
      .Attr(&FillAnyLikeAttrs::str_value, "str_value", "the same as text: '1e-3', '7', 'nan'")
      .Attr(&FillAnyLikeAttrs::dtype, "dtype", "element type of Out; unset: X's")
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOut, ctx.dims(kX), ctx.attrs<FillAnyLikeAttrs>().dtype);
      })
      .ShareLoD(kX)
      .NoGrad();
}

template <class T>
struct FillAnyLikeKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kOut);
    const FillAnyLikeAttrs& a = ctx.attrs<FillAnyLikeAttrs>();
    VisitDType(out.dtype(), [&](auto tag) {
      using U = typename decltype(tag)::type;
      kernels::Fill(out.mutable_data<U>(), out.numel(), FillValue<U>(a.value, a.str_value));
    });
  }
};

REGISTER_OPERATOR(fill_any_like, DefineFillAnyLike);
REGISTER_OPEN_ATTRS(fill_any_like, "value");
REGISTER_KERNELS(fill_any_like, FillAnyLikeKernel, AllTypes);

}  // namespace
}  // namespace dygraph
