// What linear_chain_crf and crf_decoding share: a chain of tags whose score adds an emission for
// each step, a transition between neighbours, a weight for the first tag and one for the last.
#pragma once

#include "operators/labels.h"
#include "operators/ragged.h"

namespace dygraph::crf {

constexpr int kEmission = 0, kTransition = 1, kLabel = 2, kLength = 3;

// Checks the shapes; gives the number of sequences, -1 where unknown.
inline int64_t CheckInputs(InferContext& ctx) {
  const Dims &x = ctx.dims(kEmission), &w = ctx.dims(kTransition);
  bool padded = ctx.HasInput(kLength);
  int rank = padded ? 3 : 2;
  ENFORCE(x.rank() == rank, InvalidArgument, "Emission must hold scores ",
          padded ? "[N, T, D] with Length" : "[total, D] with a level of detail", ", got shape ", x,
          padded ? "" : ". Padded scores [N, T, D] need Length");
  int64_t tags = x[rank - 1];
  ENFORCE(w.rank() == 2 && (tags < 0 || ((w[0] == tags + 2 || w[0] < 0) && w[1] == tags)),
          InvalidArgument, "Transition must have the shape [D + 2, D] for Emission ", x, ", got ",
          w);
  ENFORCE(tags != 0, InvalidArgument, "Emission must have at least one tag, got shape ", x);
  ENFORCE(ctx.dtype(kTransition) == ctx.dtype(kEmission), Type,
          "Transition must be of the type of Emission, ", ctx.dtype(kEmission), ", got ",
          ctx.dtype(kTransition));
  if (ctx.HasInput(kLabel)) {
    const Dims& label = ctx.dims(kLabel);
    Dims bare(Span<const int64_t>(x.begin(), static_cast<size_t>(rank - 1))), one = bare;
    one.push_back(1);
    ENFORCE(labels::Fits(label, bare) || labels::Fits(label, one), InvalidArgument,
            "Label must have the shape ", one, " or ", bare, " for Emission ", x, ", got ", label);
    DType type = ctx.dtype(kLabel);
    ENFORCE(type == DType::kInt64 || type == DType::kInt32, Type,
            "Label must hold int64 or int32 tags, got ", type, ". Convert with astype('int64')");
  }
  if (padded) return x[0];
  int64_t count = ragged::CountOf(ctx, kEmission);
  ENFORCE(count >= 0 || !ctx.runtime(), InvalidArgument,
          "Emission must have a level of detail that says where its sequences begin, got shape ", x,
          " without one. Give to_variable(lod=...), or padded Emission with Length");
  return count;
}

inline ragged::Batch Read(const KernelContext& ctx) {
  const Tensor& x = ctx.In(kEmission);
  const Tensor* lengths = ctx.InOrNull(kLength);
  if (!lengths) return ragged::FromLoD(x, "Emission", "Length");
  return ragged::FromLengths(*lengths, "Length", x.dim(0), x.dim(1));
}

// Tags of the steps there are; IndexError for any that is none.
inline void CheckLabels(const labels::ClassLabels& list, const ragged::Batch& b, int64_t tags) {
  for (int64_t s = 0; s < b.size(); ++s) {
    for (int64_t t = 0; t < b.length[s]; ++t) {
      int64_t at = b.Row(s, t);
      ENFORCE(list[at] >= 0 && list[at] < tags, OutOfRange, "every Label must be a tag in [0, ",
              tags, "), got ", list[at], " at position ", at);
    }
  }
}

inline void CheckCostGrad(const Tensor& g, int64_t count) {
  ENFORCE(g.numel() == count, InvalidArgument,
          "LogLikelihood@GRAD must hold one number for each of the ", count,
          " sequences, got shape ", g.dims());
}

}  // namespace dygraph::crf
