#include <algorithm>

#include "kernels/convert.h"
#include "kernels/elementwise.h"
#include "kernels/integer.h"
#include "kernels/touched_rows.h"
#include "op/lod_rule.h"
#include "op/pointwise.h"
#include "operators/selected_rows.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

// Rows and rows give rows; as soon as one operand is dense the result is.
bool AllRows(const InferContext& ctx) {
  for (int i = 0; i < ctx.InputCount(kX); ++i) {
    if (!ctx.value(kX, i).is_rows()) return false;
  }
  return true;
}

bool AnyArray(const InferContext& ctx) {
  for (int i = 0; i < ctx.InputCount(kX); ++i) {
    if (ctx.value(kX, i).is_array()) return true;
  }
  return false;
}

void InferVarType(InferContext& ctx) {
  Value* out = ctx.call().out.at(kOut);
  if (AnyArray(ctx)) {
    for (int i = 0; i < ctx.InputCount(kX); ++i) {
      ENFORCE(ctx.value(kX, i).is_array(), Type, "X must be arrays where one of them is, got a ",
              Name(ctx.value(kX, i).kind()), " as X[", i, "]");
    }
    if (out) *out = ctx.value(kX);
    return;
  }
  if (AllRows(ctx)) selected_rows::SetLike(ctx, kX, kOut);
}

void InferShape(InferContext& ctx) {
  if (AnyArray(ctx)) return;
  const Dims& first = ctx.dims(kX);
  for (int i = 1; i < ctx.InputCount(kX); ++i) {
    const Dims& other = ctx.dims(kX, i);
    bool same = first.size() == other.size();
    for (size_t k = 0; same && k < first.size(); ++k)
      same = first[k] == other[k] || !BothKnown(first[k], other[k]);
    ENFORCE(same, InvalidArgument, "all X must have one shape, got X[0] ", first, " and X[", i,
            "] ", other);
  }
  if (!AllRows(ctx)) ctx.SetOutput(kOut, first);
}

void DefineSum(OpDef& op) {
  op.Comment(
        "Out = X[0] + X[1] + ..., added from left to right. Selected rows give selected rows, or a "
        "tensor where an "
        "operand is one. Arrays are added element by element; one that was never written counts as "
        "absent.")
      .Example(
          ">>> F.sum([to_variable([1.0, 2.0]), to_variable([10.0, 20.0])]).tolist()\n"
          "[11.0, 22.0]")
      .Input(kX, "X", "operands of one shape", kDuplicable | kTakesRows | kTakesArray)
      .Output(kOut, "Out", "their shape")
      .VarType(InferVarType)
      .Shape(InferShape)
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .Grad([](GradBuilder& g) {  // one scale by 1 for each operand
        for (int i = 0; i < g.InputCount(kX); ++i) {
          g.Call("scale", {g.OutputGrad(kOut)}, {g.InputGrad(kX, i)});
        }
      });
}

template <class T>
struct ListSumKernel {
  static void Compute(KernelContext& ctx) {
    if (ctx.InValue(kX).is_array()) return AddElements(ctx);
    SmallVector<const Value*, 8> terms;
    bool all_rows = true;
    for (int i = 0; i < ctx.InputCount(kX); ++i) {
      terms.push_back(&ctx.InValue(kX, i));
      all_rows &= terms.back()->is_rows();
    }
    all_rows ? Concatenate(ctx, terms) : Add(ctx, terms, &ctx.Out(kOut));
  }

  static void AddElements(KernelContext& ctx) {
    size_t longest = 0;
    for (int i = 0; i < ctx.InputCount(kX); ++i)
      longest = std::max(longest, ctx.InValue(kX, i).array().items.size());
    std::vector<Tensor> items(longest);
    for (size_t e = 0; e < longest; ++e) {
      std::vector<Value> present;
      for (int i = 0; i < ctx.InputCount(kX); ++i) {
        const std::vector<Tensor>& of = ctx.InValue(kX, i).array().items;
        if (e < of.size() && of[e].has_data()) present.emplace_back(of[e].Plain());
      }
      if (!present.empty()) items[e] = SumOf(ctx, present, e);
    }
    ctx.OutValue(kOut) = Value(MakeRef<TensorArray>(std::move(items)));
  }

