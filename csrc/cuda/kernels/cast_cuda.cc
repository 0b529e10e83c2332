#include "kernels/cast.h"
#include "kernels/elementwise.h"

namespace dygraph::kernels {

namespace {

template <class To>
struct ConvertTo {
  template <class From>
  DYGRAPH_INLINE To operator()(From v) const {
    return Convert<To>(v);
  }
};

}  // namespace

void Cast(DType from, const void* x, DType to, void* y, int64_t n) {
  if (n <= 0) return;
  if (from == to) {
    cuda::Check(cudaMemcpyAsync(y, x, static_cast<size_t>(n) * SizeOf(to), cudaMemcpyDeviceToDevice,
                                cuda::CurrentStream()),
                "copy");
    return;
  }
  VisitDType(from, [&](auto from_tag) {
    using From = typename decltype(from_tag)::type;
    VisitDType(to, [&](auto to_tag) {
      using To = typename decltype(to_tag)::type;
      if constexpr (kIsComplex<From> && !kIsComplex<To> && !std::is_same_v<To, bool>) {
        THROW(Type, "numbers of ", from, " must become complex or bool, got ", to,
              ", which drops the imaginary part. Take x.real first");
      } else if constexpr (!std::is_same_v<From, To>) {
        Map(static_cast<const From*>(x), static_cast<To*>(y), n, ConvertTo<To>());
      }
    });
  });
}

}  // namespace dygraph::kernels
