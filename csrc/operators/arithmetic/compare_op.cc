// The six comparisons. They are one family: a > b is b < a, and so four loops serve them.
#include "kernels/cast.h"
#include "op/pointwise.h"
#include "operators/arithmetic/binary.h"

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

void DefineCompare(OpDef& op, const char* comment, const char* example) {
  op.Comment(comment)
      .Example(example)
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
  DYGRAPH_INLINE bool operator()(T a, T b) const {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  DYGRAPH_INLINE bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Equal {  // one loop for both signs: the answer is turned round while it is written
  bool turn = false;
  template <class T>
  DYGRAPH_INLINE bool operator()(T a, T b) const {
    return (a == b) != turn;
  }
};
struct NotEqual : Equal {
  NotEqual() : Equal{true} {}
};

template <class T, class F>
void CompareValues(const Tensor& a, const Dims& a_dims, const T* av, const Tensor& b,
                   const Dims& b_dims, const T* bv, Tensor* out, F f) {
  bool* to = out->mutable_data<bool>();
  if (a_dims == b_dims) return kernels::Binary(av, 1, bv, 1, to, out->numel(), f);
  Plan p = MakePlan(a, a_dims, b, b_dims, out->dims(), out->layout() == Layout::kNHWC);
  kernels::Broadcast(p.dims, av, p.x, bv, p.y, to, f);
}

// The type a type is compared in. Halves go through floats and small integers through int32, bools
// are bytes: that spares their loops.
template <class T>
using Compared = std::conditional_t<
    kernels::detail::kIsHalf<T>, float,
    std::conditional_t<std::is_same_v<T, bool>, uint8_t,
                       std::conditional_t<sizeof(T) < 4 && std::is_signed_v<T>, int32_t, T>>>;

template <class T>
Tensor As(DType dtype, const Tensor& t) {
  Tensor f(t.dims(), dtype, t.place(), t.layout());
  kernels::Cast(DTypeOf<T>::value, t.raw_data(), dtype, f.mutable_raw_data(), t.numel());
  return f;
}

// kSwap: f(Y, X).
template <class F, bool kSwap, class T>
struct Compare {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kOut);
    if (out.numel() == 0) return;
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    Dims y_dims = AlignY(x.dims(), y.dims(), ctx.attrs<CompareAttrs>().axis);
    const Tensor &a = kSwap ? y : x, &b = kSwap ? x : y;
    const Dims &a_dims = kSwap ? y_dims : x.dims(), &b_dims = kSwap ? x.dims() : y_dims;
    using V = Compared<T>;
    using Loop = std::conditional_t<std::is_base_of_v<Equal, F>, Equal, F>;
    const Loop f = F();
    if constexpr (sizeof(V) != sizeof(T)) {
      Tensor af = As<T>(DTypeOf<V>::value, a), bf = As<T>(DTypeOf<V>::value, b);
      CompareValues<V>(af, a_dims, af.data<V>(), bf, b_dims, bf.data<V>(), &out, f);
    } else {
      CompareValues<V>(a, a_dims, reinterpret_cast<const V*>(a.data<T>()), b, b_dims,
                       reinterpret_cast<const V*>(b.data<T>()), &out, f);
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

#define REGISTER_COMPARISON(type, kernel, sign, example, ...)                                 \
  REGISTER_OPERATOR(type, [](OpDef& op) {                                                     \
    DefineCompare(op,                                                                         \
                  "Out = X " sign                                                             \
                  " Y, elementwise, as bool. A NaN equals nothing and has no order. "         \
                  "Shapes broadcast as NumPy's; axis >= 0 lays Y along X from that axis on.", \
                  example);                                                                   \
  });                                                                                         \
  REGISTER_POINTWISE(type);                                                                   \
  REGISTER_LOD_RULE(type, KeepsRows);                                                         \
  REGISTER_LOD_ALSO(type, kY);                                                                \
  REGISTER_KERNELS(type, kernel, __VA_ARGS__)

REGISTER_COMPARISON(less_than, LessThanKernel, "<",
                    ">>> F.less_than(to_variable([1, 2, 3]), to_variable([2, 2, 2])).tolist()\n"
                    "[True, False, False]",
                    RealTypes);
REGISTER_COMPARISON(less_equal, LessEqualKernel, "<=",
                    ">>> F.less_equal(to_variable([1, 2, 3]), to_variable([2, 2, 2])).tolist()\n"
                    "[True, True, False]",
                    RealTypes);
REGISTER_COMPARISON(greater_than, GreaterThanKernel, ">",
                    ">>> F.greater_than(to_variable([1, 2, 3]), to_variable([2, 2, 2])).tolist()\n"
                    "[False, False, True]",
                    RealTypes);
REGISTER_COMPARISON(greater_equal, GreaterEqualKernel, ">=",
                    ">>> F.greater_equal(to_variable([1, 2, 3]), to_variable([2, 2, 2])).tolist()\n"
                    "[False, True, True]",
                    RealTypes);
REGISTER_COMPARISON(equal, EqualKernel, "==",
                    ">>> F.equal(to_variable([1, 2, 3]), to_variable([1, 0, 3])).tolist()\n"
                    "[True, False, True]",
                    AllTypes);
REGISTER_COMPARISON(not_equal, NotEqualKernel, "!=",
                    ">>> F.not_equal(to_variable([1, 2, 3]), to_variable([1, 0, 3])).tolist()\n"
                    "[False, True, False]",
                    AllTypes);
#undef REGISTER_COMPARISON

}  // namespace
}  // namespace dygraph::elementwise
