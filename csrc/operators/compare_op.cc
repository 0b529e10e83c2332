// The six comparisons. They are one family: a > b is b < a, and so four loops serve them.
#include "kernels/cast.h"
#include "operators/elementwise.h"

namespace dygraph::elementwise {
namespace {

struct CompareAttrs : ElementwiseAttrs {
  bool force_cpu = false;
};

void InferCompareShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &y = ctx.dims(kY);
  if (x == y) return ctx.SetOutput(kOut, x, DType::kBool);
  ctx.SetOutput(kOut, BroadcastDims(x, AlignY(x, y, ctx.attrs<CompareAttrs>().axis)), DType::kBool);
}

void DefineCompare(OpDef& op, const char* comment) {
  op.Comment(comment)
      .Input(kX, "X", "any shape")
      .Input(kY, "Y", "broadcasts with X")
      .Output(kOut, "Out", "the common shape, bool")
      .Attr(static_cast<int32_t CompareAttrs::*>(&CompareAttrs::axis), "axis",
            "first axis of X that Y lies along; -1: NumPy's rule")
      .Attr(&CompareAttrs::force_cpu, "force_cpu", "keep Out in host memory")
      .Shape(InferCompareShape)
      .KeepsLayout()
      .ShareLoD(kX)
      .NoGrad();
}

struct Less {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Equal {
  template <class T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a != b;
  }
};

template <class T, class F>
void CompareValues(const Tensor& a, const Dims& a_dims, const T* av, const Tensor& b,
                   const Dims& b_dims, const T* bv, Tensor* out) {
  bool* to = out->mutable_data<bool>();
  if (a_dims == b_dims) return kernels::Zip(av, bv, to, out->numel(), F());
  Plan p = MakePlan(a, a_dims, b, b_dims, out->dims(), out->layout() == Layout::kNHWC);
  kernels::Broadcast(p.dims, av, p.x, bv, p.y, to, F());
}

template <class T>
Tensor AsFloat(const Tensor& t) {
  Tensor f(t.dims(), DType::kFloat32, t.place(), t.layout());
  kernels::Cast(DTypeOf<T>::value, t.raw_data(), DType::kFloat32, f.mutable_raw_data(), t.numel());
  return f;
}

// kSwap: f(Y, X). Halves compare as floats and bools as bytes, which spares their loops.
template <class F, bool kSwap, class T>
struct Compare {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kOut);
    if (out.numel() == 0) return;
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    Dims y_dims = AlignY(x.dims(), y.dims(), ctx.attrs<CompareAttrs>().axis);
    const Tensor &a = kSwap ? y : x, &b = kSwap ? x : y;
    const Dims &a_dims = kSwap ? y_dims : x.dims(), &b_dims = kSwap ? x.dims() : y_dims;
    if constexpr (kernels::detail::kIsHalf<T>) {
      Tensor af = AsFloat<T>(a), bf = AsFloat<T>(b);
      CompareValues<float, F>(af, a_dims, af.data<float>(), bf, b_dims, bf.data<float>(), &out);
    } else {
      using V = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
      CompareValues<V, F>(a, a_dims, reinterpret_cast<const V*>(a.data<T>()), b, b_dims,
                          reinterpret_cast<const V*>(b.data<T>()), &out);
    }
  }
};
template <class T>
using LessThanKernel = Compare<Less, false, T>;
template <class T>
using LessEqualKernel = Compare<LessEqual, false, T>;
template <class T>
using GreaterThanKernel = Compare<Less, true, T>;
template <class T>
using GreaterEqualKernel = Compare<LessEqual, true, T>;
template <class T>
using EqualKernel = Compare<Equal, false, T>;
template <class T>
using NotEqualKernel = Compare<NotEqual, false, T>;

#define REGISTER_COMPARISON(type, kernel, sign)                                                    \
  REGISTER_OPERATOR(type, [](OpDef& op) {                                                          \
    DefineCompare(op, "Out = X " sign                                                              \
                      " Y, elementwise, as bool. A NaN equals nothing and has no order. "          \
                      "Shapes broadcast as NumPy's; axis >= 0 lays Y along X from that axis on."); \
  });                                                                                              \
  REGISTER_CPU_KERNEL(type, kernel, bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float16,     \
                      bfloat16, float, double)

REGISTER_COMPARISON(less_than, LessThanKernel, "<");
REGISTER_COMPARISON(less_equal, LessEqualKernel, "<=");
REGISTER_COMPARISON(greater_than, GreaterThanKernel, ">");
REGISTER_COMPARISON(greater_equal, GreaterEqualKernel, ">=");
REGISTER_COMPARISON(equal, EqualKernel, "==");
REGISTER_COMPARISON(not_equal, NotEqualKernel, "!=");
#undef REGISTER_COMPARISON

}  // namespace
}  // namespace dygraph::elementwise
