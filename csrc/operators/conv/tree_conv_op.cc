#include "kernels/matmul.h"
#include "op/lod_rule.h"
#include "operators/arguments.h"

namespace dygraph {
namespace {

constexpr int kNodes = 0, kEdges = 1, kFilter = 2, kOut = 0;
constexpr int kSides = 3;  // left, right, top

struct TreeConvAttrs {
  int32_t max_depth = 2;
};

void CheckInputs(InferContext& ctx) {
  const Dims &nodes = ctx.dims(kNodes), &edges = ctx.dims(kEdges), &filter = ctx.dims(kFilter);
  ENFORCE(nodes.rank() == 3, InvalidArgument, "NodesVector must have shape [B, nodes, F], got ",
          nodes);
  ENFORCE(edges.rank() == 3 && (edges[0] == nodes[0] || !BothKnown(edges[0], nodes[0])) &&
              (edges[2] == 2 || edges[2] < 0),
          InvalidArgument, "EdgeSet must have shape [B, edges, 2], B as in NodesVector ", nodes,
          ", got ", edges);
  ENFORCE(filter.rank() == 4 && (filter[0] == nodes[2] || !BothKnown(filter[0], nodes[2])) &&
              (filter[1] == kSides || filter[1] < 0),
          InvalidArgument, "Filter must have shape [F, 3, outputs, filters], F as in NodesVector ",
          nodes, ", got ", filter);
}

OpDef& Inputs(OpDef& op) {
  return op.Input(kNodes, "NodesVector", "[B, nodes, F]")
      .Input(kEdges, "EdgeSet",
             "[B, edges, 2] integers: parent and child, numbered from 1; an edge with 0 is the end")
      .Input(kFilter, "Filter", "[F, 3, outputs, filters]")
      .KernelDTypeOf(kNodes)
      .MixedDTypes();
}

// A node in the window of another one, and how far it counts as left, right and top.
struct Member {
  int64_t node;
  double share[kSides];
};

// The windows of a tree's nodes: of each the nodes below it, fewer than max_depth levels.
class Tree {
 public:
  Tree(const int64_t* edges, int64_t count, int64_t most, int32_t max_depth) : depth_(max_depth) {
    int64_t used = 0;
    while (used < count && edges[2 * used] != 0 && edges[2 * used + 1] != 0) ++used;
    ENFORCE(used < most || used == 0, InvalidArgument, "a tree of NodesVector's ", most,
            " nodes must have fewer edges, got ", used, " in EdgeSet");
    children_.resize(most == 0 ? 0 : used + 1);
    for (int64_t i = 0; i < used; ++i) {
      for (int64_t v : {edges[2 * i], edges[2 * i + 1]})
        ENFORCE(v >= 1 && v <= used + 1, OutOfRange, "EdgeSet must hold nodes in [1, ", used + 1,
                "], one more than the tree has edges, got ", v, " in edge ", i);
      children_[edges[2 * i] - 1].push_back(edges[2 * i + 1] - 1);
    }
  }
  int64_t size() const { return static_cast<int64_t>(children_.size()); }

  std::vector<Member> Window(int64_t root) const {
    std::vector<Member> window{{root, {0, 0, 1}}};
    std::vector<std::pair<int64_t, int32_t>> open{{root, 0}};
    std::vector<bool> seen(children_.size());
    seen[root] = true;
    while (!open.empty()) {
      auto [node, level] = open.back();
      open.pop_back();
      const std::vector<int64_t>& below = children_[node];
      if (level + 1 >= depth_) continue;
      for (size_t i = 0; i < below.size(); ++i) {
        if (seen[below[i]]) continue;
        seen[below[i]] = true;
        open.emplace_back(below[i], level + 1);
        const double deep = (level + 1.0) / depth_;  // 1 - top
        const double place = below.size() == 1 ? 0.5 : i / (below.size() - 1.0);
        window.push_back({below[i], {deep * place, deep * (1 - deep * place), 1 - deep}});
      }
    }
    return window;
  }

