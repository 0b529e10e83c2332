#include <cmath>

#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/higher_gradient.h"

namespace dygraph {
namespace {

constexpr int kQuery = 0, kKey = 1, kValue = 2, kMask = 3, kOut = 0, kLogTotal = 1, kDrawn = 2;

struct AttentionAttrs {
  int32_t num_heads = 0;
  double scale = 0.0;
  bool is_causal = false;
  double dropout_prob = 0.0;
  bool is_test = false;
  int32_t seed = 0;
  bool drops() const { return dropout_prob > 0 && !is_test; }
};

// Rows of two axes with a level of detail: each sequence of Query attends to the sequence of Key
// and Value with its number.
struct Sequences {
  Sequences() = default;
  Sequences(const Tensor& query, const Tensor& key, const Tensor& value) {
    if (query.rank() != 2 || (!query.lod() && !key.lod() && !value.lod())) return;
    ENFORCE(query.lod() && key.lod(), InvalidArgument,
            "Query and Key must both have a level of detail, or neither, got one for ",
            query.lod() ? "Query" : key.lod() ? "Key" : "Value",
            " alone. Give the other its sequences with to_variable(value, lod=...) or set_lod()");
    queries = &query.lod_levels().back();
    keys = &key.lod_levels().back();
    ENFORCE(queries->size() == keys->size(), InvalidArgument,
            "Query and Key must have as many sequences, got ", count(), " and ", keys->size() - 1);
    ENFORCE(!value.lod() || value.lod_levels().back() == *keys, InvalidArgument,
            "Key and Value must have the same sequences, got other offsets for Value. Give Value "
            "the level of detail of Key with lod_reset()");
  }
  int64_t count() const { return static_cast<int64_t>(queries->size()) - 1; }
  static int64_t Longest(const std::vector<int64_t>& offsets) {
    int64_t longest = 0;
    for (size_t i = 1; i < offsets.size(); ++i)
      longest = std::max(longest, offsets[i] - offsets[i - 1]);
    return longest;
  }
  const std::vector<int64_t>*queries = nullptr, *keys = nullptr;  // offsets; null: none
};

Sequences SequencesOf(const InferContext& ctx) {
  auto tensor = [&](int slot) -> const Tensor& { return ctx.value(slot).tensor(); };
  return ctx.runtime() ? Sequences(tensor(kQuery), tensor(kKey), tensor(kValue)) : Sequences();
}

// Sizes of Out and of the scores' leading axes and rows.
struct Sizes {
  Dims out, rows;
};

Sizes CheckInputs(InferContext& ctx) {
  const AttentionAttrs& a = ctx.attrs<AttentionAttrs>();
  const Dims &q = ctx.dims(kQuery), &k = ctx.dims(kKey), &v = ctx.dims(kValue);
  const int rank = q.rank();
  ENFORCE(rank >= 2 && k.rank() == rank && v.rank() == rank, InvalidArgument,
          "Query, Key and Value must have one rank, at least 2, got shapes ", q, ", ", k, " and ",
          v);
  ENFORCE(a.num_heads == 0 || rank <= 3, InvalidArgument,
          "Query must be [batch, queries, num_heads * width] with num_heads, or rows [queries, "
          "num_heads * width], got shape ",
          q);
  for (int i = 0; i + 2 < rank; ++i) {
    bool fits =
        (q[i] == k[i] || !BothKnown(q[i], k[i])) && (q[i] == v[i] || !BothKnown(q[i], v[i]));
    ENFORCE(fits, InvalidArgument, "the leading axes of Query, Key and Value must be equal, got ",
            q, ", ", k, " and ", v, ". Use expand() where they broadcast");
  }
  const int64_t width = q[rank - 1], value_width = v[rank - 1], heads = std::max(a.num_heads, 1);
  ENFORCE(width == k[rank - 1] || !BothKnown(width, k[rank - 1]), InvalidArgument,
          "Query and Key must have one last size, got shapes ", q, " and ", k);
  ENFORCE(k[rank - 2] == v[rank - 2] || !BothKnown(k[rank - 2], v[rank - 2]), InvalidArgument,
          "Key and Value must have as many positions, got shapes ", k, " and ", v);
  ENFORCE((width < 0 || width % heads == 0) && (value_width < 0 || value_width % heads == 0),
          InvalidArgument, "the last sizes of Query and Value must be multiples of num_heads, ",
          heads, ", got shapes ", q, " and ", v);
  for (int slot : {kKey, kValue}) {
    ENFORCE(ctx.dtype(slot) == ctx.dtype(kQuery), Type,
            "Query, Key and Value must have one type, got ", ctx.dtype(kQuery), " and ",
            ctx.dtype(slot));
  }
  const Sequences sequences = SequencesOf(ctx);
  Sizes s;
  s.out = q;
  s.out[rank - 1] = value_width;
  s.rows = Dims(q.begin(), q.end() - 2);
  if (a.num_heads > 0) s.rows.push_back(heads);
  s.rows.push_back(q[rank - 2]);
  if (!ctx.HasInput(kMask)) return s;
  const Dims& mask = ctx.dims(kMask);
  ENFORCE(ctx.dtype(kMask) == DType::kBool || ctx.dtype(kMask) == ctx.dtype(kQuery), Type,
          "Mask must be of bool or of the type of Query, ", ctx.dtype(kQuery), ", got ",
          ctx.dtype(kMask));
  Dims scores = s.rows;
  scores.push_back(k[rank - 2]);
  if (sequences.queries) {
    ENFORCE(mask.rank() <= scores.rank(), InvalidArgument,
            "Mask must be the same for all sequences of a ragged Query, [num_heads, queries, keys] "
            "or less, got shape ",
            mask, ". It holds no padding that had to be hidden");
    scores[scores.rank() - 2] = Sequences::Longest(*sequences.queries);
    scores.back() = Sequences::Longest(*sequences.keys);
  } else if (rank == 2 && !ctx.runtime()) {  // which may be sequences
    scores[scores.rank() - 2] = scores.back() = -1;
  }
  bool fits = mask.rank() <= scores.rank();
  for (int i = 1; fits && i <= mask.rank(); ++i) {
    int64_t has = mask[mask.rank() - i], must = scores[scores.rank() - i];
    fits = has == 1 || has == must || !BothKnown(has, must);
  }
  ENFORCE(fits, InvalidArgument, "Mask must broadcast to the scores ", scores,
          sequences.queries ? " of the longest sequences, got shape " : ", got shape ", mask);
  return s;
}

OpDef& AddInputs(OpDef& op) {
  return op
      .Input(kQuery, "Query",
             "[..., queries, d], or [batch, queries, num_heads * d]; rows with or without a level "
             "of detail, [queries, d] or [queries, num_heads * d]")
      .Input(kKey, "Key", "[..., keys, d], or [batch, keys, num_heads * d]")
      .Input(kValue, "Value", "[..., keys, e], or [batch, keys, num_heads * e]")
      .Input(kMask, "Mask",
             "broadcasts to the scores [..., queries, keys] or [batch, num_heads, queries, keys]; "
             "bool: 0 hides a key; floating: added, and -1e30 or less hides; of a ragged Query as "
             "for its longest sequences, of which others take the beginning",
             kDispensable);
}

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
        ctx.SetOutput(kLogTotal, s.rows, ctx.dtype(kQuery));
        ctx.SetOutput(kDrawn, {ctx.attrs<AttentionAttrs>().drops() ? 2 : 0}, DType::kInt64);
      })
      .KernelDTypeOf(kQuery)
      .MixedDTypes()
      .ShareLoD(kQuery)
      .Random()
      .Grad(CallGradient);
}

