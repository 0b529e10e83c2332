#include "operators/graph/messages.h"

namespace dygraph::graph {
namespace {

constexpr int kX = 0, kSrcIndex = 1, kDstIndex = 2, kOutSize = 3, kOut = 0, kDstCount = 1;

struct GraphSendRecvAttrs {
  std::string reduce_op = "SUM";
  std::vector<int64_t> out_size{0};
};

void InferShape(InferContext& ctx) {
  Dims out = ctx.dims(kX);
  ENFORCE(!out.empty(), InvalidArgument, "X must have rows, got shape []");
  CheckEnds(ctx, kSrcIndex, kDstIndex);
  out[0] = OutRows(ctx, kOutSize, ctx.attrs<GraphSendRecvAttrs>().out_size, out[0]);
  ctx.SetOutput(kOut, out, ctx.dtype(kX));
  ctx.SetOutput(kDstCount, {out[0]}, DType::kInt32);
}

void DefineGraphSendRecv(OpDef& op) {
  op.Comment(
        "Out[k] = the SUM, MEAN, MAX or MIN of the rows X[Src_index[e]] of all edges e with "
        "Dst_index[e] = k, 0 where there is none: one step of messages in a graph.")
      .Example(
          ">>> x = to_variable([[1.0], [2.0], [4.0]])\n"
          ">>> source, target = to_variable([0, 1, 2]), to_variable([1, 1, 0])\n"
          ">>> F.graph_send_recv(x, source, target).tolist()\n"
          "[[4.0], [3.0], [0.0]]")
      .Input(kX, "X", "[nodes, ...]")
      .Input(kSrcIndex, "Src_index", "[edges], int32 or int64: where each begins")
      .Input(kDstIndex, "Dst_index", "[edges], int32 or int64: where each ends")
      .Input(kOutSize, "Out_size", "one integer, in place of out_size", kDispensable | kOnHost)
      .Output(kOut, "Out", "[out_size, ...]")
      .Output(kDstCount, "Dst_count", "[out_size], int32: the edges that end there", kIntermediate)
      .Attr(&GraphSendRecvAttrs::reduce_op, "reduce_op", "SUM, MEAN, MAX or MIN",
            OneOf({"SUM", "MEAN", "MAX", "MIN"}))
      .Attr(&GraphSendRecvAttrs::out_size, "out_size", "rows of Out; 0: as many as X has")
      .Shape(InferShape)
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        const std::string& pool = g.attrs<GraphSendRecvAttrs>().reduce_op;
        const bool values = IsExtreme(PoolOf(pool));
        RecipeRef carried;
        if (values) carried = g.Apply("index_select", {g.Input(kX), g.Input(kSrcIndex)});
        RecipeRef arriving =
            ArrivingGrad(g, pool, carried, g.Input(kDstIndex),
                         values ? g.Output(kOut) : RecipeRef(), g.OutputGrad(kOut));
        g.Call("index_select_grad", {g.InputShape(kX), g.Input(kSrcIndex), arriving},
               {g.InputGrad(kX)});
      });
}

// The rows of X where edges begin.
template <class T>
struct SentRows {
  const T* x;
  const int64_t* begins;
  int64_t width;
  DYGRAPH_INLINE T At(int64_t e, int64_t j) const { return x[begins[e] * width + j]; }
  const T* Row(int64_t e, T*) const { return x + begins[e] * width; }
};

template <class T>
struct GraphSendRecvKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    Tensor &out = ctx.Out(kOut), *counts = ctx.OutOrNull(kDstCount);
    const int64_t width = Numel(x.dims(), 1, x.rank());
    const indexing::IndexList src = Nodes(ctx, kSrcIndex, x.dim(0));
    const indexing::IndexList dst = Nodes(ctx, kDstIndex, out.dim(0));
    const Arrivals arrivals(dst, out.dim(0));
    PoolRows<T>(PoolOf(ctx.attrs<GraphSendRecvAttrs>().reduce_op), arrivals, width,
                SentRows<T>{x.data<T>(), src.data, width}, out.mutable_data<T>());
    if (counts) CountArrivals(arrivals, counts->mutable_data<int32_t>());
  }
};

REGISTER_OPERATOR(graph_send_recv, DefineGraphSendRecv);
REGISTER_KERNELS(graph_send_recv, GraphSendRecvKernel, int32_t, int64_t, float, double);

}  // namespace
}  // namespace dygraph::graph
