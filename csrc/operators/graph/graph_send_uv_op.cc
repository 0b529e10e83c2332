#include "operators/graph/messages.h"

namespace dygraph::graph {
namespace {

constexpr int kX = 0, kY = 1, kSrcIndex = 2, kDstIndex = 3, kOut = 0;

struct GraphSendUvAttrs {
  std::string message_op = "ADD";
};

void InferShape(InferContext& ctx) {
  const Combined combined(ctx.dims(kX), ctx.dims(kY), ctx.attrs<GraphSendUvAttrs>().message_op);
  CheckEnds(ctx, kSrcIndex, kDstIndex);
  ENFORCE(ctx.dtype(kX) == ctx.dtype(kY), Type, "y must be of the type of x, ", ctx.dtype(kX),
          ", got ", ctx.dtype(kY), ". Convert with astype()");
  ctx.SetOutput(kOut, combined.With(ctx.dims(kSrcIndex)[0]), ctx.dtype(kX));
}

void DefineGraphSendUv(OpDef& op) {
  op.Comment(
        "out[e] = x[src_index[e]] + y[dst_index[e]] (ADD) or * y[dst_index[e]] (MUL) for each edge "
        "e. Axes behind the first broadcast.")
      .Example(
          ">>> x = to_variable([[1.0], [2.0]])\n"
          ">>> F.graph_send_uv(x, x * 10, to_variable([0, 1]), to_variable([1, 1])).tolist()\n"
          "[[21.0], [22.0]]")
      .Input(kX, "x", "[nodes, ...]")
      .Input(kY, "y", "[nodes, ...], as many axes as x")
      .Input(kSrcIndex, "src_index", "[edges], int32 or int64: where each begins")
      .Input(kDstIndex, "dst_index", "[edges], int32 or int64: where each ends")
      .Output(kOut, "out", "[edges, ...]")
      .Attr(&GraphSendUvAttrs::message_op, "message_op", "ADD or MUL", OneOf({"ADD", "MUL"}))
      .Shape(InferShape)
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        const bool multiplies = g.attrs<GraphSendUvAttrs>().message_op == "MUL";
        RecipeRef x = g.Apply("index_select", {g.Input(kX), g.Input(kSrcIndex)});
        RecipeRef y = g.Apply("index_select", {g.Input(kY), g.Input(kDstIndex)});
        RecipeRef x_grad = g.Temp(), y_grad = g.Temp();
        CarriedGrad(g, multiplies, x, y, g.OutputGrad(kOut), x_grad, y_grad);
        g.Call("index_select_grad", {g.InputShape(kX), g.Input(kSrcIndex), x_grad},
               {g.InputGrad(kX)});
        g.Call("index_select_grad", {g.InputShape(kY), g.Input(kDstIndex), y_grad},
               {g.InputGrad(kY)});
      });
}

template <class T>
struct GraphSendUvKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    const Combined combined(x.dims(), y.dims(), ctx.attrs<GraphSendUvAttrs>().message_op);
    const indexing::IndexList src = Nodes(ctx, kSrcIndex, x.dim(0));
    const indexing::IndexList dst = Nodes(ctx, kDstIndex, y.dim(0));
    const PlacedList<int64_t> x_at(ctx, combined.x_at), y_at(ctx, combined.y_at);
    const CombinedRows<T> rows{
        x.data<T>(), y.data<T>(),      src.data,         dst.data,       x_at.data(),
        y_at.data(), combined.x_width, combined.y_width, combined.width, combined.multiplies};
    WriteRows(src.size, combined.width, rows, ctx.Out(kOut).mutable_data<T>());
  }
};

REGISTER_OPERATOR(graph_send_uv, DefineGraphSendUv);
REGISTER_KERNELS(graph_send_uv, GraphSendUvKernel, int32_t, int64_t, float, double);

}  // namespace
}  // namespace dygraph::graph
