#include <cmath>
#include <limits>

#include "kernels/fold.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kCvm = 1, kY = 0;
constexpr int kCounts = 2;  // columns: how often shown, how often clicked

struct CvmAttrs {
  bool use_cvm = true;
};

int64_t WidthOf(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &counts = ctx.dims(kCvm);
  ENFORCE(x.rank() == 2 && (x[1] < 0 || x[1] >= kCounts), InvalidArgument,
          "X must have shape [N, D], its first two columns the counts, got ", x);
  ENFORCE(counts.rank() == 2 && (counts[1] == kCounts || counts[1] < 0), InvalidArgument,
          "CVM must have shape [N, 2], got ", counts);
  return ctx.attrs<CvmAttrs>().use_cvm || x[1] < 0 ? x[1] : x[1] - kCounts;
}

void DefineCvm(OpDef& op) {
  op.Comment(
        "Y = X with log(X[:, 0] + 1) and log(X[:, 1] + 1) - log(X[:, 0] + 1) as its first two "
        "columns, how often an item was shown and clicked; without use_cvm X without these. X@GRAD "
        "has the row of CVM there, which is how it passes the counts on to the table that X was "
        "read from, and Y@GRAD in the others.")
      .Example(
          ">>> x, counts = to_variable([[0.0, 0.0, 3.0]]), to_variable([[1.0, 1.0]])\n"
          ">>> F.cvm(x, counts).tolist(), F.cvm(x, counts, use_cvm=False).tolist()\n"
          "([[0.0, 0.0, 3.0]], [[3.0]])")
      .Input(kX, "X", "[N, D]")
      .Input(kCvm, "CVM", "[N, 2], or a row for each sequence of X")
      .Output(kY, "Y", "[N, D], without use_cvm [N, D - 2]")
      .Attr(&CvmAttrs::use_cvm, "use_cvm", "keep the logarithms of the counts")
      .Shape([](InferContext& ctx) { ctx.SetOutput(kY, {ctx.dims(kX)[0], WidthOf(ctx)}); })
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        g.Call("cvm_grad", {g.InputShape(kX), g.Input(kCvm), g.OutputGrad(kY)}, {g.InputGrad(kX)})
            .SameAttrs();
      });
}

template <class T>
struct CvmKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const bool keep = ctx.attrs<CvmAttrs>().use_cvm;
    const int64_t width = x.dim(1), out = keep ? width : width - kCounts;
    const T* from = x.data<T>();
    T* to = ctx.Out(kY).mutable_data<T>();
    kernels::ForEachRowPlain(x.dim(0), width + 20, [=] DYGRAPH_FN(int64_t i, kernels::Team team) {
      const T* row = from + i * width;
      T* y = to + i * out;
      team.Once([=] {
        if (!keep) return;
        y[0] = std::log(row[0] + T(1));
        y[1] = std::log(row[1] + T(1)) - y[0];
      });
      T* rest = y + (keep ? kCounts : 0);
      team.Each(width - kCounts, [=](int64_t k) { rest[k] = row[kCounts + k]; });
    });
  }
};

namespace grad {
constexpr int kYGrad = 2, kXGrad = 0;

void DefineCvmGrad(OpDef& op) {
  op.Comment("X@GRAD = the row of CVM in the first two columns, Y@GRAD in the others.")
      .Input(kX, "X", "its shape and LoD", kShapeOnly)
      .Input(kCvm, "CVM", "[N, 2], or a row for each sequence of X")
      .Input(kYGrad, "Y@GRAD", "shape of Y")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("cvm")
      .Shape([](InferContext& ctx) {
        const int64_t width = WidthOf(ctx);
        const Dims& g = ctx.dims(kYGrad);
        ENFORCE(g.rank() == 2 && (g[1] == width || !BothKnown(g[1], width)), InvalidArgument,
                "Y@GRAD must have ", width, " columns, got shape ", g);
        ctx.SetOutput(kXGrad, ctx.dims(kX), ctx.dtype(kYGrad));
      })
      .KernelDTypeOf(kYGrad)
      .Grad([](GradBuilder& g) {  // the columns behind the counts
        RecipeRef arrived = g.OutputGrad(kXGrad);
        const bool keep = g.attrs<CvmAttrs>().use_cvm;
        RecipeRef rest = keep ? g.Temp() : g.InputGrad(kYGrad);
        g.Call("slice", {arrived}, {rest})
            .Attr("axes", std::vector<int32_t>{1})
            .Attr("starts", std::vector<int32_t>{kCounts})
            .Attr("ends", std::vector<int32_t>{std::numeric_limits<int32_t>::max()});
        if (keep) {
          g.Call("pad", {rest}, {g.InputGrad(kYGrad)})
              .Attr("paddings", std::vector<int32_t>{0, 0, kCounts, 0});
        }
      });
}

template <class T>
struct CvmGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &counts = ctx.In(kCvm), &g = ctx.In(kYGrad);
    const bool keep = ctx.attrs<CvmAttrs>().use_cvm;
    const int64_t rows = x.dim(0), width = x.dim(1), given = keep ? width : width - kCounts;
    const bool by_row = x.lod_levels().empty();
    const int64_t sequences =
        by_row ? rows : static_cast<int64_t>(x.lod_levels().back().size()) - 1;
    ENFORCE(counts.dim(0) == sequences && g.dim(0) == rows &&
                (by_row || x.lod_levels().back().back() == rows),
            InvalidArgument, "CVM must have a row for each of the ", sequences,
            by_row ? " rows" : " sequences", " of X, and Y@GRAD ", rows, " rows, got shapes ",
            counts.dims(), " and ", g.dims());
    const T *arrived = g.data<T>(), *count = counts.data<T>();
    T* to = ctx.Out(kXGrad).mutable_data<T>();
    std::vector<int64_t> list;  // the sequence of each row
    for (int64_t s = 0; s < sequences && !by_row; ++s) {
      const auto& offsets = x.lod_levels().back();
      list.insert(list.end(), static_cast<size_t>(offsets[s + 1] - offsets[s]), s);
    }
    Scratch room = ctx.Workspace(list.size() * sizeof(int64_t));
    int64_t* sequence = room.as<int64_t>();
    if (!list.empty()) {
      ctx.device().CopyFromHost(sequence, list.data(), list.size() * sizeof(int64_t));
    }
    kernels::ForEachRowPlain(rows, width, [=] DYGRAPH_FN(int64_t i, kernels::Team team) {
      const T* shown = count + (by_row ? i : sequence[i]) * kCounts;
      const T* rest = arrived + i * given - (keep ? 0 : kCounts);
      T* out = to + i * width;
      team.Each(width, [=](int64_t k) { out[k] = k < kCounts ? shown[k] : rest[k]; });
    });
  }
};
}  // namespace grad

REGISTER_OPERATOR(cvm, DefineCvm);
REGISTER_KERNELS(cvm, CvmKernel, float, double);
REGISTER_OPERATOR(cvm_grad, grad::DefineCvmGrad);
REGISTER_KERNELS(cvm_grad, grad::CvmGradKernel, float, double);

}  // namespace
}  // namespace dygraph
