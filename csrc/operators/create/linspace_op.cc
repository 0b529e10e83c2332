#include "kernels/cast.h"
#include "kernels/loops.h"
#include "operators/arguments.h"

namespace dygraph {
namespace {

constexpr int kStart = 0, kStop = 1, kNum = 2, kOut = 0;

struct LinspaceAttrs {
  DType dtype = DType::kUnset;
};

DType TypeOf(const Call& call) {
  DType asked = static_cast<const LinspaceAttrs*>(call.attrs)->dtype;
  return asked == DType::kUnset ? call.in.at(kStart)->dtype() : asked;
}

void InferShape(InferContext& ctx) {
  for (int slot : {kStart, kStop, kNum}) {
    const Dims& d = ctx.dims(slot);
    ENFORCE(d.HasUnknown() || Numel(d) == 1, InvalidArgument,
            "Start, Stop and Num must have one element each, got shape ", d);
  }
  const Tensor& num = ctx.value(kNum).tensor();
  int64_t count = num.has_data() ? Integers(num, "Num")[0] : -1;
  ENFORCE(count > 0 || !num.has_data(), InvalidArgument, "Num must be at least 1, got ", count);
  ENFORCE(ctx.dtype(kStop) == ctx.dtype(kStart), Type, "Start and Stop must have one type, got ",
          ctx.dtype(kStart), " and ", ctx.dtype(kStop));
  ctx.SetOutput(kOut, {count}, TypeOf(ctx.call()));
}

void DefineLinspace(OpDef& op) {
  op.Comment(
        "Out = Num numbers from Start to Stop, both of them included, at equal distances. "
        "Integers are cut towards 0; Start and Stop are cut first.")
      .Input(kStart, "Start", "one number", kOnHost)
      .Input(kStop, "Stop", "one number", kOnHost)
      .Input(kNum, "Num", "one integer, at least 1", kOnHost)
      .Output(kOut, "Out", "[Num]")
      .Attr(&LinspaceAttrs::dtype, "dtype", "of Out; unset: of Start")
      .Shape(InferShape)
      .KernelDType(TypeOf)
      .MixedDTypes()
      .NoGrad();
}

// The number, as the kernel's type holds it.
template <class T>
double NumberAs(const Tensor& t) {
  return static_cast<double>(VisitDType(t.dtype(), [&](auto tag) -> T {
    using From = typename decltype(tag)::type;
    if constexpr (kIsComplex<From>) {
      THROW(Type, "numbers of ", t.dtype(), " must become complex or bool, got ", DTypeOf<T>::value,
            ", which drops the imaginary part. Take x.real first");
    } else {
      return kernels::Convert<T>(*t.data<From>());
    }
  }));
}

template <class T>
struct LinspaceKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kOut);
    double start = NumberAs<T>(ctx.In(kStart)), stop = NumberAs<T>(ctx.In(kStop));
    T* to = out.mutable_data<T>();
    int64_t n = out.numel();
    double step = n > 1 ? (stop - start) / static_cast<double>(n - 1) : 0;
    const T last = static_cast<T>(stop);
    kernels::ForEach(n, [=] DYGRAPH_FN(int64_t i) {
      const bool ends = i == n - 1 && n > 1;
      to[i] = ends ? last : static_cast<T>(start + step * static_cast<double>(i));
    });
  }
};

REGISTER_OPERATOR(linspace, DefineLinspace);
REGISTER_KERNELS(linspace, LinspaceKernel, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph
