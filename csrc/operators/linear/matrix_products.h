// What matmul, matmul_v2 and bmm share: products of stacks of matrices and their gradients.
#pragma once

#include "kernels/elementwise.h"
#include "kernels/integer.h"
#include "kernels/loops.h"
#include "kernels/matmul.h"
#include "kernels/matmul_stack.h"
#include "op/op_registry.h"

namespace dygraph::matmul {

// A product of two stacks of matrices: out[i] [m, n] = op(x[...]) [m, k] * op(y[...]) [k, n].
struct Product {
  int64_t m, n, k;
  bool trans_x, trans_y;  // 1-D operands are never transposed
  Dims batch, x_batch, y_batch;
  int64_t ldx() const { return trans_x ? m : k; }
  int64_t ldy() const { return trans_y ? k : n; }
};

inline Product Describe(const Dims& x, const Dims& y, bool trans_x, bool trans_y) {
  ENFORCE(x.rank() > 0 && y.rank() > 0, InvalidArgument,
          "X and Y must have at least one axis, got X ", x, " and Y ", y);
  Product p;
  p.trans_x = trans_x && x.rank() > 1;
  p.trans_y = trans_y && y.rank() > 1;
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

// Calls f(i, matrix of x, matrix of y) for the matrices begin <= i < end of the result.
template <class F>
void Matrices(const Product& p, int64_t begin, int64_t end, const F& f) {
  for (int64_t i = begin; i < end; ++i) {
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

// Strides in matrices of an operand with the leading axes `of` over the axes `batch`.
inline Dims StridesIn(const Dims& of, const Dims& batch) {
  Dims strides;
  int64_t* const first = strides.Extend(batch.size());
  int64_t* to = first + batch.rank();
  int64_t stride = 1;
  for (const int64_t* size = of.end(); size != of.begin();) {
    --size;
    *--to = *size != 1 ? stride : 0;
    stride *= *size;
  }
  std::fill(first, to, int64_t{0});
  return strides;
}

// x's strides, y's and the result's over the leading axes; these are one axis where none
// broadcasts.
inline kernels::MatrixStack StackOf(const Product& p) {
  if (p.x_batch == p.batch && p.y_batch == p.batch) return {{Numel(p.batch)}, {1}, {1}, {1}};
  return {p.batch, StridesIn(p.x_batch, p.batch), StridesIn(p.y_batch, p.batch),
          StridesIn(p.batch, p.batch)};
}

template <class T>
void Multiply(const Product& p, kernels::Wide<T> alpha, const T* xd, const T* yd, T* od) {
  int64_t count = Numel(p.batch);
  if (count * p.m * p.n == 0) return;
  // one matrix on the right: the stack on the left is one tall matrix
  if (p.y_batch.empty() && !p.trans_x) {
    return kernels::MatMul<T>(false, p.trans_y, count * p.m, p.n, p.k, alpha, xd, p.k, yd, p.ldy(),
                              T(0), od, p.n);
  }
  kernels::MatMulStack<T>(StackOf(p), {p.trans_x, p.trans_y, p.m, p.n, p.k, alpha, xd, p.ldx(), yd,
                                       p.ldy(), T(0), od, p.n});
}

// The product of integers, which wraps. No library has it and networks do not need it fast: rows of
// the result are sums of rows of y, so that the inner loop is over neighbours where y is plain.
template <class T>
void MultiplyIntegers(const Product& p, const T* xd, const T* yd, T* od) {
  Matrices(p, 0, Numel(p.batch), [&](int64_t i, int64_t xi, int64_t yi) {
    const T *x = xd + xi * p.m * p.k, *y = yd + yi * p.k * p.n;
    T* out = od + i * p.m * p.n;
    const int64_t x_row = p.trans_x ? 1 : p.k, x_step = p.trans_x ? p.m : 1;
    const int64_t y_row = p.trans_y ? 1 : p.n, y_step = p.trans_y ? p.k : 1;
    const int64_t n = p.n, k = p.k;
    kernels::ForEachRow(
        p.m, n,
        [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
          T* row = out + r * n;
          team.Each(n, [=](int64_t c) { row[c] = T(0); });
          for (int64_t i = 0; i < k; ++i) {
            const T factor = x[r * x_row + i * x_step];
            const T* from = y + i * y_row;
            team.Each(n, [=](int64_t c) {
              row[c] = kernels::Plus(row[c], kernels::Times(factor, from[c * y_step]));
            });
          }
        },
        k);
  });
}

template <class T>
void Narrow(const kernels::Wide<T>* from, int64_t n, T* to) {
  kernels::Map(from, to, n, [] DYGRAPH_FN(kernels::Wide<T> v) { return v; });
}

// products(to) writes them to `out`, or where they are `added` adds them to zeros, in floats for an
// `out` of 16 bits.
template <class T, class F>
void WriteProducts(Tensor* out, bool added, const F& products) {
  using W = kernels::Wide<T>;
  const int64_t n = out->numel();
  T* to = out->mutable_data<T>();
  if (!added) return products(to);
  if constexpr (std::is_same_v<T, W>) {
    kernels::Fill(to, n, T(0));
    products(to);
  } else {
    Scratch room(out->place(), static_cast<size_t>(n) * sizeof(W));
    W* sums = room.as<W>();
    kernels::Fill(sums, n, W(0));
    products(sums);
    Narrow(sums, n, to);
  }
}

// The gradients that are asked for, from that of the product; x is read for that of y and the
// reverse.
template <class T>
void MultiplyGrad(Product p, kernels::Wide<T> alpha, const Tensor& x, const Tensor& y, const T* g,
                  Tensor* x_grad, Tensor* y_grad) {
  using W = kernels::Wide<T>;
  bool one_right = p.y_batch.empty() && !p.trans_x;
  if (one_right) {
    p.m *= Numel(p.batch);
    p.batch.clear();
    p.x_batch.clear();
  }
  const kernels::MatrixStack at = StackOf(p);
  const bool empty = p.m * p.n * p.k == 0;
  if (x_grad) {
    const T* yd = y.data<T>();
    const bool added = Numel(p.x_batch) != Numel(p.batch) || empty;
    WriteProducts<T>(x_grad, added, [&](auto* to) {
      using Stacked = kernels::StackedProduct<T, std::remove_pointer_t<decltype(to)>>;
      if (p.trans_x) {
        kernels::MatMulStack<T>(
            {at.dims, at.b, at.c, at.a},
            Stacked{p.trans_y, true, p.k, p.m, p.n, alpha, yd, p.ldy(), g, p.n, W(added), to, p.m});
      } else {
        kernels::MatMulStack<T>({at.dims, at.c, at.b, at.a},
                                Stacked{false, !p.trans_y, p.m, p.k, p.n, alpha, g, p.n, yd,
                                        p.ldy(), W(added), to, p.k});
      }
    });
  }
  if (y_grad) {
    const T* xd = x.data<T>();
    const bool added = Numel(p.y_batch) != Numel(p.batch) || empty;
    WriteProducts<T>(y_grad, added, [&](auto* to) {
      using Stacked = kernels::StackedProduct<T, std::remove_pointer_t<decltype(to)>>;
      if (p.trans_y) {
        kernels::MatMulStack<T>(
            {at.dims, at.c, at.a, at.b},
            Stacked{true, p.trans_x, p.n, p.k, p.m, alpha, g, p.n, xd, p.ldx(), W(added), to, p.k});
      } else {
        kernels::MatMulStack<T>({at.dims, at.a, at.c, at.b},
                                Stacked{!p.trans_x, false, p.k, p.n, p.m, alpha, xd, p.ldx(), g,
                                        p.n, W(added), to, p.n});
      }
    });
  }
}

inline void InferGradShape(InferContext& ctx) {
  ctx.SetOutput(0, ctx.dims(0), ctx.dtype(0));
  ctx.SetOutput(1, ctx.dims(1), ctx.dtype(1));
}

// Recipes of an operator Out = f(X, Y) linear in either, and of its gradient operator, whose slots
// are X, Y, Out@GRAD and X@GRAD, Y@GRAD.
inline void BilinearGrad(GradBuilder& g, const char* grad_type) {
  g.Call(grad_type,
         {g.Wants(1) ? g.Input(0) : g.InputShape(0), g.Wants(0) ? g.Input(1) : g.InputShape(1),
          g.OutputGrad(0)},
         {g.InputGrad(0), g.InputGrad(1)})
      .SameAttrs();
}
inline void BilinearGradGrad(GradBuilder& g, const char* type, const char* grad_type) {
  RecipeRef ddx = g.OutputGrad(0), ddy = g.OutputGrad(1);
  RecipeRef a = g.Temp(), b = g.Temp();
  g.Call(type, {ddx, g.Input(1)}, {a}).SameAttrs();
  g.Call(type, {g.Input(0), ddy}, {b}).SameAttrs();
  g.Call("sum", {RecipeSlot({a, b})}, {g.InputGrad(2)});
  g.Call(grad_type, {g.InputShape(0), ddy, g.Input(2)}, {g.InputGrad(0), {}}).SameAttrs();
  g.Call(grad_type, {ddx, g.InputShape(1), g.Input(2)}, {{}, g.InputGrad(1)}).SameAttrs();
}

}  // namespace dygraph::matmul