 private:
  int32_t depth_;
  std::vector<std::vector<int64_t>> children_;
};

struct Sizes {
  int64_t batch, nodes, features, edges, columns;
  Sizes(const KernelContext& ctx)
      : batch(ctx.In(kNodes).dim(0)),
        nodes(ctx.In(kNodes).dim(1)),
        features(ctx.In(kNodes).dim(2)),
        edges(ctx.In(kEdges).dim(1)),
        columns(ctx.In(kFilter).dim(2) * ctx.In(kFilter).dim(3)) {}
  int64_t depth() const { return features * kSides; }
};

// Row u: the nodes of u's window weighed as left, right and top, feature by feature.
template <class T>
std::vector<T> Patches(const Tree& tree, const Sizes& s, const T* x) {
  std::vector<T> patches(s.nodes * s.depth(), T(0));
  for (int64_t u = 0; u < tree.size(); ++u) {
    for (const Member& m : tree.Window(u)) {
      for (int64_t i = 0; i < s.features; ++i) {
        T* to = patches.data() + u * s.depth() + i * kSides;
        for (int k = 0; k < kSides; ++k)
          to[k] += static_cast<T>(m.share[k]) * x[m.node * s.features + i];
      }
    }
  }
  return patches;
}

void DefineTreeConv(OpDef& op) {
  Inputs(op.Comment("Out[b, u] = the sum over the nodes v fewer than max_depth levels below u, u "
                    "among them, of NodesVector[b, v] (l Filter[:, 0] + r Filter[:, 1] + t "
                    "Filter[:, 2]): d levels below, the i-th of n children, from 0, counts as top "
                    "t = 1 - d / max_depth, as left l = (1 - t) * i / (n - 1), half of that for an "
                    "only child, and as right r = (1 - t) * (1 - l). Rows behind the tree's nodes, "
                    "one more than its edges, are 0. After Mou et al., 2016.")
             .Example(">>> nodes = to_variable([[[1.0], [2.0], [4.0]]])\n"
                      ">>> edges = to_variable(np.array([[[1, 2], [1, 3]]], \"int32\"))\n"
                      ">>> weight = to_variable([[[[0.0]], [[0.0]], [[1.0]]]])  # top\n"
                      ">>> F.tree_conv(nodes, edges, weight).reshape([3]).tolist()\n"
                      "[4.0, 2.0, 4.0]"))
      .Output(kOut, "Out", "[B, nodes, outputs, filters]")
      .Attr(&TreeConvAttrs::max_depth, "max_depth", "levels of a window", AtLeast(1))
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        const Dims &nodes = ctx.dims(kNodes), &filter = ctx.dims(kFilter);
        ctx.SetOutput(kOut, {nodes[0], nodes[1], filter[2], filter[3]});
      })
      .ShareLoD(kNodes)
      .Grad([](GradBuilder& g) {
        g.Call("tree_conv_grad",
               {g.Wants(kFilter) ? g.Input(kNodes) : g.InputShape(kNodes), g.Input(kEdges),
                g.Wants(kNodes) ? g.Input(kFilter) : g.InputShape(kFilter), g.OutputGrad(kOut)},
               {g.InputGrad(kNodes), g.InputGrad(kFilter)})
            .SameAttrs();
      });
}

template <class T>
struct TreeConvKernel {
  static void Compute(KernelContext& ctx) {
    const Sizes s(ctx);
    const std::vector<int64_t> edges = Integers(ctx.In(kEdges), "EdgeSet");
    const T *x = ctx.In(kNodes).data<T>(), *w = ctx.In(kFilter).data<T>();
    T* to = ctx.Out(kOut).mutable_data<T>();
    if (s.columns == 0 || s.nodes == 0) return;
    for (int64_t b = 0; b < s.batch; ++b) {
      const Tree tree(edges.data() + b * s.edges * 2, s.edges, s.nodes,
                      ctx.attrs<TreeConvAttrs>().max_depth);
      const std::vector<T> patches = Patches(tree, s, x + b * s.nodes * s.features);
      kernels::MatMul<T>(false, false, s.nodes, s.columns, s.depth(), T(1), patches.data(),
                         s.depth(), w, s.columns, T(0), to + b * s.nodes * s.columns, s.columns);
    }
  }
};

