#include "op/gradient_call.h"
#include "op/op_registry.h"
#include "op/part_call.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct SppAttrs {
  int32_t pyramid_height = 1;
  std::string pooling_type = "max";
};

// A level with 2^level windows along each axis, as pool2d has it.
struct Level {
  int32_t kernel[2], padding[2];
  int64_t cells;
  Level(int level, int64_t height, int64_t width) : cells(int64_t{1} << (2 * level)) {
    const int64_t windows = int64_t{1} << level, sizes[] = {height, width};
    for (int i = 0; i < 2; ++i) {
      kernel[i] = static_cast<int32_t>((sizes[i] + windows - 1) / windows);
      padding[i] = static_cast<int32_t>((kernel[i] * windows - sizes[i] + 1) / 2);
      ENFORCE(padding[i] < kernel[i], InvalidArgument,
              "X must be large enough for windows of the level ", level, ", ", windows,
              " along an axis, got size ", sizes[i], ". Take a smaller pyramid_height");
    }
  }
};

void InferShape(InferContext& ctx) {
  const auto& a = ctx.attrs<SppAttrs>();
  const Dims& x = ctx.dims(kX);
  ENFORCE(x.rank() == 4, InvalidArgument, "X must have shape [N, C, H, W], got ", x);
  int64_t cells = 0;
  for (int p = 0; p < a.pyramid_height; ++p) {
    cells += int64_t{1} << (2 * p);
    if (BothKnown(x[2], x[3])) Level(p, x[2], x[3]);
  }
  ctx.SetOutput(kOut, {x[0], MulSizes(x[1], cells)});
}

void DefineSpp(OpDef& op) {
  op.Comment(
        "Out = the pools of X in 1 x 1, 2 x 2, 4 x 4, ... windows, pyramid_height of them, side by "
        "side: as many columns for an image of any size (He et al., \"Spatial pyramid pooling\", "
        "2014). An average does not count what lies beyond the image.")
      .Example(
          ">>> x = to_variable([[[[1.0, 2.0], [3.0, 4.0]]]])\n"
          ">>> F.spp(x, pyramid_height=2, pooling_type=\"avg\").tolist()\n"
          "[[2.5, 1.0, 2.0, 3.0, 4.0]]")
      .Input(kX, "X", "[N, C, H, W]")
      .Output(kOut, "Out", "[N, C * (4^pyramid_height - 1) / 3]")
      .Attr(&SppAttrs::pyramid_height, "pyramid_height", "how many levels", Between(1, 12))
      .Attr(&SppAttrs::pooling_type, "pooling_type", "max or avg", OneOf({"max", "avg"}))
      .Shape(InferShape)
      .ShareLoD(kX)
      .KernelAllocates()
      .Grad(CallGradient);
}

// A call of pool2d, or of one of its gradient operators, on one level.
struct LevelCall : PartCall {
  LevelCall(KernelContext& ctx, const char* type, const Level& l) : PartCall(ctx, type) {
    const std::vector<int32_t> kernel(l.kernel, l.kernel + 2), padding(l.padding, l.padding + 2);
    Attr("ksize", kernel).Attr("strides", kernel).Attr("paddings", padding);
    Attr("pooling_type", ctx.attrs<SppAttrs>().pooling_type);
  }
};

// All levels pooled and joined; call(level) gives the pools of one.
template <class F>
void Pyramid(KernelContext& ctx, const Tensor& x, Value* out, F call) {
  std::vector<Value> levels;
  for (int p = 0; p < ctx.attrs<SppAttrs>().pyramid_height; ++p) {
    const Level l(p, x.dim(2), x.dim(3));
    Value pools;
    call(l, &pools);
    levels.emplace_back(pools.tensor().Reshaped({x.dim(0), x.dim(1) * l.cells}));
  }
  PartCall(ctx, "concat").In(Pointers(levels)).Out(out).Attr("axis", 1).Run();
  out->MutableTensor().SetLoD(x.lod_ref());
}

