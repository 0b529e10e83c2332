#include <cstring>

#include "kernels/elementwise.h"
#include "operators/arguments.h"

namespace dygraph {
namespace {

constexpr int kW = 0, kIds = 1, kOut = 0;
constexpr int64_t kNoPadding = -1;

struct LookupTableV2Attrs {
  bool is_sparse = false;
  int64_t padding_idx = kNoPadding;
};

// The ids as int64, every one checked; `copy` holds them where they had to be converted.
const int64_t* CheckedIds(const Tensor& ids, int64_t height, std::vector<int64_t>* copy) {
  int64_t n = ids.numel();
  const int64_t* list;
  if (ids.dtype() == DType::kInt64) {
    list = ids.data<int64_t>();
  } else {
    *copy = Integers(ids, "Ids");
    list = copy->data();
  }
  uint64_t bad = 0;
  for (int64_t i = 0; i < n; ++i)
    bad |= static_cast<uint64_t>(list[i]) >= static_cast<uint64_t>(height);
  for (int64_t i = 0; bad && i < n; ++i) {
    ENFORCE(list[i] >= 0 && list[i] < height, OutOfRange, "Ids must lie in [0, ", height,
            "), the height of the table W, got ", list[i], " at position ", i);
  }
  return list;
}

void InferShape(InferContext& ctx) {
  const Dims& w = ctx.dims(kW);
  ENFORCE(w.rank() == 2, InvalidArgument, "W must be a matrix [height, width], got shape ", w);
  Dims out = ctx.dims(kIds);
  out.push_back(w[1]);
  ctx.SetOutput(kOut, out, ctx.dtype(kW));
}

void DefineLookupTableV2(OpDef& op) {
  op.Comment(
        "Out[i, ...] = W[Ids[i], ...]: the rows of a table by their numbers; zeros where an id is "
        "padding_idx.")
      .Input(kW, "W", "[height, width]")
      .Input(kIds, "Ids", "any shape, int32 or int64, in [0, height)")
      .Output(kOut, "Out", "shape of Ids + [width]")
      .Attr(&LookupTableV2Attrs::is_sparse, "is_sparse", "W@GRAD is selected rows")
      .Attr(&LookupTableV2Attrs::padding_idx, "padding_idx",
            "this id gives zeros and no gradient; -1: none")
      .Shape(InferShape)
      .KernelDTypeOf(kW)
      .MixedDTypes()
      .ShareLoD(kIds)
      .Grad([](GradBuilder& g) {
        g.Call("lookup_table_v2_grad", {g.InputShape(kW), g.Input(kIds), g.OutputGrad(kOut)},
               {g.InputGrad(kW)})
            .SameAttrs();
      });
}

template <class T>
struct LookupTableV2Kernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &w = ctx.In(kW), &ids = ctx.In(kIds);
    std::vector<int64_t> copy;
    const int64_t* list = CheckedIds(ids, w.dim(0), &copy);
    int64_t width = w.dim(1), padding = ctx.attrs<LookupTableV2Attrs>().padding_idx;
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

void InferVarType(InferContext& ctx) {
  const Dims& w = ctx.dims(kW);
  ENFORCE(w.rank() == 2, InvalidArgument, "W must be a matrix [height, width], got shape ", w);
  if (!ctx.attrs<LookupTableV2Attrs>().is_sparse) return;
  Tensor none;
  none.SetMeta({0, w[1]}, ctx.dtype(kW));
  if (Value* out = ctx.call().out.at(kWGrad))
    out->SetRows(MakeRef<SelectedRows>(std::vector<int64_t>(), w[0], std::move(none)));
}

void InferGradShape(InferContext& ctx) {
  if (!ctx.attrs<LookupTableV2Attrs>().is_sparse)
    ctx.SetOutput(kWGrad, ctx.dims(kW), ctx.dtype(kW));
}

void DefineLookupTableV2Grad(OpDef& op) {
  op.Comment(
        "W@GRAD[id] = the sum of the rows of Out@GRAD where Ids is id, padding_idx left out. With "
        "is_sparse W@GRAD is selected "
        "rows: the ids and the rows of Out@GRAD as they are.")
      .Input(kW, "W", "its shape")
      .Input(kIds, "Ids", "int32 or int64, in [0, height)")
      .Input(kOutGrad, "Out@GRAD", "shape of Ids + [width]")
      .Output(kWGrad, "W@GRAD", "shape of W, or selected rows of it")
      .AttrsOf("lookup_table_v2")
      .VarType(InferVarType)
      .Shape(InferGradShape)
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .MayShare(kOutGrad, kWGrad)
      .Grad([](GradBuilder& g) {
        g.Call("lookup_table_v2", {g.OutputGrad(kWGrad), g.Input(kIds)}, {g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct LookupTableV2GradKernel {
  static void Compute(KernelContext& ctx) {
    const Dims& w = ctx.In(kW).dims();
    const Tensor &ids = ctx.In(kIds), &g = ctx.In(kOutGrad);
    const LookupTableV2Attrs& a = ctx.attrs<LookupTableV2Attrs>();
    std::vector<int64_t> copy;
    int64_t n = ids.numel(), width = w[1], padding = a.padding_idx;
    ENFORCE(g.numel() == n * width, InvalidArgument,
            "Out@GRAD must have the shape of Out, that of Ids ", ids.dims(), " and ", width,
            ", got ", g.dims());
    const int64_t* list = CheckedIds(ids, w[0], &copy);
    const T* from = g.data<T>();
    if (a.is_sparse)
      return ctx.OutValue(kWGrad).SetRows(Sparse(list, w[0], padding, g.Reshaped({n, width})));
    Tensor& out = ctx.Out(kWGrad);
    T* to = out.mutable_data<T>();
    kernels::Fill(to, out.numel(), T(0));
    // A row of the table belongs to one thread, which adds its occurrences in order.
    int64_t pieces = n * width <= kernels::Grain() ? 1 : NumThreads();
    ParallelBlocks(pieces, [=](int64_t piece) {
      kernels::Simd([=] {
        for (int64_t i = 0; i < n; ++i) {
          if ((list[i] == padding && padding != kNoPadding) ||
              (pieces > 1 && list[i] % pieces != piece))
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

REGISTER_OPERATOR(lookup_table_v2, DefineLookupTableV2);
REGISTER_CPU_KERNEL(lookup_table_v2, LookupTableV2Kernel, float, double);
REGISTER_OPERATOR(lookup_table_v2_grad, grad::DefineLookupTableV2Grad);
REGISTER_CPU_KERNEL(lookup_table_v2_grad, grad::LookupTableV2GradKernel, float, double);

}  // namespace
}  // namespace dygraph
