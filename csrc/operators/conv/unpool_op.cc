#include "operators/conv/unpool_rule.h"

namespace dygraph {
namespace {

struct UnpoolAttrs {
  std::vector<int32_t> ksize;
  std::vector<int32_t> strides = {1, 1};
  std::vector<int32_t> paddings = {0, 0};
  std::string unpooling_type = "max";
  std::vector<int32_t> output_size;
};

struct Unpool {
  static constexpr const char* kName = "unpool";
  static constexpr int kAxes = 2;
  using Attrs = UnpoolAttrs;
};

void DefineUnpool(OpDef& op) {
  op.Comment(
        "Out is zero but where Indices, the Mask of max_pool2d_with_index, says: there lies X. "
        "Where several say the same place the last counts. Out's size is output_size or, where "
        "that is empty or 0, (size - 1) * stride - 2 * padding + ksize.")
      .Example(
          ">>> x = to_variable([[[[5.0, 7.0]]]])\n"
          ">>> indices = to_variable([[[[1, 6]]]], dtype=\"int32\")\n"
          ">>> F.unpool(x, indices, ksize=[2, 2], strides=[2, 2]).tolist()\n"
          "[[[[0.0, 5.0, 0.0, 0.0], [0.0, 0.0, 7.0, 0.0]]]]");
  unpooling::Define<Unpool>(op);
  op.Attr(&UnpoolAttrs::unpooling_type, "unpooling_type", "max", OneOf({"max"}));
}

template <class T>
using UnpoolKernel = unpooling::ForwardKernel<T>;
template <class T>
using UnpoolGradKernel = unpooling::grad::Kernel<T>;

REGISTER_OPERATOR(unpool, DefineUnpool);
REGISTER_OPEN_ATTRS(unpool, "output_size");
REGISTER_KERNELS(unpool, UnpoolKernel, float, double);
REGISTER_OPERATOR(unpool_grad, unpooling::grad::Define<Unpool>);
REGISTER_KERNELS(unpool_grad, UnpoolGradKernel, float, double);

}  // namespace
}  // namespace dygraph