  static Tensor SumOf(KernelContext& ctx, const std::vector<Value>& present, size_t e) {
    const Tensor& first = present[0].tensor();
    if (present.size() == 1) return first;
    SmallVector<const Value*, 8> terms;
    for (const Value& v : present) {
      terms.push_back(&v);
      ENFORCE(v.tensor().dims() == first.dims() && v.dtype() == DTypeOf<T>::value, InvalidArgument,
              "the elements ", e, " of X must have one shape and type, got ", first.dims(), " of ",
              first.dtype(), " and ", v.tensor().dims(), " of ", v.dtype());
    }
    Tensor out(first.dims(), first.dtype(), ctx.place());
    out.SetLoD(first.lod_ref());
    Add(ctx, terms, &out);
    return out;
  }

  static void Concatenate(KernelContext& ctx, Span<const Value* const> terms) {
    std::vector<int64_t> rows;
    Dims dims = terms[0]->rows().value().dims();
    for (const Value* t : terms)
      rows.insert(rows.end(), t->rows().rows().begin(), t->rows().rows().end());
    dims[0] = static_cast<int64_t>(rows.size());
    Tensor value(dims, DTypeOf<T>::value, terms[0]->place());
    char* to = static_cast<char*>(value.mutable_raw_data());
    for (const Value* t : terms) {
      const Tensor& v = t->rows().value();
      ctx.device().CopyWithin(to, v.raw_data(), v.bytes());
      to += v.bytes();
    }
    ctx.OutValue(kOut).SetRows(
        MakeRef<SelectedRows>(std::move(rows), terms[0]->rows().height(), std::move(value)));
  }

  static void Add(KernelContext& ctx, Span<const Value* const> terms, Tensor* out) {
    T* y = out->mutable_data<T>();
    int64_t n = out->numel();
    size_t next = 1;
    if (terms.size() > 1 && terms[0]->is_tensor() && terms[1]->is_tensor()) {
      kernels::Zip(
          terms[0]->tensor().data<T>(), terms[1]->tensor().data<T>(), y, n,
          [] DYGRAPH_FN(kernels::Wide<T> a, kernels::Wide<T> b) { return kernels::Plus(a, b); });
      next = 2;
    } else if (terms[0]->is_rows()) {
      kernels::Fill(y, n, T(0));
      next = 0;
    } else if (const T* x = terms[0]->tensor().data<T>(); x != y && n > 0) {
      ctx.device().CopyWithin(y, x, out->bytes());
    }
    for (; next < terms.size(); ++next) {
      if (terms[next]->is_tensor()) {
        kernels::Zip(
            static_cast<const T*>(y), terms[next]->tensor().data<T>(), y, n,
            [] DYGRAPH_FN(kernels::Wide<T> a, kernels::Wide<T> b) { return kernels::Plus(a, b); });
        continue;
      }
      const SelectedRows& r = terms[next]->rows();
      if (r.rows().empty()) continue;
      int64_t width = r.value().numel() / r.value().dim(0);
      const T* v = r.value().data<T>();
      kernels::ForEachTouched<T>(r.rows().data(), static_cast<int64_t>(r.rows().size()), width,
                                 [=] DYGRAPH_FN(int64_t row, int64_t i, int64_t k) {
                                   T& to = y[row * width + k];
                                   to = kernels::Plus<kernels::Wide<T>>(to, v[i * width + k]);
                                 });
    }
  }
};

REGISTER_OPERATOR(sum, DefineSum);
REGISTER_POINTWISE(sum);
// As in Fluid the first one decides: a decoder's fc over [state, word] leaves the state without.
REGISTER_LOD_RULE(sum, [](const LoDCall& c) {
  if (c.element == 0) return true;
  const Value* first = c.call.in.at(kX);
  if (c.described()) return c.levels[c.call.in.begin_of(kX)] > 0;
  return first && first->is_tensor() && first->tensor().lod();
});
REGISTER_KERNELS(sum, ListSumKernel, float, double, int32_t, int64_t, complex64, complex128);
REGISTER_DEVICE_TYPES(sum, ListSumKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph
