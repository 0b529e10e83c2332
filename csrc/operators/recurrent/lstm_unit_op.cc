#include "op/gradient_call.h"
#include "operators/recurrent/recurrent_higher.h"

namespace dygraph::recurrent {
namespace {

constexpr int kX = 0, kCPrev = 1, kC = 0, kH = 1;

struct LstmUnitAttrs {
  double forget_bias = 0.0;
};

void CheckInputs(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &c = ctx.dims(kCPrev);
  ENFORCE(x.rank() == 2 && c.rank() == 2, InvalidArgument,
          "X and C_prev must be matrices [rows, 4 * D] and [rows, D], got ", x, " and ", c);
  ENFORCE(x[0] == c[0] || !BothKnown(x[0], c[0]), InvalidArgument,
          "X and C_prev must have as many rows, got ", x, " and ", c);
  ENFORCE(x[1] == 4 * c[1] || !BothKnown(x[1], c[1]), InvalidArgument,
          "X must be 4 times as wide as C_prev, for i, f, o and g, got ", x, " and ", c);
}

void DefineLstmUnit(OpDef& op) {
  op.Comment(
        "With X = i, f, o, g side by side: C = sigmoid(f + forget_bias) C_prev + sigmoid(i) "
        "tanh(g), H = sigmoid(o) tanh(C).")
      .Example(
          ">>> c, h = F.lstm_unit(to_variable([[0.0, 0.0, 0.0, 0.0]]), to_variable([[2.0]]))\n"
          ">>> c.tolist(), round(h.item(), 4)  # 2 / 2, tanh(1) / 2\n"
          "([[1.0]], 0.3808)")
      .Input(kX, "X", "[rows, 4 * D], the gates before their activations")
      .Input(kCPrev, "C_prev", "[rows, D], the cells before")
      .Output(kC, "C", "[rows, D]")
      .Output(kH, "H", "[rows, D]")
      .Attr(&LstmUnitAttrs::forget_bias, "forget_bias", "added to f")
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        ctx.SetOutput(kC, ctx.dims(kCPrev));
        ctx.SetOutput(kH, ctx.dims(kCPrev));
      })
      .Grad(CallGradient);
}

// One element: its four gates lie D apart.
template <class V>
struct Unit {
  DYGRAPH_INLINE Unit(const V& xi, const V& xf, const V& xo, const V& xg, const V& before)
      : i(kernels::Sigmoid(xi)),
        f(kernels::Sigmoid(xf)),
        o(kernels::Sigmoid(xo)),
        g(kernels::Tanh(xg)),
        c_before(before) {
    c = f * c_before + i * g;
    y = kernels::Tanh(c);
  }
  // d[0..3] for i, f, o, g; d[4] for C_prev
  DYGRAPH_INLINE void Backward(const V& d_c, const V& d_h, V (&d)[5]) const {
    V one(1);
    V dc = d_c + d_h * o * (one - y * y);
    d[0] = dc * g * i * (one - i);
    d[1] = dc * c_before * f * (one - f);
    d[2] = d_h * y * o * (one - o);
    d[3] = dc * i * (one - g * g);
    d[4] = dc * f;
  }
  V i, f, o, g, c_before, c, y;
};

template <class T>
struct LstmUnitKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& before = ctx.In(kCPrev);
    int64_t width = before.dim(1);
    T bias = static_cast<T>(ctx.attrs<LstmUnitAttrs>().forget_bias);
    const T *x = ctx.In(kX).data<T>(), *c0 = before.data<T>();
    T *c = ctx.Out(kC).mutable_data<T>(), *h = ctx.Out(kH).mutable_data<T>();
    kernels::EachInRows<T>(
        before.dim(0), width,
        [=] DYGRAPH_FN(int64_t r, int64_t j) {
          const T* row = x + r * 4 * width;
          Unit<T> unit(row[j], row[width + j] + bias, row[2 * width + j], row[3 * width + j],
                       c0[r * width + j]);
          c[r * width + j] = unit.c;
          h[r * width + j] = unit.o * unit.y;
        },
        60);
  }
};

