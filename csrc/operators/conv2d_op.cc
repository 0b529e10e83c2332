#include "kernels/elementwise.h"
#include "kernels/gemm.h"
#include "kernels/im2col.h"
#include "kernels/transpose.h"
#include "operators/conv2d.h"

namespace dygraph {
namespace {

using conv2d::Attrs;
using conv2d::Geometry;

void InferShape(InferContext& ctx) {
  using namespace conv2d;  // NOLINT: its slots
  const Dims &input = ctx.dims(kInput), &filter = ctx.dims(kFilter);
  const Attrs& a = ctx.attrs<Attrs>();
  Geometry g = Describe(input, filter, a);
  Dims out = window::MakeImageDims(g.n, g.out_c, g.h.Out(), g.w.Out(), a.channels_last());
  if (ctx.HasInput(kBias)) {
    const Dims& bias = ctx.dims(kBias);
    ENFORCE(bias.rank() == 1 && (bias[0] == g.out_c || !BothKnown(bias[0], g.out_c)),
            InvalidArgument, "Bias must have one number for each of the ", g.out_c,
            " output channels, got shape ", bias);
  }
  if (ctx.HasInput(kResidual)) {
    const Dims& residual = ctx.dims(kResidual);
    ENFORCE(residual == out || residual.HasUnknown() || out.HasUnknown(), InvalidArgument,
            "ResidualData must have the shape of Output ", out, ", got ", residual);
  }
  ctx.SetOutput(kOutput, out);
}

void DefineConv2d(OpDef& op) {
  using namespace conv2d;  // NOLINT: its slots
  op.Comment(
        "Output[n, o, i, j] = sum over c, u, v of Input[n, c, i * stride + u * dilation - pad, "
        "...] * Filter[o, c, u, v] "
        "(+ Bias[o]) (+ ResidualData), c over the channels of o's group.")
      .Input(kInput, "Input", "[N, C, H, W], or [N, H, W, C] with data_format NHWC")
      .Input(kFilter, "Filter", "[M, C / groups, kernel height, kernel width]", kWeight)
      .Input(kBias, "Bias", "[M]", kDispensable)
      .Input(kResidual, "ResidualData", "shape of Output", kDispensable)
      .Output(kOutput, "Output", "[N, M, H', W'], or [N, H', W', M]")
      .Attr(&Attrs::strides, "strides", "of the window, [height, width]", EachAtLeast(1))
      .Attr(&Attrs::paddings, "paddings", "[height, width] or [top, bottom, left, right]",
            EachAtLeast(0))
      .Attr(&Attrs::padding_algorithm, "padding_algorithm", "SAME and VALID replace paddings",
            OneOf({"EXPLICIT", "SAME", "VALID"}))
      .Attr(&Attrs::groups, "groups", "channels are split into so many independent convolutions",
            AtLeast(1))
      .Attr(&Attrs::dilations, "dilations", "between the taps of the window, [height, width]",
            EachAtLeast(1))
      .Attr(&Attrs::data_format, "data_format", "the order of Input's and Output's axes",
            OneOf({"NCHW", "NHWC", "AnyLayout"}))
      .Shape(InferShape)
      .Grad([](GradBuilder& g) {
        g.Call("conv2d_grad",
               {g.Wants(kFilter) ? g.Input(kInput) : g.InputShape(kInput),
                g.Wants(kInput) ? g.Input(kFilter) : g.InputShape(kFilter), g.InputShape(kBias),
                g.OutputGrad(kOutput)},
               {g.InputGrad(kInput), g.InputGrad(kFilter), g.InputGrad(kBias)})
            .SameAttrs();
        g.Call("scale", {g.OutputGrad(kOutput)}, {g.InputGrad(kResidual)});
      });
}

// One image at a time: its patches as a matrix [C / groups * taps, pixels], times the filter as a
// matrix.
struct Plan {
  kernels::Im2ColShape patch;                                 // of one group
  int64_t n, groups, in_size, out_size, out_c, taps, pixels;  // out_c: of one group
  bool direct;  // a 1x1 window is its own patch matrix
  explicit Plan(const Geometry& g) {
    patch.channels = g.c / g.groups;
    patch.height = g.h.size;
    patch.width = g.w.size;
    patch.kernel_h = g.h.kernel;
    patch.kernel_w = g.w.kernel;
    patch.stride_h = g.h.stride;
    patch.stride_w = g.w.stride;
    patch.top = g.h.before;
    patch.bottom = g.h.after;
    patch.left = g.w.before;
    patch.right = g.w.after;
    patch.dilation_h = g.h.dilation;
    patch.dilation_w = g.w.dilation;
    n = g.n;
    groups = g.groups;
    out_c = g.out_c / groups;
    in_size = patch.channels * patch.height * patch.width;
    pixels = patch.OutHeight() * patch.OutWidth();
    out_size = out_c * pixels;
    taps = patch.channels * patch.kernel_h * patch.kernel_w;
    direct = pixels == patch.height * patch.width && patch.kernel_h * patch.kernel_w == 1 &&
             patch.top == 0 && patch.left == 0;
  }
  int64_t Work() const { return out_size * taps; }
};

// Images in parallel, each with a matrix of its own; one image alone leaves the threads to the
// product.
template <class T, class Body>
void ForImages(const Plan& p, const Body& body) {
  int64_t col_size = p.direct ? 0 : p.taps * p.pixels;
  kernels::ParallelRows(p.n, p.groups * p.Work(), [&](int64_t begin, int64_t end) {
    Scratch col(CPUPlace(), static_cast<size_t>(col_size) * sizeof(T));
    for (int64_t i = begin; i < end; ++i) body(i, col.as<T>());
  });
}

template <class T>
void Forward(const T* x, const T* filter, const T* bias, const T* residual, const Plan& p, T* y) {
  ForImages<T>(p, [&](int64_t i, T* col) {
    for (int64_t g = 0; g < p.groups; ++g) {
      const T* from = x + (i * p.groups + g) * p.in_size;
      T* to = y + (i * p.groups + g) * p.out_size;
      if (residual) {
        std::copy_n(residual + (to - y), p.out_size, to);
      } else if (bias) {
        std::fill_n(to, p.out_size, T(0));
      }
      if (bias) {
        for (int64_t o = 0; o < p.out_c; ++o) {
          T b = bias[g * p.out_c + o];
          for (int64_t k = 0; k < p.pixels; ++k) to[o * p.pixels + k] += b;
        }
      }
      if (!p.direct) kernels::Im2Col(from, p.patch, col);
      kernels::Gemm<T>(false, false, p.out_c, p.pixels, p.taps, T(1), filter + g * p.out_c * p.taps,
                       p.taps, p.direct ? from : col, p.pixels, T(bias || residual), to, p.pixels);
    }
  });
}

template <class T>
void BackwardInput(const T* dy, const T* filter, const Plan& p, T* dx) {
  ForImages<T>(p, [&](int64_t i, T* col) {
    for (int64_t g = 0; g < p.groups; ++g) {
      T* to = dx + (i * p.groups + g) * p.in_size;
      kernels::Gemm<T>(true, false, p.taps, p.pixels, p.out_c, T(1), filter + g * p.out_c * p.taps,
                       p.taps, dy + (i * p.groups + g) * p.out_size, p.pixels, T(0),
                       p.direct ? to : col, p.pixels);
      if (!p.direct) kernels::Col2Im(col, p.patch, to);
    }
  });
}

// Images are added within pieces and pieces in order; how many there are follows from the shape
// alone.
template <class T>
void BackwardFilter(const T* x, const T* dy, const Plan& p, T* dw) {
  constexpr int64_t kMostPieces = 8, kMostBytes = 16 << 20;
  int64_t size = p.groups * p.out_c * p.taps, bytes = size * static_cast<int64_t>(sizeof(T));
  int64_t pieces =
      std::max<int64_t>(std::min({kMostPieces, p.n, kMostBytes / std::max<int64_t>(bytes, 1)}), 1);
  int64_t col_size = p.direct ? 0 : p.taps * p.pixels;
  Scratch partial(CPUPlace(), static_cast<size_t>((pieces - 1) * bytes));
  ParallelBlocks(pieces, [&](int64_t piece) {
    T* to = piece == 0 ? dw : partial.as<T>() + (piece - 1) * size;
    Scratch col(CPUPlace(), static_cast<size_t>(col_size) * sizeof(T));
    int64_t first = p.n * piece / pieces, last = p.n * (piece + 1) / pieces;
    for (int64_t i = first; i < last; ++i) {
      for (int64_t g = 0; g < p.groups; ++g) {
        const T* from = x + (i * p.groups + g) * p.in_size;
        if (!p.direct) kernels::Im2Col(from, p.patch, col.as<T>());
        kernels::Gemm<T>(false, true, p.out_c, p.taps, p.pixels, T(1),
                         dy + (i * p.groups + g) * p.out_size, p.pixels,
                         p.direct ? from : col.as<T>(), p.pixels, T(i > first),
                         to + g * p.out_c * p.taps, p.taps);
      }
    }
    if (first == last) std::fill_n(to, size, T(0));
  });
  for (int64_t piece = 1; piece < pieces; ++piece) {
    kernels::Zip(static_cast<const T*>(dw), partial.as<T>() + (piece - 1) * size, dw, size,
                 [](T a, T b) { return a + b; });
  }
}

template <class T>
void BackwardBias(const T* dy, int64_t n, int64_t channels, int64_t pixels, T* db) {
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      const T* plane = dy + (i * channels + c) * pixels;
      for (int64_t k = 0; k < pixels; ++k) sum += static_cast<double>(plane[k]);
    }
    db[c] = static_cast<T>(sum);
  }
}

