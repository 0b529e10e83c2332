#include "operators/conv/pool_with_index.h"

namespace dygraph {
namespace {

struct MaxPool {
  static constexpr const char *kName = "max_pool3d_with_index",
                              *kGrad = "max_pool3d_with_index_grad";
  static constexpr const char* kExample =
      ">>> x = to_variable([[[[[1.0, 5.0], [2.0, 0.0]], [[3.0, 4.0], [7.0, 6.0]]]]])\n"
      ">>> out, mask = F.max_pool3d_with_index(x, ksize=[1, 2, 2])\n"
      ">>> out.shape, out.numpy().ravel().tolist(), mask.numpy().ravel().tolist()\n"
      "((1, 1, 2, 1, 1), [5.0, 7.0], [1, 6])";
  static constexpr int kAxes = 3;
};

template <class T>
using MaxPool3DKernel = pool_with_index::Forward<MaxPool>::Kernel<T>;
template <class T>
using MaxPool3DGradKernel = pool_with_index::grad::Backward<MaxPool>::Kernel<T>;
template <class T>
using MaxPool3DGradGradKernel = pool_with_index::grad_grad::BackwardTwice<MaxPool>::Kernel<T>;

REGISTER_OPERATOR(max_pool3d_with_index, pool_with_index::Define<MaxPool>);
REGISTER_KERNELS(max_pool3d_with_index, MaxPool3DKernel, float, double);
REGISTER_OPERATOR(max_pool3d_with_index_grad, pool_with_index::grad::Define<MaxPool>);
REGISTER_KERNELS(max_pool3d_with_index_grad, MaxPool3DGradKernel, float, double);
REGISTER_OPERATOR(max_pool3d_with_index_grad_grad, pool_with_index::grad_grad::Define<MaxPool>);
REGISTER_KERNELS(max_pool3d_with_index_grad_grad, MaxPool3DGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph
