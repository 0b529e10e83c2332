#include "op/gradient_call.h"
#include "operators/sequence/sequence_loops.h"

namespace dygraph::sequence {
namespace {

constexpr int kX = 0, kPadValue = 1, kOut = 0, kLength = 1;

struct SequencePadAttrs {
  int32_t padded_length = -1;
};

int64_t PaddedLength(const Call& call, const Offsets& offsets) {
  int64_t longest = 0, asked = static_cast<const SequencePadAttrs*>(call.attrs)->padded_length;
  for (int64_t s = 0; s < Count(offsets); ++s)
    longest = std::max(longest, offsets[s + 1] - offsets[s]);
  if (asked < 0) return longest;
  ENFORCE(asked >= longest, InvalidArgument,
          "padded_length must be -1 or at least the longest sequence of X, ", longest, ", got ",
          asked);
  return asked;
}

Dims PaddedShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  ENFORCE(x.rank() > 0, InvalidArgument, "X must have rows, got shape []");
  Dims out{-1, ctx.attrs<SequencePadAttrs>().padded_length};
  if (ctx.runtime()) {
    const Offsets& offsets = LastLevel(ctx.value(kX).tensor(), "X");
    out = {Count(offsets), PaddedLength(ctx.call(), offsets)};
  }
  out.Append(x.begin() + 1, x.end());
  return out;
}

void DefineSequencePad(OpDef& op) {
  op.Comment(
        "Out[i] = the rows of sequence i of X and then PadValue up to one length for all; Length "
        "keeps how many there were. No gradient passes to PadValue.")
      .Example(
          ">>> x = to_variable([[1.0], [2.0], [3.0]], lod=[[0, 2, 3]])\n"
          ">>> out, length = F.sequence_pad(x, to_variable([-1.0]))\n"
          ">>> out.tolist(), length.tolist()\n"
          "([[[1.0], [2.0]], [[3.0], [-1.0]]], [2, 1])")
      .Input(kX, "X", "rows with LoD; the last level is padded")
      .Input(kPadValue, "PadValue", "one number, or the shape of a row of X")
      .Output(kOut, "Out", "[sequences, padded length, ...]")
      .Output(kLength, "Length", "[sequences], int64")
      .Attr(&SequencePadAttrs::padded_length, "padded_length", "-1: that of the longest sequence",
            AtLeast(-1))
      .Shape([](InferContext& ctx) {
        Dims out = PaddedShape(ctx);
        const Dims &x = ctx.dims(kX), &pad = ctx.dims(kPadValue);
        bool one = !pad.HasUnknown() && Numel(pad) == 1;
        ENFORCE(one || pad == Dims(Span<const int64_t>(x.begin() + 1, x.size() - 1)) ||
                    pad.HasUnknown() || x.HasUnknown(),
                InvalidArgument, "PadValue must be one number or have the shape of a row of X ", x,
                ", got ", pad);
        ctx.SetOutput(kOut, out);
        ctx.SetOutput(kLength, {out[0]}, DType::kInt64);
      })
      .Grad(CallGradient);
}

template <class T>
struct SequencePadKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &pad = ctx.In(kPadValue);
    const Offsets& offsets = LastLevel(x, "X");
    Tensor& out = ctx.Out(kOut);
    int64_t width = WidthOf(x.dims()), longest = out.dim(1);
    const T *from = x.data<T>(), *value = pad.data<T>();
    PadRows(offsets, from, width, longest, value, pad.numel() == 1, out.mutable_data<T>());
    if (Tensor* lengths = ctx.OutOrNull(kLength)) {
      std::vector<int64_t> list;
      for (int64_t s = 0; s < Count(offsets); ++s) list.push_back(offsets[s + 1] - offsets[s]);
      ctx.device().CopyFromHost(lengths->mutable_data<int64_t>(), list.data(), lengths->bytes());
    }
  }
};

namespace grad {
constexpr int kOutGrad = 2;

void DefineSequencePadGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD without what stands for padding.")
      .Input(kX, "X", "its shape and LoD", kShapeOnly)
      .Input(kPadValue, "PadValue", "its shape", kShapeOnly)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kX, "X@GRAD", "shape of X")
      .AttrsOf("sequence_pad")
      .Shape([](InferContext& ctx) {
        Dims out = PaddedShape(ctx);
        ENFORCE(!ctx.runtime() || ctx.dims(kOutGrad) == out, InvalidArgument,
                "Out@GRAD must have the shape of Out, ", out, ", got ", ctx.dims(kOutGrad));
        ctx.SetOutput(kX, ctx.dims(kX), ctx.dtype(kX));
      })
      .KernelDTypeOf(kOutGrad)
      .Grad([](GradBuilder& g) {
        RecipeRef arriving = g.Apply("lod_reset", {g.OutputGrad(kX), g.InputShape(kX)});
        RecipeRef zero = g.Apply("fill_any_like", {g.InputShape(kPadValue)});
        g.Call("sequence_pad", {arriving, zero}, {g.InputGrad(kOutGrad)}).SameAttrs();
      });
}

template <class T>
struct SequencePadGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &g = ctx.In(kOutGrad);
    const Offsets& offsets = LastLevel(x, "X");
    int64_t width = WidthOf(x.dims()), longest = g.dim(1);
    Moves moves;
    for (int64_t s = 0; s < Count(offsets); ++s)
      moves.Add(s * longest, offsets[s + 1] - offsets[s]);
    CopyRuns(moves, g.data<T>(), width * sizeof(T), ctx.Out(kX).mutable_data<T>());
  }
};
}  // namespace grad

REGISTER_OPERATOR(sequence_pad, DefineSequencePad);
REGISTER_KERNELS(sequence_pad, SequencePadKernel, int32_t, int64_t, float, double);
REGISTER_OPERATOR(sequence_pad_grad, grad::DefineSequencePadGrad);
REGISTER_KERNELS(sequence_pad_grad, grad::SequencePadGradKernel, float, double);

}  // namespace
}  // namespace dygraph::sequence