// data_format NHWC: the kernel works on NCHW copies.
Tensor ToNchw(const Tensor& t) {
  const Dims& d = t.dims();
  Tensor out({d[0], d[3], d[1], d[2]}, t.dtype());
  kernels::NhwcToNchw(t.raw_data(), d[0], d[3], d[1] * d[2], out.mutable_raw_data(),
                      SizeOf(t.dtype()));
  return out;
}
void ToNhwc(const Tensor& nchw, Tensor* out) {
  const Dims& d = nchw.dims();
  kernels::NchwToNhwc(nchw.raw_data(), d[0], d[1], d[2] * d[3], out->mutable_raw_data(),
                      SizeOf(nchw.dtype()));
}

template <class T>
struct Conv2dKernel {
  static void Compute(KernelContext& ctx) {
    using namespace conv2d;  // NOLINT: its slots
    const Attrs& a = ctx.attrs<Attrs>();
    Geometry g = Describe(ctx.In(kInput).dims(), ctx.In(kFilter).dims(), a);
    Tensor& out = ctx.Out(kOutput);
    if (out.numel() == 0) return;
    bool last = a.channels_last();
    Tensor x = last ? ToNchw(ctx.In(kInput)) : ctx.In(kInput), residual, y;
    if (const Tensor* r = ctx.InOrNull(kResidual)) residual = last ? ToNchw(*r) : *r;
    if (last) y.Allocate({g.n, g.out_c, g.h.Out(), g.w.Out()}, out.dtype(), out.place());
    const Tensor* bias = ctx.InOrNull(kBias);
    Forward<T>(x.data<T>(), ctx.In(kFilter).data<T>(), bias ? bias->data<T>() : nullptr,
               residual.has_data() ? residual.data<T>() : nullptr, Plan(g),
               (last ? y : out).template mutable_data<T>());
    if (last) ToNhwc(y, &out);
  }
};

