// Operator attributes: a plain struct per operator, and a table of its fields so that others can
// set them by name.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/boxed.h"
#include "base/ref.h"
#include "tensor/dtype.h"

namespace dygraph {

// Numbers of AttrType in framework.proto; AttrValue's alternatives stand in the same order.
enum class AttrType : int32_t {
  kInt,
  kFloat,
  kString,
  kInts,
  kFloats,
  kStrings,
  kBool,
  kBools,
  kBlock,
  kLong,
  kBlocks,
  kLongs,
  kFloat64s,  // from here on only programs of Paddle 2.5 and later have them, no operator
  kVar,
  kVars,
  kFloat64,
  kScalar,
  kScalars
};
const char* Name(AttrType type);

struct BlockIndex {
  int32_t index = -1;
  bool operator==(const BlockIndex& o) const { return index == o.index; }
};
struct VarName {
  std::string value;
  bool operator==(const VarName& o) const { return value == o.value; }
};
struct VarNames {
  std::vector<std::string> values;
  bool operator==(const VarNames& o) const { return values == o.values; }
};

// A number that carries its type, as a program spells it. `unknown`: see program/desc.h.
struct TypedNumber {
  enum class Type : int32_t { UNSET = 0, BOOLEAN = 1, LONG = 2, FLOAT64 = 3, COMPLEX128 = 4 };
  struct Complex {
    double r = 0, i = 0;
    Boxed<std::string> unknown;
    bool operator==(const Complex& o) const { return r == o.r && i == o.i; }
  };
  Type type = Type::UNSET;
  std::optional<bool> b;
  std::optional<int64_t> i;
  std::optional<double> r;
  Boxed<Complex> c;
  Boxed<std::string> unknown;
  bool operator==(const TypedNumber& o) const {
    return type == o.type && b == o.b && i == o.i && r == o.r && c == o.c;
  }
};

using AnyAttr =
    std::variant<int32_t, float, std::string, std::vector<int32_t>, std::vector<float>,
                 std::vector<std::string>, bool, std::vector<bool>, BlockIndex, int64_t,
                 std::vector<BlockIndex>, std::vector<int64_t>, std::vector<double>, VarName,
                 VarNames, double, Boxed<TypedNumber>, std::vector<TypedNumber>>;
// The value of an attribute: of an operator, a call, a program or an option of a pass. Many files
// make some, so that what one is copied and ended by is compiled once.
struct AttrValue : AnyAttr {
  using AnyAttr::AnyAttr;
  using AnyAttr::operator=;
  AttrValue() = default;
  AttrValue(const AttrValue&);
  AttrValue(AttrValue&&) noexcept;
  AttrValue& operator=(const AttrValue&);
  AttrValue& operator=(AttrValue&&) noexcept;
  ~AttrValue();
};
inline AttrType TypeOf(const AttrValue& value) { return static_cast<AttrType>(value.index()); }
AttrValue EmptyValue(AttrType type);           // 0, nothing
std::string ToString(const AttrValue& value);  // as Python writes it
double NumberOf(const AttrValue& value);  // an int, a bool, a float or a double; else TypeError
// A float where it holds the number exactly, else a double: how the value of a FLOAT attribute
// stands in an AttrValue.
AttrValue FloatValue(double number);

// The number of a FLOAT attribute among elements of type T. Its member of the struct is a double,
// which float64 reads as it is. All other types read the nearest float, as the proto's FLOAT holds.
inline float NearestFloat(double attr) {
  float near = static_cast<float>(attr);
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  // GCC 12 at -O2 forgets the rounding of two neighbours that become doubles again.
  asm("" : "+x"(near));
#endif
  return near;
}
template <class T>
auto NumberFor(double attr) {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, complex128>) {
    return attr;
  } else {
    return NearestFloat(attr);
  }
}
inline double NumberFor(DType type, double attr) {
  return RealOf(type) == DType::kFloat64 ? attr : static_cast<double>(NearestFloat(attr));
}

