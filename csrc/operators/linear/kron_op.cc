#include "kernels/broadcast.h"
#include "operators/linear/matrix_products.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0;

// Axis k of Out is a pair of axes, one of X and one of Y.
struct Pairs {
  Dims out;         // of the operator
  Dims dims, x, y;  // of the pairs, and the strides of X and Y along them
  Pairs(const Dims& xd, const Dims& yd) {
    int rank = std::max(xd.rank(), yd.rank());
    ENFORCE(2 * rank <= kMaxRank, InvalidArgument, "X and Y must have at most ", kMaxRank / 2,
            " axes, got X ", xd, " and Y ", yd);
    Dims x_strides, y_strides;
    if (!xd.HasUnknown() && !yd.HasUnknown()) {
      x_strides = Strides(xd);
      y_strides = Strides(yd);
    }
    for (int k = 0; k < rank; ++k) {
      int i = k - (rank - xd.rank()), j = k - (rank - yd.rank());
      int64_t a = i < 0 ? 1 : xd[i], b = j < 0 ? 1 : yd[j];
      out.push_back(MulSizes(a, b));
      dims.push_back(a);
      dims.push_back(b);
      x.push_back(i < 0 || x_strides.empty() ? 0 : x_strides[i]);
      x.push_back(0);
      y.push_back(0);
      y.push_back(j < 0 || y_strides.empty() ? 0 : y_strides[j]);
    }
  }
};

void DefineKron(OpDef& op) {
  op.Comment("Out = Kronecker's product: each element of X times all of Y, in its place.")
      .Example(
          ">>> x, y = to_variable([[1.0, 2.0]]), to_variable([[1.0, 1.0], [0.0, 1.0]])\n"
          ">>> F.kron(x, y).tolist()\n"
          "[[1.0, 1.0, 2.0, 2.0], [0.0, 1.0, 0.0, 2.0]]")
      .Input(kX, "X", "any shape")
      .Input(kY, "Y", "any shape; the shorter of the two shapes gets ones in front")
      .Output(kOut, "Out", "along each axis as many elements as those of X times those of Y")
      .Shape([](InferContext& ctx) { ctx.SetOutput(kOut, Pairs(ctx.dims(kX), ctx.dims(kY)).out); })
      .Grad([](GradBuilder& g) { matmul::BilinearGrad(g, "kron_grad"); });
}

template <class T>
struct KronKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    Pairs p(x.dims(), y.dims());
    kernels::Broadcast(p.dims, x.data<T>(), p.x, y.data<T>(), p.y, ctx.Out(kOut).mutable_data<T>(),
                       [] DYGRAPH_FN(T a, T b) { return kernels::Times(a, b); });
  }
};

namespace grad {
constexpr int kX = 0, kY = 1, kOutGrad = 2, kXGrad = 0, kYGrad = 1;

void DefineKronGrad(OpDef& op) {
  op.Comment("X@GRAD = the sums of Out@GRAD Y over Y's place in Out; Y@GRAD the same with X.")
      .Input(kX, "X", "its shape; its values for Y@GRAD")
      .Input(kY, "Y", "its shape; its values for X@GRAD")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kYGrad, "Y@GRAD", "shape of Y")
      .Shape(matmul::InferGradShape)
      .KernelDTypeOf(kOutGrad)
      .Grad([](GradBuilder& g) { matmul::BilinearGradGrad(g, "kron", "kron_grad"); });
}

template <class T>
struct KronGradKernel {
  static void Sums(KernelContext& ctx, const Pairs& p, const Tensor& g, const Tensor& other, const Dims& other_strides,
                   const Dims& strides, Tensor* out) {
    if (!out || out->numel() == 0) return;
    if (g.numel() == 0) return kernels::Fill(out->mutable_data<T>(), out->numel(), T(0));
    Tensor terms(g.dims(), g.dtype(), g.place());
    Dims dense = Strides(p.dims);
    kernels::Broadcast(p.dims, g.data<T>(), dense, other.data<T>(), other_strides,
                       terms.mutable_data<T>(), [] DYGRAPH_FN(T a, T b) { return a * b; });
    if (p.dims.empty()) {
      return ctx.device().CopyWithin(out->mutable_data<T>(), terms.data<T>(), sizeof(T));
    }
    kernels::SumTo(p.dims, terms.data<T>(), dense, out->mutable_data<T>(), strides);
  }
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY), &g = ctx.In(kOutGrad);
    Pairs p(x.dims(), y.dims());
    if (Tensor* out = ctx.OutOrNull(kXGrad)) Sums(ctx, p, g, y, p.y, p.x, out);
    if (Tensor* out = ctx.OutOrNull(kYGrad)) Sums(ctx, p, g, x, p.x, p.y, out);
  }
};
}  // namespace grad

REGISTER_OPERATOR(kron, DefineKron);
REGISTER_KERNELS(kron, KronKernel, float, double, int32_t, int64_t);
REGISTER_OPERATOR(kron_grad, grad::DefineKronGrad);
REGISTER_KERNELS(kron_grad, grad::KronGradKernel, float, double);

}  // namespace
}  // namespace dygraph
