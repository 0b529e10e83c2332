#include "operators/higher_gradient.h"
#include "operators/linear/attention_call.h"

namespace dygraph::attention {
namespace {

namespace grad_grad {
using grad::kDrawn;
using grad::kLogTotal;
using grad::kOutGrad;
constexpr int kAlong = 7, kToOut = 4;

void DefineAttentionGradGrad(OpDef& op);

struct AttentionThird {
  static constexpr uint32_t kServes =
      higher::Slots(kQuery, kKey, kValue, kMask, kOutGrad, kAlong + kQuery, kAlong + kKey,
                    kAlong + kValue, kAlong + kMask);
  static void Define(OpDef& op) { DefineAttentionGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext& ctx) {
    std::vector<higher::Input> list;
    for (int slot : {kQuery, kKey, kValue}) list.push_back({slot, kAlong + slot, slot});
    const Tensor* mask = ctx.InOrNull(kMask);
    if (mask && mask->dtype() != DType::kBool) list.push_back({kMask, kAlong + kMask, kMask});
    return list;
  }
  static std::vector<higher::Result> Results(const KernelContext&) { return {{kOutGrad, kToOut}}; }
  static void Run(higher::Problem& p) {
    if (p.ctx.In(kQuery).dtype() == DType::kFloat64) {
      RunWith<double>(p);
    } else {
      RunWith<float>(p);
    }
  }
  template <class T>
  static void RunWith(higher::Problem& p) {
    Heads<T> call(p.ctx);
    call.Drew(p.ctx.In(kDrawn).template data<int64_t>());
    const Tensor& given = p.ctx.In(kOutGrad);
    kernels::Heads<const T> whole = HeadsOf(given.data<T>(), given.dims(), call.attrs);
    std::vector<T> factors(call.at.keys, T(1));
    call.EachSequence([&](const kernels::Attention<T>& a, int64_t query, int64_t) {
      kernels::Heads<const T> out = whole.From(query);
      for (int64_t l = 0; l < a.heads; ++l) {
        for (int64_t i = 0; i < a.queries; ++i) {
          if (a.dropout > 0) a.DropFactors(l, i, 1, factors.data());
          RunQuery(p, call.at, a, l, i, factors, out.at(l) + i * out.row - whole.data);
          p.Flush();
        }
      }
    });
  }
  // Query i of head l of a sequence, whose result begins at `to`.
  template <class T>
  static void RunQuery(higher::Problem& p, const kernels::Attention<T>& whole,
                       const kernels::Attention<T>& a, int64_t l, int64_t i,
                       const std::vector<T>& factors, int64_t to) {
    using higher::Scalar;
    const kernels::AttentionMask<T>& mask = *a.mask;
    std::vector<Scalar> q = p.Leaves(0, a.q.at(l) + i * a.q.row - whole.q.data, a.width), scores;
    std::vector<int64_t> seen;
    for (int64_t j = 0; j < (mask.causal ? std::min(i + 1, a.keys) : a.keys); ++j) {
      const int64_t m = mask.any() ? mask.offset[l] + i * mask.row + j * mask.column : 0;
      if (mask.seen && !mask.seen[m]) continue;
      if (mask.added && mask.added[m] <= static_cast<T>(kernels::kHidden)) continue;
      std::vector<Scalar> k = p.Leaves(1, a.k.at(l) + j * a.k.row - whole.k.data, a.width);
      Scalar score = kernels::ScalarTape::Current().Dot({}, q.data(), 1, k.data(), 1, a.width) *
                     static_cast<double>(a.scale);
      scores.push_back(mask.added ? score + p.Leaf(3, m) : score);
      seen.push_back(j);
    }
    if (seen.empty()) return;
    Scalar total;
    for (Scalar score : scores) total = AddLogs(total, score);
    std::vector<Scalar> sums(a.value_width, kernels::Constant(0));
    for (size_t n = 0; n < seen.size(); ++n) {
      Scalar weight = Exp(scores[n] - total) * static_cast<double>(factors[seen[n]]);
      const int64_t from = a.v.at(l) + seen[n] * a.v.row - whole.v.data;
      std::vector<Scalar> v = p.Leaves(2, from, a.value_width);
      for (int64_t c = 0; c < a.value_width; ++c) sums[c] = sums[c] + weight * v[c];
    }
    for (int64_t c = 0; c < a.value_width; ++c) p.Set(0, to + c, sums[c]);
  }
};

void DefineAttentionGradGrad(OpDef& op) {
  grad::AddSlots(
      op.Comment("The gradients of scaled_dot_product_attention_grad: the derivatives of "
                 "its results and of Out along what arrives."))
      .Input(kAlong + kQuery, "Query@GRAD@GRAD", "shape of Query", kDispensable)
      .Input(kAlong + kKey, "Key@GRAD@GRAD", "shape of Key", kDispensable)
      .Input(kAlong + kValue, "Value@GRAD@GRAD", "shape of Value", kDispensable)
      .Input(kAlong + kMask, "Mask@GRAD@GRAD", "shape of Mask", kDispensable)
      .Output(kToOut, "Out@GRAD@GRAD", "shape of Out")
      .Shape([](InferContext& ctx) {
        grad::InferGradShape(ctx);
        for (int slot : {kQuery, kKey, kValue, kMask}) {
          ENFORCE(!ctx.HasInput(kAlong + slot) || ctx.dims(kAlong + slot) == ctx.dims(slot),
                  InvalidArgument, "what arrives must have the shape of its input, ",
                  ctx.dims(slot), ", got ", ctx.dims(kAlong + slot));
        }
        ctx.SetOutput(kToOut, ctx.dims(kOutGrad), ctx.dtype(kQuery));
      })
      .Grad(higher::Recipe<AttentionThird>);
}

template <class T>
struct AttentionGradGradKernel {
  static void Compute(KernelContext& ctx) {
    Heads<T> call(ctx);
    call.Drew(ctx.In(kDrawn).template data<int64_t>());
    typename kernels::Attention<T>::Direction along;
    along.q = HeadsOrNone<T>(ctx.InOrNull(kAlong + kQuery), call.attrs);
    along.k = HeadsOrNone<T>(ctx.InOrNull(kAlong + kKey), call.attrs);
    along.v = HeadsOrNone<T>(ctx.InOrNull(kAlong + kValue), call.attrs);
    if (const Tensor* mask = ctx.InOrNull(kAlong + kMask)) along.mask = mask->data<T>();
    const T* log_total = ctx.In(kLogTotal).template data<T>();
    kernels::Heads<const T> d_out = HeadsOrNone<T>(&ctx.In(kOutGrad), call.attrs);
    auto to = GradientsOf<T>(ctx, call.attrs);
    kernels::Heads<T> to_out = HeadsOrNone<T>(ctx.OutOrNull(kToOut), call.attrs);
    call.EachSequence([&](const kernels::Attention<T>& at, int64_t query, int64_t key) {
      typename kernels::Attention<T>::Direction from = along;
      from.q = along.q.From(query);
      from.k = along.k.From(key);
      from.v = along.v.From(key);
      at.BackwardAlong(log_total + query * at.heads, d_out.From(query), from,
                       From<T>(to, query, key), to_out.From(query));
    });
  }
};
}  // namespace grad_grad
using grad_grad::AttentionThird;

REGISTER_OPERATOR(scaled_dot_product_attention_grad_grad, grad_grad::DefineAttentionGradGrad);
REGISTER_CPU_KERNEL(scaled_dot_product_attention_grad_grad, grad_grad::AttentionGradGradKernel,
                    float, double);
REGISTER_THIRD_GRADIENT(scaled_dot_product_attention_grad_grad, AttentionThird);

}  // namespace
}  // namespace dygraph::attention
