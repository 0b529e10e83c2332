#include "kernels/elementwise.h"
#include "kernels/matmul.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0;

struct MatmulV2Attrs {
  bool trans_x = false;
  bool trans_y = false;
};

// A product of two stacks of matrices: out[i] [m, n] = op(x[...]) [m, k] * op(y[...]) [k, n].
struct Product {
  int64_t m, n, k;
  bool trans_x, trans_y;  // 1-D operands are never transposed
  Dims batch, x_batch, y_batch;
  int64_t ldx() const { return trans_x ? m : k; }
  int64_t ldy() const { return trans_y ? k : n; }
};

Product Describe(const Dims& x, const Dims& y, const MatmulV2Attrs& a) {
  ENFORCE(x.rank() > 0 && y.rank() > 0, InvalidArgument,
          "X and Y must have at least one axis, got X ", x, " and Y ", y);
  Product p;
  p.trans_x = a.trans_x && x.rank() > 1;
  p.trans_y = a.trans_y && y.rank() > 1;
  int64_t kx, ky;
  if (x.rank() == 1) {
    p.m = 1;
    kx = x[0];
  } else {
    p.m = x[x.rank() - (p.trans_x ? 1 : 2)];
    kx = x[x.rank() - (p.trans_x ? 2 : 1)];
    p.x_batch.Append(x.begin(), x.end() - 2);
  }
  if (y.rank() == 1) {
    p.n = 1;
    ky = y[0];
  } else {
    p.n = y[y.rank() - (p.trans_y ? 2 : 1)];
    ky = y[y.rank() - (p.trans_y ? 1 : 2)];
    p.y_batch.Append(y.begin(), y.end() - 2);
  }
  ENFORCE(kx == ky || !BothKnown(kx, ky), InvalidArgument, "the inner sizes of X ", x, " and Y ", y,
          " must be equal, got ", kx, " and ", ky);
  p.k = kx < 0 ? ky : kx;
  if (!p.x_batch.empty() || !p.y_batch.empty()) p.batch = BroadcastDims(p.x_batch, p.y_batch);
  return p;
}

void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &y = ctx.dims(kY);
  Product p = Describe(x, y, ctx.attrs<MatmulV2Attrs>());
  Dims out = p.batch;
  if (x.rank() > 1) out.push_back(p.m);
  if (y.rank() > 1) out.push_back(p.n);
  ctx.SetOutput(kOut, out);
}

// Calls f(i, matrix of x, matrix of y) for every matrix of the result.
template <class F>
void ForEachMatrix(const Product& p, F f) {
  int64_t count = Numel(p.batch);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, xi = 0, yi = 0, x_stride = 1, y_stride = 1;
    for (int d = p.batch.rank() - 1; d >= 0; --d) {
      int64_t at = rest % p.batch[d];
      rest /= p.batch[d];
      int xd = d - (p.batch.rank() - p.x_batch.rank()),
          yd = d - (p.batch.rank() - p.y_batch.rank());
      if (xd >= 0) {
        if (p.x_batch[xd] != 1) xi += at * x_stride;
        x_stride *= p.x_batch[xd];
      }
      if (yd >= 0) {
        if (p.y_batch[yd] != 1) yi += at * y_stride;
        y_stride *= p.y_batch[yd];
      }
    }
    f(i, xi, yi);
  }
}

void DefineMatmulV2(OpDef& op) {
  op.Comment(
        "Out = op(X) op(Y), the matrix product over the last two axes, op transposing where "
        "trans_x, trans_y. Leading axes "
        "broadcast; a 1-D operand is a row on the left and a column on the right, as in NumPy's "
        "matmul.")
      .Input(kX, "X", "[..., m, k] or [k]")
      .Input(kY, "Y", "[..., k, n] or [k]")
      .Output(kOut, "Out", "[..., m, n]")
      .Attr(&MatmulV2Attrs::trans_x, "trans_x", "transpose the last two axes of X first")
      .Attr(&MatmulV2Attrs::trans_y, "trans_y", "transpose the last two axes of Y first")
      .Shape(InferShape)
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        g.Call("matmul_v2_grad",
               {g.Wants(kY) ? g.Input(kX) : g.InputShape(kX),
                g.Wants(kX) ? g.Input(kY) : g.InputShape(kY), g.OutputGrad(kOut)},
               {g.InputGrad(kX), g.InputGrad(kY)})
            .SameAttrs();
      });
}

template <class T>
struct MatmulV2Kernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    Tensor& out = ctx.Out(kOut);
    Product p = Describe(x.dims(), y.dims(), ctx.attrs<MatmulV2Attrs>());
    const T *xd = x.data<T>(), *yd = y.data<T>();
    T* od = out.mutable_data<T>();
    if (out.numel() == 0) return;
    // one matrix on the right: the stack on the left is one tall matrix
    if (p.y_batch.empty() && !p.trans_x) {
      return kernels::MatMul<T>(false, p.trans_y, out.numel() / p.n, p.n, p.k, T(1), xd, p.k, yd,
                                p.ldy(), T(0), od, p.n);
    }
    ForEachMatrix(p, [&](int64_t i, int64_t xi, int64_t yi) {
      kernels::MatMul<T>(p.trans_x, p.trans_y, p.m, p.n, p.k, T(1), xd + xi * p.m * p.k, p.ldx(),
                         yd + yi * p.k * p.n, p.ldy(), T(0), od + i * p.m * p.n, p.n);
    });
  }
};

namespace grad {
constexpr int kX = 0, kY = 1, kOutGrad = 2, kXGrad = 0, kYGrad = 1;

void InferGradShape(InferContext& ctx) {
  ctx.SetOutput(kXGrad, ctx.dims(kX), ctx.dtype(kX));
  ctx.SetOutput(kYGrad, ctx.dims(kY), ctx.dtype(kY));
}

void DefineMatmulV2Grad(OpDef& op) {
  op.Comment(
        "X@GRAD = Out@GRAD op(Y)^T and Y@GRAD = op(X)^T Out@GRAD, undoing the transpositions, "
        "summed over leading axes that were "
        "broadcast.")
      .Input(kX, "X", "its shape; its values for Y@GRAD")
      .Input(kY, "Y", "its shape; its values for X@GRAD")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kYGrad, "Y@GRAD", "shape of Y")
      .AttrsOf("matmul_v2")
      .Shape(InferGradShape)
      .KernelDTypeOf(kOutGrad)
      .Grad([](GradBuilder& g) {
        RecipeRef ddx = g.OutputGrad(kXGrad), ddy = g.OutputGrad(kYGrad);
        RecipeRef a = g.Temp(), b = g.Temp();
        g.Call("matmul_v2", {ddx, g.Input(kY)}, {a}).SameAttrs();
        g.Call("matmul_v2", {g.Input(kX), ddy}, {b}).SameAttrs();
        g.Call("sum", {RecipeSlot({a, b})}, {g.InputGrad(kOutGrad)});
        g.Call("matmul_v2_grad", {g.InputShape(kX), ddy, g.Input(kOutGrad)}, {g.InputGrad(kX), {}})
            .SameAttrs();
        g.Call("matmul_v2_grad", {ddx, g.InputShape(kY), g.Input(kOutGrad)}, {{}, g.InputGrad(kY)})
            .SameAttrs();
      });
}

template <class T>
struct MatmulV2GradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    const T* g = ctx.In(kOutGrad).data<T>();
    Product p = Describe(x.dims(), y.dims(), ctx.attrs<MatmulV2Attrs>());
    bool one_right = p.y_batch.empty() && !p.trans_x;
    if (one_right) {
      p.m *= Numel(p.batch);
      p.batch.clear();
      p.x_batch.clear();
    }
    if (Tensor* out = ctx.OutOrNull(kXGrad)) {
      const T* yd = y.data<T>();
      T* to = out->mutable_data<T>();
      bool added = Numel(p.x_batch) != Numel(p.batch) || p.m * p.n * p.k == 0;
      if (added) kernels::Fill(to, out->numel(), T(0));
      ForEachMatrix(p, [&](int64_t i, int64_t xi, int64_t yi) {
        const T *gi = g + i * p.m * p.n, *b = yd + yi * p.k * p.n;
        T* a = to + xi * p.m * p.k;
        if (p.trans_x) {
          kernels::MatMul<T>(p.trans_y, true, p.k, p.m, p.n, T(1), b, p.ldy(), gi, p.n, T(added), a,
                             p.m);
        } else {
          kernels::MatMul<T>(false, !p.trans_y, p.m, p.k, p.n, T(1), gi, p.n, b, p.ldy(), T(added),
                             a, p.k);
        }
      });
    }
    if (Tensor* out = ctx.OutOrNull(kYGrad)) {
      const T* xd = x.data<T>();
      T* to = out->mutable_data<T>();
      bool added = Numel(p.y_batch) != Numel(p.batch) || p.m * p.n * p.k == 0;
      if (added) kernels::Fill(to, out->numel(), T(0));
      ForEachMatrix(p, [&](int64_t i, int64_t xi, int64_t yi) {
        const T *gi = g + i * p.m * p.n, *a = xd + xi * p.m * p.k;
        T* b = to + yi * p.k * p.n;
        if (p.trans_y) {
          kernels::MatMul<T>(true, p.trans_x, p.n, p.k, p.m, T(1), gi, p.n, a, p.ldx(), T(added), b,
                             p.k);
        } else {
          kernels::MatMul<T>(!p.trans_x, false, p.k, p.n, p.m, T(1), a, p.ldx(), gi, p.n, T(added),
                             b, p.n);
        }
      });
    }
  }
};
}  // namespace grad

REGISTER_OPERATOR(matmul_v2, DefineMatmulV2);
REGISTER_CPU_KERNEL(matmul_v2, MatmulV2Kernel, float, double);
REGISTER_OPERATOR(matmul_v2_grad, grad::DefineMatmulV2Grad);
REGISTER_CPU_KERNEL(matmul_v2_grad, grad::MatmulV2GradKernel, float, double);

}  // namespace
}  // namespace dygraph