namespace grad {
constexpr int kCGrad = 2, kHGrad = 3;

OpDef& AddInputs(OpDef& op) {
  return op.Input(kX, "X", "as in lstm_unit")
      .Input(kCPrev, "C_prev", "as in lstm_unit")
      .Input(kCGrad, "C@GRAD", "shape of C", kDispensable)
      .Input(kHGrad, "H@GRAD", "shape of H", kDispensable);
}

void InferGradShape(InferContext& ctx) {
  CheckInputs(ctx);
  const Dims& c = ctx.dims(kCPrev);
  for (int slot : {kCGrad, kHGrad}) CheckShape(ctx, slot, {c[0], c[1]}, "of C_prev");
  ctx.SetOutput(kX, ctx.dims(kX));
  ctx.SetOutput(kCPrev, c);
}

void DefineLstmUnitGrad(OpDef& op) {
  AddInputs(op.Comment("The gradients of lstm_unit."))
      .Output(kX, "X@GRAD", "shape of X")
      .Output(kCPrev, "C_prev@GRAD", "shape of C_prev")
      .AttrsOf("lstm_unit")
      .Shape(InferGradShape)
      .Grad(CallGradient);
}

template <class T>
const T* DataOrNull(const KernelContext& ctx, int slot) {
  const Tensor* t = ctx.InOrNull(slot);
  return t ? t->data<T>() : nullptr;
}

template <class T>
DYGRAPH_INLINE T At(const T* x, int64_t i) {
  return x ? x[i] : T(0);
}

template <class T>
struct LstmUnitGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& before = ctx.In(kCPrev);
    int64_t width = before.dim(1);
    T bias = static_cast<T>(ctx.attrs<LstmUnitAttrs>().forget_bias);
    const T *x = ctx.In(kX).data<T>(), *c0 = before.data<T>();
    const T *up_c = DataOrNull<T>(ctx, kCGrad), *up_h = DataOrNull<T>(ctx, kHGrad);
    Tensor *to_x = ctx.OutOrNull(kX), *to_c = ctx.OutOrNull(kCPrev);
    T *dx = to_x ? to_x->mutable_data<T>() : nullptr,
      *dc = to_c ? to_c->mutable_data<T>() : nullptr;
    kernels::EachInRows<T>(
        before.dim(0), width,
        [=] DYGRAPH_FN(int64_t r, int64_t j) {
          const T* row = x + r * 4 * width;
          const int64_t k = r * width + j;
          Unit<T> unit(row[j], row[width + j] + bias, row[2 * width + j], row[3 * width + j],
                       c0[k]);
          T d[5];
          unit.Backward(At(up_c, k), At(up_h, k), d);
          for (int q = 0; dx && q < 4; ++q) dx[r * 4 * width + q * width + j] = d[q];
          if (dc) dc[k] = d[4];
        },
        80);
  }
};
}  // namespace grad

