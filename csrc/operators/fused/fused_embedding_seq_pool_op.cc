#include "op/gradient_call.h"
#include "operators/fused/fused.h"
#include "operators/sequence/sequence.h"

namespace dygraph::fused {
namespace {

constexpr int kW = 0, kIds = 1, kOut = 0;

struct FusedEmbeddingSeqPoolAttrs {
  std::string combiner = "sum";
  int64_t padding_idx = -1;
  bool grad_inplace = false;
  bool is_sparse = false;
};

// Columns of Out: a row of W for each id of a step.
int64_t WidthOf(InferContext& ctx) {
  const Dims &w = ctx.dims(kW), &ids = ctx.dims(kIds);
  ENFORCE(w.rank() == 2, InvalidArgument, "W must be a matrix [height, width], got shape ", w);
  ENFORCE(ids.rank() > 0, InvalidArgument, "Ids must have rows, got shape ", ids);
  int64_t width = w[1];
  for (int i = 1; i < ids.rank(); ++i) width = MulSizes(width, ids[i]);
  return width;
}

void InferShape(InferContext& ctx) {
  const int64_t width = WidthOf(ctx);
  const int64_t count =
      ctx.runtime() ? sequence::Count(sequence::LastLevel(ctx.value(kIds).tensor(), "Ids")) : -1;
  ctx.SetOutput(kOut, {count, width}, ctx.dtype(kW));
}

void DefineFusedEmbeddingSeqPool(OpDef& op) {
  op.Comment(
        "Out[s] = the sum of the rows W[Ids[t]] over the steps t of sequence s; zeros where an id "
        "is padding_idx. Several ids of a step stand side by side.")
      .Example(
          ">>> w = to_variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])\n"
          ">>> ids = to_variable([[0], [2], [1]], lod=[[0, 2, 3]])\n"
          ">>> F.fused_embedding_seq_pool(w, ids).tolist()\n"
          "[[6.0, 8.0], [3.0, 4.0]]")
      .Input(kW, "W", "[height, width]")
      .Input(kIds, "Ids", "[steps, ids] with LoD, int32 or int64, in [0, height)")
      .Output(kOut, "Out", "[sequences, ids * width]")
      .Attr(&FusedEmbeddingSeqPoolAttrs::combiner, "combiner", "sum", OneOf({"sum"}))
      .Attr(&FusedEmbeddingSeqPoolAttrs::padding_idx, "padding_idx",
            "this id gives zeros and no gradient; -1: none")
      .Attr(&FusedEmbeddingSeqPoolAttrs::grad_inplace, "grad_inplace", "of programs")
      .Attr(&FusedEmbeddingSeqPoolAttrs::is_sparse, "is_sparse", "W@GRAD is selected rows")
      .Shape(InferShape)
      .KernelDTypeOf(kW)
      .MixedDTypes()
      .KernelAllocates()
      .Grad([](GradBuilder& g) {
        g.Call("fused_embedding_seq_pool_grad",
               {g.InputShape(kW), g.Input(kIds), g.OutputGrad(kOut)}, {g.InputGrad(kW)})
            .SameAttrs();
      });
}

// The ids of a step as one axis, with the LoD of Ids.
Value Steps(const Tensor& ids) {
  const int64_t steps = ids.dim(0);
  Tensor flat = ids.Reshaped({steps, steps == 0 ? 1 : ids.numel() / steps});
  flat.SetLoD(ids.lod_ref());
  return Value(std::move(flat));
}

template <class T>
struct FusedEmbeddingSeqPoolKernel {
  static void Compute(KernelContext& ctx) {
    const Value ids = Steps(ctx.In(kIds));
    Value rows;
    PartCall(ctx, "lookup_table_v2")
        .In(ctx.InValue(kW))
        .In(ids)
        .Out(&rows)
        .Attr("padding_idx", ctx.attrs<FusedEmbeddingSeqPoolAttrs>().padding_idx)
        .Run();
    Tensor& r = rows.MutableTensor();
    const int64_t width = ids.tensor().dim(1) * r.dim(2);
    Tensor flat = r.Reshaped({r.dim(0), width});
    flat.SetLoD(ctx.In(kIds).lod_ref());
    PartCall(ctx, "sequence_pool")
        .In(Value(std::move(flat)))
        .Out(&ctx.OutValue(kOut))
        .Attr("pooltype", std::string("SUM"))
        .Run();
  }
};

namespace grad {
constexpr int kOutGrad = 2, kWGrad = 0;

void DefineFusedEmbeddingSeqPoolGrad(OpDef& op) {
  op.Comment(
        "W@GRAD[id] = the sum of the rows of Out@GRAD whose sequences hold the id, once for each "
        "time; padding_idx left out. With is_sparse it is selected rows.")
      .Input(kW, "W", "its shape", kShapeOnly)
      .Input(kIds, "Ids", "as in the forward call")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kWGrad, "W@GRAD", "shape of W, or selected rows of it")
      .AttrsOf("fused_embedding_seq_pool")
      .VarType([](InferContext& ctx) {
        WidthOf(ctx);
        if (!ctx.attrs<FusedEmbeddingSeqPoolAttrs>().is_sparse) return;
        const Dims& w = ctx.dims(kW);
        Tensor none;
        none.SetMeta({0, w[1]}, ctx.dtype(kW));
        if (Value* out = ctx.call().out.at(kWGrad))
          out->SetRows(MakeRef<SelectedRows>(std::vector<int64_t>(), w[0], std::move(none)));
      })
      .Shape([](InferContext& ctx) {
        if (!ctx.attrs<FusedEmbeddingSeqPoolAttrs>().is_sparse)
          ctx.SetOutput(kWGrad, ctx.dims(kW), ctx.dtype(kW));
      })
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .KernelAllocates()
      .Grad([](GradBuilder& g) {
        g.Call("fused_embedding_seq_pool", {g.OutputGrad(kWGrad), g.Input(kIds)},
               {g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct FusedEmbeddingSeqPoolGradKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<FusedEmbeddingSeqPoolAttrs>();
    const Value ids = Steps(ctx.In(kIds));
    const Tensor& g = ctx.In(kOutGrad);
    const int64_t count = ids.tensor().dim(1), width = ctx.In(kW).dim(1);
    ENFORCE(g.rank() == 2 && g.dim(1) == count * width, InvalidArgument, "Out@GRAD must have ",
            count * width, " columns, got shape ", g.dims());
    Value steps;
    PartCall(ctx, "sequence_expand_as").In(ctx.InValue(kOutGrad)).In(ids).Out(&steps).Run();
    const Value rows(steps.tensor().Reshaped({ids.tensor().dim(0), count, width}));
    PartCall(ctx, "lookup_table_v2_grad")
        .In(ctx.InValue(kW))
        .In(ids)
        .In(rows)
        .Out(&ctx.OutValue(kWGrad))
        .Attr("padding_idx", a.padding_idx)
        .Attr("is_sparse", a.is_sparse)
        .Run();
  }
};
}  // namespace grad

REGISTER_OPERATOR(fused_embedding_seq_pool, DefineFusedEmbeddingSeqPool);
REGISTER_KERNELS(fused_embedding_seq_pool, FusedEmbeddingSeqPoolKernel, float, double);
REGISTER_OPERATOR(fused_embedding_seq_pool_grad, grad::DefineFusedEmbeddingSeqPoolGrad);
REGISTER_KERNELS(fused_embedding_seq_pool_grad, grad::FusedEmbeddingSeqPoolGradKernel, float,
                    double);

}  // namespace
}  // namespace dygraph::fused