namespace grad {
constexpr int kOutGrad = 3, kNodesGrad = 0, kFilterGrad = 1;

void DefineTreeConvGrad(OpDef& op) {
  Inputs(op.Comment("What Filter and Out@GRAD give for the nodes, and the nodes for Filter."))
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kNodesGrad, "NodesVector@GRAD", "shape of NodesVector")
      .Output(kFilterGrad, "Filter@GRAD", "shape of Filter")
      .AttrsOf("tree_conv")
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        ctx.SetOutput(kNodesGrad, ctx.dims(kNodes));
        ctx.SetOutput(kFilterGrad, ctx.dims(kFilter));
      })
      .Grad([](GradBuilder& g) {
        RecipeRef ddx = g.OutputGrad(kNodesGrad), ddw = g.OutputGrad(kFilterGrad),
                  arrived = g.Input(kOutGrad), edges = g.Input(kEdges);
        RecipeRef a = g.Temp(), b = g.Temp();
        g.Call("tree_conv", {ddx, edges, g.Input(kFilter)}, {a}).SameAttrs();
        g.Call("tree_conv", {g.Input(kNodes), edges, ddw}, {b}).SameAttrs();
        g.Call("sum", {RecipeSlot({a, b})}, {g.InputGrad(kOutGrad)});
        g.Call("tree_conv_grad", {g.InputShape(kNodes), edges, ddw, arrived},
               {g.InputGrad(kNodes), {}})
            .SameAttrs();
        g.Call("tree_conv_grad", {ddx, edges, g.InputShape(kFilter), arrived},
               {{}, g.InputGrad(kFilter)})
            .SameAttrs();
      });
}

template <class T>
struct TreeConvGradKernel {
  static void Compute(KernelContext& ctx) {
    const Sizes s(ctx);
    const std::vector<int64_t> edges = Integers(ctx.In(kEdges), "EdgeSet");
    ENFORCE(ctx.In(kOutGrad).numel() == s.batch * s.nodes * s.columns, InvalidArgument,
            "Out@GRAD must have the shape of Out, got ", ctx.In(kOutGrad).dims());
    const T* g = ctx.In(kOutGrad).data<T>();
    auto start = [&](int slot) {
      Tensor* out = ctx.OutOrNull(slot);
      if (!out) return static_cast<T*>(nullptr);
      std::fill_n(out->mutable_data<T>(), out->numel(), T(0));
      return out->mutable_data<T>();
    };
    T *dx = start(kNodesGrad), *dw = start(kFilterGrad);
    const T *x = dw ? ctx.In(kNodes).data<T>() : nullptr,
            *w = dx ? ctx.In(kFilter).data<T>() : nullptr;
    if (s.columns == 0 || s.nodes == 0 || s.features == 0) return;
    for (int64_t b = 0; b < s.batch; ++b) {
      const Tree tree(edges.data() + b * s.edges * 2, s.edges, s.nodes,
                      ctx.attrs<TreeConvAttrs>().max_depth);
      const T* from = g + b * s.nodes * s.columns;
      if (dw) {
        const std::vector<T> patches = Patches(tree, s, x + b * s.nodes * s.features);
        kernels::MatMul<T>(true, false, s.depth(), s.columns, s.nodes, T(1), patches.data(),
                           s.depth(), from, s.columns, T(1), dw, s.columns);
      }
      if (!dx) continue;
      std::vector<T> back(s.nodes * s.depth());
      kernels::MatMul<T>(false, true, s.nodes, s.depth(), s.columns, T(1), from, s.columns, w,
                         s.columns, T(0), back.data(), s.depth());
      T* to = dx + b * s.nodes * s.features;
      for (int64_t u = 0; u < tree.size(); ++u) {
        for (const Member& m : tree.Window(u)) {
          for (int64_t i = 0; i < s.features; ++i) {
            const T* patch = back.data() + u * s.depth() + i * kSides;
            for (int k = 0; k < kSides; ++k)
              to[m.node * s.features + i] += static_cast<T>(m.share[k]) * patch[k];
          }
        }
      }
    }
  }
};
}  // namespace grad

REGISTER_OPERATOR(tree_conv, DefineTreeConv);
REGISTER_LOD_RULE(tree_conv, RowsOfFirstAxis);
REGISTER_CPU_KERNEL(tree_conv, TreeConvKernel, float, double);
REGISTER_OPERATOR(tree_conv_grad, grad::DefineTreeConvGrad);
REGISTER_CPU_KERNEL(tree_conv_grad, grad::TreeConvGradKernel, float, double);

}  // namespace
}  // namespace dygraph
