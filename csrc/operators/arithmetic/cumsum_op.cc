#include "kernels/integer.h"
#include "kernels/parallel.h"
#include "op/lod_rule.h"
#include "op/open_attr.h"
#include "op/op_registry.h"
#include "platform/interrupt.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct CumsumAttrs {
  int32_t axis = -1;
  bool flatten = false;
  bool exclusive = false;
  bool reverse = false;
};

void InferShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  const CumsumAttrs& a = ctx.attrs<CumsumAttrs>();
  if (a.flatten) return ctx.SetOutput(kOut, {x.HasUnknown() ? -1 : Numel(x)});
  if (ctx.runtime() || !IsOpen(a.axis)) NormalizeAxis(a.axis, x.rank());
  ctx.SetOutput(kOut, x);
}

// The sum of what comes after is undone by the sum of what comes before.
void Mirrored(const void* forward, void* backward) {
  const CumsumAttrs& a = *static_cast<const CumsumAttrs*>(forward);
  CumsumAttrs& b = *static_cast<CumsumAttrs*>(backward);
  b = a;
  b.reverse = !a.reverse;
}

void DefineCumsum(OpDef& op) {
  op.Comment(
        "Out[i] = X[0] + ... + X[i] along an axis; exclusive leaves X[i] out, reverse sums from "
        "the end. Integers wrap.")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X; one axis with flatten")
      .Attr(&CumsumAttrs::axis, "axis", "the axis to sum along; negative ones count from the end")
      .Attr(&CumsumAttrs::flatten, "flatten", "sum over all elements of X as if it had one axis")
      .Attr(&CumsumAttrs::exclusive, "exclusive", "each sum without its own element")
      .Attr(&CumsumAttrs::reverse, "reverse", "from the end to the beginning")
      .Shape(InferShape)
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        if (!g.attrs<CumsumAttrs>().flatten) {
          g.Call("cumsum", {g.OutputGrad(kOut)}, {g.InputGrad(kX)}).AttrsFrom(Mirrored);
          return;
        }
        RecipeRef sums = g.Temp();
        g.Call("cumsum", {g.OutputGrad(kOut)}, {sums}).AttrsFrom(Mirrored);
        g.Call("reshape2_grad", {g.InputShape(kX), sums}, {g.InputGrad(kX)});
      });
}

// A row of n elements, `step` apart.
template <class T>
void SumRow(const T* in, T* out, int64_t n, int64_t step, bool exclusive) {
  T sum = T(0);
  InPieces(n, 1 << 22, [&](int64_t begin, int64_t end) {
    T before = sum;
    for (int64_t i = begin, at = begin * step; i < end; ++i, at += step) {
      T next = kernels::Plus(before, in[at]);
      out[at] = exclusive ? before : next;
      before = next;
    }
    sum = before;
  });
}

// Four neighbouring rows: an addition need not wait for the one before. The sums are four
// variables, for an array of them is vectorised across the rows, at thrice the time.
template <class T>
void SumFourRows(const T* in, T* out, int64_t n, int64_t step, bool exclusive) {
  const T *in1 = in + n, *in2 = in1 + n, *in3 = in2 + n;
  T *out1 = out + n, *out2 = out1 + n, *out3 = out2 + n;
  T a = T(0), b = T(0), c = T(0), d = T(0);
  for (int64_t i = 0, at = 0; i < n; ++i, at += step) {
    T next_a = kernels::Plus(a, in[at]), next_b = kernels::Plus(b, in1[at]);
    T next_c = kernels::Plus(c, in2[at]), next_d = kernels::Plus(d, in3[at]);
    out[at] = exclusive ? a : next_a;
    out1[at] = exclusive ? b : next_b;
    out2[at] = exclusive ? c : next_c;
    out3[at] = exclusive ? d : next_d;
    a = next_a, b = next_b, c = next_c, d = next_d;
  }
}

template <class T>
struct CumsumKernel {
  static void Compute(KernelContext& ctx) {
    const CumsumAttrs& a = ctx.attrs<CumsumAttrs>();
    const Tensor& x = ctx.In(kX);
    int64_t rows = 1, n = x.numel(), inner = 1;
    if (!a.flatten && x.rank() > 0) {
      int axis = NormalizeAxis(a.axis, x.rank());
      rows = Numel(x.dims(), 0, axis);
      n = x.dim(axis);
      inner = Numel(x.dims(), axis + 1, x.rank());
    }
    if (x.numel() == 0) return;
    const T* from = x.data<T>();
    T* to = ctx.Out(kOut).mutable_data<T>();
    bool exclusive = a.exclusive, reverse = a.reverse;
    kernels::ParallelRows(rows, n * inner, [=](int64_t begin, int64_t end) {
      int64_t step = reverse ? -inner : inner, first = reverse ? (n - 1) * inner : 0;
      for (int64_t r = begin; r < end;) {
        const T* in = from + r * n * inner + first;
        T* out = to + (in - from);
        if (inner == 1) {
          bool four = r + 4 <= end;
          (four ? SumFourRows<T> : SumRow<T>)(in, out, n, step, exclusive);
          r += four ? 4 : 1;
          continue;
        }
        ++r;
        // lines of `inner` elements, each the one before plus a line of x
        for (int64_t k = 0; k < inner; ++k) out[k] = exclusive ? T(0) : in[k];
        for (int64_t i = 1; i < n; ++i) {
          if (i * inner % (1 << 16) < inner) CheckInterrupt();
          const T *last = out, *add = exclusive ? in : in + step;
          in += step;
          out += step;
          for (int64_t k = 0; k < inner; ++k) out[k] = kernels::Plus(last[k], add[k]);
        }
      }
    });
  }
};

REGISTER_OPERATOR(cumsum, DefineCumsum);
REGISTER_LOD_RULE(cumsum, [](const LoDCall& c) {
  const CumsumAttrs& a = c.attrs<CumsumAttrs>();
  return !a.flatten && !(c.described() && IsOpen(a.axis)) && c.IsBehindFirst(a.axis);
});
REGISTER_OPEN_ATTRS(cumsum, "axis");
REGISTER_CPU_KERNEL(cumsum, CumsumKernel, uint8_t, int8_t, int16_t, int32_t, int64_t, float,
                    double);

}  // namespace
}  // namespace dygraph
