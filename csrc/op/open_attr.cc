#include "op/open_attr.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/enforce.h"
#include "op/op_info.h"

namespace dygraph {

namespace {

constexpr uint64_t kOpenFloat = 0x7ff80000a77a0000;  // quiet, so that copies keep it

double OpenFloat() {
  double v;
  std::memcpy(&v, &kOpenFloat, sizeof(v));
  return v;
}

std::map<std::string, std::vector<std::string>>& Known() {
  static auto* known = new std::map<std::string, std::vector<std::string>>;
  return *known;
}

const std::vector<std::string>& KnownOf(const OpInfo& op) {
  static const std::vector<std::string> none;
  auto at = Known().find(op.attrs_of.empty() ? op.type : op.attrs_of);
  return at == Known().end() ? none : at->second;
}

template <class T>
T& Member(void* attrs, const AttrField& field) {
  return *reinterpret_cast<T*>(static_cast<char*>(attrs) + field.offset);
}

// visit(member) for the field's member of the struct, where it has a type that may be open. A data
// type, which has one byte, and a float of 32 bits never are.
template <class F>
void Visit(void* attrs, const AttrField& field, F&& visit) {
  if (field.is_dtype || (field.type == AttrType::kFloat && !field.is_double)) return;
  switch (field.type) {
    case AttrType::kInt: return visit(Member<int32_t>(attrs, field));
    case AttrType::kLong: return visit(Member<int64_t>(attrs, field));
    case AttrType::kFloat: return visit(Member<double>(attrs, field));
    case AttrType::kInts: return visit(Member<std::vector<int32_t>>(attrs, field));
    case AttrType::kLongs: return visit(Member<std::vector<int64_t>>(attrs, field));
    default: return;
  }
}

void Set(int32_t* v, size_t) { *v = std::numeric_limits<int32_t>::min(); }
void Set(int64_t* v, size_t) { *v = std::numeric_limits<int64_t>::min(); }
void Set(double* v, size_t) { *v = OpenFloat(); }
template <class T>
void Set(std::vector<T>* list, size_t elements) {
  list->assign(elements, std::numeric_limits<T>::min());
}

bool IsList(const AttrField& field) {
  return field.type == AttrType::kInts || field.type == AttrType::kLongs;
}

// `whole_list`: the variable gives a list, not a number of its own.
void CheckSizes(const AttrField& field, const Tensor& t, bool whole_list) {
  const Dims& dims = t.dims();
  ENFORCE(dims.rank() <= 1 || (!whole_list && (dims.HasUnknown() || t.numel() == 1)),
          InvalidArgument, "the variable in the attribute ", field.name,
          whole_list ? " must have one axis" : " must hold one number", ", got shape ", dims);
  ENFORCE(whole_list || dims.HasUnknown() || t.numel() == 1, InvalidArgument,
          "the variable in the attribute ", field.name, " must hold one number, got shape ", dims);
}

void CheckType(const AttrField& field, DType dtype) {
  const bool whole = dtype == DType::kInt32 || dtype == DType::kInt64;
  if (field.type == AttrType::kFloat) {
    ENFORCE(whole || dtype == DType::kFloat32 || dtype == DType::kFloat64, Type,
            "the variable in the attribute ", field.name,
            " must be of float32, float64, int32 or int64, got ", dtype,
            ". Convert with astype('float32')");
  } else {
    ENFORCE(whole, Type, "the variable in the attribute ", field.name,
            " must be of int32 or int64, got ", dtype, ". Convert with astype('int64')");
  }
}

int64_t IntegerAt(const Tensor& t, int64_t i) {
  return t.dtype() == DType::kInt32 ? t.data<int32_t>()[i] : t.data<int64_t>()[i];
}

// An integer that no double has is refused.
double FloatIn(const AttrField& field, const Tensor& t) {
  if (t.dtype() == DType::kFloat32) return static_cast<double>(t.data<float>()[0]);
  if (t.dtype() == DType::kFloat64) return t.data<double>()[0];
  const int64_t whole = IntegerAt(t, 0);
  const double value = static_cast<double>(whole);
  ENFORCE(whole == static_cast<int64_t>(value), OutOfRange, "the attribute ", field.name,
          " must be a number that float64 has, got ", whole);
  return value;
}

}  // namespace

bool IsOpen(double v) {
  uint64_t bits;
  std::memcpy(&bits, &v, sizeof(bits));
  return bits == kOpenFloat;
}

bool MayBeOpen(const OpInfo& op, int field) {
  const std::vector<std::string>& names = KnownOf(op);
  return std::find(names.begin(), names.end(), op.attr_table.fields[field].name) != names.end();
}

bool AnyMayBeOpen(const OpInfo& op) { return !KnownOf(op).empty(); }

bool IsOpen(const Attrs& attrs, int field) {
  bool open = false;
  Visit(const_cast<void*>(attrs.data()), attrs.table().fields[field],
        [&](const auto& v) { open = IsOpen(v); });
  return open;
}

void Open(Attrs* attrs, int field, size_t elements) {
  Visit(attrs->mutable_data(), attrs->table().fields[field],
        [&](auto& v) { Set(&v, elements); });
}

void OpenFor(Attrs* attrs, int field, Span<const Tensor* const> variables) {
  const AttrField& f = attrs->table().fields[field];
  const bool whole = IsList(f) && variables.size() == 1;
  ENFORCE(IsList(f) || variables.size() == 1, InvalidArgument, "the attribute ", f.name,
          " must be given by one variable, got ", variables.size());
  for (const Tensor* t : variables) {
    CheckSizes(f, *t, whole);
    CheckType(f, t->dtype());
  }
  size_t elements = variables.size();
  if (whole) {
    const Dims& dims = variables[0]->dims();
    ENFORCE(!dims.HasUnknown(), InvalidArgument, "the length of the variable in the attribute ",
            f.name, " must be known while a program is built, got shape ", dims,
            ". Give a list of variables");
    elements = static_cast<size_t>(variables[0]->numel());
    ENFORCE(elements > 0, InvalidArgument, "the variable in the attribute ", f.name,
            " must hold a number, got shape ", dims);
  }
  Open(attrs, field, elements);
}

void CheckNotOpen(const Attrs& attrs, int field) {
  ENFORCE(!IsOpen(attrs, field), OutOfRange, "the attribute ", attrs.table().fields[field].name,
          " must not hold the least number of its type, got ", ToString(attrs.Get(field)));
}

void SetFrom(Attrs* attrs, int field, Span<const Tensor* const> variables) {
  const AttrField& f = attrs->table().fields[field];
  const bool whole = IsList(f) && variables.size() == 1;
  for (const Tensor* t : variables) {
    CheckSizes(f, *t, whole);
    CheckType(f, t->dtype());
  }
  if (f.type == AttrType::kFloat) {
    attrs->Set(field, FloatIn(f, *variables[0]));
  } else if (IsList(f)) {
    std::vector<int64_t> list;
    for (const Tensor* t : variables) {
      for (int64_t i = 0; i < t->numel(); ++i) list.push_back(IntegerAt(*t, i));
    }
    attrs->Set(field, std::move(list));
  } else {
    attrs->Set(field, IntegerAt(*variables[0], 0));
  }
  CheckNotOpen(*attrs, field);
}

OpenAttrsRegistration::OpenAttrsRegistration(const char* type,
                                             std::initializer_list<const char*> attrs) {
  std::vector<std::string>& known = Known()[type];
  for (const char* attr : attrs) known.emplace_back(attr);
}

}  // namespace dygraph
