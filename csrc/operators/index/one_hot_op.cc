#include "kernels/loops.h"
#include "op/index_guard.h"
#include "op/lod_rule.h"
#include "operators/arguments.h"
#include "operators/clear.h"

// one_hot, whose X ends in an axis of 1, and one_hot_v2, which adds the axis of the classes.
namespace dygraph {
namespace {

constexpr int kX = 0, kDepthTensor = 1, kOut = 0;

struct OneHotAttrs {
  int32_t depth = -1;
  DType dtype = DType::kFloat32;
  bool allow_out_of_range = false;
};

// The number of classes, -1 while a program is built and only a tensor will say.
int64_t DepthOf(const Call& call) {
  const OneHotAttrs& a = *static_cast<const OneHotAttrs*>(call.attrs);
  IntList depth = ReadIntList(call, kDepthTensor, -1, std::vector<int32_t>{a.depth});
  ENFORCE(depth.values.size() == 1, InvalidArgument, "depth_tensor must hold one integer, got ",
          depth.values.size());
  if (!depth.known) return -1;
  ENFORCE(depth.values[0] > 0, InvalidArgument, "depth must be at least 1, got ", depth.values[0]);
  return depth.values[0];
}

template <bool kNewAxis>
void InferShape(InferContext& ctx) {
  Dims out = ctx.dims(kX);
  if (kNewAxis) {
    out.push_back(1);
  } else {
    ENFORCE(!out.empty() && (out.back() == 1 || out.back() < 0), InvalidArgument,
            "the last axis of X must have one element, got shape ", out);
  }
  out.back() = DepthOf(ctx.call());
  ctx.SetOutput(kOut, out, ctx.attrs<OneHotAttrs>().dtype);
}

OpDef& Declare(OpDef& op, const char* x_help, const char* out_help) {
  return op
      .Comment(
          "Out[..., c] = 1 where X is c, else 0. An X that is no class is an error, or all 0 "
          "with allow_out_of_range.")
      .Input(kX, "X", x_help)
      .Input(kDepthTensor, "depth_tensor", "one integer, in place of depth", kDispensable | kOnHost)
      .Output(kOut, "Out", out_help)
      .Attr(&OneHotAttrs::depth, "depth", "the number of classes")
      .Attr(&OneHotAttrs::dtype, "dtype", "element type of Out")
      .Attr(&OneHotAttrs::allow_out_of_range, "allow_out_of_range",
            "give zeros for numbers outside [0, depth)")
      .MixedDTypes()
      .ShareLoD(kX)
      .NoGrad();
}
void DefineOneHot(OpDef& op) {
  Declare(op, "[..., 1] class numbers, int32 or int64", "[..., depth]")
      .Example(
          ">>> F.one_hot(to_variable([[2], [0]]), depth=3).tolist()\n"
          "[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]")
      .Shape(InferShape<false>);
}
void DefineOneHotV2(OpDef& op) {
  Declare(op, "class numbers, int32 or int64", "shape of X + [depth]")
      .Example(
          ">>> F.one_hot_v2(to_variable([2, 0]), depth=3).tolist()\n"
          "[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]")
      .Shape(InferShape<true>);
}

// to[i, ids[i]] = 1 where the id is one of the classes.
template <class U, class T>
void Mark(const T* ids, int64_t n, int64_t depth, bool lenient, const IndexGuard& guard, U* to) {
  kernels::ForEach(n, [=] DYGRAPH_FN(int64_t i) {
    const int64_t id = lenient ? static_cast<int64_t>(ids[i]) : guard(ids[i]);
    if (id >= 0 && id < depth) to[i * depth + id] = U(1);
  });
}

template <class T>
struct OneHotKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    Tensor& out = ctx.Out(kOut);
    const T* ids = x.data<T>();
    int64_t n = x.numel(), depth = out.dims().back();
    bool lenient = ctx.attrs<OneHotAttrs>().allow_out_of_range;
    CheckEach(lenient ? 0 : n, [=](int64_t i) {
      ENFORCE(ids[i] >= 0 && ids[i] < depth, OutOfRange, "the numbers in X must lie in [0, ", depth,
              "), the depth, got ", ids[i], " at position ", i);
    });
    Clear(&out);
    const IndexGuard guard(ctx, kX, depth);
    VisitDType(out.dtype(), [&](auto tag) {
      using U = typename decltype(tag)::type;
      Mark(ids, n, depth, lenient, guard, out.mutable_data<U>());
    });
  }
};

REGISTER_OPERATOR(one_hot, DefineOneHot);
REGISTER_KERNELS(one_hot, OneHotKernel, int32_t, int64_t);
REGISTER_OPERATOR(one_hot_v2, DefineOneHotV2);
REGISTER_LOD_RULE(one_hot_v2, RowsOfFirstAxis);
REGISTER_KERNELS(one_hot_v2, OneHotKernel, int32_t, int64_t);

}  // namespace
}  // namespace dygraph
