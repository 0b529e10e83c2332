#include "kernels/cast.h"

#include <cstring>

#include "kernels/elementwise.h"

namespace dygraph::kernels {

void Cast(DType from, const void* x, DType to, void* y, int64_t n) {
  if (from == to) {
    if (n > 0) std::memmove(y, x, static_cast<size_t>(n) * SizeOf(to));
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
        Map(static_cast<const From*>(x), static_cast<To*>(y), n,
            [](From v) { return Convert<To>(v); });
      }
    });
  });
}

}  // namespace dygraph::kernels
