#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/loop_room.h"
#include "kernels/simd.h"
#include "op/gradient_call.h"
#include "operators/higher_gradient.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0, kMidOut = 1;

struct LrnAttrs {
  int32_t n = 5;
  double k = 2.0;
  double alpha = 1e-4;
  double beta = 0.75;
  std::string data_format = "AnyLayout";
  bool channels_last() const { return data_format == "NHWC"; }
};

void CheckX(const InferContext& ctx, const Dims& x) {
  ENFORCE(x.rank() == 4, InvalidArgument, "X must have 4 axes, got shape ", x);
  int32_t n = ctx.attrs<LrnAttrs>().n;
  ENFORCE(n % 2 == 1, InvalidArgument, "n, the number of channels summed over, must be odd, got ",
          n);
}

void InferShape(InferContext& ctx) {
  CheckX(ctx, ctx.dims(kX));
  ctx.SetOutput(kOut, ctx.dims(kX));
  ctx.SetOutput(kMidOut, ctx.dims(kX));
}

void DefineLrn(OpDef& op) {
  op.Comment(
        "MidOut = k + alpha * sum of X^2 over the n channels around each, Out = X / MidOut^beta "
        "(Krizhevsky, Sutskever and Hinton, 2012).")
      .Example(
          ">>> x = to_variable(np.ones((1, 3, 1, 1)))\n"
          ">>> out, sums = F.lrn(x, n=3, k=2.0, alpha=1.0, beta=1.0)\n"
          ">>> np.round(out.numpy(), 4).ravel().tolist(), sums.numpy().ravel().tolist()\n"
          "([0.25, 0.2, 0.25], [4.0, 5.0, 4.0])")
      .Input(kX, "X", "[N, C, H, W], or [N, H, W, C] with data_format NHWC")
      .Output(kOut, "Out", "shape of X")
      .Output(kMidOut, "MidOut", "shape of X")
      .Attr(&LrnAttrs::n, "n", "channels summed over, odd", AtLeast(1))
      .Attr(&LrnAttrs::k, "k", "added to the sum, at least 0", AtLeast(0))
      .Attr(&LrnAttrs::alpha, "alpha", "factor of the sum, at least 0", AtLeast(0))
      .Attr(&LrnAttrs::beta, "beta", "the power, at least 0", AtLeast(0))
      .Attr(&LrnAttrs::data_format, "data_format", "the order of X's axes",
            OneOf({"NCHW", "NHWC", "AnyLayout"}))
      .Shape(InferShape)
      .ShareLoD(kX)
      .Grad(CallGradient);
}

// One line of channels at a time, copied into doubles and back.
struct Lines {
  int64_t outer, channels, inner;
  Lines(const Dims& x, bool last)
      : outer(last ? x[0] * x[1] * x[2] : x[0]),
        channels(last ? x[3] : x[1]),
        inner(last ? 1 : x[2] * x[3]) {}
  template <class T>
  DYGRAPH_INLINE void Read(const T* x, int64_t line, double* to) const {
    const T* from = x + line / inner * channels * inner + line % inner;
    for (int64_t c = 0; c < channels; ++c) to[c] = static_cast<double>(from[c * inner]);
  }
  // Zeros where there is no x.
  template <class T>
  DYGRAPH_INLINE void ReadOrZero(const T* x, int64_t line, double* to) const {
    if (x) return Read(x, line, to);
    for (int64_t c = 0; c < channels; ++c) to[c] = 0;
  }
  template <class T>
  DYGRAPH_INLINE void Write(const double* line_of, int64_t line, T* x) const {
    T* to = x + line / inner * channels * inner + line % inner;
    for (int64_t c = 0; c < channels; ++c) to[c * inner] = static_cast<T>(line_of[c]);
  }
  // to[c] = sum of x over the n channels around c.
  DYGRAPH_INLINE void Window(const double* x, int64_t n, double* to) const {
    for (int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      int64_t last = c + n / 2 < channels ? c + n / 2 : channels - 1;
      for (int64_t j = c < n / 2 ? 0 : c - n / 2; j <= last; ++j) sum += x[j];
      to[c] = sum;
    }
  }
  // body(line, room for `buffers` lines)
  template <class Body>
  void ForEach(int buffers, int64_t n, Body body) const {
    kernels::ForEachWithRoom<double>(outer * inner, buffers * channels, body,
                                     std::max<int64_t>(channels * (n + 30), 1));
  }
};

