// What the operators share whose output is made of elements of one input, chosen axis by axis:
// expand, pad, crop, flip, roll and their like. One description gives the operator, its gradient
// and the gradient's gradient, which is the operator again with nothing filled in.
#pragma once

#include <utility>

#include "kernels/axis_map.h"
#include "kernels/cast.h"
#include "op/lod_rule.h"
#include "operators/arguments.h"

namespace dygraph::axis_maps {

using kernels::AxisMap;
using kernels::Outside;

struct Maps {
  Dims out;
  SmallVector<AxisMap, 6> axes;  // not read while sizes are unknown
  void Push(const AxisMap& m) {
    out.push_back(m.out);
    axes.push_back(m);
  }
};

// a * b of known sizes; OutOfRange where int64 does not hold it.
inline int64_t Times(int64_t a, int64_t b) {
  int64_t r = 0;
  ENFORCE(!__builtin_mul_overflow(a, b, &r), OutOfRange, "a size of Out must fit into int64, got ",
          a, " times ", b);
  return r;
}
inline int64_t Plus(int64_t a, int64_t b) {
  int64_t r = 0;
  ENFORCE(!__builtin_add_overflow(a, b, &r), OutOfRange, "a size of Out must fit into int64, got ",
          a, " plus ", b);
  return r;
}

// The axis, `times` over. Sizes may be -1.
inline AxisMap Tiled(int64_t in, int64_t times) {
  AxisMap m;
  m.in = in;
  m.out = in < 0 || times < 0 ? -1 : Times(in, times);
  m.outside = Outside::kWrap;
  return m;
}

// The axis with places in front and behind.
inline AxisMap Padded(int64_t in, int64_t before, int64_t after) {
  ENFORCE(before >= 0 && after >= 0, InvalidArgument, "paddings must be at least 0, got ", before,
          " and ", after);
  AxisMap m;
  m.in = in;
  m.before = before;
  m.out = in < 0 ? -1 : Plus(Plus(in, before), after);
  return m;
}

// Elements offset to offset + size of the axis.
inline AxisMap Cropped(int64_t in, int64_t offset, int64_t size) {
  ENFORCE(in < 0 || (size >= 0 && offset >= 0 && size <= in && offset <= in - size),
          InvalidArgument, "the part to keep must lie within X, got offset ", offset, " and size ",
          size, " for an axis of ", in);
  AxisMap m;
  m.in = in;
  m.out = size;
  m.before = -offset;
  return m;
}

// X with some axes from the end to the beginning.
inline Maps Reversed(const Dims& x, const std::vector<int32_t>& axes, const char* name) {
  Maps maps;
  for (int64_t n : x) {
    AxisMap m;
    m.in = m.out = n;
    maps.Push(m);
  }
  for (int a : NormalizeAxes(Span<const int32_t>(axes), x.rank(), name)) {
    if (!x.empty()) maps.axes[a].reversed = true;
  }
  return maps;
}

// A description is a struct with
//   kType, kGradType            names of the operator and its gradient
//   kData                       the slot whose elements are chosen
//   kGradSlot                   its name with @GRAD
//   kInputs                     how many input slots there are
//   kShapeOnly                  bits of the slots of which only the shape is read
//   AddInputs(op)               declares them
//   Of(call, dims of kData)     the maps; checks everything
//   Fill(call)                  what stands where nothing is chosen
//   ZeroFill()                  makes the attributes of the same call filling with 0; or nullptr
struct Description {
  static constexpr int kData = 0, kInputs = 1;
  static constexpr uint32_t kShapeOnly = 0;
  static constexpr const char* kGradSlot = "X@GRAD";
  static AttrFn ZeroFill() { return nullptr; }
  static double Fill(const Call&) { return 0; }
  static void AddInputs(OpDef& op) { op.Input(0, "X", "any shape"); }
};

namespace detail {

template <class D>
RecipeSlot Argument(GradBuilder& g, int slot) {
  if (slot == D::kData || D::kShapeOnly >> slot & 1) return g.InputShapes(slot);
  return g.Inputs(slot);
}

template <class D, int... kSlots>
void Gradient(GradBuilder& g, std::integer_sequence<int, kSlots...>) {
  g.Call(D::kGradType, {Argument<D>(g, kSlots)..., g.OutputGrad(0)}, {g.InputGrad(D::kData)})
      .SameAttrs();
}

template <class D, int... kSlots>
void SecondGradient(GradBuilder& g, std::integer_sequence<int, kSlots...>) {
  auto call = g.Call(D::kType,
                     {kSlots == D::kData ? RecipeSlot(g.OutputGrad(0)) : Argument<D>(g, kSlots)...},
                     {g.InputGrad(D::kInputs)});
  AttrFn zero_fill = D::ZeroFill();
  zero_fill ? call.AttrsFrom(zero_fill) : call.SameAttrs();
}

}  // namespace detail

// After the comment; attributes follow.
// Rows stay where the map of the first axis moves nothing. While a program is described, a size
// that only a call will know is asked for with a number in its place.
template <class D>
bool RowsStay(const LoDCall& c) {
  Dims x = c.from.dims();
  if (c.out.rank() != x.rank()) return false;
  constexpr int64_t kSomeSize = 1009;
  if (x[0] < 0) x[0] = kSomeSize;
  try {
    Maps maps = D::Of(c.call, x);
    return maps.axes.size() == x.size() && maps.axes[0].IsIdentity();
  } catch (const Error&) {  // not with so many rows
    return false;
  }
}

template <class D>
OpDef& Define(OpDef& op) {
  D::AddInputs(op);
  LoDRuleRegistration(D::kType, &RowsStay<D>);
  return op.ShareLoD(D::kData)
      .Output(0, "Out", "the chosen elements")
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(0, D::Of(ctx.call(), ctx.dims(D::kData)).out, ctx.dtype(D::kData));
      })
      .KernelDTypeOf(D::kData)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        detail::Gradient<D>(g, std::make_integer_sequence<int, D::kInputs>());
      });
}

template <class D, class T>
struct Kernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(D::kData);
    Maps maps = D::Of(ctx.call(), x.dims());
    T fill = kernels::Convert<T>(NumberFor<T>(D::Fill(ctx.call())));
    T* y = ctx.Out(0).template mutable_data<T>();
    kernels::GatherAxes(maps.axes, x.data<T>(), y, sizeof(T), &fill);
  }
};

template <class D>
void DefineGrad(OpDef& op) {
  op.Comment("The elements of Out@GRAD, each added where Out's element was taken from.");
  D::AddInputs(op);
  op.Input(D::kInputs, "Out@GRAD", "shape of Out")
      .Output(0, D::kGradSlot, "shape of the input it is for")
      .AttrsOf(D::kType)
      .SameShape(D::kData, 0)
      .KernelDType([](const Call& call) { return call.in.at(D::kInputs)->dtype(); })
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        detail::SecondGradient<D>(g, std::make_integer_sequence<int, D::kInputs>());
      });
}

template <class D, class T>
struct GradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& g = ctx.In(D::kInputs);
    Tensor& out = ctx.Out(0);
    Maps maps = D::Of(ctx.call(), out.dims());
    ENFORCE(g.dims() == maps.out, InvalidArgument, "Out@GRAD must have the shape of Out, ",
            maps.out, ", got ", g.dims());
    kernels::ScatterAxes(maps.axes, g.data<T>(), out.mutable_data<T>());
  }
};

}  // namespace dygraph::axis_maps
