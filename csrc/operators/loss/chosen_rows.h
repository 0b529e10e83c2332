// Losses that score an input against a few chosen rows of a table, as nce and hierarchical_sigmoid
// do: Out[i] = sum over the chosen classes c of f(X[i] . W[c] + Bias[c]). The classes and f depend
// on the operator; here are the sums and the two orders of gradients.
//
// A list of terms has Count(i), Row(i, k) and Value, Slope, Curve(i, k, z): f and its derivatives.
#pragma once

#include <cmath>

#include "operators/higher_gradient.h"

namespace dygraph::chosen_rows {

template <class T>
T Dot(const T* a, const T* b, int64_t n) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

template <class T>
struct Data {
  const T *x, *w, *bias;  // bias: nullptr for none
  int64_t rows, width, height;
  Data(const Tensor& x_in, const Tensor& w_in, const Tensor* bias_in)
      : x(x_in.data<T>()),
        w(w_in.data<T>()),
        bias(bias_in ? bias_in->data<T>() : nullptr),
        rows(x_in.dim(0)),
        width(x_in.dim(1)),
        height(w_in.dim(0)) {}
  T Score(int64_t i, int64_t row) const {
    return Dot(x + i * width, w + row * width, width) + (bias ? bias[row] : T(0));
  }
};

// X [N, D], W [C, D] and Bias [C, 1] or [C] agree.
inline void CheckTable(InferContext& ctx, int x_slot, int w_slot, int bias_slot) {
  const std::vector<SlotInfo>& slots = ctx.call().op->inputs;
  const Dims &x = ctx.dims(x_slot), &w = ctx.dims(w_slot);
  ENFORCE(x.rank() == 2, InvalidArgument, slots[x_slot].name, " must hold features [N, D], got ",
          "shape ", x);
  ENFORCE(w.rank() == 2 && (w[1] == x[1] || !BothKnown(w[1], x[1])), InvalidArgument,
          slots[w_slot].name, " must have the shape [rows, D] with the width of ",
          slots[x_slot].name, " ", x, ", got ", w);
  ENFORCE(ctx.dtype(w_slot) == ctx.dtype(x_slot), Type, slots[w_slot].name, " must be of the type ",
          "of ", slots[x_slot].name, ", ", ctx.dtype(x_slot), ", got ", ctx.dtype(w_slot));
  if (!ctx.HasInput(bias_slot)) return;
  const Dims& b = ctx.dims(bias_slot);
  ENFORCE(b.HasUnknown() || w[0] < 0 || Numel(b) == w[0], InvalidArgument,
          "Bias must hold one number for each row of ", slots[w_slot].name, " ", w, ", got shape ",
          b);
  ENFORCE(ctx.dtype(bias_slot) == ctx.dtype(x_slot), Type, "Bias must be of the type of ",
          slots[x_slot].name, ", ", ctx.dtype(x_slot), ", got ", ctx.dtype(bias_slot));
}

// Turns an output into selected rows before the kernel fills it in.
inline void MakeRows(InferContext& ctx, int out, const Dims& table, DType dtype) {
  Tensor none;
  none.SetMeta({0, table[1]}, dtype);
  if (Value* value = ctx.call().out.at(out))
    value->SetRows(MakeRef<SelectedRows>(std::vector<int64_t>(), table[0], std::move(none)));
}

template <class T>
T* Cleared(Tensor* t) {
  T* data = t ? t->mutable_data<T>() : nullptr;
  if (t) std::fill(data, data + t->numel(), T(0));
  return data;
}

// Gradients for g [N]. `w_out`: nullptr when it is not wanted; selected rows hold a row a term.
template <class T, class Terms>
void Gradients(const Data<T>& d, const Terms& terms, const T* g, T* dx, Value* w_out, bool sparse,
               T* db, Place place) {
  std::vector<int64_t> rows;
  T *dw = nullptr, *to_rows = nullptr;
  Tensor values;
  if (w_out && sparse) {
    for (int64_t i = 0; i < d.rows; ++i) {
      for (int64_t k = 0; k < terms.Count(i); ++k) rows.push_back(terms.Row(i, k));
    }
    values.Allocate({static_cast<int64_t>(rows.size()), d.width}, DTypeOf<T>::value, place);
    to_rows = values.mutable_data<T>();
  } else if (w_out) {
    dw = Cleared<T>(&w_out->MutableTensor());
  }
  for (int64_t i = 0; i < d.rows; ++i) {
    const T* x = d.x + i * d.width;
    for (int64_t k = 0; k < terms.Count(i); ++k) {
      int64_t row = terms.Row(i, k);
      T slope = g[i] * terms.Slope(i, k, d.Score(i, row));
      if (db) db[row] += slope;
      for (int64_t j = 0; dx && j < d.width; ++j)
        dx[i * d.width + j] += slope * d.w[row * d.width + j];
      for (int64_t j = 0; dw && j < d.width; ++j) dw[row * d.width + j] += slope * x[j];
      for (int64_t j = 0; to_rows && j < d.width; ++j) *to_rows++ = slope * x[j];
    }
  }
  if (w_out && sparse)
    w_out->SetRows(MakeRef<SelectedRows>(std::move(rows), d.height, std::move(values)));
}

// What the gradient operator gives its inputs for vx, vw, vb (any may be nullptr), the gradients
// of its results: with u = vx . w + vw . x + vb of each term, dg adds slope * u.
template <class T, class Terms>
void SecondGradients(const Data<T>& d, const Terms& terms, const T* g, const T* vx, const T* vw,
                     const T* vb, T* dx, T* dw, T* db, T* dg) {
  int64_t n = d.width;
  for (int64_t i = 0; i < d.rows; ++i) {
    const T* x = d.x + i * n;
    for (int64_t k = 0; k < terms.Count(i); ++k) {
      int64_t row = terms.Row(i, k);
      const T* w = d.w + row * n;
      T z = d.Score(i, row), slope = terms.Slope(i, k, z), u = vb ? vb[row] : T(0);
      if (vx) u += Dot(vx + i * n, w, n);
      if (vw) u += Dot(vw + row * n, x, n);
      T bend = g[i] * terms.Curve(i, k, z) * u;
      if (dg) dg[i] += slope * u;
      if (db) db[row] += bend;
      for (int64_t j = 0; dx && j < n; ++j)
        dx[i * n + j] += bend * w[j] + (vw ? g[i] * slope * vw[row * n + j] : T(0));
      for (int64_t j = 0; dw && j < n; ++j)
        dw[row * n + j] += bend * x[j] + (vx ? g[i] * slope * vx[i * n + j] : T(0));
    }
  }
}

// The score of row i against a row of the table, of inputs 0, 1 and 2 of a problem: X, W and Bias.
inline higher::Scalar Score(higher::Problem& p, int64_t i, int64_t row, int64_t width) {
  std::vector<higher::Scalar> x = p.Leaves(0, i * width, width),
                              w = p.Leaves(1, row * width, width);
  higher::Scalar start;
  if (p.Has(2)) start = p.Leaf(2, row);
  return kernels::ScalarTape::Current().Dot(start, x.data(), 1, w.data(), 1, width);
}

}  // namespace dygraph::chosen_rows
