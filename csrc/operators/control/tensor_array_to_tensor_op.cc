#include <numeric>

#include "kernels/join.h"
#include "kernels/strided_copy.h"
#include "op/gradient_call.h"
#include "operators/control/array.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0, kOutIndex = 1;

struct Attrs {
  int32_t axis = 0;
  bool use_stack = false;
};

// Out as `outer` runs, each of one chunk from every element in turn.
struct Layout {
  Dims out;
  int axis = 0;
  int64_t outer = 1;
  std::vector<int64_t> chunks;  // elements of a chunk
  std::vector<int64_t> sizes;   // of the elements along the axis
};

Layout LayoutOf(const TensorArray& x, const Attrs& a) {
  ENFORCE(!x.items.empty(), InvalidArgument, "X must have an element at least, got an empty array");
  for (size_t i = 0; i < x.items.size(); ++i) {
    ENFORCE(x.items[i].dtype() != DType::kUnset, PreconditionNotMet, "X[", i,
            "] must have been written, but nothing has been written to element ", i, " of ",
            x.items.size());
  }
  const Tensor& first = x.items[0];
  const int rank = first.rank();
  Layout layout;
  ENFORCE(a.use_stack || rank > 0, InvalidArgument,
          "the elements of X must have axes to be joined along, got shape []. Give use_stack=True");
  layout.axis = NormalizeAxis(a.axis, a.use_stack ? rank + 1 : rank);
  layout.out = first.dims();
  int64_t along = 0;
  for (size_t i = 0; i < x.items.size(); ++i) {
    const Tensor& t = x.items[i];
    bool fits = t.rank() == rank && t.dtype() == first.dtype();
    for (int d = 0; fits && d < rank; ++d)
      fits = t.dim(d) == first.dim(d) || (d == layout.axis && !a.use_stack);
    ENFORCE(fits, InvalidArgument, "the elements of X must have one type and one shape",
            a.use_stack ? "" : " but for the axis", ", got X[0] ", first.dims(), " of ",
            first.dtype(), " and X[", i, "] ", t.dims(), " of ", t.dtype());
    layout.chunks.push_back(Numel(t.dims(), layout.axis, rank));
    layout.sizes.push_back(layout.axis < rank ? t.dim(layout.axis) : 1);
    along += layout.sizes.back();
  }
  layout.outer = Numel(first.dims(), 0, layout.axis);
  if (!a.use_stack) {
    layout.out[layout.axis] = along;
    return layout;
  }
  Dims out(Span<const int64_t>(layout.out.begin(), layout.axis));
  out.push_back(static_cast<int64_t>(x.items.size()));
  out.Append(layout.out.begin() + layout.axis, layout.out.end());
  layout.out = out;
  return layout;
}

// What is known of Out while a program is described.
void DescribeOut(InferContext& ctx) {
  const Tensor& x = array::Described(ctx, kX);
  const Attrs& a = ctx.attrs<Attrs>();
  if (x.dtype() == DType::kUnset) return;
  Dims out = x.dims();
  const int axis = NormalizeAxis(a.axis, a.use_stack ? out.rank() + 1 : out.rank());
  if (a.use_stack) {
    Dims stacked(Span<const int64_t>(out.begin(), axis));
    stacked.push_back(-1);
    stacked.Append(out.begin() + axis, out.end());
    out = stacked;
  } else {
    out[axis] = -1;
  }
  ctx.SetOutput(kOut, out, x.dtype());
  ctx.SetOutput(kOutIndex, {-1}, DType::kInt32);
}

void DefineTensorArrayToTensor(OpDef& op) {
  op.Comment(
        "Out = the elements of the array X joined along an axis or, with use_stack, stacked along "
        "a "
        "new one; OutIndex = their sizes along the axis.")
      .Example(
          ">>> a = F.write_to_array(to_variable([1.0, 2.0]), to_variable(np.array([0])))\n"
          ">>> a = F.write_to_array(to_variable([3.0]), to_variable(np.array([1])), array=a)\n"
          ">>> out, sizes = F.tensor_array_to_tensor(a)\n"
          ">>> out.tolist(), sizes.tolist()\n"
          "([1.0, 2.0, 3.0], [2, 1])")
      .Input(kX, "X", "the array", kTakesArray)
      .Output(kOut, "Out", "all elements")
      .Output(kOutIndex, "OutIndex", "[elements], int32")
      .Attr(&Attrs::axis, "axis", "the axis, from -rank on")
      .Attr(&Attrs::use_stack, "use_stack", "True: elements of one shape along a new axis")
      .VarType([](InferContext& ctx) {
        if (!ctx.runtime()) return DescribeOut(ctx);
        const TensorArray& x = array::ArrayIn(ctx.call(), kX);
        for (size_t i = 0; i < x.items.size(); ++i) array::RequireWritten("X", x, i);
        const Layout layout = LayoutOf(x, ctx.attrs<Attrs>());
        ctx.SetOutput(kOut, layout.out, x.dtype());
        ctx.SetOutput(kOutIndex, {static_cast<int64_t>(x.items.size())}, DType::kInt32);
      })
      .KernelDType(array::TypeOf<kX>)
      .MixedDTypes()
      .Grad(CallGradient);
}

