// A program as data: plain structs with the fields of framework.proto, and look-ups on them.
//
// A plain member is a required field, std::optional and Boxed an optional one whose presence
// counts, std::vector and Items a repeated one. `unknown` keeps the bytes of fields this version
// does not know, so that a round trip loses nothing. The value of an attribute is AttrValue, as
// everywhere.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/boxed.h"
#include "op/attribute.h"
#include "program/items.h"

namespace dygraph::program {

// Enumerators are spelled as in the schema, where tools and printed programs show them.
struct VarType {
  enum class Type : int32_t {
    UNSET = -1,  // never written
    BOOL = 0,
    INT16 = 1,
    INT32 = 2,
    INT64 = 3,
    FP16 = 4,
    FP32 = 5,
    FP64 = 6,
    LOD_TENSOR = 7,
    SELECTED_ROWS = 8,
    FEED_MINIBATCH = 9,
    FETCH_LIST = 10,
    STEP_SCOPES = 11,
    LOD_RANK_TABLE = 12,
    LOD_TENSOR_ARRAY = 13,
    PLACE_LIST = 14,
    READER = 15,
    RAW = 17,
    TUPLE = 18,
    SIZE_T = 19,
    UINT8 = 20,
    INT8 = 21,
    BF16 = 22,
    COMPLEX64 = 23,  // from here on known by name alone
    COMPLEX128 = 24,
    STRING = 25,
    STRINGS = 26,
    VOCAB = 27,
    FEED_LIST = 28,
    PSTRING = 29,
    SPARSE_COO = 30,
    SPARSE_CSR = 31,
  };
  struct TensorDesc {
    Type data_type = Type::UNSET;
    std::vector<int64_t> dims;
    Boxed<std::string> unknown;
  };
  struct LoDTensorDesc {
    TensorDesc tensor;
    std::optional<int32_t> lod_level;
    Boxed<std::string> unknown;
  };
  using LoDTensorArrayDesc = LoDTensorDesc;  // the same fields
  struct ReaderDesc {
    std::vector<LoDTensorDesc> lod_tensor;
    Boxed<std::string> unknown;
  };
  struct Tuple {
    std::vector<Type> element_type;
    Boxed<std::string> unknown;
  };

  Type type = Type::UNSET;
  Boxed<TensorDesc> selected_rows;
  std::optional<LoDTensorDesc> lod_tensor;
  Boxed<LoDTensorArrayDesc> tensor_array;
  Boxed<ReaderDesc> reader;
  Boxed<Tuple> tuple;
  Boxed<std::string> unknown;
};

struct VarDesc {
  struct Attr {
    std::string name;
    AttrType type = AttrType::kInt;
    std::optional<int32_t> i;
    std::optional<std::string> s;
    std::vector<int32_t> ints;
    Boxed<std::string> unknown;
  };

  std::string name;
  VarType type;
  std::optional<bool> persistable;
  std::optional<bool> need_check_feed;
  std::optional<bool> is_parameter;  // Paddle 2 writes these three
  std::optional<bool> stop_gradient;
  std::vector<Attr> attrs;
  Boxed<std::string> unknown;
};

// Names of a variable's open sizes, by axis. Fed variables agree in sizes of one name; those of axis
// 0 of a variable with levels of detail count its sequences.
std::map<int, std::string> SizeNames(const VarDesc& var);
void SetSizeNames(VarDesc* var, const std::map<int, std::string>& names);

struct OpDesc {
  struct Attr {
    std::string name;
    AttrValue value;
    Boxed<std::string> unknown;
    bool is_float64 = false;  // a double that is FLOAT64 in the file too; see exact_attrs.h
    AttrType type() const { return TypeOf(value); }
  };
  struct Var {
    std::string parameter;
    std::vector<std::string> arguments;
    Boxed<std::string> unknown;
  };

  std::string type;
  std::vector<Var> inputs;
  std::vector<Var> outputs;
  std::vector<Attr> attrs;
  std::optional<bool> is_target;
  Boxed<std::string> unknown;

  // The value of an attribute; null if there is none of that name.
  const AttrValue* FindAttr(std::string_view name) const;
  // The same as a T; null also if the attribute is of another type.
  template <class T>
  const T* FindAttr(std::string_view name) const {
    const AttrValue* value = FindAttr(name);
    return value ? std::get_if<T>(value) : nullptr;
  }
  // Replaces in place or appends.
  void SetAttr(std::string_view name, AttrValue value, bool is_float64 = false);

