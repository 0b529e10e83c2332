#include "kernels/strides.h"
#include "operators/index/nonzero.h"

namespace dygraph {
namespace {

constexpr int kCondition = 0, kOut = 0;

template <class T>
int64_t CountNonzero(const Tensor& t) {
  const T* v = t.data<T>();
  int64_t count = 0;
  for (int64_t i = 0; i < t.numel(); ++i) count += v[i] != T(0);
  return count;
}

void InferShape(InferContext& ctx) {
  const Tensor& t = ctx.value(kCondition).tensor();
  int64_t count = -1;
  if (ctx.runtime() && t.has_data() && t.place() == CPUPlace()) {
    count = VisitDType(t.dtype(),
                       [&](auto tag) { return CountNonzero<typename decltype(tag)::type>(t); });
  }
  ctx.SetOutput(kOut, {count, t.rank()}, DType::kInt64);
}

void DefineWhereIndex(OpDef& op) {
  op.Comment(
        "Out = the positions of the elements of Condition that are not 0, one a row, in order.")
      .Example(
          ">>> F.where_index(to_variable([[0, 1], [2, 0]])).tolist()\n"
          "[[0, 1], [1, 0]]")
      .Input(kCondition, "Condition", "any shape; a NaN is not 0")
      .Output(kOut, "Out", "[number of such elements, number of axes], int64")
      .Shape(InferShape)
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct WhereIndexKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& t = ctx.In(kCondition);
    const indexing::Positions positions = indexing::NonzeroPositions<T>(t);
    const int64_t count = positions.size(), *at = positions.data();
    const int rank = t.rank();
    Tensor& out = ctx.Out(kOut);
    out.Allocate({count, rank}, DType::kInt64, ctx.place());
    int64_t* to = out.mutable_data<int64_t>();
    const Dims strides = Strides(t.dims());
    for (int a = 0; a < rank; ++a) {
      const int64_t stride = strides[a], size = std::max<int64_t>(t.dim(a), 1);
      kernels::ForEach(count,
                       [=] DYGRAPH_FN(int64_t i) { to[i * rank + a] = at[i] / stride % size; });
    }
  }
};

REGISTER_OPERATOR(where_index, DefineWhereIndex);
REGISTER_KERNELS(where_index, WhereIndexKernel, AllTypes);

}  // namespace
}  // namespace dygraph
