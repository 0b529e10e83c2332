// operators/loss/chosen_rows_loops.h on the device: a team for each sample. What the rows of the
// table get is made term by term and added in their order.
#pragma once

#include <utility>
#include <vector>

#include "cuda/scratch.h"
#include "kernels/elementwise.h"
#include "kernels/loops.h"
#include "kernels/rows.h"
#include "kernels/table.h"
#include "operators/loss/chosen_rows.h"

namespace dygraph::chosen_rows {

template <class T>
T* Cleared(Tensor* t) {
  T* data = t ? t->mutable_data<T>() : nullptr;
  if (t) kernels::Fill(data, t->numel(), T(0));
  return data;
}

// For all threads of the team.
template <class T>
DYGRAPH_INLINE T Dot(const T* a, const T* b, int64_t n, kernels::Team team) {
  return team.Sum<T>(n, [=](int64_t j) { return a[j] * b[j]; });
}
template <class T>
DYGRAPH_INLINE T Score(const Data<T>& d, int64_t i, int64_t row, kernels::Team team) {
  return Dot(d.x + i * d.width, d.w + row * d.width, d.width, team) + (d.bias ? d.bias[row] : T(0));
}

// sums[i] = the sum of Value(i, k, z) over `most` terms, whose Shown(z) go to shown[i * most + k];
// both may be nullptr. Past Count(i) z is 0.
template <class T, class Terms>
void Sums(const Data<T>& data, const Terms& all, int64_t most, T* shown, T* sums) {
  const Data<T> d = data;
  const Terms terms = all;
  kernels::ForEachRow(d.rows, d.width, [=] DYGRAPH_FN(int64_t i, kernels::Team team) {
    const int64_t count = terms.Count(i);
    T sum = 0;
    for (int64_t k = 0; k < most; ++k) {
      const T z = k < count ? Score(d, i, terms.Row(i, k), team) : T(0);
      const T value = Terms::Shown(z);
      if (shown) team.Once([=] { shown[i * most + k] = value; });
      sum += terms.Value(i, k, z, value);
    }
    if (sums) team.Once([=] { sums[i] = sum; });
  });
}

// dw[row[i]] += slope[i] * x[i / most] + other[i] * y[i / most], and db[row[i]] += slope[i], of all
// terms i; y, dw and db may be nullptr.
template <class T>
void AddTerms(const Data<T>& d, int64_t most, const int64_t* row, const T* slope, const T* x,
              const T* other, const T* y, T* dw, T* db) {
  const int64_t n = d.rows * most, width = d.width;
  if (db) kernels::AddRows({1, d.height, 1}, db, row, n, slope);
  if (!dw) return;
  cuda::Workspace<T> room(n * width);
  T* values = room.data();
  kernels::ForEach(n * width, [=] DYGRAPH_FN(int64_t at) {
    const int64_t i = at / width, from = i / most * width + at % width;
    values[at] = slope[i] * x[from] + (y ? other[i] * y[from] : T(0));
  });
  kernels::AddRows({1, d.height, width}, dw, row, n, values);
}

// The rows of all terms that there are, with their values; waits for the rows.
template <class T>
void MakeSelected(const Data<T>& d, int64_t most, const int64_t* row, const T* slope, Place place,
                  Value* out) {
  const int64_t n = d.rows * most, width = d.width;
  std::vector<int64_t> all(static_cast<size_t>(n)), rows, terms;
  GetDeviceContext(place).CopyToHost(all.data(), row, all.size() * sizeof(int64_t));
  for (int64_t i = 0; i < n; ++i) {
    if (all[static_cast<size_t>(i)] < 0) continue;
    rows.push_back(all[static_cast<size_t>(i)]);
    terms.push_back(i);
  }
  Tensor values;
  values.Allocate({static_cast<int64_t>(rows.size()), width}, DTypeOf<T>::value, place);
  T* to = values.mutable_data<T>();
  kernels::Table<int64_t> table(terms);
  const int64_t* term = table.data();
  const T* x = d.x;
  kernels::ForEach(values.numel(), [=] DYGRAPH_FN(int64_t at) {
    const int64_t i = term[at / width];
    to[at] = slope[i] * x[i / most * width + at % width];
  });
  out->SetRows(MakeRef<SelectedRows>(std::move(rows), d.height, std::move(values)));
}

// Gradients for g [N]. `w_out`: nullptr when it is not wanted; selected rows hold a row a term.
template <class T, class Terms>
void Gradients(const Data<T>& data, const Terms& all, const T* g, T* dx, Value* w_out, bool sparse,
               T* db, Place place) {
  const Data<T> d = data;
  const Terms terms = all;
  const int64_t most = terms.Most(), none = w_out && sparse ? -1 : 0;
  cuda::Workspace<int64_t> row_room(d.rows * most);
  cuda::Workspace<T> slope_room(d.rows * most);
  int64_t* rows = row_room.data();
  T* slopes = slope_room.data();
  kernels::ForEachRow(d.rows, d.width, [=] DYGRAPH_FN(int64_t i, kernels::Team team) {
    const int64_t count = terms.Count(i);
    for (int64_t k = 0; k < most; ++k) {
      const bool there = k < count;
      const int64_t row = there ? terms.Row(i, k) : 0;
      const T slope = there ? g[i] * terms.Slope(i, k, Score(d, i, row, team)) : T(0);
      team.Once([=] {
        rows[i * most + k] = there ? row : none;
        slopes[i * most + k] = slope;
      });
      if (!dx || !there) continue;
      team.Each(d.width, [=](int64_t j) { dx[i * d.width + j] += slope * d.w[row * d.width + j]; });
    }
  });
  if (w_out && sparse) {
    MakeSelected(d, most, rows, slopes, place, w_out);
    if (!db) return;
    const int64_t n = d.rows * most;
    kernels::Map(rows, rows, n, [] DYGRAPH_FN(int64_t row) { return row < 0 ? int64_t{0} : row; });
    w_out = nullptr;
  }
  AddTerms(d, most, rows, slopes, d.x, slopes, static_cast<const T*>(nullptr),
           w_out ? Cleared<T>(&w_out->MutableTensor()) : nullptr, db);
}

// What the gradient operator gives its inputs for vx, vw, vb (any may be nullptr), the gradients
// of its results: with u = vx . w + vw . x + vb of each term, dg adds slope * u.
template <class T, class Terms>
void SecondGradients(const Data<T>& data, const Terms& all, const T* g, const T* vx, const T* vw,
                     const T* vb, T* dx, T* dw, T* db, T* dg) {
  const Data<T> d = data;
  const Terms terms = all;
  const int64_t most = terms.Most(), n = d.width;
  cuda::Workspace<int64_t> row_room(d.rows * most);
  cuda::Workspace<T> bend_room(d.rows * most), slope_room(d.rows * most);
  int64_t* rows = row_room.data();
  T *bends = bend_room.data(), *slopes = slope_room.data();
  kernels::ForEachRow(d.rows, n, [=] DYGRAPH_FN(int64_t i, kernels::Team team) {
    const int64_t count = terms.Count(i);
    const T* x = d.x + i * n;
    T sum = 0;
    for (int64_t k = 0; k < most; ++k) {
      const int64_t at = i * most + k, row = k < count ? terms.Row(i, k) : 0;
      T bend = 0, slope = 0;
      if (k < count) {
        const T *w = d.w + row * n, z = Score(d, i, row, team);
        T u = vb ? vb[row] : T(0);
        if (vx) u += Dot(vx + i * n, w, n, team);
        if (vw) u += Dot(vw + row * n, x, n, team);
        bend = g[i] * terms.Curve(i, k, z) * u;
        slope = terms.Slope(i, k, z);
        sum += slope * u;
        slope *= g[i];
        if (dx) {
          team.Each(n, [=](int64_t j) {
            dx[i * n + j] += bend * w[j] + (vw ? slope * vw[row * n + j] : T(0));
          });
        }
      }
      team.Once([=] {
        rows[at] = row;
        bends[at] = bend;
        slopes[at] = slope;
      });
    }
    if (dg) team.Once([=] { dg[i] += sum; });
  });
  AddTerms(d, most, rows, bends, d.x, slopes, vx, dw, db);
}

}  // namespace dygraph::chosen_rows
