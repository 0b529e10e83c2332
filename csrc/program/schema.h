// The fields of every message, once, for reading, writing and printing alike: VisitFields calls
// `field` with number, name, limit and member of each, by number. For wire.cc and text.cc only.
#pragma once

#include <type_traits>

#include "program/desc.h"

namespace dygraph::program {

// What is checked about a field besides its type.
enum class Limit {
  None,
  Name,  // length and UTF-8; a required one is not empty
  Rank,
  Vars,
  Ops,
  Blocks,
};

struct Field {
  int number;  // at most kMaxFieldNumber
  const char* name;
  Limit limit = Limit::None;
};
constexpr int kMaxFieldNumber = 21;

template <class M>
struct Tag {};

// M is the message or its const version; F takes (Field, auto& member).
template <class M, class F>
void VisitFields(Tag<VarType::TensorDesc>, M& m, F&& field) {
  field({1, "data_type"}, m.data_type);
  field({2, "dims", Limit::Rank}, m.dims);
}

template <class M, class F>
void VisitFields(Tag<VarType::LoDTensorDesc>, M& m, F&& field) {
  field({1, "tensor"}, m.tensor);
  field({2, "lod_level"}, m.lod_level);
}

template <class M, class F>
void VisitFields(Tag<VarType::ReaderDesc>, M& m, F&& field) {
  field({1, "lod_tensor"}, m.lod_tensor);
}

template <class M, class F>
void VisitFields(Tag<VarType::Tuple>, M& m, F&& field) {
  field({1, "element_type"}, m.element_type);
}

template <class M, class F>
void VisitFields(Tag<VarType>, M& m, F&& field) {
  field({1, "type"}, m.type);
  field({2, "selected_rows"}, m.selected_rows);
  field({3, "lod_tensor"}, m.lod_tensor);
  field({4, "tensor_array"}, m.tensor_array);
  field({5, "reader"}, m.reader);
  field({7, "tuple"}, m.tuple);
}

template <class M, class F>
void VisitFields(Tag<VarDesc::Attr>, M& m, F&& field) {
  field({1, "name", Limit::Name}, m.name);
  field({2, "type"}, m.type);
  field({3, "i"}, m.i);
  field({4, "s"}, m.s);
  field({5, "ints"}, m.ints);
}

template <class M, class F>
void VisitFields(Tag<VarDesc>, M& m, F&& field) {
  field({1, "name", Limit::Name}, m.name);
  field({2, "type"}, m.type);
  field({3, "persistable"}, m.persistable);
  field({4, "need_check_feed"}, m.need_check_feed);
  field({5, "is_parameter"}, m.is_parameter);
  field({6, "stop_gradient"}, m.stop_gradient);
  field({7, "attrs"}, m.attrs);
}

template <class M, class F>
void VisitFields(Tag<TypedNumber::Complex>, M& m, F&& field) {
  field({1, "r"}, m.r);
  field({2, "i"}, m.i);
}

template <class M, class F>
void VisitFields(Tag<TypedNumber>, M& m, F&& field) {
  field({1, "type"}, m.type);
  field({2, "b"}, m.b);
  field({3, "i"}, m.i);
  field({4, "r"}, m.r);
  field({5, "c"}, m.c);
}

// Only the value field of the attribute's own type; the reader sets the alternative beforehand.
template <class M, class F>
void VisitFields(Tag<OpDesc::Attr>, M& m, F&& field) {
  static constexpr Field kValueFields[] = {
      {3, "i"},           {4, "f"},       {5, "s"},         {6, "ints"},       {7, "floats"},
      {8, "strings"},     {10, "b"},      {11, "bools"},    {12, "block_idx"}, {13, "l"},
      {14, "blocks_idx"}, {15, "longs"},  {16, "float64s"}, {17, "var_name"},  {18, "vars_name"},
      {19, "float64"},    {20, "scalar"}, {21, "scalars"},
  };
  field({1, "name", Limit::Name}, m.name);
  AttrType type = m.type();
  field({2, "type"}, type);
  std::visit(
      [&](auto& value) {
        using T = std::remove_const_t<std::remove_reference_t<decltype(value)>>;
        const Field& value_field = kValueFields[m.value.index()];
        if constexpr (std::is_same_v<T, BlockIndex>) {
          field(value_field, value.index);
        } else if constexpr (std::is_same_v<T, VarName>) {
          field(value_field, value.value);
        } else if constexpr (std::is_same_v<T, VarNames>) {
          field(value_field, value.values);
        } else {
          field(value_field, value);
        }
      },
      m.value);
}

template <class M, class F>
void VisitFields(Tag<OpDesc::Var>, M& m, F&& field) {
  field({1, "parameter", Limit::Name}, m.parameter);
  field({2, "arguments", Limit::Name}, m.arguments);
}

template <class M, class F>
void VisitFields(Tag<OpDesc>, M& m, F&& field) {
  field({1, "inputs"}, m.inputs);
  field({2, "outputs"}, m.outputs);
  field({3, "type", Limit::Name}, m.type);
  field({4, "attrs"}, m.attrs);
  field({5, "is_target"}, m.is_target);
}

template <class M, class F>
void VisitFields(Tag<BlockDesc>, M& m, F&& field) {
  field({1, "idx"}, m.idx);
  field({2, "parent_idx"}, m.parent_idx);
  field({3, "vars", Limit::Vars}, m.vars);
  field({4, "ops", Limit::Ops}, m.ops);
  field({5, "forward_block_idx"}, m.forward_block_idx);
}

template <class M, class F>
void VisitFields(Tag<Version>, M& m, F&& field) {
  field({1, "version"}, m.version);
}

template <class M, class F>
void VisitFields(Tag<CompatibleInfo>, M& m, F&& field) {
  field({1, "version"}, m.version);
  field({2, "type"}, m.type);
}

template <class M, class F>
void VisitFields(Tag<OpCompatibleMap::OpCompatiblePair>, M& m, F&& field) {
  field({1, "op_name", Limit::Name}, m.op_name);
  field({2, "compatible_info"}, m.compatible_info);
}

template <class M, class F>
void VisitFields(Tag<OpCompatibleMap>, M& m, F&& field) {
  field({1, "pair"}, m.pair);
  field({2, "default_required_version"}, m.default_required_version);
}

template <class M, class F>
void VisitFields(Tag<OpVersion>, M& m, F&& field) {
  field({1, "version"}, m.version);
}

template <class M, class F>
void VisitFields(Tag<OpVersionMap::OpVersionPair>, M& m, F&& field) {
  field({1, "op_name", Limit::Name}, m.op_name);
  field({2, "op_version"}, m.op_version);
}

template <class M, class F>
void VisitFields(Tag<OpVersionMap>, M& m, F&& field) {
  field({1, "pair"}, m.pair);
}

template <class M, class F>
void VisitFields(Tag<ProgramDesc>, M& m, F&& field) {
  field({1, "blocks", Limit::Blocks}, m.blocks);
  field({3, "op_compatible_map"}, m.op_compatible_map);
  field({4, "version"}, m.version);
  field({5, "op_version_map"}, m.op_version_map);
}

template <class T, class = void>
constexpr bool kIsMessage = false;
template <class T>
constexpr bool kIsMessage<T, std::void_t<decltype(T::unknown)>> = true;

template <class M, class F>
void Fields(M& m, F&& field) {
  VisitFields(Tag<std::remove_const_t<M>>(), m, field);
}

template <class T, template <class...> class Template>
constexpr bool kIs = false;
template <template <class...> class Template, class... Args>
constexpr bool kIs<Template<Args...>, Template> = true;

template <class T>
constexpr bool kIsRepeated = kIs<T, std::vector> || kIs<T, Items>;
template <class T>
constexpr bool kIsOptional = kIs<T, std::optional> || kIs<T, Boxed>;
template <class T>
constexpr bool kIsRequired = !kIsRepeated<T> && !kIsOptional<T>;

// Protobuf's wire types.
enum Wire : uint32_t { kVarint, kFixed64, kBytes, kGroup, kEndGroup, kFixed32 };

template <class T>
constexpr Wire kWireOf = std::is_same_v<T, float>                          ? kFixed32
                         : std::is_same_v<T, double>                       ? kFixed64
                         : std::is_same_v<T, std::string> || kIsMessage<T> ? kBytes
                                                                           : kVarint;

}  // namespace dygraph::program
