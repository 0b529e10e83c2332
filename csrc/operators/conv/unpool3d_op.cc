#include "operators/conv/unpool_rule.h"

namespace dygraph {
namespace {

struct Unpool3dAttrs {
  std::vector<int32_t> ksize;
  std::vector<int32_t> strides = {1, 1, 1};
  std::vector<int32_t> paddings = {0, 0, 0};
  std::vector<int32_t> output_size;
  std::string data_format = "NCDHW";
};

struct Unpool3d {
  static constexpr const char* kName = "unpool3d";
  static constexpr int kAxes = 3;
  using Attrs = Unpool3dAttrs;
};

void DefineUnpool3D(OpDef& op) {
  op.Comment(
        "Out is zero but where Indices, the Mask of max_pool3d_with_index, says: there lies X. "
        "Where several say the same place the last counts. Out's size is output_size or, where "
        "that is empty or 0, (size - 1) * stride - 2 * padding + ksize.")
      .Example(
          ">>> x = to_variable([[[[[5.0]]]]])\n"
          ">>> indices = to_variable([[[[[1]]]]], dtype=\"int32\")\n"
          ">>> F.unpool3d(x, indices, ksize=[1, 1, 2]).tolist()\n"
          "[[[[[0.0, 5.0]]]]]");
  unpooling::Define<Unpool3d>(op);
  op.Attr(&Unpool3dAttrs::data_format, "data_format", "NCDHW", OneOf({"NCDHW"}));
}

template <class T>
using Unpool3DKernel = unpooling::ForwardKernel<T>;
template <class T>
using Unpool3DGradKernel = unpooling::grad::Kernel<T>;

REGISTER_OPERATOR(unpool3d, DefineUnpool3D);
REGISTER_OPEN_ATTRS(unpool3d, "output_size");
REGISTER_KERNELS(unpool3d, Unpool3DKernel, float, double);
REGISTER_OPERATOR(unpool3d_grad, unpooling::grad::Define<Unpool3d>);
REGISTER_KERNELS(unpool3d_grad, Unpool3DGradKernel, float, double);

}  // namespace
}  // namespace dygraph
