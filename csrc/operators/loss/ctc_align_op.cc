#include "operators/ragged.h"

namespace dygraph {
namespace {

constexpr int kInput = 0, kInputLength = 1, kOutput = 0, kOutputLength = 1;

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
    const Tensor& input = ctx.In(kInput);
    const Tensor* lengths = ctx.InOrNull(kInputLength);
    ragged::Batch b = lengths
                          ? ragged::FromLengths(*lengths, "InputLength", input.dim(0), input.dim(1))
                          : ragged::FromLoD(input, "Input", "InputLength");
    const T* x = input.data<T>();
    std::vector<std::vector<T>> spelled(static_cast<size_t>(b.size()));
    for (int64_t s = 0; s < b.size(); ++s) {
      for (int64_t t = 0; t < b.length[s]; ++t) {
        T v = x[b.Row(s, t)];
        bool repeated = a.merge_repeated && t > 0 && v == x[b.Row(s, t - 1)];
        if (v != a.blank && !repeated) spelled[s].push_back(v);
      }
    }
    Tensor* out = ctx.OutOrNull(kOutput);
    if (lengths) {
      WritePadded(spelled, static_cast<T>(a.padding_value), ctx);
    } else if (out) {
      WriteRagged(spelled, input, out);
    }
  }
  static void WritePadded(const std::vector<std::vector<T>>& spelled, T padding,
                          KernelContext& ctx) {
    Tensor *out = ctx.OutOrNull(kOutput), *length = ctx.OutOrNull(kOutputLength);
    const Dims dims = ctx.In(kInput).dims();
    if (length) length->Allocate({dims[0], 1}, DTypeOf<T>::value, ctx.place());
    if (out) out->Allocate(dims, DTypeOf<T>::value, ctx.place());
    for (int64_t s = 0; s < dims[0]; ++s) {
      if (length) length->mutable_data<T>()[s] = static_cast<T>(spelled[s].size());
      if (!out) continue;
      T* row = out->mutable_data<T>() + s * dims[1];
      std::fill(row, row + dims[1], padding);
      std::copy(spelled[s].begin(), spelled[s].end(), row);
    }
  }
  static void WriteRagged(const std::vector<std::vector<T>>& spelled, const Tensor& input,
                          Tensor* out) {
    std::vector<int64_t> offsets = {0};
    std::vector<T> all;
    for (const std::vector<T>& s : spelled) {
      all.insert(all.end(), s.begin(), s.end());
      offsets.push_back(static_cast<int64_t>(all.size()));
    }
    bool nothing = all.empty();
    if (nothing) all.push_back(T(-1));
    out->Allocate({static_cast<int64_t>(all.size()), 1}, DTypeOf<T>::value, input.place());
    std::copy(all.begin(), all.end(), out->mutable_data<T>());
    if (!nothing) out->SetLoD(LoDLevels{offsets});
  }
};

REGISTER_OPERATOR(ctc_align, DefineCtcAlign);
REGISTER_CPU_KERNEL(ctc_align, CtcAlignKernel, int32_t, int64_t);

}  // namespace
}  // namespace dygraph