// In dual numbers along the incoming directions, see kernels/dual.h.
namespace grad_grad {
constexpr int kCGrad = 2, kHGrad = 3, kAlongX = 4, kAlongC = 5;

void DefineLstmUnitGradGrad(OpDef& op);

struct LstmUnitThird {
  static constexpr uint32_t kServes = higher::kAllSlots;
  static void Define(OpDef& op) { DefineLstmUnitGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) {
    return {{kX, kAlongX, kX}, {kCPrev, kAlongC, kCPrev}};
  }
  static std::vector<higher::Result> Results(const KernelContext&) {
    return {{kCGrad, kCGrad}, {kHGrad, kHGrad}};
  }
  static void Run(higher::Problem& p) {
    const Dims& before = p.ctx.In(kCPrev).dims();
    const double bias = NumberFor(p.ctx.In(kX).dtype(), p.ctx.attrs<LstmUnitAttrs>().forget_bias);
    for (int64_t i = 0; i < Numel(before); ++i) {
      const int64_t row = i / before[1] * 4 * before[1], j = i % before[1];
      auto x = [&](int gate) { return p.Leaf(0, row + gate * before[1] + j); };
      Scalar c = Sigmoid(x(1) + bias) * p.Leaf(1, i) + Sigmoid(x(0)) * Tanh(x(3));
      p.Set(0, i, c);
      p.Set(1, i, Sigmoid(x(2)) * Tanh(c));
      p.Flush();
    }
  }
};

void DefineLstmUnitGradGrad(OpDef& op) {
  grad::AddInputs(op.Comment("The gradients of lstm_unit_grad, by dual numbers."))
      .Input(kAlongX, "X@GRAD@GRAD", "shape of X", kDispensable)
      .Input(kAlongC, "C_prev@GRAD@GRAD", "shape of C_prev", kDispensable)
      .Output(kX, "X@GRAD", "shape of X")
      .Output(kCPrev, "C_prev@GRAD", "shape of C_prev")
      .Output(kCGrad, "C@GRAD@GRAD", "shape of C")
      .Output(kHGrad, "H@GRAD@GRAD", "shape of H")
      .AttrsOf("lstm_unit")
      .Shape([](InferContext& ctx) {
        grad::InferGradShape(ctx);
        CheckShape(ctx, kAlongX, {ctx.dims(kX)[0], ctx.dims(kX)[1]}, "of X");
        CheckShape(ctx, kAlongC, {ctx.dims(kCPrev)[0], ctx.dims(kCPrev)[1]}, "of C_prev");
        ctx.SetOutput(kCGrad, ctx.dims(kCPrev));
        ctx.SetOutput(kHGrad, ctx.dims(kCPrev));
      })
      .Grad(higher::Recipe<LstmUnitThird>);
}

template <class T>
struct LstmUnitGradGradKernel {
  static void Compute(KernelContext& ctx) {
    using V = Dual<T>;
    const Place place = ctx.place();
    const Tensor &x = ctx.In(kX), &before = ctx.In(kCPrev);
    const int64_t width = before.dim(1);
    const T bias = static_cast<T>(ctx.attrs<LstmUnitAttrs>().forget_bias);
    const T *x_at = x.data<T>(), *along_x = grad::DataOrNull<T>(ctx, kAlongX);
    const T *c0 = before.data<T>(), *along_c = grad::DataOrNull<T>(ctx, kAlongC);
    const T *up_c = grad::DataOrNull<T>(ctx, kCGrad), *up_h = grad::DataOrNull<T>(ctx, kHGrad);
    Numbers<V> to_x(place, x.numel()), to_before(place, before.numel()),
        to_c(place, before.numel()), to_h(place, before.numel());
    V *dx = to_x.data(), *dc = to_before.data(), *c = to_c.data(), *h = to_h.data();
    kernels::ForEach(
        before.numel(),
        [=] DYGRAPH_FN(int64_t k) {
          const int64_t at = k / width * 4 * width + k % width;
          auto gate = [=](int q) { return Number<V>(x_at, along_x, at + q * width); };
          Unit<V> unit(gate(0), gate(1) + V(bias), gate(2), gate(3), Number<V>(c0, along_c, k));
          V d[5];
          unit.Backward(V(grad::At(up_c, k)), V(grad::At(up_h, k)), d);
          for (int q = 0; q < 4; ++q) dx[at + q * width] = d[q];
          dc[k] = d[4];
          c[k] = unit.c;
          h[k] = unit.o * unit.y;
        },
        100);
    auto write = [&](int slot, const Numbers<V>& v) {
      if (Tensor* out = ctx.OutOrNull(slot))
        Write(v.data(), out->numel(), out->template mutable_data<T>(), true);
    };
    write(kX, to_x);
    write(kCPrev, to_before);
    write(kCGrad, to_c);
    write(kHGrad, to_h);
  }
};
}  // namespace grad_grad
using grad_grad::LstmUnitThird;

REGISTER_OPERATOR(lstm_unit, DefineLstmUnit);
REGISTER_KERNELS(lstm_unit, LstmUnitKernel, float, double);
REGISTER_OPERATOR(lstm_unit_grad, grad::DefineLstmUnitGrad);
REGISTER_KERNELS(lstm_unit_grad, grad::LstmUnitGradKernel, float, double);
REGISTER_OPERATOR(lstm_unit_grad_grad, grad_grad::DefineLstmUnitGradGrad);
REGISTER_KERNELS(lstm_unit_grad_grad, grad_grad::LstmUnitGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(lstm_unit_grad_grad, LstmUnitThird);

}  // namespace
}  // namespace dygraph::recurrent