// The attributes as numbers of T.
struct Numbers {
  int64_t n;
  double k, alpha, beta;
};
template <class T>
Numbers NumbersOf(const LrnAttrs& a) {
  return {a.n, NumberFor<T>(a.k), NumberFor<T>(a.alpha), NumberFor<T>(a.beta)};
}

// mid and mid^-beta of a line x.
DYGRAPH_INLINE void Powers(const Lines& l, const double* x, const Numbers& a, double* mid,
                           double* power) {
  for (int64_t c = 0; c < l.channels; ++c) power[c] = x[c] * x[c];
  l.Window(power, a.n, mid);
  for (int64_t c = 0; c < l.channels; ++c) {
    mid[c] = a.k + a.alpha * mid[c];
    power[c] = std::pow(mid[c], -a.beta);
  }
}

template <class T>
struct LrnKernel {
  static void Compute(KernelContext& ctx) {
    const LrnAttrs& a = ctx.attrs<LrnAttrs>();
    const Tensor& x = ctx.In(kX);
    Lines l(x.dims(), a.channels_last());
    T* out = ctx.Out(kOut).mutable_data<T>();
    Tensor* mid_out = ctx.OutOrNull(kMidOut);
    T* mids = mid_out ? mid_out->mutable_data<T>() : nullptr;
    const T* from = x.data<T>();
    const Numbers numbers = NumbersOf<T>(a);
    l.ForEach(3, a.n, [=] DYGRAPH_FN(int64_t i, double* v) {
      double *mid = v + l.channels, *power = mid + l.channels;
      l.Read(from, i, v);
      Powers(l, v, numbers, mid, power);
      if (mids) l.Write(mid, i, mids);
      for (int64_t c = 0; c < l.channels; ++c) v[c] *= power[c];
      l.Write(v, i, out);
    });
  }
};

