// What arg_max and arg_min share: all but one comparison.
#pragma once

#include <algorithm>

#include "kernels/parallel.h"
#include "kernels/simd.h"
#include "op/lod_rule.h"
#include "op/open_attr.h"
#include "op/op_registry.h"

namespace dygraph::arg_extremum {

constexpr int kX = 0, kOut = 0;

struct ArgExtremumAttrs {
  int64_t axis = -1;
  bool keepdims = false;
  bool flatten = false;
  DType dtype = DType::kUnset;
};

// A variable gives the axis.
inline void SetOpenOutput(InferContext& ctx, DType dtype) {
  Dims out;
  for (int64_t n : ctx.dims(kX)) out.push_back(n == 1 ? 1 : -1);
  if (!ctx.attrs<ArgExtremumAttrs>().keepdims) out = Dims(std::max(out.rank() - 1, 0), -1);
  ctx.SetOutput(kOut, out, dtype);
}

inline void InferShape(InferContext& ctx) {
  const ArgExtremumAttrs& a = ctx.attrs<ArgExtremumAttrs>();
  const Dims& x = ctx.dims(kX);
  DType dtype = a.dtype == DType::kUnset ? DType::kInt64 : a.dtype;
  ENFORCE(dtype == DType::kInt64 || dtype == DType::kInt32, Type,
          "the attribute dtype must be int32 or int64, got ", dtype);
  if (!ctx.runtime() && !a.flatten && IsOpen(a.axis)) return SetOpenOutput(ctx, dtype);
  int axis = NormalizeAxis(a.axis, x.rank());
  Dims out;
  for (int i = 0; i < x.rank(); ++i) {
    bool gone = a.flatten || i == axis;
    ENFORCE(!gone || x[i] != 0, InvalidArgument, "X must have elements to choose from, got shape ",
            x);
    if (!gone)
      out.push_back(x[i]);
    else if (a.keepdims)
      out.push_back(1);
  }
  ctx.SetOutput(kOut, out, dtype);
}

// Rows stay where the axis to search is another one.
inline bool KeepsRows(const LoDCall& c) {
  const ArgExtremumAttrs& a = c.attrs<ArgExtremumAttrs>();
  return !a.flatten && !IsOpen(a.axis) && c.IsBehindFirst(a.axis);
}

inline void Define(OpDef& op, const char* comment, const char* example) {
  op.Comment(comment)
      .Example(example)
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "X's shape without the axis")
      .Attr(&ArgExtremumAttrs::axis, "axis", "the axis to search; negative ones count from the end")
      .Attr(&ArgExtremumAttrs::keepdims, "keepdims", "keep the axis, with one element")
      .Attr(&ArgExtremumAttrs::flatten, "flatten", "search all of X as if it had one axis")
      .Attr(&ArgExtremumAttrs::dtype, "dtype", "int32 or int64; unset: int64")
      .ShareLoD(kX)
      .Shape(InferShape)
      .NoGrad();
}

// Position of the first element that no other beats: its value by vector instructions, then where
// it stands.
template <class T, class Beats>
int64_t First(const T* row, int64_t n, Beats beats) {
  constexpr int64_t kLanes = 64 / sizeof(T);
  if (n < 2 * kLanes) {
    int64_t at = 0;
    for (int64_t i = 1; i < n; ++i) at = beats(row[i], row[at]) ? i : at;
    return at;
  }
  T best[kLanes];
  std::fill_n(best, kLanes, row[0]);
  T* lanes = best;
  kernels::Simd([=] {
    T b[kLanes];
    for (int64_t k = 0; k < kLanes; ++k) b[k] = lanes[k];
    for (int64_t i = 0; i + kLanes <= n; i += kLanes) {
      for (int64_t k = 0; k < kLanes; ++k) b[k] = beats(row[i + k], b[k]) ? row[i + k] : b[k];
    }
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] = b[k];
  });
  T winner = best[0];
  for (int64_t k = 1; k < kLanes; ++k) winner = beats(best[k], winner) ? best[k] : winner;
  for (int64_t i = n / kLanes * kLanes; i < n; ++i)
    winner = beats(row[i], winner) ? row[i] : winner;
  int64_t at = 0;
  if (winner != winner) {
    while (row[at] == row[at]) ++at;
  } else {
    while (row[at] != winner) ++at;
  }
  return at;
}

// better(a, b): a is to be preferred to b. A NaN wins over all, the first of equals over the
// others.
template <class T, class Better>
void Compute(KernelContext& ctx, Better better) {
  const ArgExtremumAttrs& a = ctx.attrs<ArgExtremumAttrs>();
  const Tensor& x = ctx.In(kX);
  Tensor& out = ctx.Out(kOut);
  int64_t rows = 1, n = x.numel(), inner = 1;
  if (!a.flatten && x.rank() > 0) {
    int axis = NormalizeAxis(a.axis, x.rank());
    rows = Numel(x.dims(), 0, axis);
    n = x.dim(axis);
    inner = Numel(x.dims(), axis + 1, x.rank());
  }
  const T* from = x.data<T>();
  auto beats = [better](T v, T best) { return better(v, best) | ((v != v) & (best == best)); };
  auto search = [&](auto* to) {
    kernels::ParallelRows(rows, n * inner, [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* row = from + r * n * inner;
        auto* found = to + r * inner;
        for (int64_t k = 0; k < inner; ++k) found[k] = 0;
        if (inner == 1) {
          found[0] = First(row, n, beats);
          continue;
        }
        for (int64_t i = 1; i < n; ++i) {  // along memory
          for (int64_t k = 0; k < inner; ++k) {
            if (beats(row[i * inner + k], row[found[k] * inner + k])) found[k] = i;
          }
        }
      }
    });
  };
  if (out.dtype() == DType::kInt32) {
    ENFORCE(n <= INT32_MAX, OutOfRange, "an axis of ", n, " elements needs dtype int64, got int32");
    search(out.mutable_data<int32_t>());
  } else {
    search(out.mutable_data<int64_t>());
  }
}

}  // namespace dygraph::arg_extremum
