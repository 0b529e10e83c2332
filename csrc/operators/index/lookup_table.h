// lookup_table and lookup_table_v2, which differ in the shape of Ids only: [..., 1] or [...].
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/elementwise.h"
#include "op/placed_list.h"
#include "operators/index/host_indices.h"
#include "operators/index/table_rows.h"

namespace dygraph::lookup_table {

constexpr int kW = 0, kIds = 1, kOut = 0;

struct LookupTableAttrs {
  bool is_sparse = false;
  int64_t padding_idx = kNoPadding;
};

inline indexing::IndexList CheckedIds(KernelContext& ctx, int64_t height) {
  return indexing::CheckedIndices(ctx, kIds, height, "the height of the table W", false);
}

// The shape of the ids without the last 1 of the older operator.
inline Dims IdDims(const Dims& ids, bool last_is_one) {
  if (!last_is_one) return ids;
  ENFORCE(!ids.empty() && (ids[ids.rank() - 1] == 1 || ids[ids.rank() - 1] < 0), InvalidArgument,
          "the last size of Ids must be 1, got shape ", ids, ". lookup_table_v2 takes any shape");
  return Dims(Span<const int64_t>(ids.data(), ids.size() - 1));
}

inline void InferShape(InferContext& ctx, bool last_is_one) {
  const Dims& w = ctx.dims(kW);
  ENFORCE(w.rank() == 2, InvalidArgument, "W must be a matrix [height, width], got shape ", w);
  Dims out = IdDims(ctx.dims(kIds), last_is_one);
  out.push_back(w[1]);
  ctx.SetOutput(kOut, out, ctx.dtype(kW));
}

// Slots and attributes; the caller adds the shape rule and the gradient.
inline OpDef& DefineSlots(OpDef& op, const char* ids) {
  return op
      .Comment(
          "Out[i, ...] = W[Ids[i], ...]: the rows of a table by their numbers; zeros where an id "
          "is padding_idx.")
      .Input(kW, "W", "[height, width]")
      .Input(kIds, "Ids", ids)
      .Output(kOut, "Out", "a row of width elements for each id")
      .Attr(&LookupTableAttrs::is_sparse, "is_sparse", "W@GRAD is selected rows")
      .Attr(&LookupTableAttrs::padding_idx, "padding_idx",
            "this id gives zeros and no gradient; -1: none")
      .KernelDTypeOf(kW)
      .MixedDTypes()
      .ShareLoD(kIds);
}

template <class T>
struct LookupTableKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& w = ctx.In(kW);
    const indexing::IndexList ids = CheckedIds(ctx, w.dim(0));
    CopyTableRows(w.data<T>(), w.dim(1), ids.data, ids.size,
                  ctx.attrs<LookupTableAttrs>().padding_idx, ctx.Out(kOut).mutable_data<T>());
  }
};

namespace grad {
constexpr int kW = 0, kIds = 1, kOutGrad = 2, kWGrad = 0;

inline void InferVarType(InferContext& ctx) {
  const Dims& w = ctx.dims(kW);
  ENFORCE(w.rank() == 2, InvalidArgument, "W must be a matrix [height, width], got shape ", w);
  if (!ctx.attrs<LookupTableAttrs>().is_sparse) return;
  Tensor none;
  none.SetMeta({0, w[1]}, ctx.dtype(kW));
  if (Value* out = ctx.call().out.at(kWGrad))
    out->SetRows(MakeRef<SelectedRows>(std::vector<int64_t>(), w[0], std::move(none)));
}

inline void InferGradShape(InferContext& ctx) {
  if (!ctx.attrs<LookupTableAttrs>().is_sparse) ctx.SetOutput(kWGrad, ctx.dims(kW), ctx.dtype(kW));
}

inline OpDef& DefineSlots(OpDef& op, const char* forward) {
  return op
      .Comment(
          "W@GRAD[id] = the sum of the rows of Out@GRAD where Ids is id, padding_idx left out. "
          "With "
          "is_sparse W@GRAD is selected rows: the ids and the rows of Out@GRAD as they are.")
      .Input(kW, "W", "its shape")
      .Input(kIds, "Ids", "int32 or int64, in [0, height)")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kWGrad, "W@GRAD", "shape of W, or selected rows of it")
      .AttrsOf(forward)
      .VarType(InferVarType)
      .Shape(InferGradShape)
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .MayShare(kOutGrad, kWGrad);
}

template <class T>
struct LookupTableGradKernel {
  static void Compute(KernelContext& ctx) {
    const Dims& w = ctx.In(kW).dims();
    const Tensor &ids = ctx.In(kIds), &g = ctx.In(kOutGrad);
    const LookupTableAttrs& a = ctx.attrs<LookupTableAttrs>();
    int64_t n = ids.numel(), width = w[1], padding = a.padding_idx;
    ENFORCE(g.numel() == n * width, InvalidArgument,
            "Out@GRAD must have the shape of Out, that of Ids ", ids.dims(), " and ", width,
            ", got ", g.dims());
    if (a.is_sparse) {
      return ctx.OutValue(kWGrad).SetRows(
          Sparse(ctx, IdsOnHost(ctx, w[0]), w[0], padding, g.Reshaped({n, width})));
    }
    const indexing::IndexList list = CheckedIds(ctx, w[0]);
    Tensor& out = ctx.Out(kWGrad);
    kernels::Fill(out.mutable_data<T>(), out.numel(), T(0));
    AddTableRows(g.data<T>(), w[0], width, list.data, n, padding, out.mutable_data<T>());
  }

  static std::vector<int64_t> IdsOnHost(KernelContext& ctx, int64_t height) {
    Tensor ids = ctx.In(kIds);
    if (ids.place() != CPUPlace()) ids = CopyTo(ids, CPUPlace());
    const indexing::HostIndices list =
        indexing::ReadIndices(ids, "Ids", height, "the height of the table W", false);
    return std::vector<int64_t>(list.data, list.data + list.size);
  }

  static Ref<SelectedRows> Sparse(KernelContext& ctx, std::vector<int64_t> ids, int64_t height,
                                  int64_t padding, Tensor values) {
    if (padding == kNoPadding || std::find(ids.begin(), ids.end(), padding) == ids.end()) {
      // shares the storage of Out@GRAD
      return MakeRef<SelectedRows>(std::move(ids), height, std::move(values));
    }
    const int64_t n = values.dim(0), width = values.dim(1);
    std::vector<int64_t> rows, from;
    for (int64_t i = 0; i < n; ++i) {
      if (ids[i] == padding) continue;
      rows.push_back(ids[i]);
      from.push_back(i);
    }
    const int64_t count = static_cast<int64_t>(rows.size());
    Tensor kept({count, width}, values.dtype(), values.place());
    const PlacedList<int64_t> list(ctx, from);
    kernels::TakeRows({1, n, width}, values.raw_data(), list.data(), count, kept.mutable_raw_data(),
                      sizeof(T));
    return MakeRef<SelectedRows>(std::move(rows), height, std::move(kept));
  }
};
}  // namespace grad

}  // namespace dygraph::lookup_table