void InferGradShape(InferContext& ctx) {
  using namespace conv2d::grad;  // NOLINT: its slots
  ctx.SetOutput(kInputGrad, ctx.dims(kInput), ctx.dtype(kInput));
  ctx.SetOutput(kFilterGrad, ctx.dims(kFilter), ctx.dtype(kFilter));
  if (ctx.HasInput(kBias)) ctx.SetOutput(kBiasGrad, ctx.dims(kBias), ctx.dtype(kBias));
}

void DefineConv2dGrad(OpDef& op) {
  using namespace conv2d::grad;  // NOLINT: its slots
  op.Comment(
        "Input@GRAD is the convolution of Output@GRAD with Filter turned around, Filter@GRAD the "
        "correlation of Input with "
        "Output@GRAD, Bias@GRAD the sum of Output@GRAD over all but the channels.")
      .Input(kInput, "Input", "its shape; its values for Filter@GRAD")
      .Input(kFilter, "Filter", "its shape; its values for Input@GRAD", kWeight)
      .Input(kBias, "Bias", "its shape", kDispensable)
      .Input(kOutputGrad, "Output@GRAD", "shape of Output")
      .Output(kInputGrad, "Input@GRAD", "shape of Input")
      .Output(kFilterGrad, "Filter@GRAD", "shape of Filter", kWeight)
      .Output(kBiasGrad, "Bias@GRAD", "shape of Bias")
      .AttrsOf("conv2d")
      .Shape(InferGradShape)
      .KernelDTypeOf(kOutputGrad)
      .Grad([](GradBuilder& g) {
        RecipeRef ddx = g.OutputGrad(kInputGrad), ddw = g.OutputGrad(kFilterGrad),
                  ddb = g.OutputGrad(kBiasGrad);
        RecipeRef a = g.Temp(), b = g.Temp(), c = g.Temp(), zero = g.Temp();
        g.Call("conv2d", {ddx, g.Input(kFilter)}, {a}).SameAttrs();
        g.Call("conv2d", {g.Input(kInput), ddw}, {b}).SameAttrs();
        if (g.HasInput(kBias)) {
          int32_t axis = g.attrs<Attrs>().channels_last() ? 3 : 1;
          g.Call("fill_any_like", {g.InputShape(kOutputGrad)}, {zero});
          g.Call("elementwise_add", {zero, ddb}, {c}).Attr("axis", axis);
        }
        g.Call("sum", {RecipeSlot({a, b, c})}, {g.InputGrad(kOutputGrad)});
        g.Call("conv2d_grad", {g.InputShape(kInput), ddw, {}, g.Input(kOutputGrad)},
               {g.InputGrad(kInput)})
            .SameAttrs();
        g.Call("conv2d_grad", {ddx, g.InputShape(kFilter), {}, g.Input(kOutputGrad)},
               {{}, g.InputGrad(kFilter)})
            .SameAttrs();
      });
}

