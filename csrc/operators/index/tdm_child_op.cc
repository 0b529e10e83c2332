#include "kernels/parallel.h"
#include "op/lod_rule.h"
#include "operators/arguments.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kTreeInfo = 1, kChild = 0, kLeafMask = 1;
constexpr int64_t kItem = 0, kFirstChild = 3;  // columns of TreeInfo

struct TdmChildAttrs {
  int32_t child_nums = 0;
  DType dtype = DType::kInt32;
};

void InferShape(InferContext& ctx) {
  const TdmChildAttrs& a = ctx.attrs<TdmChildAttrs>();
  const Dims& tree = ctx.dims(kTreeInfo);
  ENFORCE(a.child_nums >= 1, InvalidArgument, "child_nums must be at least 1, got ", a.child_nums);
  ENFORCE(tree.rank() == 2 && (tree[1] == kFirstChild + a.child_nums || tree[1] < 0),
          InvalidArgument, "TreeInfo must be [nodes, ", kFirstChild + a.child_nums,
          "]: item, layer, parent and child_nums children of each node, got shape ", tree);
  ENFORCE(a.dtype == DType::kInt32 || a.dtype == DType::kInt64, Type,
          "the attribute dtype must be int32 or int64, got ", a.dtype);
  Dims out = ctx.dims(kX);
  out.push_back(a.child_nums);
  ctx.SetOutput(kChild, out, a.dtype);
  ctx.SetOutput(kLeafMask, out, a.dtype);
}

void DefineTdmChild(OpDef& op) {
  op.Comment(
        "Child = the children of nodes of a tree, LeafMask = 1 for those that stand for an item, "
        "else 0 (Zhu et al., Learning tree-based deep model for recommender systems, 2018). Both "
        "are 0 for node 0, which stands for none, and for a node whose first child is 0.")
      .Example(
          ">>> tree = to_variable([[0, 0, 0, 0, 0], [0, 0, 0, 2, 3], [7, 1, 1, 0, 0],\n"
          "...                     [0, 1, 1, 0, 0]])\n"
          ">>> child, mask = F.tdm_child(to_variable([1, 2]), tree, child_nums=2)\n"
          ">>> child.tolist(), mask.tolist()\n"
          "([[2, 3], [0, 0]], [[1, 0], [0, 0]])")
      .Input(kX, "X", "numbers of nodes, int32 or int64")
      .Input(kTreeInfo, "TreeInfo",
             "[nodes, 3 + child_nums] integers: the item of each node, 0 for none, its layer, its "
             "parent, its children")
      .Output(kChild, "Child", "shape of X and child_nums")
      .Output(kLeafMask, "LeafMask", "shape of Child")
      .Attr(&TdmChildAttrs::child_nums, "child_nums", "the most children of a node")
      .Attr(&TdmChildAttrs::dtype, "dtype", "of Child and LeafMask: int32 or int64")
      .ShareLoD(kX)
      .Shape(InferShape)
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .NoGrad();
}

template <class T>
struct TdmChildKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &tree = ctx.In(kTreeInfo);
    const std::vector<int64_t> info = Integers(tree, "TreeInfo");
    const int64_t nodes = tree.dim(0), width = tree.dim(1), most = width - kFirstChild;
    auto check = [nodes](int64_t node, const char* what, int64_t at) {
      ENFORCE(node >= 0 && node < nodes, OutOfRange, what, " must be nodes in [0, ", nodes,
              "), got ", node, " at position ", at);
    };
    const T* from = x.data<T>();
    auto write = [&](auto* child, auto* mask) {
      for (int64_t i = 0; i < x.numel(); ++i) {
        const int64_t node = static_cast<int64_t>(from[i]);
        check(node, "X", i);
        const int64_t* own = info.data() + node * width + kFirstChild;
        const bool parent = node != 0 && own[0] != 0;
        for (int64_t k = 0; k < most; ++k, ++child, ++mask) {
          *child = 0;
          *mask = 0;
          if (!parent) continue;
          check(own[k], "the children in TreeInfo", node * width + kFirstChild + k);
          *child = static_cast<std::decay_t<decltype(*child)>>(own[k]);
          *mask = info[own[k] * width + kItem] != 0;
        }
      }
    };
    Tensor &child = ctx.Out(kChild), &mask = ctx.Out(kLeafMask);
    if (child.dtype() == DType::kInt32)
      write(child.mutable_data<int32_t>(), mask.mutable_data<int32_t>());
    else
      write(child.mutable_data<int64_t>(), mask.mutable_data<int64_t>());
  }
};

REGISTER_OPERATOR(tdm_child, DefineTdmChild);
REGISTER_LOD_RULE(tdm_child, RowsOfFirstAxis);
REGISTER_CPU_KERNEL(tdm_child, TdmChildKernel, int32_t, int64_t);

}  // namespace
}  // namespace dygraph
