// The matrices that sequence_topk_avg_pooling averages.
#pragma once

#include "operators/sequence/sequence.h"

namespace dygraph::sequence::topk {

constexpr int kX = 0, kRow = 1, kColumn = 2;

struct TopkAttrs {
  std::vector<int32_t> topks;
  int32_t channel_num = 1;
};

// The matrices of one sequence: channels one after another, each of rows x columns.
struct Part {
  int64_t x, row, rows, columns;  // where it begins in X and among the rows, its sizes
};

inline std::vector<Part> PartsOf(const KernelContext& ctx) {
  const Tensor &x = ctx.In(kX), &row = ctx.In(kRow), &column = ctx.In(kColumn);
  const int64_t channels = ctx.attrs<TopkAttrs>().channel_num;
  const Offsets &xs = LastLevel(x, "X"), &rows = LastLevel(row, "ROW"),
                &columns = LastLevel(column, "COLUMN");
  ENFORCE(Count(xs) == Count(rows) && Count(xs) == Count(columns), InvalidArgument,
          "X, ROW and COLUMN must have as many sequences, got ", Count(xs), ", ", Count(rows),
          " and ", Count(columns));
  ENFORCE(x.numel() == x.dim(0), InvalidArgument, "X must have one number in a row, got shape ",
          x.dims());
  std::vector<Part> parts;
  for (int64_t s = 0; s < Count(xs); ++s) {
    Part p{xs[s], rows[s], rows[s + 1] - rows[s], columns[s + 1] - columns[s]};
    ENFORCE(xs[s + 1] - xs[s] == channels * p.rows * p.columns, InvalidArgument, "sequence ", s,
            " of X must have channel_num * rows * columns numbers, ", channels, " * ", p.rows,
            " * ", p.columns, ", got ", xs[s + 1] - xs[s]);
    parts.push_back(p);
  }
  return parts;
}

}  // namespace dygraph::sequence::topk
