#include "kernels/loops.h"
#include "op/index_guard.h"
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

// Writes the children of n nodes, and which of them are items; the host checks them first.
template <class T, class I>
void WriteChildren(const I* tree, int64_t width, int64_t nodes, const int64_t* x, int64_t n,
                   int64_t count, const IndexGuard& guard, T* child, T* leaf) {
  CheckEach(n * count, [=](int64_t at) {
    const I* row = tree + x[at / count] * width;
    if (x[at / count] == 0 || row[kFirstChild] == 0) return;
    const int64_t v = row[kFirstChild + at % count];
    ENFORCE(v >= 0 && v < nodes, OutOfRange, "TreeInfo must hold children in [0, ", nodes,
            "), its nodes, got ", v, " of node ", x[at / count]);
  });
  kernels::ForEach(n * count, [=] DYGRAPH_FN(int64_t at) {
    const int64_t node = x[at / count];
    const I* row = tree + node * width;
    const bool has = node != 0 && row[kFirstChild] != 0;
    const int64_t v = has ? guard(row[kFirstChild + at % count]) : 0;
    if (child) child[at] = static_cast<T>(v);
    if (leaf) leaf[at] = static_cast<T>(has && tree[v * width + kItem] != 0);
  });
}

template <class T>
struct TdmChildKernel {
  static void Compute(KernelContext& ctx) {
    const int64_t count = ctx.attrs<TdmChildAttrs>().child_nums;
    const Tensor& tree = ctx.In(kTree);
    const int64_t nodes = tree.dim(0);
    const indexing::IndexList x =
        indexing::CheckedIndices(ctx, kX, nodes, "the nodes of TreeInfo", false);
    Tensor *child = ctx.OutOrNull(kChild), *leaf = ctx.OutOrNull(kLeafMask);
    const IndexGuard guard(ctx, kTree, nodes);
    VisitIndices(tree, "TreeInfo", [&](auto* info) {
      WriteChildren(info, tree.dim(1), nodes, x.data, x.size, count, guard,
                    child ? child->mutable_data<T>() : nullptr,
                    leaf ? leaf->mutable_data<T>() : nullptr);
    });
  }
};

REGISTER_OPERATOR(tdm_child, DefineTdmChild);
REGISTER_LOD_RULE(tdm_child, RowsOfFirstAxis);
REGISTER_KERNELS(tdm_child, TdmChildKernel, int32_t, int64_t);

}  // namespace
}  // namespace dygraph
