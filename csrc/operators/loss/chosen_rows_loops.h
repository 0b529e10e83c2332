// Sums and gradients of losses that score an input against a few chosen rows of a table.
//
// A list of terms has Count(i), Row(i, k), Shown(z) and Value(i, k, z, Shown(z)), Slope(i, k, z)
// and Curve(i, k, z): f and its derivatives.
#pragma once

#include "operators/loss/chosen_rows.h"
#include "platform/interrupt.h"

namespace dygraph::chosen_rows {

template <class T>
T Dot(const T* a, const T* b, int64_t n) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

template <class T>
T Score(const Data<T>& d, int64_t i, int64_t row) {
  return Dot(d.x + i * d.width, d.w + row * d.width, d.width) + (d.bias ? d.bias[row] : T(0));
}

// sum[i] = the sum of Value(i, k, z) over `most` terms, whose Shown(z) go to shown[i * most + k];
// both may be nullptr. Past Count(i) z is 0.
template <class T, class Terms>
void Sums(const Data<T>& d, const Terms& terms, int64_t most, T* shown, T* sums) {
  for (int64_t i = 0; i < d.rows; ++i) {
    CheckInterrupt();
    T sum = 0;
    for (int64_t k = 0; k < most; ++k) {
      T z = k < terms.Count(i) ? Score(d, i, terms.Row(i, k)) : T(0);
      const T value = Terms::Shown(z);
      if (shown) shown[i * most + k] = value;
      sum += terms.Value(i, k, z, value);
    }
    if (sums) sums[i] = sum;
  }
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
      T slope = g[i] * terms.Slope(i, k, Score(d, i, row));
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
      T z = Score(d, i, row), slope = terms.Slope(i, k, z), u = vb ? vb[row] : T(0);
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

}  // namespace dygraph::chosen_rows
