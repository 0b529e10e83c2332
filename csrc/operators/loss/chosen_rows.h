// Losses that score an input against a few chosen rows of a table, as nce and hierarchical_sigmoid
// do: Out[i] = sum over the chosen classes c of f(X[i] . W[c] + Bias[c]). The classes and f depend
// on the operator; the sums and the two orders of gradients are in chosen_rows_loops.h.
#pragma once

#include "operators/higher_gradient.h"

namespace dygraph::chosen_rows {

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

// The score of row i against a row of the table, of inputs 0, 1 and 2 of a problem: X, W and Bias.
inline higher::Scalar Score(higher::Problem& p, int64_t i, int64_t row, int64_t width) {
  std::vector<higher::Scalar> x = p.Leaves(0, i * width, width),
                              w = p.Leaves(1, row * width, width);
  higher::Scalar start;
  if (p.Has(2)) start = p.Leaf(2, row);
  return kernels::ScalarTape::Current().Dot(start, x.data(), 1, w.data(), 1, width);
}

}  // namespace dygraph::chosen_rows