template <class T>
kernels::Heads<T> HeadsOf(T* data, const Dims& d, const AttentionAttrs& a) {
  const int64_t heads = std::max(a.num_heads, 1), row = d[d.rank() - 1];
  return {data, heads, d[d.rank() - 2] * row, row / heads, row};
}
template <class T>
kernels::Heads<T> HeadsOrNone(Tensor* out, const AttentionAttrs& a) {
  return out ? HeadsOf(out->mutable_data<T>(), out->dims(), a) : kernels::Heads<T>();
}
template <class T>
kernels::Heads<const T> HeadsOrNone(const Tensor* in, const AttentionAttrs& a) {
  return in ? HeadsOf(in->data<T>(), in->dims(), a) : kernels::Heads<const T>();
}

// A call's inputs as the kernel wants them.
template <class T>
struct Heads {
  explicit Heads(const KernelContext& ctx) : attrs(ctx.attrs<AttentionAttrs>()) {
    const Tensor &q = ctx.In(kQuery), &k = ctx.In(kKey), &v = ctx.In(kValue);
    const int rank = q.rank();
    const int64_t each = std::max(attrs.num_heads, 1);
    at.heads = Numel(q.dims(), 0, rank - 2) * each;
    at.queries = q.dim(rank - 2);
    at.keys = k.dim(rank - 2);
    at.width = q.dim(rank - 1) / each;
    at.value_width = v.dim(rank - 1) / each;
    at.scale = attrs.scale != 0 ? static_cast<T>(attrs.scale)
                                : T(1) / std::sqrt(static_cast<T>(std::max<int64_t>(at.width, 1)));
    at.q = HeadsOf(q.data<T>(), q.dims(), attrs);
    at.k = HeadsOf(k.data<T>(), k.dims(), attrs);
    at.v = HeadsOf(v.data<T>(), v.dims(), attrs);
    at.mask = &mask;
    mask.causal = attrs.is_causal;
    if (const Tensor* m = ctx.InOrNull(kMask)) Place(*m, q.dims());
    if (attrs.drops()) at.dropout = NumberFor<T>(attrs.dropout_prob);
    sequences = Sequences(q, k, v);
  }

