#include "passes/same.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "program/op_binding.h"

namespace dygraph::program {

namespace {

// Where an operator comes from, which changes nothing.
bool IsOrigin(const std::string& attr) {
  return attr == kCallstackAttr || attr == "op_namescope" || attr == "op_role_var";
}

template <class T>
void AddBytes(const T* items, size_t count, std::string* text) {
  text->append(reinterpret_cast<const char*>(items), count * sizeof(T));
}

}  // namespace

std::string AttrsText(const OpDesc& op) {
  std::vector<const OpDesc::Attr*> attrs;
  for (const OpDesc::Attr& attr : op.attrs) {
    if (!IsOrigin(attr.name)) attrs.push_back(&attr);
  }
  std::sort(attrs.begin(), attrs.end(),
            [](const auto* a, const auto* b) { return a->name < b->name; });
  std::string text;
  for (const OpDesc::Attr* attr : attrs) {
    std::string bytes;
    std::visit(
        [&](const auto& value) {
          using T = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
            AddBytes(&value, 1, &bytes);
          } else if constexpr (std::is_same_v<T, std::vector<float>> ||
                               std::is_same_v<T, std::vector<double>>) {
            AddBytes(value.data(), value.size(), &bytes);
          } else {
            bytes = ToString(attr->value);
          }
        },
        static_cast<const AnyAttr&>(attr->value));
    text += std::to_string(attr->name.size()) + ':' + attr->name;
    text += std::to_string(attr->value.index()) + ',' + std::to_string(bytes.size()) + ':' + bytes;
  }
  return text;
}

bool SameKind(const Var& one, const Var& other) {
  return one.desc().type.type == other.desc().type.type &&
         ElementType(one.desc()) == ElementType(other.desc());
}

bool IsBackward(const OpDesc& op) {
  const auto* role = op.FindAttr<int32_t>("op_role");
  if (role && (*role & kBackwardRole)) return true;
  bool makes_gradient = false;
  ForNames(op.outputs, [&](const std::string& name) {
    makes_gradient |= name.find("@GRAD") != std::string::npos;
  });
  return makes_gradient;
}

double NumberIn(const OpDesc& op, const char* attr, double absent) {
  const AttrValue* value = op.FindAttr(attr);
  if (!value) return absent;
  if (const auto* i = std::get_if<int32_t>(value)) return *i;
  if (const auto* f = std::get_if<float>(value)) return static_cast<double>(*f);
  if (const auto* d = std::get_if<double>(value)) return *d;
  return std::numeric_limits<double>::quiet_NaN();
}

void TakeMarks(const OpDesc& from, OpDesc* op) {
  for (const OpDesc::Attr& attr : from.attrs) {
    if (attr.name.rfind("op_", 0) == 0) op->SetAttr(attr.name, attr.value);
  }
}

const std::vector<int64_t>* DeclaredSizes(const Var* var) {
  if (!var || var->desc().type.type != VarType::Type::LOD_TENSOR) return nullptr;
  const VarType::TensorDesc* tensor = TensorOf(var->desc());
  return tensor ? &tensor->dims : nullptr;
}

bool FlagOf(const OpDesc& op, const char* attr) {
  const bool* value = op.FindAttr<bool>(attr);
  return value && *value;
}

}  // namespace dygraph::program
