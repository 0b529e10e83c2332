#include "operators/gather.h"
#include "operators/selected_rows.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct SplitSelectedRowsAttrs {
  std::vector<int64_t> height_sections;
};

int CountOf(int, const Call& call) {
  const auto& sections = static_cast<const SplitSelectedRowsAttrs*>(call.attrs)->height_sections;
  ENFORCE(!sections.empty() && sections.size() <= 100000, InvalidArgument,
          "the length of height_sections must be from 1 to 100000, got ", sections.size());
  return static_cast<int>(sections.size());
}

// Runs as rule of the outputs' kinds: before anything is written.
void InferVarType(InferContext& ctx) {
  const SelectedRows& x = selected_rows::RowsOf(ctx, kX);
  const auto& sections = ctx.attrs<SplitSelectedRowsAttrs>().height_sections;
  int64_t sum = 0;
  for (int64_t s : sections) {
    ENFORCE(s >= 0 && s <= x.height(), InvalidArgument,
            "height_sections must lie between 0 and the height of X, ", x.height(), ", got ", s);
    sum += s;
  }
  ENFORCE(sum == x.height(), InvalidArgument, "height_sections must add up to the height of X, ",
          x.height(), ", got ", sum);
  ENFORCE(ctx.OutputCount(kOut) == static_cast<int>(sections.size()), InvalidArgument,
          "there must be one Out for each of the ", sections.size(), " height_sections, got ",
          ctx.OutputCount(kOut));
  for (size_t i = 0; i < sections.size(); ++i) {
    Dims dims = x.complete_dims();
    dims[0] = 0;
    Tensor none;
    none.SetMeta(dims, x.value().dtype(), x.value().place());
    if (Value* out = ctx.call().out.at(kOut, static_cast<int>(i)))
      out->SetRows(MakeRef<SelectedRows>(std::vector<int64_t>(), sections[i], std::move(none)));
  }
}

void DefineSplitSelectedRows(OpDef& op) {
  op.Comment(
        "Cuts the height of X into sections: Out[i] has the rows of X that lie in section i, "
        "counted from its start, in the order they stand in X.")
      .Example(
          ">>> x = dygraph.selected_rows([0, 3, 1], 4, [[1.0], [2.0], [3.0]])\n"
          ">>> top, bottom = F.split_selected_rows(x, height_sections=[2, 2])\n"
          ">>> top.rows(), bottom.rows(), bottom.rows_value().tolist()\n"
          "([0, 1], [1], [[2.0]])")
      .Input(kX, "X", "selected rows", kTakesRows)
      .Output(kOut, "Out", "selected rows, one for each section", kDuplicable)
      .Attr(&SplitSelectedRowsAttrs::height_sections, "height_sections",
            "heights that add up to the height of X")
      .OutputCount(CountOf)
      .VarType(InferVarType)
      .NoGrad();
}

template <class T>
struct SplitSelectedRowsKernel {
  static void Compute(KernelContext& ctx) {
    const SelectedRows& x = ctx.InRows(kX);
    const auto& sections = ctx.attrs<SplitSelectedRowsAttrs>().height_sections;
    Dims dims = x.value().dims();
    int64_t count = static_cast<int64_t>(x.rows().size());
    size_t row_bytes = count == 0 ? 0 : x.value().bytes() / count;
    int64_t start = 0;
    for (size_t s = 0; s < sections.size(); start += sections[s++]) {
      if (!ctx.HasOutput(kOut, static_cast<int>(s))) continue;
      std::vector<int64_t> rows;
      std::vector<RowPiece> pieces;
      for (int64_t i = 0; i < count; ++i) {
        int64_t row = x.rows()[i] - start;
        if (row < 0 || row >= sections[s]) continue;
        rows.push_back(row);
        pieces.push_back({&x.value(), {i, i + 1}});
      }
      dims[0] = static_cast<int64_t>(rows.size());
      Tensor part(dims, x.value().dtype(), ctx.place());
      CopyRowPieces(pieces, row_bytes, static_cast<char*>(part.mutable_raw_data()));
      ctx.OutValue(kOut, static_cast<int>(s))
          .SetRows(MakeRef<SelectedRows>(std::move(rows), sections[s], std::move(part)));
    }
  }
};

REGISTER_OPERATOR(split_selected_rows, DefineSplitSelectedRows);
REGISTER_KERNELS(split_selected_rows, SplitSelectedRowsKernel, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph
