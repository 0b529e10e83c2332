// What stack, unstack and unbind share: pieces that lie side by side along an axis of the whole.
#pragma once

#include "kernels/join.h"
#include "kernels/strided_copy.h"
#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "op/op_registry.h"

namespace dygraph::stacking {

// The whole as rows of `count` pieces of `width` elements.
struct Pieces {
  int64_t rows, count, width;
  Pieces(const Dims& whole, int axis)
      : rows(Numel(whole, 0, axis)),
        count(whole[axis]),
        width(Numel(whole, axis + 1, whole.rank())) {}
};

inline Dims WithoutAxis(const Dims& x, int axis) {
  Dims out;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis) out.push_back(x[i]);
  }
  return out;
}

// Piece i of the whole = the values of input i of `slot`, zeros where it is absent.
template <class T>
void Join(KernelContext& ctx, int slot, int axis, Tensor* whole) {
  Pieces p(whole->dims(), axis);
  ENFORCE(ctx.InputCount(slot) == p.count, InvalidArgument, "there must be ", p.count, " ",
          ctx.call().op->inputs[slot].name, ", one for each piece, got ", ctx.InputCount(slot));
  kernels::JoinedPieces pieces;
  for (int i = 0; i < p.count; ++i) {
    const Tensor* piece = ctx.InOrNull(slot, i);
    ENFORCE(!piece || piece->numel() == p.rows * p.width, InvalidArgument, "each ",
            ctx.call().op->inputs[slot].name, " must have ", p.rows * p.width,
            " elements, got shape ", piece->dims());
    pieces.push_back({piece ? piece->raw_data() : nullptr, p.width});
  }
  kernels::JoinRows(pieces, p.rows, p.count * p.width, whole->mutable_raw_data(), sizeof(T));
}

// The same back. Pieces of the first axis share the storage of the whole.
template <class T>
void Part(const Tensor& whole, int axis, KernelContext& ctx, int slot) {
  Pieces p(whole.dims(), axis);
  for (int i = 0; i < p.count; ++i) {
    Tensor* out = ctx.OutOrNull(slot, i);
    if (!out) continue;
    if (p.rows == 1 && p.width > 0) {
      out->ShareData(whole.Reshaped({p.count, p.width}).Rows(i, i + 1));
      continue;
    }
    out->AllocateData(ctx.place());
    if (out->numel() == 0) continue;
    kernels::CopyRows(p.rows, p.width, whole.data<T>() + i * p.width, p.count * p.width,
                      out->mutable_data<T>(), p.width, sizeof(T));
  }
}

constexpr int kMostPieces = 4000000;

// unstack (out slot Y, with num) and unbind (out slot Out): D has kType, kOut, Attrs and
// Axis(const Attrs&), Num(const Attrs&).
template <class D>
int CountOf(int, const Call& call) {
  const auto& a = *static_cast<const typename D::Attrs*>(call.attrs);
  const Dims& x = call.in.at(0)->dims();
  ENFORCE(x.rank() > 0, InvalidArgument, "X must have at least one axis to part, got shape []");
  int64_t size = x[NormalizeAxis(D::Axis(a), x.rank())], num = D::Num(a);
  if (size < 0) size = num;
  ENFORCE(size >= 0 && size <= kMostPieces, InvalidArgument, "the axis to part must have at most ",
          kMostPieces, " elements, a number known when the call is made, got X ", x);
  ENFORCE(num <= 0 || num == size, InvalidArgument, "num must be the size of axis ", D::Axis(a),
          " of X ", x, ", got ", num);
  return static_cast<int>(size);
}

template <class D>
OpDef& DefineParting(OpDef& op) {
  LoDRuleRegistration(D::kType, [](const LoDCall& c) {
    return c.IsBehindFirst(D::Axis(c.attrs<typename D::Attrs>()));
  });
  return op.Input(0, "X", "at least one axis")
      .Output(0, D::kOut, "the pieces, of X's shape without the axis", kDuplicable)
      .OutputCount(CountOf<D>)
      .ShareLoD(0)
      .Shape([](InferContext& ctx) {
        const Dims& x = ctx.dims(0);
        int axis = NormalizeAxis(D::Axis(ctx.attrs<typename D::Attrs>()), x.rank());
        int count = x[axis] < 0 ? ctx.OutputCount(0) : CountOf<D>(0, ctx.call());
        ENFORCE(ctx.OutputCount(0) == count, InvalidArgument, "there must be one ", D::kOut,
                " for each piece, ", count, ", got ", ctx.OutputCount(0));
        for (int i = 0; i < count; ++i) ctx.SetOutputAt(0, i, WithoutAxis(x, axis));
      })
      .KernelAllocates()
      .MayShare(0, 0)
      .Grad(CallGradient);
}

template <class D, class T>
struct PartKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(0);
    Part<T>(x, NormalizeAxis(D::Axis(ctx.attrs<typename D::Attrs>()), x.rank()), ctx, 0);
  }
};

template <class D>
void DefinePartingGrad(OpDef& op) {
  op.Comment("X@GRAD = the gradients of the pieces side by side, an absent one being zeros.")
      .Input(0, "X", "its shape", kShapeOnly)
      .Input(1, D::kOutGrad, "shape of each piece, elements may be absent",
             kDuplicable | kDispensable)
      .Output(0, "X@GRAD", "shape of X")
      .AttrsOf(D::kType)
      .SameShape(0, 0)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call(D::kType, {g.OutputGrad(0)}, {g.InputGrads(1)}).SameAttrs();
      });
}

template <class D, class T>
struct PartGradKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(0);
    Join<T>(ctx, 1, NormalizeAxis(D::Axis(ctx.attrs<typename D::Attrs>()), out.rank()), &out);
  }
};

}  // namespace dygraph::stacking