template <class T>
struct TensorArrayToTensorKernel {
  static void Compute(KernelContext& ctx) {
    const TensorArray& x = array::ArrayIn(ctx.call(), kX);
    const Layout layout = LayoutOf(x, ctx.attrs<Attrs>());
    if (Tensor* out = ctx.OutOrNull(kOut)) {
      kernels::JoinedPieces pieces;
      int64_t row = 0;
      for (size_t i = 0; i < x.items.size(); ++i) {
        pieces.push_back({x.items[i].raw_data(), layout.chunks[i]});
        row += layout.chunks[i];
      }
      kernels::JoinRows(pieces, layout.outer, row, out->mutable_data<T>(), sizeof(T));
    }
    if (Tensor* index = ctx.OutOrNull(kOutIndex)) {
      const std::vector<int32_t> sizes(layout.sizes.begin(), layout.sizes.end());
      ctx.device().CopyFromHost(index->mutable_data<int32_t>(), sizes.data(), index->bytes());
    }
  }
};

namespace grad {
constexpr int kX = 0, kOutGrad = 1, kXGrad = 0;

void DefineTensorArrayToTensorGrad(OpDef& op) {
  op.Comment("X@GRAD = the parts of Out@GRAD that the elements of X became, as an array.")
      .Input(kX, "X", "the array, of which the shapes are read", kTakesArray | kShapeOnly)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "an array of the shapes of X")
      .AttrsOf("tensor_array_to_tensor")
      .VarType([](InferContext& ctx) {
        if (ctx.runtime()) return;
        const Tensor& x = array::Described(ctx, kX);
        array::Describe(ctx, kXGrad, x.dims(), x.dtype());
      })
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .KernelAllocates()
      .Grad([](GradBuilder& g) {  // elements that nothing arrived for are zeros
        RecipeRef zeros = g.Apply("fill_zeros_like", {g.InputShape(kX)}), all = g.Temp();
        g.Call("sum", {RecipeSlot({zeros, g.OutputGrad(kXGrad)})}, {all});
        g.Call("tensor_array_to_tensor", {all}, {g.InputGrad(kOutGrad)}).SameAttrs();
      });
}

template <class T>
struct TensorArrayToTensorGradKernel {
  static void Compute(KernelContext& ctx) {
    const TensorArray& x = array::ArrayIn(ctx.call(), kX);
    const Tensor& g = ctx.In(kOutGrad);
    const Layout layout = LayoutOf(x, ctx.attrs<Attrs>());
    ENFORCE(g.dims() == layout.out, InvalidArgument, "Out@GRAD must have the shape of Out, ",
            layout.out, ", got ", g.dims());
    std::vector<Tensor> items;
    for (const Tensor& t : x.items) {
      items.emplace_back(t.dims(), g.dtype(), ctx.place());
      items.back().SetLoD(t.lod_ref());
    }
    const T* from = g.data<T>();
    const int64_t row = std::accumulate(layout.chunks.begin(), layout.chunks.end(), int64_t{0});
    for (size_t i = 0; i < items.size(); ++i) {
      const int64_t n = layout.chunks[i];
      kernels::CopyRows(layout.outer, n, from, row, items[i].mutable_data<T>(), n, sizeof(T));
      from += n;
    }
    ctx.OutValue(kXGrad) = Value(MakeRef<TensorArray>(std::move(items)));
  }
};
}  // namespace grad

REGISTER_OPERATOR(tensor_array_to_tensor, DefineTensorArrayToTensor);
REGISTER_MOVING_KERNEL(tensor_array_to_tensor, TensorArrayToTensorKernel);
REGISTER_OPERATOR(tensor_array_to_tensor_grad, grad::DefineTensorArrayToTensorGrad);
REGISTER_KERNELS(tensor_array_to_tensor_grad, grad::TensorArrayToTensorGradKernel, float16,
                 bfloat16, float, double);

}  // namespace
}  // namespace dygraph
