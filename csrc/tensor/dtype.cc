#include "tensor/dtype.h"

#include <array>
#include <utility>

#include "base/nearest.h"

namespace dygraph {

namespace {
constexpr std::array<const char*, kNumDTypes> kNames = {
    "bool",    "uint8",    "int8",    "int16",   "int32",     "int64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128"};
// VarType.Type of framework.proto, in the order of DType.
constexpr std::array<int, kNumDTypes> kWire = {0, 20, 21, 1, 2, 3, 4, 22, 5, 6, 23, 24};
}  // namespace

const char* Name(DType t) { return t == DType::kUnset ? "unset" : kNames[static_cast<int>(t)]; }

DType DTypeFromName(const std::string& s) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (s == kNames[i]) return static_cast<DType>(i);
  }
  THROW(InvalidArgument,
        "the element type must be one of bool, uint8, int8, int16, int32, int64, "
        "float16, bfloat16, float32, float64, complex64, complex128, got '",
        s, "'.", DidYouMean(s, std::vector<std::string>(kNames.begin(), kNames.end())));
}

int ToWire(DType t) { return t == DType::kUnset ? -1 : kWire[static_cast<int>(t)]; }

DType DTypeFromWire(int number) {
  if (number == -1) return DType::kUnset;
  for (int i = 0; i < kNumDTypes; ++i) {
    if (kWire[i] == number) return static_cast<DType>(i);
  }
  THROW(InvalidArgument, "the number of an element type must be one of VarType.Type, got ", number,
        ". float32 is 5, int64 is 3");
}

DType RealOf(DType t) {
  if (!IsComplex(t)) return t;
  return t == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64;
}

DType ComplexOf(DType t) {
  if (IsComplex(t)) return t;
  return t == DType::kFloat64 ? DType::kComplex128 : DType::kComplex64;
}

DType Promote(DType a, DType b) {
  if (a == b) return a;
  if (a > b) std::swap(a, b);  // kBool < integers < floats < complex types
  if (a == DType::kBool) return b;
  if (IsComplex(b)) return a == DType::kFloat64 ? DType::kComplex128 : b;
  if (IsFloating(b)) {
    return a == DType::kFloat16 && b == DType::kBFloat16 ? DType::kFloat32 : b;
  }
  if (a != DType::kUInt8) return b;              // two signed integers: the wider
  return b == DType::kInt8 ? DType::kInt16 : b;  // uint8 needs a signed type that holds it
}

}  // namespace dygraph