  // f(attention of a sequence, its first query, its first key); once for a call without sequences.
  template <class F>
  void EachSequence(F f) const {
    if (!sequences.queries) return f(at, 0, 0);
    kernels::Attention<T> one = at;
    for (int64_t s = 0; s < sequences.count(); ++s) {
      const int64_t query = (*sequences.queries)[s], key = (*sequences.keys)[s];
      one.queries = (*sequences.queries)[s + 1] - query;
      one.keys = (*sequences.keys)[s + 1] - key;
      one.q = at.q.From(query);
      one.k = at.k.From(key);
      one.v = at.v.From(key);
      f(one, query, key);
      one.drawn_before += at.heads * one.queries * one.keys;
    }
  }

  void Drew(const int64_t* drawn) {
    if (!attrs.drops()) return;
    at.seed = static_cast<uint64_t>(drawn[0]);
    at.stream = static_cast<uint64_t>(drawn[1]);
  }

  const AttentionAttrs& attrs;
  kernels::AttentionMask<T> mask;
  kernels::Attention<T> at;  // as if all rows were one sequence
  Sequences sequences;

 private:
  // Where the mask of each head begins.
  void Place(const Tensor& m, const Dims& q) {
    if (m.dtype() == DType::kBool) {
      mask.seen = m.data<bool>();
    } else {
      mask.added = m.data<T>();
    }
    Dims leading(q.begin(), q.end() - 2);
    if (attrs.num_heads > 0) leading.push_back(attrs.num_heads);
    const Dims& d = m.dims();
    const int rank = d.rank();
    auto size = [&](int from_last) { return from_last <= rank ? d[rank - from_last] : 1; };
    mask.column = size(1) == 1 ? 0 : 1;
    mask.row = size(2) == 1 ? 0 : size(1);
    mask.offset.resize(at.heads);
    for (int64_t l = 0; l < at.heads; ++l) {
      int64_t rest = l, stride = size(1) * size(2), offset = 0;
      for (int i = leading.rank() - 1; i >= 0; --i) {
        int64_t has = size(leading.rank() - i + 2);
        if (has != 1) offset += rest % leading[i] * stride;
        stride *= has;
        rest /= leading[i];
      }
      mask.offset[l] = offset;
    }
  }
};

template <class T>
struct AttentionKernel {
  static void Compute(KernelContext& ctx) {
    Heads<T> call(ctx);
    int64_t* drawn = ctx.Out(kDrawn).template mutable_data<int64_t>();
    if (call.attrs.drops()) {
      drawn[0] = call.attrs.seed ? call.attrs.seed : static_cast<int64_t>(ctx.random_seed());
      drawn[1] = call.attrs.seed ? 0 : static_cast<int64_t>(ctx.random_stream());
    }
    call.Drew(drawn);
    kernels::Heads<T> out = HeadsOrNone<T>(&ctx.Out(kOut), call.attrs);
    T* log_total = ctx.Out(kLogTotal).template mutable_data<T>();
    call.EachSequence([&](const kernels::Attention<T>& at, int64_t query, int64_t) {
      at.Forward(out.From(query), log_total + query * at.heads);
    });
  }
};

