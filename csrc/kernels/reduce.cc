#include "kernels/reduce.h"

namespace dygraph::kernels::detail {

ReducePlan MakeReducePlan(Span<const int64_t> dims, Span<const bool> reduced) {
  FixedArray<int64_t, kMaxRank> x_strides, y_strides;
  int rank = static_cast<int>(dims.size());
  ENFORCE(rank <= kMaxRank, InvalidArgument, "the rank must be at most ", kMaxRank, ", got ", rank);
  int64_t x_stride = 1, y_stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    x_strides[i] = x_stride;
    y_strides[i] = y_stride;
    x_stride *= dims[i];
    if (!reduced[i]) y_stride *= dims[i];
  }
  // Kept dimensions join only if no reduced one is between them, as their strides in x show.
  ReducePlan p;
  for (int i = 0; i < rank; ++i) {
    if (reduced[i]) {
      p.runs.Push(dims[i], {x_strides[i]});
    } else {
      p.kept.Push(dims[i], {x_strides[i], y_strides[i]});
    }
  }
  if (p.kept.rank > 0 && p.kept.strides[0][p.kept.rank - 1] == 1) {  // the inner axis is kept
    p.width = p.kept.dims[--p.kept.rank];
  }
  if (p.runs.rank > 0) {
    --p.runs.rank;
    p.count = p.runs.dims[p.runs.rank];
    p.stride = p.runs.strides[0][p.runs.rank];
  } else {
    p.stride = p.width == 1 ? 1 : p.width;
  }
  p.kept_count = p.kept.Count(0, p.kept.rank);
  p.run_count = p.runs.Count(0, p.runs.rank);
  int64_t tile = std::min(p.width, kReduceTile);
  p.block = std::max<int64_t>(kReduceBlock / tile, kReduceRows);
  p.run_blocks = (p.count + p.block - 1) / p.block;
  int64_t block_elements = std::min(p.block, p.count) * tile;
  p.group = std::max<int64_t>(kReduceBlock / block_elements, 1);
  p.groups = (p.run_count * p.run_blocks + p.group - 1) / p.group;
  return p;
}

}  // namespace dygraph::kernels::detail

namespace dygraph::kernels {
template void Reduce<SumOp<float>, float>(const float*, Span<const int64_t>, Span<const bool>,
                                          float*);
template void Reduce<SumOp<double>, double>(const double*, Span<const int64_t>, Span<const bool>,
                                            double*);
template void Reduce<MeanOp<float>, float>(const float*, Span<const int64_t>, Span<const bool>,
                                           float*);
template void Reduce<MeanOp<double>, double>(const double*, Span<const int64_t>, Span<const bool>,
                                             double*);
template void Reduce<MaxOp<float>, float>(const float*, Span<const int64_t>, Span<const bool>,
                                          float*);
template void Reduce<MaxOp<double>, double>(const double*, Span<const int64_t>, Span<const bool>,
                                            double*);
template void Reduce<MinOp<float>, float>(const float*, Span<const int64_t>, Span<const bool>,
                                          float*);
template void Reduce<MinOp<double>, double>(const double*, Span<const int64_t>, Span<const bool>,
                                            double*);
}  // namespace dygraph::kernels
