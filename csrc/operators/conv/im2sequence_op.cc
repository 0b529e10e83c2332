#include "op/gradient_call.h"
#include "operators/conv/window_rows.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0;

struct Im2SequenceAttrs {
  std::vector<int32_t> kernels;
  std::vector<int32_t> strides = {1, 1};
  std::vector<int32_t> paddings = {0, 0, 0, 0};
  std::vector<int32_t> out_stride = {1, 1};
};

patches::Geometry Describe(const Dims& x, const Im2SequenceAttrs& a) {
  return patches::Describe(x, "kernels", a.kernels, a.strides, a.paddings, {1, 1});
}

std::vector<patches::Count> Counts(const patches::Geometry& g, const Im2SequenceAttrs& a,
                                   const Tensor* y) {
  std::vector<patches::Count> counts(g.n, {g.h.Out(), g.w.Out()});
  if (!y) return counts;
  ENFORCE(y->rank() == 2 && y->dim(0) == g.n && y->dim(1) == 2, InvalidArgument,
          "Y must hold height and width of each of the ", g.n, " images, got shape ", y->dims());
  window::CheckCount("out_stride", a.out_stride, 2);
  for (int64_t i = 0; i < g.n; ++i) {
    for (int k = 0; k < 2; ++k) {
      double real = y->dtype() == DType::kFloat32 ? static_cast<double>(y->data<float>()[2 * i + k])
                                                  : y->data<double>()[2 * i + k];
      window::Axis axis = k == 0 ? g.h : g.w;
      int64_t most = axis.Out();
      ENFORCE(real >= 1 && real < 2147483648.0, InvalidArgument,
              "Y must hold sizes of at least 1, got ", real);
      axis.size = (static_cast<int64_t>(real) + a.out_stride[k] - 1) / a.out_stride[k];
      int64_t count = axis.Padded() < axis.Reach() ? 0 : axis.Out();
      ENFORCE(count >= 1 && count <= most, InvalidArgument, "the sizes in Y must leave 1 to ", most,
              " windows along the ", window::AxisName(k, 2), ", got ", count, " for ", real);
      (k == 0 ? counts[i].h : counts[i].w) = count;
    }
  }
  return counts;
}

void InferShape(InferContext& ctx) {
  const Im2SequenceAttrs& a = ctx.attrs<Im2SequenceAttrs>();
  patches::Geometry g = Describe(ctx.dims(kX), a);
  int64_t rows = MulSizes(g.n, g.Count());
  if (ctx.HasInput(kY)) {
    const Tensor& y = ctx.value(kY).tensor();
    ENFORCE(y.dtype() == DType::kFloat32 || y.dtype() == DType::kFloat64, Type,
            "Y must be of float32 or float64, got ", y.dtype());
    rows = -1;
    if (y.has_data() && g.n >= 0 && g.Count() >= 0) {
      rows = 0;
      for (const patches::Count& c : Counts(g, a, &y)) rows += c.h * c.w;
    }
  }
  ctx.SetOutput(kOut, {rows, g.Taps()}, ctx.dtype(kX));
}

void DefineIm2Sequence(OpDef& op) {
  op.Comment(
        "The windows of each image as the rows of a sequence: Out's row for window (i, j) holds "
        "X[n, c, i * stride + u - top, j * stride + v - left], c first, then u, then v, 0 in the "
        "padding. Out's level of detail says which rows belong to which image.")
      .Example(
          ">>> x = to_variable(np.arange(6.0).reshape(1, 1, 2, 3))\n"
          ">>> F.im2sequence(x, kernels=[2, 2]).tolist()\n"
          "[[0.0, 1.0, 3.0, 4.0], [1.0, 2.0, 4.0, 5.0]]")
      .Input(kX, "X", "[N, C, H, W]")
      .Input(kY, "Y",
             "[N, 2], the real height and width of each image before it was shrunk by out_stride: "
             "windows beyond are left out",
             kDispensable | kOnHost)
      .Output(kOut, "Out", "[windows of all images, C * kernel height * kernel width]")
      .Attr(&Im2SequenceAttrs::kernels, "kernels", "[height, width]", EachAtLeast(1))
      .Attr(&Im2SequenceAttrs::strides, "strides", "[height, width]", EachAtLeast(1))
      .Attr(&Im2SequenceAttrs::paddings, "paddings", "[top, left, bottom, right]", EachAtLeast(0))
      .Attr(&Im2SequenceAttrs::out_stride, "out_stride", "[height, width]: Y's sizes over X's",
            EachAtLeast(1))
      .MixedDTypes()
      .Shape(InferShape)
      .Grad(CallGradient);
}

template <class T>
struct Im2SequenceKernel {
  static void Compute(KernelContext& ctx) {
    const Im2SequenceAttrs& a = ctx.attrs<Im2SequenceAttrs>();
    const Tensor& x = ctx.In(kX);
    patches::Geometry g = Describe(x.dims(), a);
    const std::vector<patches::Count> counts = Counts(g, a, ctx.InOrNull(kY));
    Tensor& out = ctx.Out(kOut);
    patches::WindowsToRows(ctx, g, counts, x.data<T>(), out.mutable_data<T>());
    LoDLevels lod(1, {0});
    for (const patches::Count& c : counts) lod[0].push_back(lod[0].back() + c.h * c.w);
    out.SetLoD(std::move(lod));
  }
};

namespace grad {
constexpr int kX = 0, kY = 1, kOutGrad = 2, kXGrad = 0;

void DefineIm2SequenceGrad(OpDef& op) {
  op.Comment("X@GRAD: the rows of Out@GRAD added where they were cut out.")
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kY, "Y", "as of the forward call", kDispensable | kOnHost)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("im2sequence")
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .SameShape(kX, kXGrad)
      .Grad([](GradBuilder& g) {
        g.Call("im2sequence", {g.OutputGrad(kXGrad), g.Input(kY)}, {g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct Im2SequenceGradKernel {
  static void Compute(KernelContext& ctx) {
    const Im2SequenceAttrs& a = ctx.attrs<Im2SequenceAttrs>();
    patches::Geometry g = Describe(ctx.In(kX).dims(), a);
    const int64_t taps = g.Taps();
    const Tensor& dy = ctx.In(kOutGrad);
    std::vector<patches::Count> counts = Counts(g, a, ctx.InOrNull(kY));
    int64_t rows = 0;
    for (const patches::Count& c : counts) rows += c.h * c.w;
    ENFORCE(dy.numel() == rows * taps, InvalidArgument, "Out@GRAD must have the shape of Out [",
            rows, ", ", taps, "], got ", dy.dims());
    patches::RowsToWindows(ctx, g, counts, dy.data<T>(), ctx.Out(kXGrad).mutable_data<T>());
  }
};
}  // namespace grad

REGISTER_OPERATOR(im2sequence, DefineIm2Sequence);
REGISTER_KERNELS(im2sequence, Im2SequenceKernel, float, double);
REGISTER_OPERATOR(im2sequence_grad, grad::DefineIm2SequenceGrad);
REGISTER_KERNELS(im2sequence_grad, grad::Im2SequenceGradKernel, float, double);

}  // namespace
}  // namespace dygraph