namespace grad {
constexpr int kX = 0, kOutGrad = 1, kMidGrad = 2, kXGrad = 0;

void DefineLrnGrad(OpDef& op) {
  op.Comment(
        "X@GRAD = Out@GRAD * MidOut^-beta + 2 alpha X * (window sum of MidOut@GRAD - beta * "
        "Out@GRAD * X * MidOut^(-beta - 1)).")
      .Input(kX, "X", "as of the forward call")
      .Input(kOutGrad, "Out@GRAD", "shape of X", kDispensable)
      .Input(kMidGrad, "MidOut@GRAD", "shape of X", kDispensable)
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("lrn")
      .Shape([](InferContext& ctx) {
        CheckX(ctx, ctx.dims(kX));
        ctx.SetOutput(kXGrad, ctx.dims(kX));
      })
      .Grad(CallGradient);
}

template <class T>
struct LrnGradKernel {
  static void Compute(KernelContext& ctx) {
    const LrnAttrs& a = ctx.attrs<LrnAttrs>();
    const Tensor &x = ctx.In(kX), *g = ctx.InOrNull(kOutGrad), *mid_grad = ctx.InOrNull(kMidGrad);
    Lines l(x.dims(), a.channels_last());
    T* out = ctx.Out(kXGrad).mutable_data<T>();
    const T *from = x.data<T>(), *gs = g ? g->data<T>() : nullptr,
            *mid_gs = mid_grad ? mid_grad->data<T>() : nullptr;
    const Numbers numbers = NumbersOf<T>(a);
    l.ForEach(6, a.n, [=] DYGRAPH_FN(int64_t i, double* v) {
      const double alpha = numbers.alpha, beta = numbers.beta;
      int64_t n = l.channels;
      double *gv = v + n, *mid = gv + n, *power = mid + n, *inner = power + n, *sum = inner + n;
      l.Read(from, i, v);
      l.ReadOrZero(gs, i, gv);
      Powers(l, v, numbers, mid, power);
      l.ReadOrZero(mid_gs, i, inner);
      for (int64_t c = 0; c < n; ++c) {
        inner[c] = inner[c] - beta * gv[c] * v[c] * power[c] / mid[c];
      }
      l.Window(inner, numbers.n, sum);
      for (int64_t c = 0; c < n; ++c) v[c] = gv[c] * power[c] + 2 * alpha * v[c] * sum[c];
      l.Write(v, i, out);
    });
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kX = 0, kOutGrad = 1, kMidGrad = 2, kV = 3;
constexpr int kXResult = 0, kOutGradResult = 1, kMidGradResult = 2;

void DefineLrnGradGrad(OpDef& op);

struct LrnThird {
  static constexpr uint32_t kServes = higher::Slots(kX, kOutGrad, kMidGrad, kV);
  static void Define(OpDef& op) { DefineLrnGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) { return {{kX, kV, kXResult}}; }
  static std::vector<higher::Result> Results(const KernelContext&) {
    return {{kOutGrad, kOutGradResult}, {kMidGrad, kMidGradResult}};
  }
  static void Run(higher::Problem& p) {
    const LrnAttrs& a = p.ctx.attrs<LrnAttrs>();
    const Tensor& input = p.ctx.In(kX);
    const double k = NumberFor(input.dtype(), a.k), alpha = NumberFor(input.dtype(), a.alpha),
                 beta = NumberFor(input.dtype(), a.beta);
    Lines l(input.dims(), a.channels_last());
    for (int64_t line = 0; line < l.outer * l.inner; ++line) {
      const int64_t first = line / l.inner * l.channels * l.inner + line % l.inner;
      std::vector<higher::Scalar> x;
      for (int64_t c = 0; c < l.channels; ++c) x.push_back(p.Leaf(0, first + c * l.inner));
      for (int64_t c = 0; c < l.channels; ++c) {
        const int64_t begin = std::max<int64_t>(c - a.n / 2, 0),
                      end = std::min<int64_t>(c + a.n / 2 + 1, l.channels);
        const higher::Scalar* window = x.data() + begin;
        higher::Scalar mid =
            kernels::ScalarTape::Current().Dot({}, window, 1, window, 1, end - begin) * alpha + k;
        p.Set(0, first + c * l.inner, x[c] * Pow(mid, -beta));
        p.Set(1, first + c * l.inner, mid);
      }
      p.Flush();
    }
  }
};

void DefineLrnGradGrad(OpDef& op) {
  op.Comment(
        "The gradients of sum(X@GRAD * V), X@GRAD the result of lrn_grad, with respect to X, "
        "Out@GRAD and MidOut@GRAD.")
      .Input(kX, "X", "as of the forward call")
      .Input(kOutGrad, "Out@GRAD", "shape of X", kDispensable)
      .Input(kMidGrad, "MidOut@GRAD", "shape of X", kDispensable)
      .Input(kV, "X@GRAD@GRAD", "shape of X")
      .Output(kXResult, "X@GRAD", "shape of X")
      .Output(kOutGradResult, "Out@GRAD@GRAD", "shape of X")
      .Output(kMidGradResult, "MidOut@GRAD@GRAD", "shape of X")
      .AttrsOf("lrn")
      .Shape([](InferContext& ctx) {
        CheckX(ctx, ctx.dims(kX));
        ctx.SetOutput(kXResult, ctx.dims(kX));
        ctx.SetOutput(kOutGradResult, ctx.dims(kX));
        ctx.SetOutput(kMidGradResult, ctx.dims(kX));
      })
      .Grad(higher::Recipe<LrnThird>);
}

template <class T>
struct LrnGradGradKernel {
  static void Compute(KernelContext& ctx) {
    const LrnAttrs& a = ctx.attrs<LrnAttrs>();
    const Tensor &x = ctx.In(kX), &vs = ctx.In(kV);
    const Tensor *g = ctx.InOrNull(kOutGrad), *mid_grad = ctx.InOrNull(kMidGrad);
    Lines l(x.dims(), a.channels_last());
    Tensor *to_x = ctx.OutOrNull(kXResult), *to_g = ctx.OutOrNull(kOutGradResult),
           *to_mid = ctx.OutOrNull(kMidGradResult);
    const T *from = x.data<T>(), *along = vs.data<T>(), *gs = g ? g->data<T>() : nullptr,
            *mid_gs = mid_grad ? mid_grad->data<T>() : nullptr;
    T *dx = to_x ? to_x->mutable_data<T>() : nullptr,
      *dg = to_g ? to_g->mutable_data<T>() : nullptr,
      *dmid = to_mid ? to_mid->mutable_data<T>() : nullptr;
    const Numbers numbers = NumbersOf<T>(a);
    l.ForEach(11, a.n, [=] DYGRAPH_FN(int64_t i, double* xv) {
      const double alpha = numbers.alpha, beta = numbers.beta, f = 2 * alpha * beta;
      const int64_t window = numbers.n;
      int64_t n = l.channels;
      double *gv = xv + n, *v = gv + n, *mid = v + n, *p = mid + n, *t = p + n, *vx = t + n,
             *gx = vx + n, *vg = gx + n, *agx = vg + n, *sm = agx + n;
      l.Read(from, i, xv);
      l.ReadOrZero(gs, i, gv);
      l.Read(along, i, v);
      Powers(l, xv, numbers, mid, p);
      for (int64_t c = 0; c < n; ++c) t[c] = v[c] * xv[c];
      l.Window(t, window, vx);
      if (dmid) {
        for (int64_t c = 0; c < n; ++c) t[c] = 2 * alpha * vx[c];
        l.Write(t, i, dmid);
      }
      if (dg) {
        for (int64_t c = 0; c < n; ++c) t[c] = v[c] * p[c] - f * vx[c] * xv[c] * p[c] / mid[c];
        l.Write(t, i, dg);
      }
      if (!dx) return;
      for (int64_t c = 0; c < n; ++c) t[c] = gv[c] * xv[c] * p[c] / mid[c];
      l.Window(t, window, gx);
      for (int64_t c = 0; c < n; ++c) t[c] = v[c] * gv[c] * p[c] / mid[c];
      l.Window(t, window, vg);
      for (int64_t c = 0; c < n; ++c) t[c] = vx[c] * gv[c] * xv[c] * p[c] / (mid[c] * mid[c]);
      l.Window(t, window, agx);
      l.ReadOrZero(mid_gs, i, t);
      l.Window(t, window, sm);
      double curve = f * (beta + 1) * 2 * alpha;
      for (int64_t c = 0; c < n; ++c) {
        t[c] = curve * xv[c] * agx[c] -
               f * (xv[c] * vg[c] + v[c] * gx[c] + vx[c] * gv[c] * p[c] / mid[c]) +
               2 * alpha * v[c] * sm[c];
      }
      l.Write(t, i, dx);
    });
  }
};
}  // namespace grad_grad
using grad_grad::LrnThird;

REGISTER_OPERATOR(lrn, DefineLrn);
REGISTER_KERNELS(lrn, LrnKernel, float, double);
REGISTER_OPERATOR(lrn_grad, grad::DefineLrnGrad);
REGISTER_KERNELS(lrn_grad, grad::LrnGradKernel, float, double);
REGISTER_OPERATOR(lrn_grad_grad, grad_grad::DefineLrnGradGrad);
REGISTER_KERNELS(lrn_grad_grad, grad_grad::LrnGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(lrn_grad_grad, LrnThird);

}  // namespace
}  // namespace dygraph