template <class T>
struct Conv2dGradKernel {
  static void Compute(KernelContext& ctx) {
    using namespace conv2d::grad;  // NOLINT: its slots
    const Attrs& a = ctx.attrs<Attrs>();
    const Tensor &input = ctx.In(kInput), &filter = ctx.In(kFilter);
    Geometry g = conv2d::Describe(input.dims(), filter.dims(), a);
    Plan p(g);
    bool last = a.channels_last();
    Tensor dy = last ? ToNchw(ctx.In(kOutputGrad)) : ctx.In(kOutputGrad);
    const T* dyd = dy.data<T>();
    if (Tensor* out = ctx.OutOrNull(kInputGrad)) {
      Tensor dx;
      if (last) dx.Allocate({g.n, g.c, g.h.size, g.w.size}, out->dtype(), out->place());
      BackwardInput<T>(dyd, filter.data<T>(), p, (last ? dx : *out).template mutable_data<T>());
      if (last) ToNhwc(dx, out);
    }
    if (Tensor* out = ctx.OutOrNull(kFilterGrad)) {
      Tensor x = last ? ToNchw(input) : input;
      BackwardFilter<T>(x.data<T>(), dyd, p, out->mutable_data<T>());
    }
    if (Tensor* out = ctx.OutOrNull(kBiasGrad)) {
      BackwardBias<T>(dyd, g.n, g.out_c, p.pixels, out->mutable_data<T>());
    }
  }
};

REGISTER_OPERATOR(conv2d, DefineConv2d);
REGISTER_CPU_KERNEL(conv2d, Conv2dKernel, float, double);
REGISTER_OPERATOR(conv2d_grad, DefineConv2dGrad);
REGISTER_CPU_KERNEL(conv2d_grad, Conv2dGradKernel, float, double);

}  // namespace
}  // namespace dygraph
