// lookup_table and lookup_table_v2, which differ in the shape of Ids only: [..., 1] or [...].
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/elementwise.h"
#include "kernels/owners.h"
#include "operators/index/indexing.h"

namespace dygraph::lookup_table {

constexpr int kW = 0, kIds = 1, kOut = 0;
constexpr int64_t kNoPadding = -1;

struct LookupTableAttrs {
  bool is_sparse = false;
  int64_t padding_idx = kNoPadding;
};

inline indexing::IndexList CheckedIds(const Tensor& ids, int64_t height) {
  return indexing::CheckedIndices(ids, "Ids", height, "the height of the table W", false);
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
    const Tensor &w = ctx.In(kW), &ids = ctx.In(kIds);
    indexing::IndexList checked = CheckedIds(ids, w.dim(0));
    const int64_t* list = checked.data;
    int64_t width = w.dim(1), padding = ctx.attrs<LookupTableAttrs>().padding_idx;
    const T* table = w.data<T>();
    T* out = ctx.Out(kOut).mutable_data<T>();
    kernels::ParallelRows(ids.numel(), width, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T* row = out + i * width;
        if (list[i] == padding && padding != kNoPadding) {
          std::memset(row, 0, width * sizeof(T));
        } else {
          std::memcpy(row, table + list[i] * width, width * sizeof(T));
        }
      }
    });
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
    indexing::IndexList checked = CheckedIds(ids, w[0]);
    const int64_t* list = checked.data;
    const T* from = g.data<T>();
    if (a.is_sparse)
      return ctx.OutValue(kWGrad).SetRows(Sparse(list, w[0], padding, g.Reshaped({n, width})));
    Tensor& out = ctx.Out(kWGrad);
    T* to = out.mutable_data<T>();
    kernels::Fill(to, out.numel(), T(0));
    // A row of the table belongs to one thread, which adds its occurrences in order.
    const kernels::Owners owners(width * static_cast<int64_t>(sizeof(T)));
    int64_t pieces = n * width <= kernels::Grain() ? 1 : owners.pieces();
    ParallelBlocks(pieces, [=](int64_t piece) {
      const kernels::Owners::Share share = owners.ShareOf(piece);
      kernels::Simd([=] {
        for (int64_t i = 0; i < n; ++i) {
          if ((list[i] == padding && padding != kNoPadding) || (pieces > 1 && !share.Has(list[i])))
            continue;
          T* row = to + list[i] * width;
          const T* add = from + i * width;
          DYGRAPH_IVDEP
          for (int64_t k = 0; k < width; ++k) row[k] += add[k];
        }
      });
    });
  }

  static Ref<SelectedRows> Sparse(const int64_t* ids, int64_t height, int64_t padding,
                                  Tensor values) {
    int64_t n = values.dim(0), width = values.dim(1);
    std::vector<int64_t> rows(ids, ids + n);
    if (padding == kNoPadding || std::find(rows.begin(), rows.end(), padding) == rows.end()) {
      // shares the storage of Out@GRAD
      return MakeRef<SelectedRows>(std::move(rows), height, std::move(values));
    }
    rows.clear();
    for (int64_t i = 0; i < n; ++i) {
      if (ids[i] != padding) rows.push_back(ids[i]);
    }
    Tensor kept({static_cast<int64_t>(rows.size()), width}, values.dtype(), values.place());
    T* to = kept.mutable_data<T>();
    for (int64_t i = 0; i < n; ++i) {
      if (ids[i] == padding) continue;
      std::memcpy(to, values.data<T>() + i * width, width * sizeof(T));
      to += width;
    }
    return MakeRef<SelectedRows>(std::move(rows), height, std::move(kept));
  }
};
}  // namespace grad

}  // namespace dygraph::lookup_table
