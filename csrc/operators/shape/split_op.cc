#include "kernels/join.h"
#include "kernels/strided_copy.h"
#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/arguments.h"

namespace dygraph {
namespace {

struct SplitAttrs {
  std::vector<int32_t> sections;
  int32_t num = 0;
  int32_t axis = 0;
};

// Where the parts lie along the axis; axis -1 and sizes -1 while a program is built and only
// tensors will say.
struct Parts {
  int axis = -1;
  Dims sizes;
};

int CountOf(const Call& call, int sections_slot) {
  const SplitAttrs& a = *static_cast<const SplitAttrs*>(call.attrs);
  int count = call.in.count(sections_slot);
  if (count == 0) count = a.num > 0 ? a.num : static_cast<int>(a.sections.size());
  ENFORCE(count > 0 && count <= 100000, InvalidArgument,
          "num, or the length of sections, must be from 1 to 100000, got ", count);
  return count;
}

// The slots of AxisTensor and SectionsTensorList stand together.
Parts PartsOf(const Call& call, const Dims& x, int axis_slot) {
  const SplitAttrs& a = *static_cast<const SplitAttrs*>(call.attrs);
  ENFORCE(x.rank() > 0, InvalidArgument, "X must have at least one axis to split, got shape []");
  Parts parts;
  int count = CountOf(call, axis_slot + 1);
  parts.sizes = Dims(count, -1);
  IntList axis = ReadIntList(call, axis_slot, -1, std::vector<int32_t>{a.axis});
  if (!axis.known) return parts;
  ENFORCE(axis.values.size() == 1, InvalidArgument, "AxisTensor must hold one integer, got ",
          axis.values.size());
  parts.axis = NormalizeAxis(axis.values[0], x.rank());
  int64_t size = x[parts.axis];
  if (a.num > 0 && call.in.count(axis_slot + 1) == 0) {
    ENFORCE(size % count == 0 || size < 0, InvalidArgument, "axis ", parts.axis, " of X ", x,
            " must divide into num equal parts, got "
            "num ",
            a.num);
    if (size >= 0) parts.sizes = Dims(count, size / count);
    return parts;
  }
  IntList sections = ReadIntList(call, -1, axis_slot + 1, a.sections);
  if (!sections.known) return parts;
  int inferred = -1;
  int64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    int64_t s = parts.sizes[i] = sections.values[i];
    ENFORCE(s >= -1 && (s >= 0 || inferred < 0) && (s <= size || size < 0), InvalidArgument,
            "sections must be sizes within axis ", parts.axis, " of X ", x,
            ", at most one of them -1, got ", Dims(sections.values));
    if (s < 0)
      inferred = i;
    else if (size >= 0)
      sum += s;
  }
  if (size < 0) return parts;
  ENFORCE(inferred >= 0 ? sum <= size : sum == size, InvalidArgument, "sections ",
          Dims(sections.values), " must add up to axis ", parts.axis, " of X ", x, ", got ", sum);
  if (inferred >= 0) parts.sizes[inferred] = size - sum;
  return parts;
}

Dims PartDims(const Dims& x, const Parts& parts, int i) {
  if (parts.axis < 0) return Dims(x.size(), -1);
  Dims d = x;
  d[parts.axis] = parts.sizes[i];
  return d;
}

constexpr int kX = 0, kAxisTensor = 1, kSectionsTensorList = 2, kOut = 0;

void InferShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  Parts parts = PartsOf(ctx.call(), x, kAxisTensor);
  ENFORCE(ctx.OutputCount(kOut) == parts.sizes.rank(), InvalidArgument,
          "there must be one Out for each part, ", parts.sizes.rank(), ", got ",
          ctx.OutputCount(kOut));
  for (int i = 0; i < parts.sizes.rank(); ++i) ctx.SetOutputAt(kOut, i, PartDims(x, parts, i));
}

bool KeepsRows(const LoDCall& c) {
  Parts parts = PartsOf(c.call, c.from.dims(), kAxisTensor);
  return parts.axis > 0 || (parts.axis == 0 && (c.from.dim(0) >= 0 || parts.sizes.size() == 1));
}

