#include <algorithm>

#include "operators/detection/images.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kMatchIndices = 1, kNegIndices = 2, kOut = 0, kOutWeight = 1;

struct TargetAssignAttrs {
  int32_t mismatch_value = 0;
};

void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &match = ctx.dims(kMatchIndices);
  ENFORCE(x.rank() == 3, InvalidArgument, "X must have shape [rows, P, K], got ", x);
  ENFORCE(match.rank() == 2, InvalidArgument,
          "MatchIndices must have shape [images, columns], got ", match);
  if (ctx.HasInput(kNegIndices)) {
    const Dims& neg = ctx.dims(kNegIndices);
    ENFORCE(neg.rank() == 2 && (neg[1] == 1 || neg[1] < 0), InvalidArgument,
            "NegIndices must have shape [rows, 1], got ", neg);
  }
  const DType type = ctx.dtype(kX);
  ctx.SetOutput(kOut, {match[0], match[1], x[2]}, type);
  ctx.SetOutput(kOutWeight, {match[0], match[1], 1}, IsFloating(type) ? type : DType::kFloat32);
}

void DefineTargetAssign(OpDef& op) {
  op.Comment(
        "Out[i, j] = row MatchIndices[i, j] of image i in X, there the column j % P, with the "
        "weight 1; mismatch_value with the weight 0 where MatchIndices is negative. The positions "
        "j "
        "that NegIndices names for image i get mismatch_value with the weight 1.")
      .Example(
          ">>> x = to_variable([[[1.0]], [[2.0]], [[3.0]]], lod=[[0, 2, 3]])\n"
          ">>> match = to_variable(np.array([[1, -1], [-1, 0]], 'int32'))\n"
          ">>> out, weight = F.target_assign(x, match)\n"
          ">>> out.tolist(), weight.tolist()\n"
          "([[[2.0], [0.0]], [[0.0], [3.0]]], [[[1.0], [0.0]], [[0.0], [1.0]]])")
      .Input(kX, "X", "[rows, P, K] with LoD: rows of each image")
      .Input(kMatchIndices, "MatchIndices", "[images, columns], int32")
      .Input(kNegIndices, "NegIndices", "[rows, 1], int32, with LoD", kDispensable)
      .Output(kOut, "Out", "[images, columns, K]")
      .Output(kOutWeight, "OutWeight", "[images, columns, 1], float")
      .Attr(&TargetAssignAttrs::mismatch_value, "mismatch_value", "what is not matched gets")
      .Shape(InferShape)
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .NoGrad();
}

template <class T>
struct TargetAssignKernel {
  using Weight = std::conditional_t<std::is_floating_point_v<T>, T, float>;

  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &indices = ctx.In(kMatchIndices);
    const T missing = static_cast<T>(ctx.attrs<TargetAssignAttrs>().mismatch_value);
    const int64_t images = indices.dim(0), columns = indices.dim(1), p = x.dim(1), k = x.dim(2);
    const std::vector<int64_t>& offsets = images::OffsetsFor(x, "X", images);
    const std::vector<int64_t> match = Integers(indices, "MatchIndices");
    Tensor *out = ctx.OutOrNull(kOut), *weight = ctx.OutOrNull(kOutWeight);
    auto put = [&](int64_t at, const T* from, int w) {
      if (out) {
        T* to = out->mutable_data<T>() + at * k;
        from ? std::copy_n(from, k, to) : std::fill_n(to, k, missing);
      }
      if (weight) weight->mutable_data<Weight>()[at] = static_cast<Weight>(w);
    };
    for (int64_t i = 0; i < images; ++i) {
      const int64_t rows = offsets[i + 1] - offsets[i];
      for (int64_t j = 0; j < columns; ++j) {
        const int64_t at = i * columns + j, row = match[at];
        if (row < 0) {
          put(at, nullptr, 0);
          continue;
        }
        ENFORCE(row < rows && p > 0, OutOfRange, "MatchIndices must name rows below ", rows,
                " in image ", i, ", got ", row);
        put(at, x.data<T>() + ((offsets[i] + row) * p + j % p) * k, 1);
      }
    }
    const Tensor* negative = ctx.InOrNull(kNegIndices);
    if (!negative) return;
    const std::vector<int64_t>& of = images::OffsetsFor(*negative, "NegIndices", images);
    const std::vector<int64_t> places = Integers(*negative, "NegIndices");
    for (int64_t i = 0; i < images; ++i) {
      for (int64_t r = of[i]; r < of[i + 1]; ++r) {
        ENFORCE(places[r] >= 0 && places[r] < columns, OutOfRange, "NegIndices must lie in [0, ",
                columns, "), got ", places[r], " in row ", r);
        put(i * columns + places[r], nullptr, 1);
      }
    }
  }
};

REGISTER_OPERATOR(target_assign, DefineTargetAssign);
REGISTER_CPU_KERNEL(target_assign, TargetAssignKernel, int32_t, int64_t, float, double);

}  // namespace
}  // namespace dygraph
