// Element types, their sizes, names and numbers in programs.
#pragma once

#include <complex>
#include <cstdint>
#include <ostream>
#include <string>
#include <type_traits>

#include "base/enforce.h"
#include "tensor/float16.h"

namespace dygraph {

using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

// clang-format off
enum class DType : uint8_t {
  kBool, kUInt8, kInt8, kInt16, kInt32, kInt64, kFloat16, kBFloat16, kFloat32, kFloat64,
  kComplex64, kComplex128,
  kUnset,  // an attribute that is not set; never the type of data
};
// clang-format on
constexpr int kNumDTypes = 12;

namespace detail {
constexpr uint8_t kDTypeSizes[] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 0};
}
inline size_t SizeOf(DType t) { return detail::kDTypeSizes[static_cast<int>(t)]; }
inline bool IsFloating(DType t) { return t >= DType::kFloat16 && t <= DType::kFloat64; }
inline bool IsComplex(DType t) { return t == DType::kComplex64 || t == DType::kComplex128; }
// Floating or complex: what has gradients.
inline bool IsInexact(DType t) { return t >= DType::kFloat16 && t <= DType::kComplex128; }
inline bool IsNarrow(DType t) { return t == DType::kFloat16 || t == DType::kBFloat16; }
// The type of parameters and statistics beside values of type t.
inline DType WideOf(DType t) { return IsNarrow(t) ? DType::kFloat32 : t; }
inline bool IsInteger(DType t) { return t >= DType::kUInt8 && t <= DType::kInt64; }

const char* Name(DType t);                  // "float32"
DType DTypeFromName(const std::string& s);  // ValueError with near spellings
int ToWire(DType t);                        // VarType.Type numbers of framework.proto; kUnset is -1
DType DTypeFromWire(int number);
DType RealOf(DType t);     // float32 of complex64, float64 of complex128; any other type itself
DType ComplexOf(DType t);  // complex128 of float64, complex64 of every other real type
// Array-API promotion: float16 with bfloat16 gives float32; int with float gives the float;
// a float with a complex type gives the complex type of the wider one.
DType Promote(DType a, DType b);
inline std::ostream& operator<<(std::ostream& out, DType t) { return out << Name(t); }

// clang-format off
template <class T> struct DTypeOf;
template <> struct DTypeOf<bool> { static constexpr DType value = DType::kBool; };
template <> struct DTypeOf<uint8_t> { static constexpr DType value = DType::kUInt8; };
template <> struct DTypeOf<int8_t> { static constexpr DType value = DType::kInt8; };
template <> struct DTypeOf<int16_t> { static constexpr DType value = DType::kInt16; };
template <> struct DTypeOf<int32_t> { static constexpr DType value = DType::kInt32; };
template <> struct DTypeOf<int64_t> { static constexpr DType value = DType::kInt64; };
template <> struct DTypeOf<float16> { static constexpr DType value = DType::kFloat16; };
template <> struct DTypeOf<bfloat16> { static constexpr DType value = DType::kBFloat16; };
template <> struct DTypeOf<float> { static constexpr DType value = DType::kFloat32; };
template <> struct DTypeOf<double> { static constexpr DType value = DType::kFloat64; };
template <> struct DTypeOf<complex64> { static constexpr DType value = DType::kComplex64; };
template <> struct DTypeOf<complex128> { static constexpr DType value = DType::kComplex128; };
// clang-format on

template <class T>
constexpr bool kIsComplex = std::is_same_v<T, complex64> || std::is_same_v<T, complex128>;

template <class T>
struct TypeTag {
  using type = T;
};

// Calls f(TypeTag<T>()) for the C++ type of `t`:
//   VisitDType(t, [&](auto tag) { using T = typename decltype(tag)::type; });
template <class F>
decltype(auto) VisitDType(DType t, F&& f) {
  switch (t) {
    case DType::kBool: return f(TypeTag<bool>());
    case DType::kUInt8: return f(TypeTag<uint8_t>());
    case DType::kInt8: return f(TypeTag<int8_t>());
    case DType::kInt16: return f(TypeTag<int16_t>());
    case DType::kInt32: return f(TypeTag<int32_t>());
    case DType::kInt64: return f(TypeTag<int64_t>());
    case DType::kFloat16: return f(TypeTag<float16>());
    case DType::kBFloat16: return f(TypeTag<bfloat16>());
    case DType::kFloat32: return f(TypeTag<float>());
    case DType::kFloat64: return f(TypeTag<double>());
    case DType::kComplex64: return f(TypeTag<complex64>());
    case DType::kComplex128: return f(TypeTag<complex128>());
    case DType::kUnset: break;
  }
  THROW(PreconditionNotMet,
        "a tensor without an element type was read; it has not been written yet");
}

}  // namespace dygraph
