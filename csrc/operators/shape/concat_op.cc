#include "kernels/join.h"
#include "kernels/strided_copy.h"
#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/arguments.h"

namespace dygraph {
namespace {

struct ConcatAttrs {
  int32_t axis = 0;
};

// The axis, or -1 while a program is built and only a tensor will say.
int AxisOf(const Call& call, int axis_slot, int rank) {
  ENFORCE(rank > 0, InvalidArgument, "X must have at least one axis to lie along, got shape []");
  IntList axis = ReadIntList(
      call, axis_slot, -1, std::vector<int32_t>{static_cast<const ConcatAttrs*>(call.attrs)->axis});
  if (!axis.known) return -1;
  ENFORCE(axis.values.size() == 1, InvalidArgument, "AxisTensor must hold one integer, got ",
          axis.values.size());
  return NormalizeAxis(axis.values[0], rank);
}

// Shape of all the inputs of slot `x` one after the other.
Dims JoinedShape(InferContext& ctx, int x, int axis_slot) {
  Dims out = ctx.dims(x);
  int axis = AxisOf(ctx.call(), axis_slot, out.rank());
  for (int i = 1; i < ctx.InputCount(x); ++i) {
    const Dims& d = ctx.dims(x, i);
    bool fits = d.rank() == out.rank();
    for (int k = 0; fits && axis >= 0 && k < d.rank(); ++k) {
      if (k == axis) {
        out[k] = AddSizes(out[k], d[k]);
      } else {
        fits = d[k] == out[k] || !BothKnown(d[k], out[k]);
        if (out[k] < 0) out[k] = d[k];
      }
    }
    ENFORCE(fits, InvalidArgument, "all X must have one shape but for axis ", axis, ", got X[0] ",
            ctx.dims(x), " and X[", i, "] ", d);
  }
  return axis < 0 ? Dims(out.size(), -1) : out;
}

// Calls f(i, first element of piece i in a row of the whole, elements of the piece's row). Rows are
// what comes before the axis.
template <class F>
void ForEachPiece(const KernelContext& ctx, int x, int64_t rows, int axis, F f) {
  int64_t at = 0;
  for (int i = 0; i < ctx.InputCount(x); ++i) {
    const Dims& d = ctx.In(x, i).dims();
    int64_t width = Numel(d, axis, d.rank());
    ENFORCE(axis < d.rank() && Numel(d, 0, axis) == rows, InvalidArgument, "X[", i, "] must have ",
            rows, " rows before axis ", axis, ", got shape ", d);
    f(i, at, width);
    at += width;
  }
}

constexpr int kX = 0, kAxisTensor = 1, kOut = 0;

// Along axis 0 the sequences of all X, one after the other; none where an X has none.
LoDLevels JoinedLoD(const KernelContext& ctx) {
  LoDLevels joined = ctx.In(kX).lod_levels();
  for (int i = 1; i < ctx.InputCount(kX) && !joined.empty(); ++i) {
    const LoDLevels& lod = ctx.In(kX, i).lod_levels();
    if (lod.empty()) return {};
    ENFORCE(lod.size() == joined.size(), InvalidArgument,
            "all X must have as many levels of LoD where axis is 0, got ", joined.size(),
            " for X[0] and ", lod.size(), " for X[", i, "]. Bring them together with lod_reset()");
    for (size_t level = 0; level < lod.size(); ++level) {
      int64_t before = joined[level].back();
      for (size_t s = 1; s < lod[level].size(); ++s)
        joined[level].push_back(before + lod[level][s]);
    }
  }
  return joined;
}

// Along axis 0 the kernel joins them; a description knows how many levels all have.
bool KeepsRows(const LoDCall& c) {
  int axis = AxisOf(c.call, kAxisTensor, c.from.rank());
  if (axis != 0 || c.call.in.count(kX) == 1) return axis >= 0;
  if (!c.described()) return false;
  const int *levels = c.levels + c.call.in.begin_of(kX), *end = levels + c.call.in.count(kX);
  return std::all_of(levels, end, [&](int has) { return has == *levels; });
}

void DefineConcat(OpDef& op) {
  op.Comment(
        "Out = X[0], X[1], ... one after the other along an axis. Along axis 0 their sequences "
        "follow each other too, if all X have a level of detail; along others Out has theirs.")
      .Input(kX, "X", "one shape but for the axis", kDuplicable)
      .Input(kAxisTensor, "AxisTensor", "one integer, in place of the attribute",
             kDispensable | kOnHost)
      .Output(kOut, "Out", "their shape, the axis being as long as theirs together")
      .Attr(&ConcatAttrs::axis, "axis", "the axis to lie along; negative ones count from the end")
      .ShareLoD(kX)
      .Shape([](InferContext& ctx) { ctx.SetOutput(kOut, JoinedShape(ctx, kX, kAxisTensor)); })
      .MixedDTypes()
      .Grad(CallGradient);
}

template <class T>
struct ConcatKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kOut);
    int axis = AxisOf(ctx.call(), kAxisTensor, out.rank());
    for (int i = 0; i < ctx.InputCount(kX); ++i) {
      ENFORCE(ctx.In(kX, i).dtype() == out.dtype(), Type,
              "all X must have one element type, got X[0] of ", out.dtype(), " and X[", i, "] of ",
              ctx.In(kX, i).dtype(), ". Convert with astype()");
    }
    if (axis == 0 && ctx.InputCount(kX) > 1 && ctx.In(kX).lod()) out.SetLoD(JoinedLoD(ctx));
    int64_t rows = Numel(out.dims(), 0, axis), step = Numel(out.dims(), axis, out.rank());
    kernels::JoinedPieces pieces;
    ForEachPiece(ctx, kX, rows, axis, [&](int i, int64_t, int64_t width) {
      pieces.push_back({ctx.In(kX, i).raw_data(), width});
    });
    kernels::JoinRows(pieces, rows, step, out.mutable_raw_data(), sizeof(T));
  }
};

namespace grad {
constexpr int kX = 0, kOutGrad = 1, kAxisTensor = 2, kXGrad = 0;

void InferGradShape(InferContext& ctx) {
  for (int i = 0; i < ctx.InputCount(kX); ++i)
    ctx.SetOutputAt(kXGrad, i, ctx.dims(kX, i), ctx.dtype(kX, i));
}

void DefineConcatGrad(OpDef& op) {
  op.Comment("X[i]@GRAD = the part of Out@GRAD where X[i] went.")
      .Input(kX, "X", "their shapes", kDuplicable | kShapeOnly)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Input(kAxisTensor, "AxisTensor", "one integer, in place of the attribute",
             kDispensable | kOnHost)
      .Output(kXGrad, "X@GRAD", "shape of each X", kDuplicable)
      .AttrsOf("concat")
      .Shape(InferGradShape)
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .OutputCount([](int, const Call& call) { return call.in.count(kX); })
      .Grad(CallGradient);
}

template <class T>
struct ConcatGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& g = ctx.In(kOutGrad);
    int axis = AxisOf(ctx.call(), kAxisTensor, g.rank());
    int64_t rows = Numel(g.dims(), 0, axis), step = Numel(g.dims(), axis, g.rank());
    const T* from = g.data<T>();
    ForEachPiece(ctx, kX, rows, axis, [&](int i, int64_t at, int64_t width) {
      ENFORCE(at + width <= step, InvalidArgument, "Out@GRAD ", g.dims(),
              " must have the shape of Out");
      Tensor* out = ctx.OutOrNull(kXGrad, i);
      if (out)
        kernels::CopyRows(rows, width, from + at, step, out->mutable_data<T>(), width, sizeof(T));
    });
  }
};
}  // namespace grad

// concat itself cannot know the sizes of gradients that are absent.
namespace grad_grad {
constexpr int kX = 0, kXGradGrad = 1, kAxisTensor = 2, kOutGradGrad = 0;

void DefineConcatGradGrad(OpDef& op) {
  op.Comment(
        "Out@GRAD@GRAD = the X@GRAD@GRAD one after the other, an absent one being zeros of its X's "
        "shape.")
      .Input(kX, "X", "their shapes", kDuplicable | kShapeOnly)
      .Input(kXGradGrad, "X@GRAD@GRAD", "shape of each X, elements may be absent",
             kDuplicable | kDispensable)
      .Input(kAxisTensor, "AxisTensor", "one integer, in place of the attribute",
             kDispensable | kOnHost)
      .Output(kOutGradGrad, "Out@GRAD@GRAD", "shape of Out")
      .AttrsOf("concat")
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOutGradGrad, JoinedShape(ctx, kX, kAxisTensor), ctx.dtype(kX));
      })
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("concat_grad", {g.InputShapes(kX), g.OutputGrad(kOutGradGrad), g.Input(kAxisTensor)},
               {g.InputGrads(kXGradGrad)})
            .SameAttrs();
      });
}

template <class T>
struct ConcatGradGradKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kOutGradGrad);
    int axis = AxisOf(ctx.call(), kAxisTensor, out.rank());
    int64_t rows = Numel(out.dims(), 0, axis), step = Numel(out.dims(), axis, out.rank());
    kernels::JoinedPieces pieces;
    ForEachPiece(ctx, kX, rows, axis, [&](int i, int64_t, int64_t width) {
      const Tensor* g = ctx.InOrNull(kXGradGrad, i);
      ENFORCE(!g || g->numel() == rows * width, InvalidArgument, "X@GRAD@GRAD[", i,
              "] must have the shape of its X, got ", g->dims());
      pieces.push_back({g ? g->raw_data() : nullptr, width});
    });
    kernels::JoinRows(pieces, rows, step, out.mutable_raw_data(), sizeof(T));
  }
};
}  // namespace grad_grad

REGISTER_OPERATOR(concat, DefineConcat);
REGISTER_LOD_RULE(concat, KeepsRows);
REGISTER_KERNELS(concat, ConcatKernel, AllTypes);
REGISTER_OPERATOR(concat_grad, grad::DefineConcatGrad);
REGISTER_KERNELS(concat_grad, grad::ConcatGradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(concat_grad, grad::ConcatGradKernel, float16, bfloat16);
REGISTER_OPERATOR(concat_grad_grad, grad_grad::DefineConcatGradGrad);
REGISTER_KERNELS(concat_grad_grad, grad_grad::ConcatGradGradKernel, float, double, complex64,
                 complex128);

}  // namespace
}  // namespace dygraph
