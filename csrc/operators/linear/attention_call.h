// What the operators of attention share: attributes, checks, inputs as the kernels want them.
#pragma once

#include <cmath>

#include "kernels/attention.h"
#include "kernels/convert.h"
#include "kernels/elementwise.h"
#include "op/op_registry.h"

namespace dygraph::attention {

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
            query.lod() ? "Query"
            : key.lod() ? "Key"
                        : "Value",
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

inline Sequences SequencesOf(const InferContext& ctx) {
  auto tensor = [&](int slot) -> const Tensor& { return ctx.value(slot).tensor(); };
  return ctx.runtime() ? Sequences(tensor(kQuery), tensor(kKey), tensor(kValue)) : Sequences();
}

// Sizes of Out and of the scores' leading axes and rows.
struct Sizes {
  Dims out, rows;
};

inline Sizes CheckInputs(InferContext& ctx) {
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

inline OpDef& AddInputs(OpDef& op) {
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
  using W = kernels::Wide<T>;
  explicit Heads(const KernelContext& ctx) : attrs(ctx.attrs<AttentionAttrs>()) {
    const Tensor &q = ctx.In(kQuery), &k = ctx.In(kKey), &v = ctx.In(kValue);
    const int rank = q.rank();
    const int64_t each = std::max(attrs.num_heads, 1);
    at.heads = Numel(q.dims(), 0, rank - 2) * each;
    at.queries = q.dim(rank - 2);
    at.keys = k.dim(rank - 2);
    at.width = q.dim(rank - 1) / each;
    at.value_width = v.dim(rank - 1) / each;
    at.scale = attrs.scale != 0 ? static_cast<W>(attrs.scale)
                                : W(1) / std::sqrt(static_cast<W>(std::max<int64_t>(at.width, 1)));
    at.q = HeadsOf(q.data<T>(), q.dims(), attrs);
    at.k = HeadsOf(k.data<T>(), k.dims(), attrs);
    at.v = HeadsOf(v.data<T>(), v.dims(), attrs);
    at.mask = &mask;
    mask.causal = attrs.is_causal;
    if (const Tensor* m = ctx.InOrNull(kMask)) Place(*m, q.dims());
    if (attrs.drops()) at.dropout = NumberFor<W>(attrs.dropout_prob);
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
    if (attrs.drops()) at.Drew(drawn);
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
    Dims apart(leading.size(), 0);
    int64_t stride = size(1) * size(2);
    for (int i = leading.rank() - 1; i >= 0; --i) {
      const int64_t has = size(leading.rank() - i + 2);
      if (has != 1) apart[i] = stride;
      stride *= has;
    }
    mask.SetHeads(leading, apart);
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

inline void InferGradShape(InferContext& ctx) {
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

inline OpDef& AddSlots(OpDef& op) {
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

}  // namespace grad

}  // namespace dygraph::attention
