#include "operators/loss/spelling.h"

namespace dygraph {
namespace {

using ctc::kInput, ctc::kInputLength;
constexpr int kOutput = 0, kOutputLength = 1;

struct CtcAlignAttrs {
  int32_t blank = 0;
  bool merge_repeated = true;
  int32_t padding_value = 0;
};

void InferShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kInput);
  DType type = ctx.dtype(kInput);
  ENFORCE(type == DType::kInt32 || type == DType::kInt64, Type,
          "Input must hold int32 or int64 classes, got ", type, ". Convert with astype('int32')");
  if (ctx.HasInput(kInputLength)) {
    ENFORCE(x.rank() == 2, InvalidArgument,
            "with InputLength, Input must be padded classes [N, T], got shape ", x);
    ctx.SetOutput(kOutput, x, type);
    ctx.SetOutput(kOutputLength, {x[0], 1}, type);
    return;
  }
  ENFORCE(x.rank() == 1 || (x.rank() == 2 && (x[1] == 1 || x[1] < 0)), InvalidArgument,
          "Input must hold the classes of all steps [total, 1], got shape ", x,
          ". Padded classes [N, T] need InputLength");
  ctx.SetOutput(kOutput, {-1, 1}, type);  // known when it has run
}

void DefineCtcAlign(OpDef& op) {
  op.Comment(
        "What paths spell: repeated classes merged (where merge_repeated), blanks left out. By "
        "LoD, Output [total, 1] is ragged too (a single -1 where nothing is left); with "
        "InputLength it is padded with padding_value.")
      .Example(
          ">>> path, length = to_variable([[0, 1, 1, 0, 1, 2]]), to_variable([[6]])\n"
          ">>> F.ctc_align(path, input_length=length).tolist()\n"
          "[[1, 1, 2, 0, 0, 0]]")
      .Input(kInput, "Input", "int32 or int64 classes, [total, 1] with LoD or [N, T]")
      .Input(kInputLength, "InputLength", "[N, 1] integers", kDispensable)
      .Output(kOutput, "Output", "[total, 1] with LoD or [N, T]")
      .Output(kOutputLength, "OutputLength", "[N, 1], with InputLength only", kExtra)
      .Attr(&CtcAlignAttrs::blank, "blank", "the class that stands for nothing")
      .Attr(&CtcAlignAttrs::merge_repeated, "merge_repeated", "one for a run of the same class")
      .Attr(&CtcAlignAttrs::padding_value, "padding_value", "what fills the rest")
      .MixedDTypes()
      .KernelDType([](const Call& call) {
        bool narrow = call.in.at(kInput)->dtype() == DType::kInt32;
        return narrow ? DType::kInt32 : DType::kInt64;
      })
      .KernelAllocates()
      .Shape(InferShape)
      .NoGrad();
}

template <class T>
struct CtcAlignKernel {
  static void Compute(KernelContext& ctx) {
    const CtcAlignAttrs& a = ctx.attrs<CtcAlignAttrs>();
    const ctc::Spelling rule{a.blank, a.merge_repeated};
    Tensor *out = ctx.OutOrNull(kOutput), *length = ctx.OutOrNull(kOutputLength);
    if (!ctx.HasInput(kInputLength)) {
      if (out) ctc::SpellRagged<T>(ctx, rule, out);
      return;
    }
    const Dims dims = ctx.In(kInput).dims();
    if (length) length->Allocate({dims[0], 1}, DTypeOf<T>::value, ctx.place());
    if (out) out->Allocate(dims, DTypeOf<T>::value, ctx.place());
    ctc::SpellPadded(ctx, rule, static_cast<T>(a.padding_value),
                     out ? out->mutable_data<T>() : nullptr,
                     length ? length->mutable_data<T>() : nullptr);
  }
};

REGISTER_OPERATOR(ctc_align, DefineCtcAlign);
REGISTER_KERNELS(ctc_align, CtcAlignKernel, int32_t, int64_t);

}  // namespace
}  // namespace dygraph