template <class T>
struct SppKernel {
  static void Compute(KernelContext& ctx) {
    Pyramid(ctx, ctx.In(kX), &ctx.OutValue(kOut), [&](const Level& l, Value* pools) {
      LevelCall call(ctx, "pool2d", l);
      call.In(ctx.InValue(kX)).Out(pools).Run();
    });
  }
};

namespace grad {
constexpr int kOut = 1, kOutGrad = 2, kXGrad = 0;

void DefineSppGrad(OpDef& op) {
  op.Comment(
        "X@GRAD = the sum over the levels: each Out@GRAD goes to the first maximum of its window, "
        "or evenly to the pixels averaged.")
      .Input(kX, "X", "input of spp")
      .Input(kOut, "Out", "of programs", kShapeOnly | kDispensable)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("spp")
      .Shape([](InferContext& ctx) { ctx.SetOutput(kXGrad, ctx.dims(kX)); })
      .KernelAllocates()
      .Grad([](GradBuilder& g) {  // linear in Out@GRAD; flat in X
        g.Call("spp_grad_grad", {g.Input(kX), g.OutputGrad(kXGrad)}, {g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct SppGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &g = ctx.In(kOutGrad);
    const int64_t n = x.dim(0), channels = x.dim(1);
    std::vector<Value> parts;
    int64_t at = 0;
    for (int p = 0; p < ctx.attrs<SppAttrs>().pyramid_height; ++p) {
      const Level l(p, x.dim(2), x.dim(3));
      const int64_t columns = channels * l.cells, windows = int64_t{1} << p;
      ENFORCE(g.rank() == 2 && g.dim(0) == n && at + columns <= g.dim(1), InvalidArgument,
              "Out@GRAD must have the shape of Out, got ", g.dims());
      Value part, back;
      PartCall(ctx, "slice")
          .In(ctx.InValue(kOutGrad))
          .Out(&part)
          .Attr("axes", std::vector<int32_t>{1})
          .Attr("starts", std::vector<int32_t>{static_cast<int32_t>(at)})
          .Attr("ends", std::vector<int32_t>{static_cast<int32_t>(at + columns)})
          .Run();
      const Value windows_grad(part.tensor().Reshaped({n, channels, windows, windows}));
      LevelCall call(ctx, "pool2d_grad", l);
      call.In(ctx.InValue(kX)).In(windows_grad).Out(&back).Run();
      parts.push_back(std::move(back));
      at += columns;
    }
    PartCall(ctx, "sum").In(Pointers(parts)).Out(&ctx.OutValue(kXGrad)).Run();
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kV = 1;

void DefineSppGradGrad(OpDef& op) {
  op.Comment("What spp_grad gives Out@GRAD: V pooled as X was, at the places of its maxima.")
      .Input(kX, "X", "input of spp")
      .Input(kV, "X@GRAD@GRAD", "shape of X")
      .Output(kOut, "Out@GRAD@GRAD", "shape of Out")
      .AttrsOf("spp")
      .Shape(InferShape)
      .KernelAllocates()
      .Grad([](GradBuilder& g) {
        g.Call("spp_grad", {g.Input(kX), {}, g.OutputGrad(kOut)}, {g.InputGrad(kV)}).SameAttrs();
      });
}

template <class T>
struct SppGradGradKernel {
  static void Compute(KernelContext& ctx) {
    const bool max = ctx.attrs<SppAttrs>().pooling_type == "max";
    Pyramid(ctx, ctx.In(kX), &ctx.OutValue(kOut), [&](const Level& l, Value* pools) {
      LevelCall call(ctx, max ? "pool2d_grad_grad" : "pool2d", l);
      if (max) call.In(ctx.InValue(kX));
      call.In(ctx.InValue(kV)).Out(pools).Run();
    });
  }
};
}  // namespace grad_grad

REGISTER_OPERATOR(spp, DefineSpp);
REGISTER_KERNELS(spp, SppKernel, float, double);
REGISTER_OPERATOR(spp_grad, grad::DefineSppGrad);
REGISTER_KERNELS(spp_grad, grad::SppGradKernel, float, double);
REGISTER_OPERATOR(spp_grad_grad, grad_grad::DefineSppGradGrad);
REGISTER_KERNELS(spp_grad_grad, grad_grad::SppGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph
