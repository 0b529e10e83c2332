#include <cmath>
#include <vector>

#include "op/gradient_call.h"
#include "operators/higher_gradient.h"
#include "platform/interrupt.h"

namespace dygraph {
namespace {

constexpr int kWeight = 0, kU = 1, kV = 2, kOut = 0;

// Far beyond what converges; without a bound a small call could run for hours.
constexpr int kMostIterations = 100000;

struct SpectralNormAttrs {
  int32_t dim = 0;
  int32_t power_iters = 1;
  double eps = 1e-12;
};

void CheckInputs(InferContext& ctx) {
  const Dims& w = ctx.dims(kWeight);
  const SpectralNormAttrs& a = ctx.attrs<SpectralNormAttrs>();
  ENFORCE(w.rank() >= 2 && w.rank() <= 5, InvalidArgument,
          "Weight must have 2 to 5 axes, got shape ", w);
  ENFORCE(a.dim < w.rank(), InvalidArgument, "dim must be an axis of Weight ", w, ", got ", a.dim);
  int64_t rows = w[a.dim], columns = 1;
  for (int i = 0; i < w.rank(); ++i) columns = i == a.dim ? columns : MulSizes(columns, w[i]);
  const Dims &u = ctx.dims(kU), &v = ctx.dims(kV);
  ENFORCE(u.rank() == 1 && (u[0] == rows || !BothKnown(u[0], rows)), InvalidArgument,
          "U must hold ", rows, " numbers, the size of axis dim of Weight ", w, ", got shape ", u);
  ENFORCE(v.rank() == 1 && (v[0] == columns || !BothKnown(v[0], columns)), InvalidArgument,
          "V must hold ", columns, " numbers, the product of the other sizes of Weight ", w,
          ", got shape ", v);
}

void DefineSpectralNorm(OpDef& op) {
  op.Comment(
        "Out = Weight / sigma with sigma = u^T W v, W the Weight as a matrix [size of axis dim, "
        "rest], and u and v after power_iters steps v = W^T u / |W^T u|, u = W v / |W v| from U "
        "and V, which stay as they are. The gradient takes u and v as constants (Miyato et al., "
        "2018).")
      .Example(
          ">>> weight, u = to_variable([[2.0, 0.0], [0.0, 1.0]]), to_variable([1.0, 0.0])\n"
          ">>> np.round(F.spectral_norm(weight, u, v=u).numpy(), 4).tolist()  # sigma is 2\n"
          "[[1.0, 0.0], [0.0, 0.5]]")
      .Input(kWeight, "Weight", "2 to 5 axes")
      .Input(kU, "U", "[size of axis dim]")
      .Input(kV, "V", "[product of the other sizes]")
      .Output(kOut, "Out", "shape of Weight")
      .Attr(&SpectralNormAttrs::dim, "dim", "the axis that becomes the rows", AtLeast(0))
      .Attr(&SpectralNormAttrs::power_iters, "power_iters", "steps of the power method",
            Between(0, kMostIterations))
      .Attr(&SpectralNormAttrs::eps, "eps", "added to lengths that are divided by", AtLeast(0))
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        ctx.SetOutput(kOut, ctx.dims(kWeight));
      })
      .Grad(CallGradient);
}

// W as a matrix of doubles; u and v after the iterations; sigma.
struct Matrix {
  int64_t before, rows, after, columns;
  std::vector<double> w, u, v;
  double sigma = 0;

