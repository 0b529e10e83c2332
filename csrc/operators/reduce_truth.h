// What reduce_all and reduce_any share: truth values go in as bytes and come out as bool.
#pragma once

#include "operators/reduce.h"

namespace dygraph::reduce {

inline void DefineTruth(OpDef& op, const char* comment) {
  DefineReduce(op, comment)
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOut, ReducedDims(ctx.dims(kX), ctx.attrs<ReduceAttrs>()), DType::kBool);
      })
      .NoGrad();
}

template <class Op, class T>
struct TruthKernel {
  static void Compute(KernelContext& ctx) {
    Tensor x = CastTo(ctx.In(kX), DType::kBool);
    Axes axes(x.rank(), ctx.attrs<ReduceAttrs>());
    kernels::Reduce<Op>(reinterpret_cast<const uint8_t*>(x.data<bool>()), x.dims(),
                        Span<const bool>(axes.reduced.data(), x.dims().size()),
                        reinterpret_cast<uint8_t*>(ctx.Out(kOut).mutable_data<bool>()));
  }
};

}  // namespace dygraph::reduce
