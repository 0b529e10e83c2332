// What reduce_all and reduce_any share: truth values go in as bytes and come out as bool.
#pragma once

#include "operators/arguments.h"
#include "operators/reduce/reduction.h"

namespace dygraph::reduce {

constexpr int kAxisTensor = 1, kAxisTensorList = 2;

// The attributes with the axes that tensors give in place of dim; `known` is false while a program
// is built and these hold nothing.
inline ReduceAttrs TruthAttrs(const Call& call, bool* known) {
  ReduceAttrs a = *static_cast<const ReduceAttrs*>(call.attrs);
  *known = true;
  if (call.in.count(kAxisTensor) == 0 && call.in.count(kAxisTensorList) == 0) return a;
  IntList axes = ReadIntList(call, kAxisTensor, kAxisTensorList, a.dim);
  *known = axes.known;
  a.dim.clear();
  for (int64_t v : axes.values) {
    ENFORCE(v >= -kMaxRank && v < kMaxRank, OutOfRange, "an axis must lie in [", -kMaxRank, ", ",
            kMaxRank, "), got ", v);
    a.dim.push_back(static_cast<int32_t>(v));
  }
  return a;
}

inline void InferTruth(InferContext& ctx) {
  bool known;
  ReduceAttrs a = TruthAttrs(ctx.call(), &known);
  Dims out;
  if (known || a.reduce_all) {
    out = ReducedDims(ctx.dims(kX), a);
  } else {
    const int gone = a.keep_dim ? 0 : static_cast<int>(a.dim.size());
    out = Dims(std::max(ctx.rank(kX) - gone, 0), -1);
  }
  ctx.SetOutput(kOut, out, DType::kBool);
}

inline bool TruthKeepsRows(const LoDCall& c) {
  bool known;
  ReduceAttrs a = TruthAttrs(c.call, &known);
  return known && !Axes(c.from.rank(), a).reduced[0];
}

inline void DefineTruth(OpDef& op, const char* comment) {
  DefineReduce(op, comment)
      .Input(kAxisTensor, "AxisTensor", "[n] int32 or int64, in place of dim", kDispensable | kOnHost)
      .Input(kAxisTensorList, "AxisTensorList", "one integer for each axis, in place of dim",
             kDispensable | kDuplicable | kOnHost)
      .Shape(InferTruth)
      .MixedDTypes()
      .KernelDTypeOf(kX)
      .NoGrad();
}

template <class Op, class T>
struct TruthKernel {
  static void Compute(KernelContext& ctx) {
    Tensor x = CastTo(ctx.In(kX), DType::kBool);
    bool known;
    Axes axes(x.rank(), TruthAttrs(ctx.call(), &known));
    kernels::Reduce<Op>(reinterpret_cast<const uint8_t*>(x.data<bool>()), x.dims(),
                        Span<const bool>(axes.reduced.data(), x.dims().size()),
                        reinterpret_cast<uint8_t*>(ctx.Out(kOut).mutable_data<bool>()));
  }
};

}  // namespace dygraph::reduce