  template <class T>
  Matrix(const KernelContext& ctx, T) {
    const SpectralNormAttrs& a = ctx.attrs<SpectralNormAttrs>();
    const Dims& d = ctx.In(kWeight).dims();
    before = Numel(d, 0, a.dim);
    rows = d[a.dim];
    after = Numel(d, a.dim + 1, d.rank());
    columns = before * after;
    w = Read<T>(ctx.In(kWeight));
    const T *u0 = ctx.In(kU).data<T>(), *v0 = ctx.In(kV).data<T>();
    u.assign(u0, u0 + rows);
    v.assign(v0, v0 + columns);
    for (int32_t i = 0; i < a.power_iters; ++i) {
      for (double& x : v) x = 0;
      for (int64_t r = 0; r < rows; ++r) {
        CheckInterrupt();
        for (int64_t c = 0; c < columns; ++c) v[c] += w[r * columns + c] * u[r];
      }
      Normalise(&v, NumberFor<T>(a.eps));
      for (int64_t r = 0; r < rows; ++r) {
        CheckInterrupt();
        u[r] = 0;
        for (int64_t c = 0; c < columns; ++c) u[r] += w[r * columns + c] * v[c];
      }
      Normalise(&u, NumberFor<T>(a.eps));
    }
    sigma = Along(w);
  }
  static void Normalise(std::vector<double>* x, double eps) {
    double squares = 0;
    for (double e : *x) squares += e * e;
    double length = std::sqrt(squares) + eps;
    for (double& e : *x) e /= length;
  }
  // A tensor of Weight's shape as a matrix, and back.
  template <class T>
  std::vector<double> Read(const Tensor& t) const {
    std::vector<double> to(t.numel());
    const T* from = t.data<T>();
    for (int64_t i = 0; i < t.numel(); ++i) to[Place(i)] = static_cast<double>(from[i]);
    return to;
  }
  template <class T>
  void Write(const std::vector<double>& from, Tensor* t) const {
    T* to = t->mutable_data<T>();
    for (int64_t i = 0; i < t->numel(); ++i) to[i] = static_cast<T>(from[Place(i)]);
  }
  int64_t Place(int64_t i) const {
    int64_t b = i / (rows * after), r = i / after % rows;
    return r * columns + b * after + i % after;
  }
  // u^T m v
  double Along(const std::vector<double>& m) const {
    double sum = 0;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) sum += u[r] * m[r * columns + c] * v[c];
    }
    return sum;
  }
  double Direction(int64_t i) const { return u[i / columns] * v[i % columns]; }
};

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

template <class T>
struct SpectralNormKernel {
  static void Compute(KernelContext& ctx) {
    if (ctx.In(kWeight).numel() == 0) return;
    Matrix m(ctx, T());
    for (double& e : m.w) e /= m.sigma;
    m.Write<T>(m.w, &ctx.Out(kOut));
  }
};

namespace grad {
constexpr int kOutGrad = 3, kWeightGrad = 0;

void DefineSpectralNormGrad(OpDef& op) {
  op.Comment("Weight@GRAD = Out@GRAD / sigma - sum(Out@GRAD * W) / sigma^2 * u v^T.")
      .Input(kWeight, "Weight", "as of the forward call")
      .Input(kU, "U", "as of the forward call")
      .Input(kV, "V", "as of the forward call")
      .Input(kOutGrad, "Out@GRAD", "shape of Weight")
      .Output(kWeightGrad, "Weight@GRAD", "shape of Weight")
      .AttrsOf("spectral_norm")
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        ctx.SetOutput(kWeightGrad, ctx.dims(kWeight));
      })
      .Grad(CallGradient);
}

