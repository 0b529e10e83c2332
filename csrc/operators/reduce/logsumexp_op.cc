#include "kernels/math.h"
#include "kernels/softmax.h"
#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/reduce/reduction.h"

namespace dygraph::reduce {
namespace {

struct LogsumexpAttrs {
  std::vector<int32_t> axis = {0};
  bool keepdim = false;
  bool reduce_all = false;
};

ReduceAttrs AsReduce(const LogsumexpAttrs& a) {
  ReduceAttrs r;
  r.dim = a.axis;
  r.keep_dim = a.keepdim;
  r.reduce_all = a.reduce_all;
  return r;
}

void DefineLogsumexp(OpDef& op) {
  op.Comment(
        "Out = log(sum(exp(X))) over the axes, without overflow. Of nothing, or of -inf alone, it "
        "is -inf.")
      .Example(
          ">>> round(F.logsumexp(to_variable([1000.0, 1000.0])).item(), 3)  # 1000 + log(2)\n"
          "1000.693")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X without the axes; [] where none is left")
      .Attr(&LogsumexpAttrs::axis, "axis", "axes to reduce; an empty list means all")
      .Attr(&LogsumexpAttrs::keepdim, "keepdim", "keep reduced axes as ones")
      .Attr(&LogsumexpAttrs::reduce_all, "reduce_all", "reduce all axes, whatever axis says")
      .ShareLoD(kX)
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOut, ReducedDims(ctx.dims(kX), AsReduce(ctx.attrs<LogsumexpAttrs>())));
      })
      .Grad(CallGradient);
}

// Whether the reduced axes lie side by side: then X is [outer, n, inner].
bool AsRows(const Dims& dims, const Axes& axes, kernels::SoftmaxShape* shape) {
  *shape = {1, 1, 1};
  bool begun = false, ended = false;
  for (int i = 0; i < dims.rank(); ++i) {
    if (dims[i] == 0) return false;
    if (dims[i] == 1) continue;
    if (axes.reduced[i]) {
      if (ended) return false;
      begun = true;
      shape->n *= dims[i];
    } else if (begun) {
      ended = true;
      shape->inner *= dims[i];
    } else {
      shape->outer *= dims[i];
    }
  }
  return true;
}

template <class T>
struct LogsumexpKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const T* from = x.data<T>();
    T* to = ctx.Out(kOut).mutable_data<T>();
    Axes axes(x.rank(), AsReduce(ctx.attrs<LogsumexpAttrs>()));
    kernels::SoftmaxShape shape;
    if (AsRows(x.dims(), axes, &shape)) return kernels::LogSumExp(from, shape, to);
    const T inf = std::numeric_limits<T>::infinity();
    ForEachResult(
        x.dims(), axes,
        [=] DYGRAPH_FN(int64_t o, int64_t first, const Elements& elements, kernels::Team team) {
          const Elements* at = &elements;
          T most = kernels::Fold(
              team, at->count, -inf, [=](int64_t i) { return from[first + (*at)[i]]; },
              [](T a, T b) { return b > a ? b : a; });
          if (most == inf) most = 0;  // exp(inf) is inf, inf - inf is not
          const T base = most == -inf ? T(0) : most;
          const double total = kernels::Fold(
              team, at->count, 0.0,
              [=](int64_t i) {
                return static_cast<double>(kernels::Exp(from[first + (*at)[i]] - base));
              },
              kernels::Sum());
          team.Once([=] { to[o] = base + static_cast<T>(kernels::Log(total)); });
        });
  }
};

namespace grad {
constexpr int kX = 0, kOut = 1, kOutGrad = 2, kXGrad = 0;

// X@GRAD = p Out@GRAD with p = exp(X - Out). With W arriving, t = W p Out@GRAD goes to X and
// -sum(t) to Out; Out@GRAD gets sum(W p).
void LogsumexpGradRecipe(GradBuilder& g) {
  RecipeRef x = g.Input(kX), out = g.Input(kOut), dout = g.Input(kOutGrad);
  RecipeRef w = g.OutputGrad(kXGrad), ones = g.Temp(), p = g.Temp(), share = g.Temp();
  auto sum = [&](RecipeRef terms, RecipeRef to) {
    g.Call("reduce_sum", {terms}, {to}).AttrsFrom([](const void* forward, void* backward) {
      *static_cast<ReduceAttrs*>(backward) = AsReduce(*static_cast<const LogsumexpAttrs*>(forward));
    });
  };
  g.Call("fill_any_like", {g.InputShape(kOutGrad)}, {ones}).Attr("value", 1.0f);
  g.Call("logsumexp_grad", {x, out, ones}, {p}).SameAttrs();
  sum(g.Apply("elementwise_mul", {w, p}), g.InputGrad(kOutGrad));
  g.Call("logsumexp_grad", {x, out, dout}, {share}).SameAttrs();
  RecipeRef total = g.Temp();
  sum(g.Apply("elementwise_mul", {w, share}), total);
  g.Call("scale", {total}, {g.InputGrad(kOut)}).Attr("scale", -1.0f);
  g.Call("elementwise_mul", {w, share}, {g.InputGrad(kX)});
}

void DefineLogsumexpGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD * exp(X - Out), repeated along the reduced axes.")
      .Input(kX, "X", "input of logsumexp")
      .Input(kOut, "Out", "its result")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("logsumexp")
      .SameShape(kX, kXGrad)
      .Grad(LogsumexpGradRecipe);
}

template <class T>
struct LogsumexpGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    if (x.numel() == 0) return;
    const T *from = x.data<T>(), *out = ctx.In(kOut).data<T>(), *g = ctx.In(kOutGrad).data<T>();
    T* to = ctx.Out(kXGrad).mutable_data<T>();
    Axes axes(x.rank(), AsReduce(ctx.attrs<LogsumexpAttrs>()));
    kernels::SoftmaxShape shape;
    if (AsRows(x.dims(), axes, &shape)) return kernels::LogSumExpGrad(from, out, g, shape, to);
    ForEachResult(
        x.dims(), axes,
        [=] DYGRAPH_FN(int64_t o, int64_t first, const Elements& elements, kernels::Team team) {
          const Elements* at = &elements;
          const T base = out[o] == -std::numeric_limits<T>::infinity() ? T(0) : out[o];
          team.Each(at->count, [=](int64_t i) {
            const int64_t e = first + (*at)[i];
            to[e] = g[o] * kernels::Exp(from[e] - base);
          });
        });
  }
};
}  // namespace grad

REGISTER_OPERATOR(logsumexp, DefineLogsumexp);
REGISTER_LOD_RULE(logsumexp, [](const LoDCall& c) {
  return !Axes(c.from.rank(), AsReduce(c.attrs<LogsumexpAttrs>())).reduced[0];
});
REGISTER_KERNELS(logsumexp, LogsumexpKernel, float, double);
REGISTER_OPERATOR(logsumexp_grad, grad::DefineLogsumexpGrad);
REGISTER_KERNELS(logsumexp_grad, grad::LogsumexpGradKernel, float, double);

}  // namespace
}  // namespace dygraph::reduce
