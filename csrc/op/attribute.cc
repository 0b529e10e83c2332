#include "op/attribute.h"

#include <charconv>
#include <cmath>
#include <sstream>
#include <utility>

#include "base/enforce.h"
#include "base/nearest.h"

namespace dygraph {

const char* Name(AttrType type) {
  static const char* const kNames[] = {
      "an int",           "a float",          "a string",
      "a list of ints",   "a list of floats", "a list of strings",
      "a bool",           "a list of bools",  "a block",
      "an int",           "a list of blocks", "a list of ints",
      "a list of floats", "a variable",       "a list of variables",
      "a float",          "a number",         "a list of numbers"};
  return kNames[static_cast<int>(type)];
}

namespace {
void Write(std::ostream& out, int32_t v) { out << v; }
void Write(std::ostream& out, int64_t v) { out << v; }
// The shortest digits that give the number back.
template <class T>
void WriteShortest(std::ostream& out, T v) {
  char digits[40];
  out.write(digits, std::to_chars(digits, digits + sizeof(digits), v).ptr - digits);
}
void Write(std::ostream& out, float v) { WriteShortest(out, v); }
void Write(std::ostream& out, double v) { WriteShortest(out, v); }
void Write(std::ostream& out, bool v) { out << (v ? "True" : "False"); }
void Write(std::ostream& out, const std::string& v) { out << '\'' << v << '\''; }
void Write(std::ostream& out, const BlockIndex& v) { out << "block " << v.index; }
void Write(std::ostream& out, const VarName& v) { Write(out, v.value); }
void Write(std::ostream& out, const TypedNumber& v) {
  if (v.b) return Write(out, *v.b);
  if (v.i) return Write(out, *v.i);
  if (v.c)
    out << '(' << v.c->r << (v.c->i < 0 ? "" : "+") << v.c->i << "j)";
  else
    Write(out, v.r.value_or(0));
}
void Write(std::ostream& out, const Boxed<TypedNumber>& v) { Write(out, v ? *v : TypedNumber()); }
template <class T>
void Write(std::ostream& out, const std::vector<T>& v) {
  out << '[';
  for (size_t i = 0; i < v.size(); ++i) {
    if (i) out << ", ";
    Write(out, static_cast<const T&>(v[i]));
  }
  out << ']';
}
void Write(std::ostream& out, const VarNames& v) { Write(out, v.values); }

template <size_t... kTypes>
AttrValue EmptyOf(size_t type, std::index_sequence<kTypes...>) {
  AttrValue value;
  ((type == kTypes ? void(value.emplace<kTypes>()) : void()), ...);
  return value;
}
}  // namespace

AttrValue::AttrValue(const AttrValue&) = default;
AttrValue::AttrValue(AttrValue&&) noexcept = default;
AttrValue& AttrValue::operator=(const AttrValue&) = default;
AttrValue& AttrValue::operator=(AttrValue&&) noexcept = default;
AttrValue::~AttrValue() = default;

AttrValue EmptyValue(AttrType type) {
  return EmptyOf(static_cast<size_t>(type),
                 std::make_index_sequence<std::variant_size_v<AnyAttr>>());
}

std::string ToString(const AttrValue& value) {
  std::ostringstream out;
  std::visit([&](const auto& v) { Write(out, v); }, value);
  return out.str();
}

double NumberOf(const AttrValue& value) {
  if (auto* i = std::get_if<int32_t>(&value)) return *i;
  if (auto* l = std::get_if<int64_t>(&value)) return static_cast<double>(*l);
  if (auto* d = std::get_if<double>(&value)) return *d;
  if (auto* b = std::get_if<bool>(&value)) return *b;
  const float* f = std::get_if<float>(&value);
  ENFORCE(f, Type, "the attribute must be a number, got ", ToString(value));
  return static_cast<double>(*f);
}

AttrValue FloatValue(double number) {
  const float near = static_cast<float>(number);
  if (static_cast<double>(near) == number || std::isnan(number)) return near;
  return number;
}

AttrCheck AtLeast(double least) {
  return [least](const std::string& name, const AttrValue& value) {
    ENFORCE(NumberOf(value) >= least, InvalidArgument, "the attribute ", name, " must be at least ",
            least, ", got ", ToString(value));
  };
}

AttrCheck Between(double least, double most) {
  return [least, most](const std::string& name, const AttrValue& value) {
    double v = NumberOf(value);
    ENFORCE(v >= least && v <= most, InvalidArgument, "the attribute ", name, " must lie in [",
            least, ", ", most, "], got ", ToString(value));
  };
}

AttrCheck OneOf(std::initializer_list<const char*> allowed) {
  std::vector<std::string> names(allowed.begin(), allowed.end());
  return [names](const std::string& name, const AttrValue& value) {
    const std::string& v = std::get<std::string>(value);
    for (const std::string& n : names) {
      if (n == v) return;
    }
    std::string list;
    for (const std::string& n : names) list += (list.empty() ? "'" : ", '") + n + "'";
    THROW(InvalidArgument, "the attribute ", name, " must be one of ", list, ", got '", v, "'.",
          DidYouMean(v, names));
  };
}

AttrCheck EachAtLeast(int64_t least) {
  return [least](const std::string& name, const AttrValue& value) {
    auto check = [&](int64_t v) {
      ENFORCE(v >= least, InvalidArgument, "every element of the attribute ", name,
              " must be at least ", least, ", got ", ToString(value));
    };
    if (auto* ints = std::get_if<std::vector<int32_t>>(&value)) {
      for (int32_t v : *ints) check(v);
    } else {
      for (int64_t v : std::get<std::vector<int64_t>>(value)) check(v);
    }
  };
}

int AttrTable::Find(const std::string& name) const {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

int AttrTable::Require(const std::string& name) const {
  int i = Find(name);
  if (i < 0) {
    std::vector<std::string> names;
    for (const AttrField& f : fields) names.push_back(f.name);
    THROW(Type, "there must be an attribute of the given name, got '", name, "'.",
          DidYouMeanOrAll(name, names));
  }
  return i;
}

namespace {
// What fits without loss: int to int64 and float, lists likewise, an empty list to any list; and a
// double to the nearest float.
bool Convert(const AttrValue& value, AttrType to, AttrValue* result) {
  if (auto* b = std::get_if<bool>(&value)) {  // True serves where Fluid's scripts pass 1
    const AttrValue number(static_cast<int32_t>(*b));
    if (to == AttrType::kInt) return *result = number, true;
    return Convert(number, to, result);
  }
  if (auto* i = std::get_if<int32_t>(&value)) {
    if (to == AttrType::kLong) return *result = static_cast<int64_t>(*i), true;
    if (to == AttrType::kFloat) return *result = static_cast<float>(*i), true;
    if (to == AttrType::kBool && (*i == 0 || *i == 1)) return *result = *i == 1, true;
  }
  if (auto* d = std::get_if<double>(&value)) {
    if (to == AttrType::kFloat) return *result = static_cast<float>(*d), true;
  }
  if (auto* l = std::get_if<int64_t>(&value)) {
    if (to == AttrType::kFloat) return *result = static_cast<float>(*l), true;
    if (to == AttrType::kInt && *l == static_cast<int32_t>(*l)) {
      return *result = static_cast<int32_t>(*l), true;
    }
  }
  if (auto* v = std::get_if<std::vector<int32_t>>(&value)) {
    if (to == AttrType::kLongs) return *result = std::vector<int64_t>(v->begin(), v->end()), true;
    if (to == AttrType::kFloats) return *result = std::vector<float>(v->begin(), v->end()), true;
    if (v->empty() && to == AttrType::kStrings) return *result = std::vector<std::string>(), true;
    if (v->empty() && to == AttrType::kBools) return *result = std::vector<bool>(), true;
  }
  if (auto* v = std::get_if<std::vector<int64_t>>(&value)) {
    if (to == AttrType::kFloats) return *result = std::vector<float>(v->begin(), v->end()), true;
    if (to == AttrType::kInts) {
      for (int64_t x : *v) {
        if (x != static_cast<int32_t>(x)) return false;
      }
      return *result = std::vector<int32_t>(v->begin(), v->end()), true;
    }
  }
  return false;
}

bool IsNumber(const AttrValue& value) {
  const AttrType type = TypeOf(value);
  return type == AttrType::kFloat || type == AttrType::kFloat64 || type == AttrType::kInt ||
         type == AttrType::kLong || type == AttrType::kBool;
}

void SetDouble(const AttrField& f, double* member, const AttrValue& value) {
  ENFORCE(IsNumber(value), Type, "the attribute ", f.name, " must be ", Name(f.type), ", got ",
          ToString(value));
  const double number = NumberOf(value);
  if (f.check) f.check(f.name, FloatValue(number));
  *member = number;
}
}  // namespace

void AttrTable::Set(void* attrs, int field, const AttrValue& value) const {
  const AttrField& f = fields[field];
  if (f.is_double) {
    return SetDouble(f, reinterpret_cast<double*>(static_cast<char*>(attrs) + f.offset), value);
  }
  const AttrValue* fitting = &value;
  AttrValue converted;
  if (TypeOf(value) != f.type) {
    ENFORCE(Convert(value, f.type, &converted), Type, "the attribute ", f.name, " must be ",
            Name(f.type), ", got ", ToString(value));
    fitting = &converted;
  }
  if (f.check) f.check(f.name, *fitting);
  void* member = static_cast<char*>(attrs) + f.offset;
  if (f.is_dtype) {
    *static_cast<DType*>(member) = DTypeFromWire(std::get<int32_t>(*fitting));
  } else {
    std::visit([&](const auto& v) { *static_cast<std::decay_t<decltype(v)>*>(member) = v; },
               *fitting);
  }
}

AttrValue AttrTable::Get(const void* attrs, int field) const {
  const AttrField& f = fields[field];
  const void* member = static_cast<const char*>(attrs) + f.offset;
  if (f.is_dtype) return static_cast<int32_t>(ToWire(*static_cast<const DType*>(member)));
  if (f.is_double) return FloatValue(*static_cast<const double*>(member));
  AttrValue value = EmptyValue(f.type);
  std::visit([&](auto& v) { v = *static_cast<const std::decay_t<decltype(v)>*>(member); }, value);
  return value;
}

Ref<Attrs> Attrs::Make(const AttrTable& table) {
  void* at = ::operator new(sizeof(Attrs) + table.size);
  Attrs* a = new (at) Attrs(table);
  if (table.construct) table.construct(a->mutable_data());
  return Ref<Attrs>(a);
}

Ref<Attrs> Attrs::Copy(const Attrs& other) {
  const AttrTable& table = other.table();
  void* at = ::operator new(sizeof(Attrs) + table.size);
  Attrs* a = new (at) Attrs(table);
  if (table.copy) table.copy(a->mutable_data(), other.data());
  return Ref<Attrs>(a);
}

void Attrs::Destroy(Attrs* self) {
  if (self->table_->destroy) self->table_->destroy(self->mutable_data());
  self->~Attrs();
  ::operator delete(self);
}

}  // namespace dygraph