// Throws when a value is not allowed; `name` is the attribute's.
using AttrCheck = std::function<void(const std::string& name, const AttrValue& value)>;
AttrCheck AtLeast(double least);
AttrCheck Between(double least, double most);
AttrCheck OneOf(std::initializer_list<const char*> allowed);
AttrCheck EachAtLeast(int64_t least);  // every element of a list

struct AttrField {
  std::string name;
  std::string help;
  AttrType type;
  bool is_dtype = false;   // wire INT, but Python takes dtypes and their names
  bool is_double = false;  // wire FLOAT, but the member is a double
  uint32_t offset = 0;     // in the struct
  AttrCheck check;
};

class AttrTable {
 public:
  uint32_t size = 0;
  void (*construct)(void* to) = nullptr;
  void (*copy)(void* to, const void* from) = nullptr;
  void (*destroy)(void* self) = nullptr;
  std::vector<AttrField> fields;

  int Find(const std::string& name) const;     // -1 when there is none
  int Require(const std::string& name) const;  // NotFound with the nearest name
  // Converts what may be converted without loss (int to float or int64, list of int to list of
  // float or int64), checks and stores; a double goes into a float as the nearest one. TypeError
  // says what was expected.
  void Set(void* attrs, int field, const AttrValue& value) const;
  AttrValue Get(const void* attrs, int field) const;
};

// One immutable, shared set of attribute values.
class Attrs : public RefCounted<Attrs> {
 public:
  static Ref<Attrs> Make(const AttrTable& table);  // defaults
  static Ref<Attrs> Copy(const Attrs& other);
  const AttrTable& table() const { return *table_; }
  const void* data() const { return this + 1; }
  void* mutable_data() { return this + 1; }
  template <class A>
  const A& As() const {
    return *static_cast<const A*>(data());
  }
  void Set(int field, const AttrValue& value) { table_->Set(mutable_data(), field, value); }
  void Set(const std::string& name, const AttrValue& value) { Set(table_->Require(name), value); }
  AttrValue Get(int field) const { return table_->Get(data(), field); }
  static void Destroy(Attrs* self);

 private:
  explicit Attrs(const AttrTable& table) : table_(&table) {}
  ~Attrs() = default;
  const AttrTable* table_;
  uint64_t padding_ = 0;  // the struct that follows is 16-byte aligned
};

// The attribute type of a member's C++ type; on the wire a DType is an int and a double a float.
template <class M, size_t kType = 0>
constexpr AttrType AttrTypeOf() {
  if constexpr (std::is_same_v<M, DType>) {
    return AttrType::kInt;
  } else if constexpr (std::is_same_v<M, double>) {
    return AttrType::kFloat;
  } else if constexpr (std::is_same_v<M, std::variant_alternative_t<kType, AnyAttr>>) {
    return static_cast<AttrType>(kType);
  } else {
    static_assert(kType < static_cast<size_t>(AttrType::kLongs),
                  "an attribute cannot have this type");
    return AttrTypeOf<M, kType + 1>();
  }
}

template <class A>
void BindAttrStruct(AttrTable* table) {
  static_assert(alignof(A) <= 16, "attribute structs hold ordinary members");
  table->size = sizeof(A);
  table->construct = [](void* to) { new (to) A(); };
  table->copy = [](void* to, const void* from) { new (to) A(*static_cast<const A*>(from)); };
  table->destroy = [](void* self) { static_cast<A*>(self)->~A(); };
}

template <class A, class M>
uint32_t OffsetOf(M A::* member) {
  alignas(A) static const unsigned char blank[sizeof(A)] = {};
  const A* at = reinterpret_cast<const A*>(blank);
  return static_cast<uint32_t>(reinterpret_cast<const unsigned char*>(&(at->*member)) - blank);
}

}  // namespace dygraph
