#include "kernels/matmul.h"
#include "operators/sequence/sequence.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kRow = 1, kColumn = 2, kW = 3, kOut = 0, kCol = 1;

struct VarConvAttrs {
  int32_t InputChannel = 1, OutputChannel = 1;
  int32_t StrideH = 1, StrideW = 1;
  int32_t KernelH = 1, KernelW = 1;
  int64_t depth() const { return int64_t{InputChannel} * KernelH * KernelW; }
};

// The images one after another: image i is as high as sequence i of ROW has rows, and as wide as
// sequence i of COLUMN.
struct Images {
  struct Image {
    int64_t height, width, out_height, out_width, from, to;  // where it begins in X and in Out
    int64_t cells() const { return out_height * out_width; }
  };
  std::vector<Image> list;
  int64_t in = 0, out = 0;

  Images(const Call& call, const VarConvAttrs& a) {
    const sequence::Offsets &rows = sequence::LastLevel(sequence::TensorOf(call, kRow), "ROW"),
                            &columns =
                                sequence::LastLevel(sequence::TensorOf(call, kColumn), "COLUMN");
    ENFORCE(rows.size() == columns.size(), InvalidArgument,
            "ROW and COLUMN must have equally many sequences, got ", sequence::Count(rows), " and ",
            sequence::Count(columns));
    for (int64_t i = 0; i < sequence::Count(rows); ++i) {
      const int64_t h = rows[i + 1] - rows[i], w = columns[i + 1] - columns[i];
      const bool none = h == 0 || w == 0;
      Image image{h,  w,  none ? 0 : (h - 1) / a.StrideH + 1, none ? 0 : (w - 1) / a.StrideW + 1,
                  in, out};
      in += a.InputChannel * h * w;
      out += a.OutputChannel * image.cells();
      list.push_back(image);
    }
    const Dims& x = sequence::TensorOf(call, kX).dims();
    ENFORCE(Numel(x) == in, InvalidArgument, "X must have InputChannel * rows * columns numbers, ",
            in, ", got shape ", x);
  }
};

void CheckInputs(InferContext& ctx) {
  const auto& a = ctx.attrs<VarConvAttrs>();
  const Dims &x = ctx.dims(kX), &w = ctx.dims(kW);
  ENFORCE(x.rank() == 2 && (x[1] == 1 || x[1] < 0), InvalidArgument,
          "X must have shape [numbers, 1], got ", x);
  ENFORCE(w.rank() == 2 && (w[0] == a.OutputChannel || w[0] < 0) && (w[1] == a.depth() || w[1] < 0),
          InvalidArgument, "W must have shape [OutputChannel, InputChannel * KernelH * KernelW], [",
          a.OutputChannel, ", ", a.depth(), "], got ", w);
}

OpDef& Inputs(OpDef& op) {
  return op
      .Input(kX, "X", "[numbers, 1]: the images, [InputChannel, rows, columns], one after another")
      .Input(kRow, "ROW", "its LoD has the rows of each image", kShapeOnly)
      .Input(kColumn, "COLUMN", "its LoD has the columns of each image", kShapeOnly)
      .Input(kW, "W", "[OutputChannel, InputChannel * KernelH * KernelW]")
      .KernelDTypeOf(kX)
      .MixedDTypes();
}

// f(element of the window's column, pixel of the image) for each pixel that a window sees.
template <class F>
void ForEachPixel(const Images::Image& image, const VarConvAttrs& a, F f) {
  for (int64_t c = 0; c < a.InputChannel; ++c) {
    for (int64_t p = 0; p < a.KernelH; ++p) {
      for (int64_t q = 0; q < a.KernelW; ++q) {
        const int64_t row = ((c * a.KernelH + p) * a.KernelW + q) * image.cells();
        for (int64_t i = 0; i < image.out_height; ++i) {
          const int64_t y = i * a.StrideH + p - a.KernelH / 2;
          if (y < 0 || y >= image.height) continue;
          for (int64_t j = 0; j < image.out_width; ++j) {
            const int64_t x = j * a.StrideW + q - a.KernelW / 2;
            if (x < 0 || x >= image.width) continue;
            f(row + i * image.out_width + j, (c * image.height + y) * image.width + x);
          }
        }
      }
    }
  }
}

