// What uniform_random, gaussian_random and truncated_gaussian_random share.
//
// An operator's own seed other than 0 replaces the generator's, with stream 0: such a call gives
// the same numbers each time.
#pragma once

#include "kernels/elementwise.h"
#include "kernels/philox.h"
#include "operators/arguments.h"

namespace dygraph::random {

constexpr int kShapeTensor = 0, kShapeTensorList = 1, kOut = 0;

inline kernels::Philox Generator(const KernelContext& ctx, int32_t own_seed) {
  if (own_seed != 0) return kernels::Philox(static_cast<uint64_t>(own_seed), 0);
  return kernels::Philox::OfCall(ctx.random_seed(), ctx.random_stream());
}

inline OpDef& AddSlots(OpDef& op) {
  return op.Input(kShapeTensor, "ShapeTensor", "[rank] integers, in place of shape",
                  kDispensable | kOnHost)
      .Input(kShapeTensorList, "ShapeTensorList", "one integer for each axis, in place of shape",
             kDispensable | kDuplicable | kOnHost)
      .Output(kOut, "Out", "the numbers");
}

template <class A>
void InferShape(InferContext& ctx) {
  const A& a = ctx.attrs<A>();
  Dims dims(
      Span<const int64_t>(ReadIntList(ctx.call(), kShapeTensor, kShapeTensorList, a.shape).values));
  for (int64_t d : dims) {
    ENFORCE(d >= 0 || !ctx.runtime(), InvalidArgument,
            "the sizes in shape must be at least 0, got ", dims);
  }
  ctx.SetOutput(kOut, dims, a.dtype);
}

template <class A>
DType KernelDType(const Call& call) {
  return static_cast<const A*>(call.attrs)->dtype;
}

}  // namespace dygraph::random
