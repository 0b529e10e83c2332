#include "kernels/loops.h"
#include "op/index_guard.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct ShardIndexAttrs {
  int32_t index_num = 0;
  int32_t nshards = 0;
  int32_t shard_id = 0;
  int32_t ignore_value = -1;
};

void InferShape(InferContext& ctx) {
  const ShardIndexAttrs& a = ctx.attrs<ShardIndexAttrs>();
  ENFORCE(a.index_num > 0 && a.nshards > 0, InvalidArgument,
          "index_num and nshards must be at least 1, got ", a.index_num, " and ", a.nshards);
  ENFORCE(a.shard_id >= 0 && a.shard_id < a.nshards, InvalidArgument,
          "shard_id must lie in [0, nshards), got ", a.shard_id, " of ", a.nshards);
  const Dims& x = ctx.dims(kX);
  ENFORCE(!x.empty() && (x.back() == 1 || x.back() < 0), InvalidArgument,
          "the last axis of X must have one element, got shape ", x);
  ctx.SetOutput(kOut, x);
}

void DefineShardIndex(OpDef& op) {
  op.Comment(
        "The index_num indices lie on nshards shards, ceil(index_num / nshards) on each: Out = the "
        "place of X on shard shard_id, ignore_value for indices of other shards.")
      .Example(
          ">>> x = to_variable([[1], [6], [11]])\n"
          ">>> F.shard_index(x, index_num=12, nshards=2, shard_id=1).tolist()\n"
          "[[-1], [0], [5]]")
      .Input(kX, "X", "[..., 1] indices in [0, index_num)")
      .Output(kOut, "Out", "shape of X")
      .Attr(&ShardIndexAttrs::index_num, "index_num", "how many indices there are")
      .Attr(&ShardIndexAttrs::nshards, "nshards", "how many shards")
      .Attr(&ShardIndexAttrs::shard_id, "shard_id", "which shard is asked for")
      .Attr(&ShardIndexAttrs::ignore_value, "ignore_value", "stands for indices of other shards")
      .Shape(InferShape)
      .ShareLoD(kX)
      .NoGrad();
}

template <class T>
struct ShardIndexKernel {
  static void Compute(KernelContext& ctx) {
    const ShardIndexAttrs& a = ctx.attrs<ShardIndexAttrs>();
    const Tensor& x = ctx.In(kX);
    const T* from = x.data<T>();
    T* to = ctx.Out(kOut).mutable_data<T>();
    const T size = static_cast<T>((int64_t{a.index_num} + a.nshards - 1) / a.nshards);
    const T shard = a.shard_id, other = static_cast<T>(a.ignore_value);
    const int32_t bound = a.index_num;
    CheckEach(x.numel(), [=](int64_t i) {
      ENFORCE(from[i] >= 0 && from[i] < bound, OutOfRange, "the indices in X must lie in [0, ",
              bound, "), got ", from[i], " at position ", i);
    });
    const IndexGuard guard(ctx, kX, bound);
    kernels::ForEach(x.numel(), [=] DYGRAPH_FN(int64_t i) {
      const T index = static_cast<T>(guard(from[i]));
      to[i] = index / size == shard ? index % size : other;
    });
  }
};

REGISTER_OPERATOR(shard_index, DefineShardIndex);
REGISTER_KERNELS(shard_index, ShardIndexKernel, int32_t, int64_t);

}  // namespace
}  // namespace dygraph
