#include <unordered_map>
#include <vector>

#include "op/op_registry.h"

// unique and unique_with_counts.
namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0, kIndex = 1, kCount = 2;

struct UniqueAttrs {
  DType dtype = DType::kInt64;
};

void InferShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  DType dtype = ctx.attrs<UniqueAttrs>().dtype;
  ENFORCE(x.rank() == 1, InvalidArgument, "X must have one axis, got shape ", x);
  ENFORCE(dtype == DType::kInt32 || dtype == DType::kInt64, Type,
          "the attribute dtype must be int32 or int64, got ", dtype);
  Dims found{ctx.runtime() ? 0 : -1};  // the kernel says how many there are
  ctx.SetOutput(kOut, found);
  ctx.SetOutput(kIndex, x, dtype);
  if (ctx.call().op->outputs.size() > kCount) ctx.SetOutput(kCount, found, dtype);
}

OpDef& Declare(OpDef& op, const char* comment) {
  return op.Comment(comment)
      .Input(kX, "X", "one axis")
      .Output(kOut, "Out", "the different elements of X, in order of their first appearance")
      .Output(kIndex, "Index", "shape of X: where in Out each element stands")
      .Attr(&UniqueAttrs::dtype, "dtype", "of Index: int32 or int64")
      .Shape(InferShape)
      .KernelAllocates()
      .NoGrad();
}
void DefineUnique(OpDef& op) {
  Declare(op,
          "Out = the different elements of X in order of their first appearance; X = "
          "Out[Index]. NaNs count as one element.");
}
void DefineUniqueWithCounts(OpDef& op) {
  Declare(op,
          "Out = the different elements of X in order of their first appearance, Count = how "
          "often each is there; X = Out[Index]. NaNs count as one element.")
      .Example(
          ">>> out, index, count = F.unique_with_counts(to_variable([5, 2, 5, 9]))\n"
          ">>> out.tolist(), index.tolist(), count.tolist()\n"
          "([5, 2, 9], [0, 1, 0, 2], [2, 1, 1])")
      .Output(kCount, "Count", "shape of Out");
}

void Write(const std::vector<int64_t>& values, DType dtype, Tensor* out) {
  VisitDType(dtype, [&](auto tag) {
    using U = typename decltype(tag)::type;
    U* to = out->mutable_data<U>();
    for (size_t i = 0; i < values.size(); ++i) to[i] = static_cast<U>(values[i]);
  });
}

template <class T>
struct UniqueKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    DType dtype = ctx.attrs<UniqueAttrs>().dtype;
    const T* from = x.data<T>();
    std::unordered_map<T, int64_t> places;
    std::vector<T> found;
    std::vector<int64_t> index(static_cast<size_t>(x.numel())), counts;
    int64_t nan = -1;
    for (int64_t i = 0; i < x.numel(); ++i) {
      int64_t next = static_cast<int64_t>(found.size());
      int64_t& at = from[i] != from[i] ? nan : places.try_emplace(from[i], -1).first->second;
      if (at < 0) {
        at = next;
        found.push_back(from[i]);
        counts.push_back(0);
      }
      ++counts[at];
      index[i] = at;
    }
    int64_t n = static_cast<int64_t>(found.size());
    ENFORCE(dtype == DType::kInt64 || x.numel() <= INT32_MAX, OutOfRange, "X of ", x.numel(),
            " elements needs dtype int64, got int32");
    if (Tensor* out = ctx.OutOrNull(kOut)) {
      out->Allocate({n}, x.dtype(), ctx.place());
      std::copy(found.begin(), found.end(), out->mutable_data<T>());
    }
    if (Tensor* out = ctx.OutOrNull(kIndex)) {
      out->Allocate(x.dims(), dtype, ctx.place());
      Write(index, dtype, out);
    }
    if (ctx.call().op->outputs.size() <= kCount) return;
    if (Tensor* out = ctx.OutOrNull(kCount)) {
      out->Allocate({n}, dtype, ctx.place());
      Write(counts, dtype, out);
    }
  }
};

REGISTER_OPERATOR(unique, DefineUnique);
REGISTER_CPU_KERNEL(unique, UniqueKernel, int32_t, int64_t, float, double);
REGISTER_OPERATOR(unique_with_counts, DefineUniqueWithCounts);
REGISTER_CPU_KERNEL(unique_with_counts, UniqueKernel, int32_t, int64_t, float, double);

}  // namespace
}  // namespace dygraph