  // The arguments of a slot; null if the operator does not bind it.
  std::vector<std::string>* Input(std::string_view slot);
  std::vector<std::string>* Output(std::string_view slot);
  const std::vector<std::string>* Input(std::string_view slot) const;
  const std::vector<std::string>* Output(std::string_view slot) const;
};

// The arguments of slots.

constexpr const char* kEmptyName = "@EMPTY@";  // Fluid's argument for "no variable here"

// each(name) for the names of variables, in order.
template <class Slots, class F>
void ForNames(Slots& slots, F&& each) {
  for (auto& slot : slots) {
    for (auto& name : slot.arguments) {
      if (name != kEmptyName) each(name);
    }
  }
}
// each(number) for the blocks that the operator owns.
template <class F>
void ForBlocks(const OpDesc& op, F&& each) {
  for (const OpDesc::Attr& attr : op.attrs) {
    if (const auto* one = std::get_if<BlockIndex>(&attr.value)) each(one->index);
    if (const auto* list = std::get_if<std::vector<BlockIndex>>(&attr.value)) {
      for (BlockIndex block : *list) each(block.index);
    }
  }
}
bool Mention(const std::vector<OpDesc::Var>& slots, const std::string& name);
inline bool Reads(const OpDesc& op, const std::string& name) { return Mention(op.inputs, name); }
inline bool Writes(const OpDesc& op, const std::string& name) { return Mention(op.outputs, name); }
void RenameArguments(std::vector<OpDesc::Var>* slots, const std::string& from,
                     const std::string& to);

struct BlockDesc {
  int32_t idx = 0;
  int32_t parent_idx = -1;
  Items<VarDesc> vars;
  Items<OpDesc> ops;
  std::optional<int32_t> forward_block_idx;
  Boxed<std::string> unknown;

  // Linear: for many look-ups build VarPositions once.
  const VarDesc* FindVar(std::string_view name) const;
  // Name -> place in vars (the first where names repeat); valid until vars change.
  std::unordered_map<std::string_view, size_t> VarPositions() const;
};

struct Version {
  std::optional<int64_t> version;
  Boxed<std::string> unknown;
};

struct CompatibleInfo {
  enum class Type : int32_t {
    UNSET = -1,  // never written
    COMPATIBLE = 0,
    DEFINITELY_NOT = 1,
    POSSIBLE = 2,
    BUG_FIX = 3,
    PRECISION_CHANGE = 4,
  };
  std::string version;
  Type type = Type::UNSET;
  Boxed<std::string> unknown;
};

struct OpCompatibleMap {
  struct OpCompatiblePair {
    std::string op_name;
    CompatibleInfo compatible_info;
    Boxed<std::string> unknown;
  };
  std::vector<OpCompatiblePair> pair;
  std::optional<std::string> default_required_version;
  Boxed<std::string> unknown;
};

// Which version of each operator the writer had; Paddle 2 writes it.
struct OpVersion {
  int32_t version = 0;
  Boxed<std::string> unknown;
};

struct OpVersionMap {
  struct OpVersionPair {
    std::string op_name;
    OpVersion op_version;
    Boxed<std::string> unknown;
  };
  std::vector<OpVersionPair> pair;
  Boxed<std::string> unknown;
};

struct ProgramDesc {
  std::vector<BlockDesc> blocks;
  Boxed<OpCompatibleMap> op_compatible_map;
  Boxed<Version> version;
  Boxed<OpVersionMap> op_version_map;
  Boxed<std::string> unknown;

  // The blocks whose variables a block sees, nearest first: itself and its ancestors, each gradient
  // block followed by the block it differentiates. Safe on unverified programs.
  std::vector<int32_t> VisibleBlocks(int32_t block) const;
};

// The same of `count` blocks, each with what `around` gives of its number: the block around it and
// the one it differentiates, -1 for none.
template <class Around>
std::vector<int32_t> VisibleBlocks(int32_t block, size_t count, Around&& around) {
  std::vector<int32_t> visible;
  std::vector<bool> seen(count);
  auto add = [&](int32_t i) {
    if (i < 0 || static_cast<size_t>(i) >= count || seen[i]) return false;
    seen[i] = true;
    visible.push_back(i);
    return true;
  };
  auto add_chain = [&](int32_t i) {
    for (; add(i); i = around(i).first) add(around(i).second);
  };
  add_chain(block);
  for (size_t k = 0; k < visible.size(); ++k) {
    add_chain(around(visible[k]).first);
    add_chain(around(visible[k]).second);
  }
  return visible;
}

// The name in the schema; null for a number that has none.
const char* EnumName(AttrType type);
const char* EnumName(VarType::Type type);
const char* EnumName(TypedNumber::Type type);
const char* EnumName(CompatibleInfo::Type type);

}  // namespace dygraph::program
