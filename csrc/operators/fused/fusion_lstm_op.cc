#include "operators/fused/fused.h"
#include "operators/recurrent/packed_batch.h"

namespace dygraph::fused {
namespace {

constexpr int kX = 0, kWeightX = 1, kWeightH = 2, kBias = 3, kH0 = 4, kC0 = 5;
constexpr int kHidden = 0, kCell = 1, kXX = 2, kFirstUnused = 3, kUnused = 6;
const char* const kUnusedNames[] = {"BatchedInput", "BatchedHidden", "BatchedCell",
                                    "ReorderedH0",  "ReorderedC0",   "CheckedCell"};

struct FusionLstmAttrs {
  bool use_peepholes = true;
  bool is_reverse = false;
  bool use_seq = true;
  std::string gate_activation = "sigmoid";
  std::string cell_activation = "tanh";
  std::string candidate_activation = "tanh";
};

void InferShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  ENFORCE(x.rank() == 2, InvalidArgument, "X must have shape [rows, M], got ", x);
  const Dims& h = ctx.dims(kWeightH);
  ENFORCE(h.rank() == 2, InvalidArgument, "WeightH must have shape [D, 4 * D], got ", h);
  const int64_t d = h[0];
  CheckMatrix(ctx, kWeightH, d, MulSizes(d, 4), "[D, 4 * D]");
  CheckMatrix(ctx, kWeightX, x[1], MulSizes(d, 4), "[M, 4 * D]");
  const bool peepholes = ctx.attrs<FusionLstmAttrs>().use_peepholes;
  CheckMatrix(ctx, kBias, 1, MulSizes(d, peepholes ? 7 : 4),
              peepholes ? "[1, 7 * D] with use_peepholes" : "[1, 4 * D] without use_peepholes");
  ctx.SetOutput(kHidden, {x[0], d});
  ctx.SetOutput(kCell, {x[0], d});
  ctx.SetOutput(kXX, {x[0], MulSizes(d, 4)});
  for (int i = 0; i < kUnused; ++i) SetUnused(ctx, {kFirstUnused + i});
}

void DefineFusionLstm(OpDef& op) {
  op.Comment(
        "Hidden, Cell = lstm(X WeightX, H0, C0, WeightH, Bias): dynamic_lstm with the product in "
        "front of it. For inference: no gradient passes.")
      .Example(
          ">>> x = to_variable([[1.0], [1.0]], lod=[[0, 2]])\n"
          ">>> weight, zero = to_variable([[4.0, 0.0, 0.0, 0.0]]), to_variable([[0.0] * 4])\n"
          ">>> same = {k + \"_activation\": \"identity\" for k in (\"cell\", \"candidate\")}\n"
          ">>> out = F.fusion_lstm(x, weight, zero, zero, use_peepholes=False, **same)\n"
          ">>> [v.tolist() for v in out]\n"
          "[[[1.0], [1.5]], [[2.0], [3.0]]]")
      .Input(kX, "X", "[rows, M] with LoD")
      .Input(kWeightX, "WeightX", "[M, 4 * D], to c, i, f, o")
      .Input(kWeightH, "WeightH", "[D, 4 * D], from the hidden state to c, i, f, o")
      .Input(kBias, "Bias", "[1, 4 * D] for c, i, f, o; [1, 7 * D] with the peepholes i, f, o")
      .Input(kH0, "H0", "[sequences, D], the first hidden states; 0 where absent", kDispensable)
      .Input(kC0, "C0", "[sequences, D], the first cells", kDispensable)
      .Output(kHidden, "Hidden", "[rows, D], the LoD of X")
      .Output(kCell, "Cell", "[rows, D], the LoD of X")
      .Output(kXX, "XX", "X WeightX", kIntermediate);
  for (int i = 0; i < kUnused; ++i)
    op.Output(kFirstUnused + i, kUnusedNames[i], "of programs: nothing", kIntermediate);
  op.Attr(&FusionLstmAttrs::use_peepholes, "use_peepholes", "gates see the cells")
      .Attr(&FusionLstmAttrs::is_reverse, "is_reverse",
            "from the last row of a sequence to its first")
      .Attr(&FusionLstmAttrs::use_seq, "use_seq", "of programs")
      .Attr(&FusionLstmAttrs::gate_activation, "gate_activation", "of i, f and o",
            recurrent::AnActivation())
      .Attr(&FusionLstmAttrs::cell_activation, "cell_activation", "of the cell",
            recurrent::AnActivation())
      .Attr(&FusionLstmAttrs::candidate_activation, "candidate_activation", "of the candidate",
            recurrent::AnActivation())
      .Shape(InferShape)
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct FusionLstmKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<FusionLstmAttrs>();
    Value own;
    Value* product = OutputOr(ctx, kXX, &own);
    PartCall(ctx, "mul").In(ctx.InValue(kX)).In(ctx.InValue(kWeightX)).Out(product).Run();
    product->MutableTensor().SetLoD(ctx.In(kX).lod_ref());
    PartCall(ctx, "lstm")
        .In(*product)
        .In(InputOrNull(ctx, kH0))
        .In(InputOrNull(ctx, kC0))
        .In(ctx.InValue(kWeightH))
        .In(ctx.InValue(kBias))
        .Out(&ctx.OutValue(kHidden))
        .Out(&ctx.OutValue(kCell))
        .Attr("use_peepholes", a.use_peepholes)
        .Attr("is_reverse", a.is_reverse)
        .Attr("gate_activation", a.gate_activation)
        .Attr("cell_activation", a.cell_activation)
        .Attr("candidate_activation", a.candidate_activation)
        .Run();
    for (int i = 0; i < kUnused; ++i) FillUnused(ctx, {kFirstUnused + i});
  }
};

REGISTER_OPERATOR(fusion_lstm, DefineFusionLstm);
REGISTER_KERNELS(fusion_lstm, FusionLstmKernel, float, double);

}  // namespace
}  // namespace dygraph::fused