template <class T>
struct SpectralNormGradKernel {
  static void Compute(KernelContext& ctx) {
    if (ctx.In(kWeight).numel() == 0) return;
    Matrix m(ctx, T());
    std::vector<double> g = m.Read<T>(ctx.In(kOutGrad));
    double along = Dot(g, m.w) / (m.sigma * m.sigma);
    int64_t n = static_cast<int64_t>(g.size());
    for (int64_t i = 0; i < n; ++i) g[i] = g[i] / m.sigma - along * m.Direction(i);
    m.Write<T>(g, &ctx.Out(kWeightGrad));
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kOutGrad = 3, kIncoming = 4, kWeightResult = 0, kOutGradResult = 1;

void DefineSpectralNormGradGrad(OpDef& op);

struct SpectralNormThird {
  static constexpr uint32_t kServes = higher::Slots(kWeight, kOutGrad, kIncoming);
  static void Define(OpDef& op) { DefineSpectralNormGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) {
    return {{kWeight, kIncoming, kWeightResult}};
  }
  static std::vector<higher::Result> Results(const KernelContext&) {
    return {{kOutGrad, kOutGradResult}};
  }
  static void Run(higher::Problem& p) {
    const Tensor& weight = p.ctx.In(kWeight);
    if (weight.numel() == 0) return;
    Matrix m = weight.dtype() == DType::kFloat64 ? Matrix(p.ctx, double()) : Matrix(p.ctx, float());
    std::vector<higher::Scalar> w = p.Leaves(0, 0, weight.numel()), along;
    for (int64_t i = 0; i < weight.numel(); ++i)
      along.push_back(kernels::Constant(m.Direction(m.Place(i))));
    higher::Scalar sigma =
        kernels::ScalarTape::Current().Dot({}, w.data(), 1, along.data(), 1, weight.numel());
    for (int64_t i = 0; i < weight.numel(); ++i) p.Set(0, i, w[i] / sigma);
  }
};

void DefineSpectralNormGradGrad(OpDef& op) {
  op.Comment(
        "The gradients of sum(Weight@GRAD * X), Weight@GRAD the result of spectral_norm_grad, with "
        "respect to Weight and Out@GRAD.")
      .Input(kWeight, "Weight", "as of the forward call")
      .Input(kU, "U", "as of the forward call")
      .Input(kV, "V", "as of the forward call")
      .Input(kOutGrad, "Out@GRAD", "shape of Weight")
      .Input(kIncoming, "Weight@GRAD@GRAD", "shape of Weight")
      .Output(kWeightResult, "Weight@GRAD", "shape of Weight")
      .Output(kOutGradResult, "Out@GRAD@GRAD", "shape of Weight")
      .AttrsOf("spectral_norm")
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        ctx.SetOutput(kWeightResult, ctx.dims(kWeight));
        ctx.SetOutput(kOutGradResult, ctx.dims(kWeight));
      })
      .Grad(higher::Recipe<SpectralNormThird>);
}

template <class T>
struct SpectralNormGradGradKernel {
  static void Compute(KernelContext& ctx) {
    if (ctx.In(kWeight).numel() == 0) return;
    Matrix m(ctx, T());
    std::vector<double> g = m.Read<T>(ctx.In(kOutGrad)), x = m.Read<T>(ctx.In(kIncoming));
    double s = m.sigma, along = m.Along(x), gw = Dot(g, m.w), gx = Dot(g, x);
    std::vector<double> to(g.size());
    int64_t n = static_cast<int64_t>(g.size());
    if (Tensor* out = ctx.OutOrNull(kOutGradResult)) {
      for (int64_t i = 0; i < n; ++i) to[i] = x[i] / s - m.w[i] * along / (s * s);
      m.Write<T>(to, out);
    }
    if (Tensor* out = ctx.OutOrNull(kWeightResult)) {
      for (int64_t i = 0; i < n; ++i) {
        to[i] = (2 * gw * along / s - gx) / (s * s) * m.Direction(i) - g[i] * along / (s * s);
      }
      m.Write<T>(to, out);
    }
  }
};
}  // namespace grad_grad
using grad_grad::SpectralNormThird;

REGISTER_OPERATOR(spectral_norm, DefineSpectralNorm);
REGISTER_CPU_KERNEL(spectral_norm, SpectralNormKernel, float, double);
REGISTER_OPERATOR(spectral_norm_grad, grad::DefineSpectralNormGrad);
REGISTER_CPU_KERNEL(spectral_norm_grad, grad::SpectralNormGradKernel, float, double);
REGISTER_OPERATOR(spectral_norm_grad_grad, grad_grad::DefineSpectralNormGradGrad);
REGISTER_CPU_KERNEL(spectral_norm_grad_grad, grad_grad::SpectralNormGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(spectral_norm_grad_grad, SpectralNormThird);

}  // namespace
}  // namespace dygraph