void DefineSplit(OpDef& op) {
  op.Comment(
        "Out[0], Out[1], ... are consecutive parts of X along an axis: num equal ones, or ones of "
        "the sizes in sections.")
      .Input(kX, "X", "at least one axis")
      .Input(kAxisTensor, "AxisTensor", "one integer, in place of axis", kDispensable | kOnHost)
      .Input(kSectionsTensorList, "SectionsTensorList",
             "one integer for each part, in place of sections",
             kDispensable | kDuplicable | kOnHost)
      .Output(kOut, "Out", "the parts", kDuplicable)
      .Attr(&SplitAttrs::sections, "sections",
            "sizes of the parts along the axis, one may be -1: what is left")
      .Attr(&SplitAttrs::num, "num", "how many equal parts; 0: by sections", AtLeast(0))
      .Attr(&SplitAttrs::axis, "axis", "the axis to split; negative ones count from the end")
      .OutputCount([](int, const Call& call) { return CountOf(call, kSectionsTensorList); })
      .ShareLoD(kX)
      .Shape(InferShape)
      .MixedDTypes()
      .KernelAllocates()
      .MayShare(kX, kOut)
      .Grad(CallGradient);
}

template <class T>
struct SplitKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    Parts parts = PartsOf(ctx.call(), x.dims(), kAxisTensor);
    int64_t rows = Numel(x.dims(), 0, parts.axis), step = Numel(x.dims(), parts.axis, x.rank());
    int64_t inner = Numel(x.dims(), parts.axis + 1, x.rank()), at = 0;
    for (int i = 0; i < parts.sizes.rank(); at += parts.sizes[i++]) {
      Tensor* out = ctx.OutOrNull(kOut, i);
      if (!out) continue;
      if (rows == 1) {  // whole rows of what the axis begins: they share X's storage
        out->ShareData(x.Reshaped({x.dim(parts.axis), inner}).Rows(at, at + parts.sizes[i]));
        continue;
      }
      out->AllocateData(ctx.place());
      if (out->numel() == 0) continue;
      int64_t width = parts.sizes[i] * inner;
      kernels::CopyRows(rows, width, x.data<T>() + at * inner, step, out->mutable_data<T>(), width,
                        sizeof(T));
    }
  }
};

// Fluid's gradient is concat, which cannot know the sizes of gradients that are absent.
namespace grad {
constexpr int kX = 0, kOutGrad = 1, kAxisTensor = 2, kSectionsTensorList = 3, kXGrad = 0;

void DefineSplitGrad(OpDef& op) {
  op.Comment("X@GRAD = the Out@GRAD one after the other along the axis, an absent one being zeros.")
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kOutGrad, "Out@GRAD", "shape of each Out, elements may be absent",
             kDuplicable | kDispensable)
      .Input(kAxisTensor, "AxisTensor", "one integer, in place of axis", kDispensable | kOnHost)
      .Input(kSectionsTensorList, "SectionsTensorList",
             "one integer for each part, in place of sections",
             kDispensable | kDuplicable | kOnHost)
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("split")
      .SameShape(kX, kXGrad)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("split", {g.OutputGrad(kXGrad), g.Input(kAxisTensor), g.Inputs(kSectionsTensorList)},
               {g.InputGrads(kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct SplitGradKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kXGrad);
    Parts parts = PartsOf(ctx.call(), out.dims(), kAxisTensor);
    ENFORCE(ctx.InputCount(kOutGrad) == parts.sizes.rank(), InvalidArgument,
            "there must be one Out@GRAD for each part, ", parts.sizes.rank(), ", got ",
            ctx.InputCount(kOutGrad));
    int64_t rows = Numel(out.dims(), 0, parts.axis),
            step = Numel(out.dims(), parts.axis, out.rank());
    int64_t inner = Numel(out.dims(), parts.axis + 1, out.rank());
    kernels::JoinedPieces pieces;
    for (int i = 0; i < parts.sizes.rank(); ++i) {
      int64_t width = parts.sizes[i] * inner;
      const Tensor* g = ctx.InOrNull(kOutGrad, i);
      ENFORCE(!g || g->numel() == rows * width, InvalidArgument, "Out@GRAD[", i,
              "] must have the shape of its Out, got ", g->dims());
      pieces.push_back({g ? g->raw_data() : nullptr, width});
    }
    kernels::JoinRows(pieces, rows, step, out.mutable_raw_data(), sizeof(T));
  }
};
}  // namespace grad

REGISTER_OPERATOR(split, DefineSplit);
REGISTER_LOD_RULE(split, KeepsRows);
REGISTER_KERNELS(split, SplitKernel, AllTypes);
REGISTER_OPERATOR(split_grad, grad::DefineSplitGrad);
REGISTER_KERNELS(split_grad, grad::SplitGradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(split_grad, grad::SplitGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph
