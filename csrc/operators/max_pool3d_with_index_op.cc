#include "operators/pool_with_index.h"

namespace dygraph {
namespace {

struct MaxPool {
  static constexpr const char *kName = "max_pool3d_with_index",
                              *kGrad = "max_pool3d_with_index_grad",
                              *kGradGrad = "max_pool3d_with_index_grad_grad";
  static constexpr int kAxes = 3;
};

template <class T>
using MaxPoolKernel = pool_with_index::Forward<MaxPool>::Kernel<T>;
template <class T>
using MaxPoolGradKernel = pool_with_index::grad::Backward<MaxPool>::Kernel<T>;
template <class T>
using MaxPoolGradGradKernel = pool_with_index::grad_grad::BackwardTwice<MaxPool>::Kernel<T>;

REGISTER_OPERATOR(max_pool3d_with_index, pool_with_index::Define<MaxPool>);
REGISTER_CPU_KERNEL(max_pool3d_with_index, MaxPoolKernel, float, double);
REGISTER_OPERATOR(max_pool3d_with_index_grad, pool_with_index::grad::Define<MaxPool>);
REGISTER_CPU_KERNEL(max_pool3d_with_index_grad, MaxPoolGradKernel, float, double);
REGISTER_OPERATOR(max_pool3d_with_index_grad_grad, pool_with_index::grad_grad::Define<MaxPool>);
REGISTER_CPU_KERNEL(max_pool3d_with_index_grad_grad, MaxPoolGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph
