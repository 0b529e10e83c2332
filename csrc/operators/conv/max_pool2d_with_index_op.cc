#include "operators/conv/pool_with_index.h"

namespace dygraph {
namespace {

struct MaxPool {
  static constexpr const char *kName = "max_pool2d_with_index",
                              *kGrad = "max_pool2d_with_index_grad";
  static constexpr const char* kExample =
      ">>> x = to_variable([[[[1.0, 5.0, 2.0, 0.0], [3.0, 4.0, 7.0, 6.0]]]])\n"
      ">>> out, mask = F.max_pool2d_with_index(x, ksize=[2, 2], strides=[2, 2])\n"
      ">>> out.tolist(), mask.tolist()\n"
      "([[[[5.0, 7.0]]]], [[[[1, 6]]]])";
  static constexpr int kAxes = 2;
};

template <class T>
using MaxPool2DKernel = pool_with_index::Forward<MaxPool>::Kernel<T>;
template <class T>
using MaxPool2DGradKernel = pool_with_index::grad::Backward<MaxPool>::Kernel<T>;
template <class T>
using MaxPool2DGradGradKernel = pool_with_index::grad_grad::BackwardTwice<MaxPool>::Kernel<T>;

REGISTER_OPERATOR(max_pool2d_with_index, pool_with_index::Define<MaxPool>);
REGISTER_KERNELS(max_pool2d_with_index, MaxPool2DKernel, float, double);
REGISTER_OPERATOR(max_pool2d_with_index_grad, pool_with_index::grad::Define<MaxPool>);
REGISTER_KERNELS(max_pool2d_with_index_grad, MaxPool2DGradKernel, float, double);
REGISTER_OPERATOR(max_pool2d_with_index_grad_grad, pool_with_index::grad_grad::Define<MaxPool>);
REGISTER_KERNELS(max_pool2d_with_index_grad_grad, MaxPool2DGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph
