#include <algorithm>

#include "kernels/gemm.h"
#include "kernels/parallel.h"
#include "op/lod_rule.h"
#include "operators/arguments.h"
#include "platform/interrupt.h"

// tree_conv, and tree_weights, which its gradient reads.
namespace dygraph {
namespace {

constexpr int kNodesVector = 0, kEdgeSet = 1, kFilter = 2, kOut = 0;
constexpr int64_t kParts = 3;  // left, right, top

struct TreeConvAttrs {
  int32_t max_depth = 2;
};

void CheckTrees(InferContext& ctx) {
  const Dims &x = ctx.dims(kNodesVector), &edges = ctx.dims(kEdgeSet);
  ENFORCE(x.rank() == 3, InvalidArgument,
          "NodesVector must be [trees, nodes, features], got shape ", x);
  ENFORCE(edges.rank() == 3 && (edges[0] == x[0] || !BothKnown(edges[0], x[0])) &&
              (edges[2] == 2 || edges[2] < 0),
          InvalidArgument, "EdgeSet must be [", x[0], ", edges, 2], got shape ", edges);
}

// How much a node of a window counts: for the left, for the right and for the top.
template <class T>
struct Member {
  int64_t node;
  T weights[kParts];
};

// The windows of one tree.
template <class T>
class Windows {
 public:
  Windows(const int64_t* edges, int64_t edge_count, int64_t nodes, int64_t max_depth)
      : children_(static_cast<size_t>(nodes)), seen_(children_.size(), -1), depth_(max_depth) {
    int64_t used = 0;
    for (; used < edge_count; ++used) {
      const int64_t parent = edges[2 * used], child = edges[2 * used + 1];
      if (parent == 0 || child == 0) break;
      for (int64_t node : {parent, child}) {
        ENFORCE(node >= 1 && node <= nodes, OutOfRange, "EdgeSet must hold nodes in [1, ", nodes,
                "], and 0 at its end, got ", node);
      }
      children_[parent - 1].push_back(child - 1);
    }
    roots_ = std::min(used + 1, nodes);
  }
  int64_t roots() const { return roots_; }  // nodes behind them are none of the tree

  // f(member) for each node of the window of a root. A node of a circle counts once.
  template <class F>
  void ForEach(int64_t root, const F& f) {
    CheckInterrupt();
    struct Waiting {
      int64_t node, depth;
      double place;
    };
    std::vector<Waiting> waiting{{root, 0, 0.5}};
    seen_[root] = root;
    while (!waiting.empty()) {
      const Waiting w = waiting.back();
      waiting.pop_back();
      const double top = 1 - static_cast<double>(w.depth) / static_cast<double>(depth_);
      const double left = (1 - top) * w.place;
      f(Member<T>{
          w.node,
          {static_cast<T>(left), static_cast<T>((1 - top) * (1 - left)), static_cast<T>(top)}});
      if (w.depth + 1 >= depth_) continue;
      const std::vector<int64_t>& own = children_[w.node];
      const double last = static_cast<double>(own.size()) - 1;
      for (size_t i = 0; i < own.size(); ++i) {
        if (seen_[own[i]] == root) continue;
        seen_[own[i]] = root;
        waiting.push_back({own[i], w.depth + 1, last > 0 ? static_cast<double>(i) / last : 0.5});
      }
    }
  }

 private:
  std::vector<std::vector<int64_t>> children_;
  std::vector<int64_t> seen_;  // the last root whose window had the node
  int64_t depth_, roots_;
};

void DefineTreeConv(OpDef& op) {
  op.Comment(
        "Out[b, v] = the sum over the nodes u of v's window of NodesVector[b, u] times l "
        "Filter[:, 0] + r Filter[:, 1] + t Filter[:, 2]: convolution over trees (Mou et al., "
        "2016). "
        "A window is a node and its descendants, max_depth levels in all; t = 1 - depth / "
        "max_depth, l = (1 - t) (i - 1) / (n - 1) of the i-th of n siblings, 1/2 (1 - t) of an "
        "only "
        "child, and r = (1 - t) (1 - l).")
      .Example(
          ">>> x, edges = to_variable([[[1.0], [2.0], [4.0]]]), to_variable([[[1, 2], [1, 3]]])\n"
          ">>> top = to_variable([[[[0.0]], [[0.0]], [[1.0]]]])\n"
          ">>> F.tree_conv(x, edges, top).flatten().tolist()\n"
          "[4.0, 2.0, 4.0]")
      .Input(kNodesVector, "NodesVector", "[trees, nodes, features]")
      .Input(kEdgeSet, "EdgeSet",
             "[trees, edges, 2] integers: parent and child, nodes from 1 on; a 0 ends the list")
      .Input(kFilter, "Filter", "[features, 3, outputs, filters]: left, right and top")
      .Output(kOut, "Out", "[trees, nodes, outputs, filters], 0 of nodes that no edge has")
      .Attr(&TreeConvAttrs::max_depth, "max_depth", "levels of a window", AtLeast(1))
      .ShareLoD(kNodesVector)
      .Shape([](InferContext& ctx) {
        CheckTrees(ctx);
        const Dims &x = ctx.dims(kNodesVector), &w = ctx.dims(kFilter);
        ENFORCE(w.rank() == 4 && (w[0] == x[2] || !BothKnown(w[0], x[2])) &&
                    (w[1] == kParts || w[1] < 0),
                InvalidArgument, "Filter must be [", x[2], ", 3, outputs, filters], got shape ", w);
        ENFORCE(ctx.dtype(kFilter) == ctx.dtype(kNodesVector), Type,
                "Filter must be of the type of NodesVector, ", ctx.dtype(kNodesVector), ", got ",
                ctx.dtype(kFilter), ". Convert with astype()");
        ctx.SetOutput(kOut, {x[0], x[1], w[2], w[3]}, ctx.dtype(kNodesVector));
      })
      .KernelDTypeOf(kNodesVector)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        auto product = [&](const char* equation, RecipeRef a, RecipeRef b, RecipeRef to) {
          g.Call("einsum", {RecipeSlot({a, b})}, {to}).Attr("equation", std::string(equation));
        };
        RecipeRef incoming = g.OutputGrad(kOut), weights = g.Temp(), gathered = g.Temp(),
                  gathered_grad = g.Temp();
        g.Call("tree_weights", {g.InputShape(kNodesVector), g.Input(kEdgeSet)}, {weights})
            .SameAttrs();
        product("bkvu,buf->bvfk", weights, g.Input(kNodesVector), gathered);
        product("bvfk,bvon->fkon", gathered, incoming, g.InputGrad(kFilter));
        product("bvon,fkon->bvfk", incoming, g.Input(kFilter), gathered_grad);
        product("bkvu,bvfk->buf", weights, gathered_grad, g.InputGrad(kNodesVector));
      });
}

template <class T>
struct TreeConvKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kNodesVector), &w = ctx.In(kFilter);
    Tensor& out = ctx.Out(kOut);
    const int64_t trees = x.dim(0), nodes = x.dim(1), features = x.dim(2);
    const int64_t columns = w.dim(2) * w.dim(3), width = features * kParts;
    const std::vector<int64_t> edges = Integers(ctx.In(kEdgeSet), "EdgeSet");
    const int64_t edge_count = ctx.In(kEdgeSet).dim(1),
                  depth = ctx.attrs<TreeConvAttrs>().max_depth;
    std::vector<T> gathered(static_cast<size_t>(trees * nodes * width), T(0));
    const T* from = x.data<T>();
    kernels::ParallelRows(trees, nodes * width * 4, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        Windows<T> windows(edges.data() + b * edge_count * 2, edge_count, nodes, depth);
        for (int64_t v = 0; v < windows.roots(); ++v) {
          T* to = gathered.data() + (b * nodes + v) * width;
          windows.ForEach(v, [&](const Member<T>& u) {
            const T* row = from + (b * nodes + u.node) * features;
            for (int64_t f = 0; f < features; ++f) {
              for (int64_t k = 0; k < kParts; ++k) to[f * kParts + k] += u.weights[k] * row[f];
            }
          });
        }
      }
    });
    T* y = out.mutable_data<T>();
    if (out.numel() == 0) return;
    if (width == 0) return static_cast<void>(std::fill_n(y, out.numel(), T(0)));
    kernels::Gemm<T>(false, false, trees * nodes, columns, width, T(1), gathered.data(), width,
                     w.data<T>(), columns, T(0), y, columns);
  }
};

namespace weights {
constexpr int kWeights = 0;

void DefineTreeWeights(OpDef& op) {
  op.Comment(
        "Out[b, :, v, u] = what node u counts in the window of node v in tree_conv: for the left, "
        "for the right and for the top; 0 where it is none of the window.")
      .Example(
          ">>> x, edges = to_variable(np.zeros((1, 2, 1))), to_variable([[[1, 2]]])\n"
          ">>> F.tree_weights(x, edges)[0, 2].tolist()\n"
          "[[1.0, 0.5], [0.0, 1.0]]")
      .Input(kNodesVector, "NodesVector", "[trees, nodes, features], its shape", kShapeOnly)
      .Input(kEdgeSet, "EdgeSet", "as of tree_conv")
      .Output(kWeights, "Out", "[trees, 3, nodes, nodes]")
      .Attr(&TreeConvAttrs::max_depth, "max_depth", "levels of a window", AtLeast(1))
      .ShareLoD(kNodesVector)
      .Shape([](InferContext& ctx) {
        CheckTrees(ctx);
        const Dims& x = ctx.dims(kNodesVector);
        ctx.SetOutput(kWeights, {x[0], kParts, x[1], x[1]}, ctx.dtype(kNodesVector));
      })
      .KernelDTypeOf(kNodesVector)
      .MixedDTypes()
      .NoGrad();
}

template <class T>
struct TreeWeightsKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kWeights);
    const int64_t trees = out.dim(0), nodes = out.dim(2), edge_count = ctx.In(kEdgeSet).dim(1);
    const std::vector<int64_t> edges = Integers(ctx.In(kEdgeSet), "EdgeSet");
    T* to = out.mutable_data<T>();
    std::fill_n(to, out.numel(), T(0));
    for (int64_t b = 0; b < trees; ++b) {
      Windows<T> windows(edges.data() + b * edge_count * 2, edge_count, nodes,
                         ctx.attrs<TreeConvAttrs>().max_depth);
      for (int64_t v = 0; v < windows.roots(); ++v) {
        windows.ForEach(v, [&](const Member<T>& u) {
          for (int64_t k = 0; k < kParts; ++k)
            to[((b * kParts + k) * nodes + v) * nodes + u.node] += u.weights[k];
        });
      }
    }
  }
};
}  // namespace weights

REGISTER_OPERATOR(tree_conv, DefineTreeConv);
REGISTER_LOD_RULE(tree_conv, RowsOfFirstAxis);
REGISTER_CPU_KERNEL(tree_conv, TreeConvKernel, float, double);
REGISTER_OPERATOR(tree_weights, weights::DefineTreeWeights);
REGISTER_LOD_RULE(tree_weights, RowsOfFirstAxis);
REGISTER_CPU_KERNEL(tree_weights, weights::TreeWeightsKernel, float, double);

}  // namespace
}  // namespace dygraph
