#include "program/desc.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace dygraph::program {
namespace {

// Works on const and mutable vectors alike; the elements are few, so a scan beats a map.
template <class Elements, class Name>
auto* FindNamed(Elements& elements, Name name, std::string_view wanted) {
  auto at = std::find_if(elements.begin(), elements.end(),
                         [&](const auto& element) { return element.*name == wanted; });
  return at == elements.end() ? nullptr : &*at;
}

template <class Vars>
auto* FindSlot(Vars& vars, std::string_view slot) {
  auto* var = FindNamed(vars, &OpDesc::Var::parameter, slot);
  return var ? &var->arguments : nullptr;
}

template <size_t N>
const char* NameAt(const char* const (&names)[N], int32_t number) {
  return number >= 0 && number < static_cast<int32_t>(N) ? names[number] : nullptr;
}

}  // namespace

const AttrValue* OpDesc::FindAttr(std::string_view name) const {
  const Attr* attr = FindNamed(attrs, &Attr::name, name);
  return attr ? &attr->value : nullptr;
}

void OpDesc::SetAttr(std::string_view name, AttrValue value, bool is_float64) {
  Attr* attr = FindNamed(attrs, &Attr::name, name);
  if (!attr) {
    attr = &attrs.emplace_back();
    attr->name = name;
  }
  attr->value = std::move(value);
  attr->is_float64 = is_float64;
}

std::vector<std::string>* OpDesc::Input(std::string_view slot) { return FindSlot(inputs, slot); }
std::vector<std::string>* OpDesc::Output(std::string_view slot) { return FindSlot(outputs, slot); }
const std::vector<std::string>* OpDesc::Input(std::string_view slot) const {
  return FindSlot(inputs, slot);
}
const std::vector<std::string>* OpDesc::Output(std::string_view slot) const {
  return FindSlot(outputs, slot);
}

bool Mention(const std::vector<OpDesc::Var>& slots, const std::string& name) {
  bool found = false;
  ForNames(slots, [&](const std::string& each) { found |= each == name; });
  return found;
}

void RenameArguments(std::vector<OpDesc::Var>* slots, const std::string& from,
                     const std::string& to) {
  for (OpDesc::Var& slot : *slots)
    std::replace(slot.arguments.begin(), slot.arguments.end(), from, to);
}

constexpr std::string_view kSizeName = "size_of_axis_";

std::map<int, std::string> SizeNames(const VarDesc& var) {
  std::map<int, std::string> names;
  for (const VarDesc::Attr& attr : var.attrs) {
    std::string_view name = attr.name;
    if (!attr.s || name.substr(0, kSizeName.size()) != kSizeName) continue;
    name.remove_prefix(kSizeName.size());
    int axis = -1;
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), axis);
    if (error == std::errc() && end == name.data() + name.size() && axis >= 0)
      names[axis] = *attr.s;
  }
  return names;
}

void SetSizeNames(VarDesc* var, const std::map<int, std::string>& names) {
  auto is_size = [](const VarDesc::Attr& attr) { return attr.name.rfind(kSizeName, 0) == 0; };
  var->attrs.erase(std::remove_if(var->attrs.begin(), var->attrs.end(), is_size),
                   var->attrs.end());
  for (const auto& [axis, name] : names) {
    VarDesc::Attr& attr = var->attrs.emplace_back();
    attr.name = std::string(kSizeName) + std::to_string(axis);
    attr.type = AttrType::kString;
    attr.s = name;
  }
}

const VarDesc* BlockDesc::FindVar(std::string_view name) const {
  return FindNamed(vars, &VarDesc::name, name);
}

std::unordered_map<std::string_view, size_t> BlockDesc::VarPositions() const {
  std::unordered_map<std::string_view, size_t> positions;
  positions.reserve(vars.size());
  for (size_t i = 0; i < vars.size(); ++i) positions.emplace(vars[i].name, i);
  return positions;
}

std::vector<int32_t> ProgramDesc::VisibleBlocks(int32_t block) const {
  return program::VisibleBlocks(block, blocks.size(), [&](int32_t i) {
    return std::make_pair(blocks[i].parent_idx, blocks[i].forward_block_idx.value_or(-1));
  });
}

const char* EnumName(AttrType type) {
  static constexpr const char* kNames[] = {"INT",     "FLOAT",   "STRING",   "INTS",  "FLOATS",
                                           "STRINGS", "BOOLEAN", "BOOLEANS", "BLOCK", "LONG",
                                           "BLOCKS",  "LONGS",   "FLOAT64S", "VAR",   "VARS",
                                           "FLOAT64", "SCALAR",  "SCALARS"};
  return NameAt(kNames, static_cast<int32_t>(type));
}

const char* EnumName(VarType::Type type) {
  static constexpr const char* kNames[] = {"BOOL",           "INT16",
                                           "INT32",          "INT64",
                                           "FP16",           "FP32",
                                           "FP64",           "LOD_TENSOR",
                                           "SELECTED_ROWS",  "FEED_MINIBATCH",
                                           "FETCH_LIST",     "STEP_SCOPES",
                                           "LOD_RANK_TABLE", "LOD_TENSOR_ARRAY",
                                           "PLACE_LIST",     "READER",
                                           nullptr,          "RAW",
                                           "TUPLE",          "SIZE_T",
                                           "UINT8",          "INT8",
                                           "BF16",           "COMPLEX64",
                                           "COMPLEX128",     "STRING",
                                           "STRINGS",        "VOCAB",
                                           "FEED_LIST",      "PSTRING",
                                           "SPARSE_COO",     "SPARSE_CSR"};
  return NameAt(kNames, static_cast<int32_t>(type));
}

const char* EnumName(TypedNumber::Type type) {
  static constexpr const char* kNames[] = {nullptr, "BOOLEAN", "LONG", "FLOAT64", "COMPLEX128"};
  return NameAt(kNames, static_cast<int32_t>(type));
}

const char* EnumName(CompatibleInfo::Type type) {
  static constexpr const char* kNames[] = {"COMPATIBLE", "DEFINITELY_NOT", "POSSIBLE", "BUG_FIX",
                                           "PRECISION_CHANGE"};
  return NameAt(kNames, static_cast<int32_t>(type));
}

}  // namespace dygraph::program