// The windows of an image as columns.
template <class T>
std::vector<T> Columns(const Images::Image& image, const VarConvAttrs& a, const T* x) {
  std::vector<T> columns(a.depth() * image.cells(), T(0));
  ForEachPixel(image, a, [&](int64_t at, int64_t pixel) { columns[at] = x[pixel]; });
  return columns;
}

void DefineVarConv2d(OpDef& op) {
  Inputs(op.Comment("Convolutions of images of different sizes: W over the window whose middle, "
                    "(KernelH / 2, KernelW / 2), stands at each pixel, or each StrideH-th and "
                    "StrideW-th; zeros lie beyond the image.")
             .Example(">>> x = to_variable([[1.0], [2.0], [3.0], [5.0]], lod=[[0, 2, 4]])\n"
                      ">>> row = to_variable([[0.0], [0.0], [0.0]], lod=[[0, 1, 3]])\n"
                      ">>> column = to_variable([[0.0], [0.0], [0.0]], lod=[[0, 2, 3]])\n"
                      ">>> w = to_variable([[1.0, 10.0]])\n"
                      ">>> F.var_conv_2d(x, row, column, w, KernelW=2).tolist()\n"
                      "[[10.0], [21.0], [30.0], [50.0]]"))
      .Output(kOut, "Out", "[numbers, 1]: the images, [OutputChannel, rows', columns']")
      .Output(kCol, "Col", "of programs: nothing", kIntermediate)
      .Attr(&VarConvAttrs::InputChannel, "InputChannel", "channels of X", AtLeast(1))
      .Attr(&VarConvAttrs::OutputChannel, "OutputChannel", "channels of Out", AtLeast(1))
      .Attr(&VarConvAttrs::StrideH, "StrideH", "rows between windows", AtLeast(1))
      .Attr(&VarConvAttrs::StrideW, "StrideW", "columns between windows", AtLeast(1))
      .Attr(&VarConvAttrs::KernelH, "KernelH", "rows of a window", AtLeast(1))
      .Attr(&VarConvAttrs::KernelW, "KernelW", "columns of a window", AtLeast(1))
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        const auto& a = ctx.attrs<VarConvAttrs>();
        const int64_t numbers = ctx.runtime() ? Images(ctx.call(), a).out : -1;
        ctx.SetOutput(kOut, {numbers, 1}, ctx.dtype(kX));
        ctx.SetOutput(kCol, {0}, ctx.dtype(kX));
      })
      .Grad([](GradBuilder& g) {
        g.Call("var_conv_2d_grad",
               {g.Wants(kW) ? g.Input(kX) : g.InputShape(kX), g.InputShape(kRow),
                g.InputShape(kColumn), g.Wants(kX) ? g.Input(kW) : g.InputShape(kW),
                g.OutputGrad(kOut)},
               {g.InputGrad(kX), g.InputGrad(kW)})
            .SameAttrs();
      });
}

template <class T>
struct VarConv2dKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<VarConvAttrs>();
    const Images images(ctx.call(), a);
    const T *x = ctx.In(kX).data<T>(), *w = ctx.In(kW).data<T>();
    Tensor& out = ctx.Out(kOut);
    T* to = out.mutable_data<T>();
    sequence::Offsets offsets(1, 0);
    for (const Images::Image& image : images.list) {
      offsets.push_back(image.to + a.OutputChannel * image.cells());
      if (image.cells() == 0) continue;
      const std::vector<T> columns = Columns(image, a, x + image.from);
      kernels::MatMul<T>(false, false, a.OutputChannel, image.cells(), a.depth(), T(1), w,
                         a.depth(), columns.data(), image.cells(), T(0), to + image.to,
                         image.cells());
    }
    out.SetLoD(LoDLevels{offsets});
  }
};

