#include <cmath>

#include "kernels/loops.h"
#include "operators/arguments.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kMaxLenTensor = 1, kY = 0;

struct SequenceMaskAttrs {
  int32_t maxlen = -1;
  DType out_dtype = DType::kInt64;
};

// Calls f with the lengths of X as they are.
template <class F>
void VisitLengths(const Tensor& x, const F& f) {
  if (x.dtype() == DType::kFloat32) return f(x.data<float>());
  if (x.dtype() == DType::kFloat64) return f(x.data<double>());
  VisitIndices(x, "X", f);
}

int64_t MaxLen(const Call& call) {
  int64_t maxlen = static_cast<const SequenceMaskAttrs*>(call.attrs)->maxlen;
  if (const Value* given = call.in.at(kMaxLenTensor)) {
    const Tensor& t = given->tensor();
    if (!t.has_data()) return -1;
    ENFORCE(t.numel() == 1, InvalidArgument, "MaxLenTensor must hold one integer, got shape ",
            t.dims());
    maxlen = Integers(t, "MaxLenTensor")[0];
    ENFORCE(maxlen > 0, InvalidArgument, "MaxLenTensor must be at least 1, got ", maxlen);
  }
  if (maxlen >= 0) return maxlen;
  const Tensor& given = call.in.at(kX)->tensor();
  if (!given.has_data()) return -1;
  const Tensor x = CopyTo(given, CPUPlace());
  double most = 0;
  VisitLengths(x, [&](auto* lengths) {
    for (int64_t i = 0; i < x.numel(); ++i) most = std::max(most, static_cast<double>(lengths[i]));
  });
  ENFORCE(most < 9e15, InvalidArgument, "the largest of X must be a length, got ", most);
  return static_cast<int64_t>(most);  // a fraction is cut off, as in Fluid
}

void DefineSequenceMask(OpDef& op) {
  op.Comment("Y[..., j] = 1 where j < X[...], else 0, for j < maxlen.")
      .Example(
          ">>> F.sequence_mask(to_variable([2, 0, 3])).tolist()\n"
          "[[1, 1, 0], [0, 0, 0], [1, 1, 1]]")
      .Input(kX, "X", "lengths of sequences, any shape; int32, int64 or floating")
      .Input(kMaxLenTensor, "MaxLenTensor", "one integer, in place of maxlen",
             kDispensable | kOnHost)
      .Output(kY, "Y", "shape of X + [maxlen]")
      .Attr(&SequenceMaskAttrs::maxlen, "maxlen", "-1: the largest of X", AtLeast(-1))
      .Attr(&SequenceMaskAttrs::out_dtype, "out_dtype", "element type of Y")
      .Shape([](InferContext& ctx) {
        Dims out = ctx.dims(kX);
        out.push_back(MaxLen(ctx.call()));
        ctx.SetOutput(kY, out, ctx.attrs<SequenceMaskAttrs>().out_dtype);
      })
      .MixedDTypes()
      .NoGrad();
}

template <class T, class L>
void FillRows(const L* lengths, int64_t rows, int64_t width, T* y) {
  kernels::ForEachRow(rows, width, [=] DYGRAPH_FN(int64_t i, kernels::Team team) {
    const double most = static_cast<double>(width);
    const double given = std::ceil(static_cast<double>(lengths[i]));
    const int64_t length = given > 0 ? static_cast<int64_t>(given < most ? given : most) : 0;
    team.Each(width, [=](int64_t j) { y[i * width + j] = j < length ? T(1) : T(0); });
  });
}

template <class T>
void Fill(const Tensor& x, Tensor* out) {
  const int64_t width = out->dim(out->rank() - 1);
  T* y = out->mutable_data<T>();
  VisitLengths(x, [&](auto* lengths) { FillRows(lengths, x.numel(), width, y); });
}

template <class>
struct SequenceMaskKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kY);
    switch (out.dtype()) {
      case DType::kBool: return Fill<bool>(ctx.In(kX), &out);
      case DType::kUInt8: return Fill<uint8_t>(ctx.In(kX), &out);
      case DType::kInt32: return Fill<int32_t>(ctx.In(kX), &out);
      case DType::kInt64: return Fill<int64_t>(ctx.In(kX), &out);
      case DType::kFloat32: return Fill<float>(ctx.In(kX), &out);
      case DType::kFloat64: return Fill<double>(ctx.In(kX), &out);
      default:
        THROW(Type, "out_dtype must be bool, uint8, int32, int64, float32 or float64, got ",
              out.dtype());
    }
  }
};

REGISTER_OPERATOR(sequence_mask, DefineSequenceMask);
REGISTER_KERNELS(sequence_mask, SequenceMaskKernel, int32_t, int64_t, float, double);

}  // namespace
}  // namespace dygraph
