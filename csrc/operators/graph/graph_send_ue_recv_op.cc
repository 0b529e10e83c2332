#include "operators/graph/messages.h"

namespace dygraph::graph {
namespace {

constexpr int kX = 0, kY = 1, kSrcIndex = 2, kDstIndex = 3, kOutSize = 4, kOut = 0, kDstCount = 1;

struct GraphSendUeRecvAttrs {
  std::string message_op = "ADD";
  std::string reduce_op = "SUM";
  std::vector<int64_t> out_size{0};
};

void InferShape(InferContext& ctx) {
  const GraphSendUeRecvAttrs& a = ctx.attrs<GraphSendUeRecvAttrs>();
  const Dims &x = ctx.dims(kX), &y = ctx.dims(kY), &src = ctx.dims(kSrcIndex);
  const Combined combined(x, y, a.message_op);
  CheckEnds(ctx, kSrcIndex, kDstIndex);
  ENFORCE(y[0] == src[0] || !BothKnown(y[0], src[0]), InvalidArgument,
          "Y must have a row for each of the ", src[0], " edges, got shape ", y);
  ENFORCE(ctx.dtype(kX) == ctx.dtype(kY), Type, "Y must be of the type of X, ", ctx.dtype(kX),
          ", got ", ctx.dtype(kY), ". Convert with astype()");
  const int64_t rows = OutRows(ctx, kOutSize, a.out_size, x[0]);
  ctx.SetOutput(kOut, combined.With(rows), ctx.dtype(kX));
  ctx.SetOutput(kDstCount, {rows}, DType::kInt32);
}

void DefineGraphSendUeRecv(OpDef& op) {
  op.Comment(
        "Out[k] = the SUM, MEAN, MAX or MIN of X[Src_index[e]] + Y[e] (ADD) or * Y[e] (MUL) over "
        "all edges e with Dst_index[e] = k, 0 where there is none. Axes behind the first "
        "broadcast.")
      .Example(
          ">>> x, weight = to_variable([[1.0], [2.0]]), to_variable([[10.0], [0.5]])\n"
          ">>> ends = to_variable([0, 1]), to_variable([1, 1])\n"
          ">>> F.graph_send_ue_recv(x, weight, *ends, message_op=\"MUL\").tolist()\n"
          "[[0.0], [11.0]]")
      .Input(kX, "X", "[nodes, ...]")
      .Input(kY, "Y", "[edges, ...], as many axes as X")
      .Input(kSrcIndex, "Src_index", "[edges], int32 or int64: where each begins")
      .Input(kDstIndex, "Dst_index", "[edges], int32 or int64: where each ends")
      .Input(kOutSize, "Out_size", "one integer, in place of out_size", kDispensable | kOnHost)
      .Output(kOut, "Out", "[out_size, ...]")
      .Output(kDstCount, "Dst_count", "[out_size], int32: the edges that end there", kIntermediate)
      .Attr(&GraphSendUeRecvAttrs::message_op, "message_op", "ADD or MUL", OneOf({"ADD", "MUL"}))
      .Attr(&GraphSendUeRecvAttrs::reduce_op, "reduce_op", "SUM, MEAN, MAX or MIN",
            OneOf({"SUM", "MEAN", "MAX", "MIN"}))
      .Attr(&GraphSendUeRecvAttrs::out_size, "out_size", "rows of Out; 0: as many as X has")
      .Shape(InferShape)
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        const GraphSendUeRecvAttrs& a = g.attrs<GraphSendUeRecvAttrs>();
        const bool multiplies = a.message_op == "MUL", values = IsExtreme(PoolOf(a.reduce_op));
        const Carried carried(g, g.Input(kX), g.Input(kSrcIndex), g.Input(kY), multiplies);
        RecipeRef x_grad = g.Temp();
        RecipeRef arriving =
            ArrivingGrad(g, a.reduce_op, carried.rows, g.Input(kDstIndex),
                         values ? g.Output(kOut) : RecipeRef(), g.OutputGrad(kOut));
        CarriedGrad(g, multiplies, carried.x, g.Input(kY), arriving, x_grad, g.InputGrad(kY));
        g.Call("index_select_grad", {g.InputShape(kX), g.Input(kSrcIndex), x_grad},
               {g.InputGrad(kX)});
      });
}

template <class T>
struct GraphSendUeRecvKernel {
  static void Compute(KernelContext& ctx) {
    const GraphSendUeRecvAttrs& a = ctx.attrs<GraphSendUeRecvAttrs>();
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    Tensor &out = ctx.Out(kOut), *counts = ctx.OutOrNull(kDstCount);
    const Combined combined(x.dims(), y.dims(), a.message_op);
    const indexing::IndexList src = Nodes(ctx, kSrcIndex, x.dim(0));
    const indexing::IndexList dst = Nodes(ctx, kDstIndex, out.dim(0));
    const Arrivals arrivals(dst, out.dim(0));
    const PlacedList<int64_t> x_at(ctx, combined.x_at), y_at(ctx, combined.y_at);
    const CombinedRows<T> rows{
        x.data<T>(), y.data<T>(),      src.data,         nullptr,        x_at.data(),
        y_at.data(), combined.x_width, combined.y_width, combined.width, combined.multiplies};
    PoolRows<T>(PoolOf(a.reduce_op), arrivals, combined.width, rows, out.mutable_data<T>());
    if (counts) CountArrivals(arrivals, counts->mutable_data<int32_t>());
  }
};

REGISTER_OPERATOR(graph_send_ue_recv, DefineGraphSendUeRecv);
REGISTER_KERNELS(graph_send_ue_recv, GraphSendUeRecvKernel, int32_t, int64_t, float, double);

}  // namespace
}  // namespace dygraph::graph
