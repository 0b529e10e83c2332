#include "program/desc.h"

#include <algorithm>

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

void OpDesc::SetAttr(std::string_view name, AttrValue value) {
  Attr* attr = FindNamed(attrs, &Attr::name, name);
  if (!attr) {
    attr = &attrs.emplace_back();
    attr->name = name;
  }
  attr->value = std::move(value);
}

std::vector<std::string>* OpDesc::Input(std::string_view slot) { return FindSlot(inputs, slot); }
std::vector<std::string>* OpDesc::Output(std::string_view slot) { return FindSlot(outputs, slot); }
std::vector<std::string>* OpDesc::Slot(std::string_view slot) {
  auto* input = Input(slot);
  return input ? input : Output(slot);
}
const std::vector<std::string>* OpDesc::Input(std::string_view slot) const {
  return FindSlot(inputs, slot);
}
const std::vector<std::string>* OpDesc::Output(std::string_view slot) const {
  return FindSlot(outputs, slot);
}
const std::vector<std::string>* OpDesc::Slot(std::string_view slot) const {
  auto* input = Input(slot);
  return input ? input : Output(slot);
}

const VarDesc* BlockDesc::FindVar(std::string_view name) const {
  return FindNamed(vars, &VarDesc::name, name);
}
VarDesc* BlockDesc::FindVar(std::string_view name) {
  const Items<VarDesc>& all = vars;  // a look copies nothing
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].name == name) return &vars[i];
  }
  return nullptr;
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

const VarDesc* ProgramDesc::FindVarRecursive(int32_t block, std::string_view name) const {
  for (int32_t i : VisibleBlocks(block)) {
    if (const VarDesc* var = blocks[i].FindVar(name)) return var;
  }
  return nullptr;
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
