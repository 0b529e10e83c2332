#include "kernels/philox.h"
#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/linear/attention_call.h"

namespace dygraph::attention {
namespace {

void DefineAttention(OpDef& op) {
  AddInputs(
      op.Comment("Out = softmax(scale * Query Key^T + Mask) Value for each head, with dropout of "
                 "the weights. A query all of whose keys Mask hides gives zeros. Vaswani et al., "
                 "\"Attention is all you need\", 2017. Rows [queries, d] with a level of detail "
                 "attend within their sequence alone.")
          .Example(">>> q = to_variable([[1.0, 0.0], [0.0, 1.0]])\n"
                   ">>> v = to_variable([[2.0], [4.0]])\n"
                   ">>> F.scaled_dot_product_attention(q, q, v, is_causal=True)[0].tolist()\n"
                   "[2.0]"))
      .Output(kOut, "Out", "[..., queries, e], or [batch, queries, num_heads * e]")
      .Output(kLogTotal, "LogTotal", "log(sum(exp(scores))) of each query", kIntermediate)
      .Output(kDrawn, "Drawn", "int64, what dropout drew from: two numbers, or none", kIntermediate)
      .Attr(&AttentionAttrs::num_heads, "num_heads",
            "heads side by side in the last axis; 0: heads are leading axes", AtLeast(0))
      .Attr(&AttentionAttrs::scale, "scale", "of the scores; 0: 1 / sqrt(d)")
      .Attr(&AttentionAttrs::is_causal, "is_causal", "query i sees keys 0 to i")
      .Attr(&AttentionAttrs::dropout_prob, "dropout_prob",
            "share of weights that become 0; the others are divided by 1 - dropout_prob",
            Between(0, 1))
      .Attr(&AttentionAttrs::is_test, "is_test", "no dropout")
      .Attr(&AttentionAttrs::seed, "seed", "of dropout; 0: the generator's")
      .Shape([](InferContext& ctx) {
        Sizes s = CheckInputs(ctx);
        ctx.SetOutput(kOut, s.out, ctx.dtype(kQuery));
        ctx.SetOutput(kLogTotal, s.rows, WideOf(ctx.dtype(kQuery)));
        ctx.SetOutput(kDrawn, {ctx.attrs<AttentionAttrs>().drops() ? 2 : 0}, DType::kInt64);
      })
      .KernelDTypeOf(kQuery)
      .MixedDTypes()
      .ShareLoD(kQuery)
      .Random()
      .Grad(CallGradient);
}

template <class T>
struct AttentionKernel {
  static void Compute(KernelContext& ctx) {
    Heads<T> call(ctx);
    int64_t* drawn = ctx.Out(kDrawn).template mutable_data<int64_t>();
    if (call.attrs.drops()) {
      const auto own = static_cast<uint64_t>(call.attrs.seed);
      const auto generator =
          own ? kernels::Philox(own, 0)
              : kernels::Philox::OfCall(ctx.random_seed(), ctx.random_stream());
      generator.Store(drawn);
    }
    call.Drew(drawn);
    kernels::Heads<T> out = HeadsOrNone<T>(&ctx.Out(kOut), call.attrs);
    auto* log_total = ctx.Out(kLogTotal).template mutable_data<kernels::Wide<T>>();
    call.EachSequence([&](const kernels::Attention<T>& at, int64_t query, int64_t) {
      at.Forward(out.From(query), log_total + query * at.heads);
    });
  }
};

namespace grad {
using attention::grad::AddSlots;
using attention::grad::InferGradShape;
using attention::grad::kDrawn;
using attention::grad::kLogTotal;
using attention::grad::kOutGrad;

void DefineAttentionGrad(OpDef& op) {
  AddSlots(
      op.Comment(
          "With P the weights and D what dropout multiplies them with: Value@GRAD = (P D)^T "
          "Out@GRAD; d = Out@GRAD Value^T D, S = P (d - sum(P d)) for each query; Query@GRAD = "
          "scale S Key, Key@GRAD = scale S^T Query, Mask@GRAD = S, summed where it was "
          "broadcast. P is made again from LogTotal."))
      .Shape(InferGradShape)
      .Grad(CallGradient);
}

template <class T>
struct AttentionGradKernel {
  static void Compute(KernelContext& ctx) {
    Heads<T> call(ctx);
    call.Drew(ctx.In(kDrawn).template data<int64_t>());
    const auto* log_total = ctx.In(kLogTotal).template data<kernels::Wide<T>>();
    kernels::Heads<const T> d_out = HeadsOrNone<T>(&ctx.In(kOutGrad), call.attrs);
    auto to = GradientsOf<T>(ctx, call.attrs);
    call.EachSequence([&](const kernels::Attention<T>& at, int64_t query, int64_t key) {
      at.Backward(log_total + query * at.heads, d_out.From(query), From<T>(to, query, key));
    });
  }
};
}  // namespace grad

REGISTER_OPERATOR(scaled_dot_product_attention, DefineAttention);
REGISTER_LOD_RULE(scaled_dot_product_attention, RowsOfFirstOutput);
REGISTER_KERNELS(scaled_dot_product_attention, AttentionKernel, float, double);
REGISTER_DEVICE_TYPES(scaled_dot_product_attention, AttentionKernel, float16, bfloat16);
REGISTER_OPERATOR(scaled_dot_product_attention_grad, grad::DefineAttentionGrad);
REGISTER_KERNELS(scaled_dot_product_attention_grad, grad::AttentionGradKernel, float, double);
REGISTER_DEVICE_TYPES(scaled_dot_product_attention_grad, grad::AttentionGradKernel, float16,
                      bfloat16);

}  // namespace
}  // namespace dygraph::attention
