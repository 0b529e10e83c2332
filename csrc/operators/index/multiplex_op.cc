#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/index/chosen_rows.h"

namespace dygraph {
namespace {

constexpr int kIds = 0, kX = 1;  // of all three operators
constexpr int kOut = 0, kOutGrad = 2, kXGrad = 0, kXGradGrad = 2, kOutGradGrad = 0;

void CheckShapes(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &ids = ctx.dims(kIds);
  ENFORCE(!x.empty(), InvalidArgument, "each X must have rows, got shape []");
  for (int i = 1; i < ctx.InputCount(kX); ++i) {
    ENFORCE(ctx.dims(kX, i) == x || x.HasUnknown() || ctx.dims(kX, i).HasUnknown(), InvalidArgument,
            "all X must have one shape, got X[0] ", x, " and X[", i, "] ", ctx.dims(kX, i));
  }
  ENFORCE(ids.HasUnknown() || x[0] < 0 || (!ids.empty() && ids[0] == x[0] && Numel(ids) == x[0]),
          InvalidArgument, "Ids must have one number for each row of X ", x, ", got shape ", ids);
}

void DefineMultiplex(OpDef& op) {
  op.Comment("Row i of Out = row i of X[Ids[i]].")
      .Example(
          ">>> x = to_variable([[1.0, 2.0], [3.0, 4.0]])\n"
          ">>> y = to_variable([[5.0, 6.0], [7.0, 8.0]])\n"
          ">>> F.multiplex(to_variable([[1], [0]]), [x, y]).tolist()\n"
          "[[5.0, 6.0], [3.0, 4.0]]")
      .Input(kIds, "Ids", "[rows, 1] or [rows], int32 or int64 numbers of X")
      .Input(kX, "X", "candidates of one shape [rows, ...]", kDuplicable)
      .Output(kOut, "Out", "their shape")
      .ShareLoD(kX)
      .Shape([](InferContext& ctx) {
        CheckShapes(ctx);
        ctx.SetOutput(kOut, ctx.dims(kX));
      })
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .Grad(CallGradient);
}

template <class T>
struct MultiplexKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kOut);
    int count = ctx.InputCount(kX);
    std::vector<const T*> from;
    for (int i = 0; i < count; ++i) {
      ENFORCE(ctx.In(kX, i).dtype() == out.dtype(), Type, "all X must have one element type, got ",
              out.dtype(), " and X[", i, "] of ", ctx.In(kX, i).dtype());
      from.push_back(ctx.In(kX, i).data<T>());
    }
    ChooseRows(ctx, kIds, from, out.dim(0), out.numel(), out.mutable_data<T>());
  }
};

void DefineMultiplexGrad(OpDef& op) {
  op.Comment("Row i of X[Ids[i]]@GRAD = row i of Out@GRAD; the other rows are 0.")
      .Input(kIds, "Ids", "numbers of X")
      .Input(kX, "X", "their shapes", kDuplicable | kShapeOnly)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of each X", kDuplicable)
      .OutputCount([](int, const Call& call) { return call.in.count(kX); })
      .Shape([](InferContext& ctx) {
        CheckShapes(ctx);
        for (int i = 0; i < ctx.InputCount(kX); ++i)
          ctx.SetOutputAt(kXGrad, i, ctx.dims(kX, i), ctx.dtype(kX, i));
      })
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .Grad(CallGradient);
}

template <class T>
struct MultiplexGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& g = ctx.In(kOutGrad);
    int count = ctx.InputCount(kX);
    ENFORCE(g.dims() == ctx.In(kX).dims(), InvalidArgument, "Out@GRAD must have the shape of X, ",
            ctx.In(kX).dims(), ", got ", g.dims());
    std::vector<T*> to(count);
    for (int i = 0; i < count; ++i) {
      Tensor* out = ctx.OutOrNull(kXGrad, i);
      if (!out) continue;
      to[i] = out->mutable_data<T>();
      kernels::Fill(to[i], out->numel(), T(0));
    }
    DealRows(ctx, kIds, g.data<T>(), g.dim(0), g.numel(), to);
  }
};

// multiplex itself cannot take gradients that are absent.
void DefineMultiplexGradGrad(OpDef& op) {
  op.Comment("Row i of Out@GRAD@GRAD = row i of X[Ids[i]]@GRAD@GRAD, 0 where that is absent.")
      .Input(kIds, "Ids", "numbers of X")
      .Input(kX, "X", "their shapes", kDuplicable | kShapeOnly)
      .Input(kXGradGrad, "X@GRAD@GRAD", "shape of each X, elements may be absent",
             kDuplicable | kDispensable)
      .Output(kOutGradGrad, "Out@GRAD@GRAD", "shape of X")
      .Shape([](InferContext& ctx) {
        CheckShapes(ctx);
        ctx.SetOutput(kOutGradGrad, ctx.dims(kX), ctx.dtype(kX));
      })
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("multiplex_grad", {g.Input(kIds), g.InputShapes(kX), g.OutputGrad(kOutGradGrad)},
               {g.InputGrads(kXGradGrad)});
      });
}

template <class T>
struct MultiplexGradGradKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kOutGradGrad);
    std::vector<const T*> from(ctx.InputCount(kX));
    for (int i = 0; i < ctx.InputCount(kXGradGrad) && i < ctx.InputCount(kX); ++i) {
      const Tensor* given = ctx.InOrNull(kXGradGrad, i);
      if (!given) continue;
      ENFORCE(given->dims() == out.dims(), InvalidArgument, "each X@GRAD@GRAD must have X's shape ",
              out.dims(), ", got ", given->dims());
      from[i] = given->data<T>();
    }
    ChooseRows(ctx, kIds, from, out.dim(0), out.numel(), out.mutable_data<T>());
  }
};

REGISTER_OPERATOR(multiplex, DefineMultiplex);
REGISTER_LOD_ALSO(multiplex, kIds);
REGISTER_KERNELS(multiplex, MultiplexKernel, AllTypes);
REGISTER_OPERATOR(multiplex_grad, DefineMultiplexGrad);
REGISTER_KERNELS(multiplex_grad, MultiplexGradKernel, float, double, complex64, complex128);
REGISTER_OPERATOR(multiplex_grad_grad, DefineMultiplexGradGrad);
REGISTER_KERNELS(multiplex_grad_grad, MultiplexGradGradKernel, float, double, complex64,
                 complex128);

}  // namespace
}  // namespace dygraph