namespace grad {
constexpr int kOutGrad = 4, kXGrad = 0, kWGrad = 1;

void DefineVarConv2dGrad(OpDef& op) {
  Inputs(op.Comment("What W and Out@GRAD give for X, and X and Out@GRAD for W."))
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kWGrad, "W@GRAD", "shape of W")
      .AttrsOf("var_conv_2d")
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        if (ctx.runtime()) {
          const int64_t numbers = Images(ctx.call(), ctx.attrs<VarConvAttrs>()).out;
          ENFORCE(Numel(ctx.dims(kOutGrad)) == numbers, InvalidArgument,
                  "Out@GRAD must have the shape of Out, [", numbers, ", 1], got ",
                  ctx.dims(kOutGrad));
        }
        ctx.SetOutput(kXGrad, ctx.dims(kX), ctx.dtype(kX));
        ctx.SetOutput(kWGrad, ctx.dims(kW), ctx.dtype(kX));
      })
      .Grad([](GradBuilder& g) {
        RecipeRef ddx = g.OutputGrad(kXGrad), ddw = g.OutputGrad(kWGrad),
                  arrived = g.Input(kOutGrad), row = g.InputShape(kRow),
                  column = g.InputShape(kColumn);
        RecipeRef a = g.Temp(), b = g.Temp();
        g.Call("var_conv_2d", {ddx, row, column, g.Input(kW)}, {a}).SameAttrs();
        g.Call("var_conv_2d", {g.Input(kX), row, column, ddw}, {b}).SameAttrs();
        g.Call("sum", {RecipeSlot({a, b})}, {g.InputGrad(kOutGrad)});
        g.Call("var_conv_2d_grad", {g.InputShape(kX), row, column, ddw, arrived},
               {g.InputGrad(kX), {}})
            .SameAttrs();
        g.Call("var_conv_2d_grad", {ddx, row, column, g.InputShape(kW), arrived},
               {{}, g.InputGrad(kW)})
            .SameAttrs();
      });
}

template <class T>
struct VarConv2dGradKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<VarConvAttrs>();
    const Images images(ctx.call(), a);
    const T* g = ctx.In(kOutGrad).data<T>();
    auto start = [&](int slot) {
      Tensor* out = ctx.OutOrNull(slot);
      if (!out) return static_cast<T*>(nullptr);
      std::fill_n(out->mutable_data<T>(), out->numel(), T(0));
      return out->mutable_data<T>();
    };
    T *dx = start(kXGrad), *dw = start(kWGrad);
    const T *x = dw ? ctx.In(kX).data<T>() : nullptr, *w = dx ? ctx.In(kW).data<T>() : nullptr;
    const int64_t channels = a.OutputChannel, depth = a.depth();
    for (const Images::Image& image : images.list) {
      const int64_t cells = image.cells();
      if (cells == 0) continue;
      if (dx) {
        std::vector<T> columns(depth * cells);
        kernels::MatMul<T>(true, false, depth, cells, channels, T(1), w, depth, g + image.to, cells,
                           T(0), columns.data(), cells);
        T* to = dx + image.from;
        ForEachPixel(image, a, [&](int64_t at, int64_t pixel) { to[pixel] += columns[at]; });
      }
      if (dw) {
        const std::vector<T> columns = Columns(image, a, x + image.from);
        kernels::MatMul<T>(false, true, channels, depth, cells, T(1), g + image.to, cells,
                           columns.data(), cells, T(1), dw, depth);
      }
    }
  }
};
}  // namespace grad

REGISTER_OPERATOR(var_conv_2d, DefineVarConv2d);
REGISTER_CPU_KERNEL(var_conv_2d, VarConv2dKernel, float, double);
REGISTER_OPERATOR(var_conv_2d_grad, grad::DefineVarConv2dGrad);
REGISTER_CPU_KERNEL(var_conv_2d_grad, grad::VarConv2dGradKernel, float, double);

}  // namespace
}  // namespace dygraph
