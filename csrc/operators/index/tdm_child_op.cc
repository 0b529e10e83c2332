#include "op/lod_rule.h"
#include "operators/index/indexing.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kTree = 1, kChild = 0, kLeafMask = 1;
constexpr int64_t kItem = 0, kFirstChild = 3;  // columns: item, layer, parent, the children

struct TdmChildAttrs {
  int32_t child_nums = 1;
  DType dtype = DType::kInt32;
};

void DefineTdmChild(OpDef& op) {
  op.Comment(
        "Child = the children of the nodes X of a tree, LeafMask = 1 where a child is an item: a "
        "row of TreeInfo is a node's item, layer, parent and children. Node 0 stands for none; a "
        "node without children has zeros. Of tree-based deep models, Zhu et al., 2018.")
      .Example(
          ">>> tree = to_variable([[0, 0, 0, 0, 0], [0, 0, 0, 2, 3], [7, 1, 1, 0, 0], [8, 1, 1, 0, "
          "0]])\n"
          ">>> out = F.tdm_child(to_variable([[1], [2]]), tree, child_nums=2)\n"
          ">>> [v.tolist() for v in out]\n"
          "[[[[2, 3]], [[0, 0]]], [[[1, 1]], [[0, 0]]]]")
      .Input(kX, "X", "numbers of nodes, int32 or int64")
      .Input(kTree, "TreeInfo", "[nodes, 3 + child_nums], int32 or int64")
      .Output(kChild, "Child", "[shape of X, child_nums]")
      .Output(kLeafMask, "LeafMask", "[shape of X, child_nums]")
      .Attr(&TdmChildAttrs::child_nums, "child_nums", "the most children of a node", AtLeast(1))
      .Attr(&TdmChildAttrs::dtype, "dtype", "of the results, int32 or int64")
      .Shape([](InferContext& ctx) {
        const auto& a = ctx.attrs<TdmChildAttrs>();
        const Dims& tree = ctx.dims(kTree);
        ENFORCE(tree.rank() == 2 && (tree[1] == kFirstChild + a.child_nums || tree[1] < 0),
                InvalidArgument,
                "TreeInfo must have shape [nodes, 3 + child_nums], 3 + child_nums "
                "being ",
                kFirstChild + a.child_nums, ", got ", tree);
        Dims out = ctx.dims(kX);
        out.push_back(a.child_nums);
        ctx.SetOutput(kChild, out, a.dtype);
        ctx.SetOutput(kLeafMask, out, a.dtype);
      })
      .KernelDType(
          [](const Call& call) { return static_cast<const TdmChildAttrs*>(call.attrs)->dtype; })
      .MixedDTypes()
      .ShareLoD(kX)
      .NoGrad();
}

template <class T>
struct TdmChildKernel {
  static void Compute(KernelContext& ctx) {
    const int64_t count = ctx.attrs<TdmChildAttrs>().child_nums;
    const Tensor& tree = ctx.In(kTree);
    const int64_t nodes = tree.dim(0), width = tree.dim(1);
    const std::vector<int64_t> info = Integers(tree, "TreeInfo");
    const indexing::IndexList x =
        indexing::ReadIndices(ctx.In(kX), "X", nodes, "the nodes of TreeInfo", false);
    std::vector<T> child(x.size * count), leaf(x.size * count);
    for (int64_t i = 0; i < x.size; ++i) {
      const int64_t* row = info.data() + x.data[i] * width;
      if (x.data[i] == 0 || row[kFirstChild] == 0) continue;
      for (int64_t k = 0; k < count; ++k) {
        const int64_t v = row[kFirstChild + k];
        ENFORCE(v >= 0 && v < nodes, OutOfRange, "TreeInfo must hold children in [0, ", nodes,
                "), its nodes, got ", v, " of node ", x.data[i]);
        child[i * count + k] = static_cast<T>(v);
        leaf[i * count + k] = static_cast<T>(info[v * width + kItem] != 0);
      }
    }
    for (int slot : {kChild, kLeafMask}) {
      const std::vector<T>& from = slot == kChild ? child : leaf;
      if (Tensor* out = ctx.OutOrNull(slot))
        std::copy(from.begin(), from.end(), out->mutable_data<T>());
    }
  }
};

REGISTER_OPERATOR(tdm_child, DefineTdmChild);
REGISTER_LOD_RULE(tdm_child, RowsOfFirstAxis);
REGISTER_CPU_KERNEL(tdm_child, TdmChildKernel, int32_t, int64_t);

}  // namespace
}  // namespace dygraph