// To the outputs Query, Key, Value and Mask.
template <class T>
typename kernels::Attention<T>::Gradients GradientsOf(KernelContext& ctx, const AttentionAttrs& a) {
  typename kernels::Attention<T>::Gradients to;
  to.q = HeadsOrNone<T>(ctx.OutOrNull(kQuery), a);
  to.k = HeadsOrNone<T>(ctx.OutOrNull(kKey), a);
  to.v = HeadsOrNone<T>(ctx.OutOrNull(kValue), a);
  if (Tensor* mask = ctx.OutOrNull(kMask)) {
    to.mask = mask->mutable_data<T>();
    kernels::Fill(to.mask, mask->numel(), T(0));
  }
  return to;
}
template <class T>
typename kernels::Attention<T>::Gradients From(const typename kernels::Attention<T>::Gradients& to,
                                               int64_t query, int64_t key) {
  return {to.q.From(query), to.k.From(key), to.v.From(key), to.mask};
}

namespace grad {
constexpr int kLogTotal = 4, kDrawn = 5, kOutGrad = 6;

void InferGradShape(InferContext& ctx) {
  Sizes s = CheckInputs(ctx);
  auto check = [&](int slot, const Dims& must, const char* name) {
    ENFORCE(ctx.dims(slot) == must || ctx.dims(slot).HasUnknown() || must.HasUnknown(),
            InvalidArgument, name, " must have the shape the forward call gave it, ", must,
            ", got ", ctx.dims(slot));
  };
  check(kLogTotal, s.rows, "LogTotal");
  check(kDrawn, {ctx.attrs<AttentionAttrs>().drops() ? 2 : 0}, "Drawn");
  check(kOutGrad, s.out, "Out@GRAD");
  for (int slot : {kQuery, kKey, kValue, kMask}) {
    if (ctx.HasInput(slot)) ctx.SetOutput(slot, ctx.dims(slot), ctx.dtype(kQuery));
  }
}

OpDef& AddSlots(OpDef& op) {
  return AddInputs(op)
      .Input(kLogTotal, "LogTotal", "result of the forward call")
      .Input(kDrawn, "Drawn", "result of the forward call")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kQuery, "Query@GRAD", "shape of Query")
      .Output(kKey, "Key@GRAD", "shape of Key")
      .Output(kValue, "Value@GRAD", "shape of Value")
      .Output(kMask, "Mask@GRAD", "shape of Mask")
      .AttrsOf("scaled_dot_product_attention")
      .KernelDTypeOf(kQuery)
      .MixedDTypes();
}

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
    const T* log_total = ctx.In(kLogTotal).template data<T>();
    kernels::Heads<const T> d_out = HeadsOrNone<T>(&ctx.In(kOutGrad), call.attrs);
    auto to = GradientsOf<T>(ctx, call.attrs);
    call.EachSequence([&](const kernels::Attention<T>& at, int64_t query, int64_t key) {
      at.Backward(log_total + query * at.heads, d_out.From(query), From<T>(to, query, key));
    });
  }
};
}  // namespace grad

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

REGISTER_OPERATOR(scaled_dot_product_attention, DefineAttention);
REGISTER_LOD_RULE(scaled_dot_product_attention, RowsOfFirstOutput);
REGISTER_CPU_KERNEL(scaled_dot_product_attention, AttentionKernel, float, double);
REGISTER_OPERATOR(scaled_dot_product_attention_grad, grad::DefineAttentionGrad);
REGISTER_CPU_KERNEL(scaled_dot_product_attention_grad, grad::AttentionGradKernel, float, double);
REGISTER_OPERATOR(scaled_dot_product_attention_grad_grad, grad_grad::DefineAttentionGradGrad);
REGISTER_CPU_KERNEL(scaled_dot_product_attention_grad_grad, grad_grad::AttentionGradGradKernel,
                    float, double);
REGISTER_THIRD_GRADIENT(scaled_dot_product_attention_grad_grad, AttentionThird);

}  // namespace
}  // namespace dygraph
