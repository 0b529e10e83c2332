#include "operators/arguments.h"
#include "operators/quantize/quantize.h"

namespace dygraph::quantize {
namespace {

constexpr int kX = 0, kInScale = 1, kIter = 2, kInScales = 3;
constexpr int kOut = 0, kOutScale = 1, kOutScales = 2;

void InferShape(InferContext& ctx) {
  const FakeAttrs& a = ctx.attrs<FakeAttrs>();
  CheckOne(ctx, kInScale, "InScale");
  ENFORCE(a.is_test || ctx.HasInput(kIter), InvalidArgument,
          "Iter must be given without is_test, got nothing");
  if (ctx.HasInput(kIter)) CheckOne(ctx, kIter, "Iter");
  if (ctx.HasInput(kInScales)) {
    const Dims& scales = ctx.dims(kInScales);
    ENFORCE(scales.HasUnknown() || (scales.rank() == 1 && scales[0] == a.window_size),
            InvalidArgument, "InScales must hold the window_size ", a.window_size,
            " scales, got shape ", scales);
  }
  ctx.SetOutput(kOut, ctx.dims(kX));
  ctx.SetOutput(kOutScale, {1});
  if (!ctx.runtime()) ctx.SetOutput(kOutScales, {a.window_size});  // a run reads what it holds
}

void DefineFakeQuantizeRangeAbsMax(OpDef& op) {
  op.Comment(
        "Out = round(X / OutScale * L), X cut off at OutScale, L = 2^(bit_length - 1) - 1. "
        "OutScale is the greatest max |X| of the last window_size calls: OutScales is a ring of "
        "them, and this call, number Iter, writes element Iter mod window_size. Its earlier values "
        "are InScales or, in a program that gives none, what OutScales holds. With is_test "
        "OutScale is InScale.")
      .Example(
          ">>> zero = to_variable([0.0])\n"
          ">>> out, scale, scales = F.fake_quantize_range_abs_max(\n"
          "...     to_variable([0.5, -1.0, 2.0]), zero, iter=to_variable([0]), window_size=2)\n"
          ">>> out.tolist(), scale.item(), scales.tolist()\n"
          "([32.0, -64.0, 127.0], 2.0, [2.0, 0.0])")
      .Input(kX, "X", "any shape")
      .Input(kInScale, "InScale", "[1], the scale so far")
      .Input(kIter, "Iter", "[1] integer, the number of the call, from 0", kDispensable)
      .Input(kInScales, "InScales", "[window_size], the ring so far", kDispensable)
      .Output(kOut, "Out", "shape of X")
      .Output(kOutScale, "OutScale", "[1], the scale")
      .Output(kOutScales, "OutScales", "[window_size], the ring", kUpdated)
      .Attr(&FakeAttrs::window_size, "window_size", "how many calls the scale looks back",
            AtLeast(1))
      .Attr(&FakeAttrs::is_test, "is_test", "the scale stays as it is");
  Bits(op)
      .Shape(InferShape)
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .KeepsLayout()
      .KernelAllocates()
      .ShareLoD(kX)
      .NoGrad();
}

template <class T>
struct FakeQuantizeRangeAbsMaxKernel {
  static void Compute(KernelContext& ctx) {
    const FakeAttrs& a = ctx.attrs<FakeAttrs>();
    const Tensor& x = ctx.In(kX);
    T scale = ScaleIn(ctx.In(kInScale));
    if (!a.is_test) {
      T most;
      AbsMax(x, &most);
      scale = Follow(ctx, most, scale);
    }
    Tensor made({1}, DTypeOf<T>::value, ctx.place());
    *made.mutable_data<T>() = scale;
    Tensor& out = ctx.Out(kOut);
    out.AllocateData(ctx.place(), x.layout());
    Round(x.data<T>(), out.mutable_data<T>(), x.numel(), made, a, false);
    if (Tensor* kept = ctx.OutOrNull(kOutScale)) *kept = std::move(made);
  }

 private:
  static T ScaleIn(const Tensor& t) {
    ENFORCE(t.dtype() == DTypeOf<T>::value, Type, "InScale must be of the type of X, ",
            DTypeOf<T>::value, ", got ", t.dtype());
    return *t.data<T>();
  }

  // Puts `now` into the ring; the greatest of the ring.
  static T Follow(KernelContext& ctx, T now, T last) {
    const int64_t size = ctx.attrs<FakeAttrs>().window_size;
    const int64_t iter = Integers(ctx.In(kIter), "Iter")[0];
    ENFORCE(iter >= 0, OutOfRange, "Iter must be at least 0, got ", iter);
    std::vector<T> ring(size, T(0));
    Tensor* out = ctx.OutOrNull(kOutScales);
    const Tensor* before = ctx.InOrNull(kInScales);
    if (!before && out && out->has_data()) before = out;
    if (before && before->dtype() == DTypeOf<T>::value && before->numel() == size)
      std::copy_n(before->data<T>(), size, ring.begin());
    T& place = ring[iter % size];
    const T removed = place;
    place = now;
    T most = last;
    if (!(now <= last)) {
      most = now;
    } else if (std::abs(removed - last) < T(1e-6)) {  // what made the scale leaves the window
      most = *std::max_element(ring.begin(), ring.begin() + std::min(iter + 1, size));
    }
    if (out) {
      Tensor made({size}, DTypeOf<T>::value, ctx.place());
      std::copy(ring.begin(), ring.end(), made.mutable_data<T>());
      *out = std::move(made);
    }
    return most;
  }
};

REGISTER_OPERATOR(fake_quantize_range_abs_max, DefineFakeQuantizeRangeAbsMax);
REGISTER_LOD_RULE(fake_quantize_range_abs_max, RowsOfFirstOutput);
REGISTER_CPU_KERNEL(fake_quantize_range_abs_max, FakeQuantizeRangeAbsMaxKernel, float, double);

}  // namespace
}  // namespace dygraph::quantize
