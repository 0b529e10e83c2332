// Compiled for each device.
#include "kernels/complex.h"
#include "operators/arithmetic/binary.h"

namespace dygraph::elementwise {

template <class T>
void ReduceTo(const Tensor& g, const Dims& aligned, Tensor* out) {
  if (out->numel() == 0) return;
  if (g.numel() == 0) return kernels::Fill(out->mutable_data<T>(), out->numel(), T(0));
  Dims dims = g.dims(), from = StridesOver(g, dims, dims);
  for (int i = 0; i < dims.rank(); ++i) {
    if (from[i] == 0) from[i] = 1;  // an axis of one element: any stride
  }
  Tensor like = Tensor();
  like.SetMeta(aligned, g.dtype());
  Dims to = StridesOver(like, aligned, dims);
  if (g.layout() == Layout::kNHWC) {  // in the order of memory
    ToChannelsLast(&dims);
    ToChannelsLast(&from);
    ToChannelsLast(&to);
  }
  kernels::SumTo(dims, g.data<T>(), from, out->mutable_data<T>(), to);
}

template <class T>
Tensor Expanded(const Tensor& t, const Dims& aligned, const Tensor& like) {
  if (t.dims() == like.dims()) return t;
  Tensor full(like.dims(), t.dtype(), like.place(), like.layout());
  if (full.numel() == 0) return full;
  Plan p = MakePlan(t, aligned, t, aligned, like.dims(), like.layout() == Layout::kNHWC);
  kernels::Repeat(p.dims, t.data<T>(), p.x, full.mutable_data<T>());
  return full;
}

#define REGISTER_TYPE(T)                                          \
  template void ReduceTo<T>(const Tensor&, const Dims&, Tensor*); \
  template Tensor Expanded<T>(const Tensor&, const Dims&, const Tensor&)
REGISTER_TYPE(float);
REGISTER_TYPE(double);
REGISTER_TYPE(complex64);
REGISTER_TYPE(complex128);
#ifdef DYGRAPH_CUDA_PASS
REGISTER_TYPE(float16);
REGISTER_TYPE(bfloat16);
#endif
#undef REGISTER_TYPE

}  // namespace dygraph::elementwise
