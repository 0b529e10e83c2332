#include <algorithm>
#include <vector>

#include "operators/detection/images.h"

namespace dygraph {
namespace {

constexpr int kDistMat = 0, kIndices = 0, kDist = 1;

struct BipartiteMatchAttrs {
  std::string match_type = "bipartite";
  double dist_threshold = 0.5;
};

void DefineBipartiteMatch(OpDef& op) {
  op.Comment(
        "Matches columns with rows, for each image by itself: the greatest element of DistMat "
        "matches its row with its column, then the greatest one in other rows and columns, and so "
        "on while it is at least 1e-6. With per_prediction, each column left takes the row of its "
        "greatest element where that is dist_threshold or more. Of equal elements the one in the "
        "first column counts, then in the first row.")
      .Example(
          ">>> rows, dist = F.bipartite_match(to_variable([[0.9, 0.8], [0.7, 0.1]]))\n"
          ">>> rows.tolist(), dist.tolist()\n"
          "([[0, 1]], [[0.8999999761581421, 0.10000000149011612]])")
      .Input(kDistMat, "DistMat",
             "[rows, columns], the greater the closer; LoD: rows of each image")
      .Output(kIndices, "ColToRowMatchIndices",
              "[images, columns], int32: the row in its image, -1: none")
      .Output(kDist, "ColToRowMatchDist", "[images, columns]: the element that matched, 0: none")
      .Attr(&BipartiteMatchAttrs::match_type, "match_type", "bipartite or per_prediction",
            OneOf({"bipartite", "per_prediction"}))
      .Attr(&BipartiteMatchAttrs::dist_threshold, "dist_threshold", "of per_prediction")
      .Shape([](InferContext& ctx) {
        const Dims& x = ctx.dims(kDistMat);
        ENFORCE(x.rank() == 2, InvalidArgument, "DistMat must have 2 axes, got shape ", x);
        const Dims out{images::CountOf(ctx, kDistMat), x[1]};
        ctx.SetOutput(kIndices, out, DType::kInt32);
        ctx.SetOutput(kDist, out);
      })
      .NoGrad();
}

template <class T>
struct BipartiteMatchKernel {
  static constexpr T kLeast = static_cast<T>(1e-6);

  // The free column of a row with its greatest element, -1 where none is large enough.
  static int64_t BestColumn(const T* row, const std::vector<int32_t>& match) {
    int64_t best = -1;
    for (size_t j = 0; j < match.size(); ++j) {
      if (match[j] < 0 && row[j] >= kLeast && (best < 0 || row[j] > row[best]))
        best = static_cast<int64_t>(j);
    }
    return best;
  }

  static void Match(const T* dist, int64_t rows, std::vector<int32_t>* match) {
    const auto columns = static_cast<int64_t>(match->size());
    std::vector<int64_t> column(rows);
    for (int64_t i = 0; i < rows; ++i) column[i] = BestColumn(dist + i * columns, *match);
    while (true) {
      int64_t best = -1;
      for (int64_t i = 0; i < rows; ++i) {
        if (column[i] < 0) continue;
        const T mine = dist[i * columns + column[i]];
        const T most = best < 0 ? T(0) : dist[best * columns + column[best]];
        if (best < 0 || mine > most || (mine == most && column[i] < column[best])) best = i;
      }
      if (best < 0) return;
      const int64_t taken = column[best];
      (*match)[taken] = static_cast<int32_t>(best);
      column[best] = -1;
      for (int64_t i = 0; i < rows; ++i) {
        if (column[i] == taken) column[i] = BestColumn(dist + i * columns, *match);
      }
    }
  }

  static void MatchOthers(const T* dist, int64_t rows, T threshold, std::vector<int32_t>* match) {
    const auto columns = static_cast<int64_t>(match->size());
    const T least = std::max(threshold, kLeast);
    std::vector<T> most(columns, T(-1));
    std::vector<int32_t> found(columns, -1);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        const T d = dist[i * columns + j];
        if (d >= least && d > most[j]) most[j] = d, found[j] = static_cast<int32_t>(i);
      }
    }
    for (int64_t j = 0; j < columns; ++j) {
      if ((*match)[j] < 0) (*match)[j] = found[j];
    }
  }

  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<BipartiteMatchAttrs>();
    const Tensor& x = ctx.In(kDistMat);
    const std::vector<int64_t> offsets = images::OffsetsOf(x);
    const int64_t columns = x.dim(1);
    Tensor *indices = ctx.OutOrNull(kIndices), *dists = ctx.OutOrNull(kDist);
    for (size_t image = 0; image + 1 < offsets.size(); ++image) {
      const T* dist = x.data<T>() + offsets[image] * columns;
      const int64_t rows = offsets[image + 1] - offsets[image];
      std::vector<int32_t> match(columns, -1);
      Match(dist, rows, &match);
      if (a.match_type == "per_prediction")
        MatchOthers(dist, rows, static_cast<T>(a.dist_threshold), &match);
      const int64_t at = static_cast<int64_t>(image) * columns;
      if (indices) std::copy(match.begin(), match.end(), indices->mutable_data<int32_t>() + at);
      if (!dists) continue;
      for (int64_t j = 0; j < columns; ++j)
        dists->mutable_data<T>()[at + j] = match[j] < 0 ? T(0) : dist[match[j] * columns + j];
    }
  }
};

REGISTER_OPERATOR(bipartite_match, DefineBipartiteMatch);
REGISTER_CPU_KERNEL(bipartite_match, BipartiteMatchKernel, float, double);

}  // namespace
}  // namespace dygraph
