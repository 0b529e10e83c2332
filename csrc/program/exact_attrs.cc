#include "program/exact_attrs.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

#include "program/op_binding.h"

namespace dygraph::program {

namespace {

bool IsExact(const OpDesc::Attr& attr) {
  return !attr.is_float64 && std::holds_alternative<double>(attr.value);
}

// Of a name such as 'epsilon@float64' what stands before the suffix; else empty.
std::string_view RoundedName(std::string_view name) {
  const std::string_view suffix = kExactSuffix;
  const bool exact =
      name.size() > suffix.size() && name.substr(name.size() - suffix.size()) == suffix;
  return exact ? name.substr(0, name.size() - suffix.size()) : std::string_view();
}

// The number whose nearest float is `rounded`, from its digits.
std::optional<double> NumberIn(const AttrValue& digits, float rounded) {
  const std::string* text = std::get_if<std::string>(&digits);
  if (!text) return std::nullopt;
  double number = 0;
  const char* end = text->data() + text->size();
  const auto read = std::from_chars(text->data(), end, number);
  const bool fits = read.ec == std::errc() && read.ptr == end;
  if (!fits || static_cast<float>(number) != rounded) return std::nullopt;
  return number;
}

void Join(OpDesc* op) {
  for (size_t i = 0; i < op->attrs.size(); ++i) {
    OpDesc::Attr& exact = op->attrs[i];
    if (std::holds_alternative<double>(exact.value)) exact.is_float64 = true;
    const std::string_view name = RoundedName(exact.name);
    const float* rounded = name.empty() ? nullptr : op->FindAttr<float>(name);
    const std::optional<double> number = rounded ? NumberIn(exact.value, *rounded) : std::nullopt;
    if (!number) continue;
    op->SetAttr(name, FloatValue(*number));
    op->attrs.erase(op->attrs.begin() + static_cast<ptrdiff_t>(i--));
  }
}

using Types = std::unordered_map<std::string_view, DType>;

// type_of(name): unset where it is not known.
template <class TypeOf>
bool MayWorkOnFloat64(const OpDesc& op, TypeOf&& type_of) {
  bool may = false;
  auto look = [&](const std::string& name) {
    const DType type = type_of(name);
    may |= type == DType::kFloat64 || type == DType::kUnset;
  };
  ForNames(op.inputs, look);
  ForNames(op.outputs, look);
  return may;
}

// What a block sees: nearer blocks come later, and win.
void AddTypes(const ProgramDesc& program, int32_t block, Types* types) {
  std::vector<int32_t> visible;
  for (int32_t i = block; i >= 0 && i < static_cast<int32_t>(program.blocks.size()) &&
                          visible.size() <= program.blocks.size();
       i = program.blocks[i].parent_idx) {
    visible.push_back(i);
  }
  for (auto i = visible.rbegin(); i != visible.rend(); ++i) {
    const BlockDesc& b = program.blocks[*i];
    for (size_t v = 0; v < b.vars.size(); ++v) (*types)[b.vars[v].name] = ElementType(b.vars[v]);
  }
}

void RoundFloats(OpDesc* op) {
  for (OpDesc::Attr& attr : op->attrs) {
    if (IsExact(attr)) attr.value = static_cast<float>(std::get<double>(attr.value));
  }
}

std::vector<size_t> ExactOps(const BlockDesc& block) {
  std::vector<size_t> found;
  for (size_t i = 0; i < block.ops.size(); ++i) {
    if (HasExact(block.ops[i])) found.push_back(i);
  }
  return found;
}

}  // namespace

void RoundUnlessFloat64(const Block& block, OpDesc* op) {
  if (!HasExact(*op)) return;
  const bool may = MayWorkOnFloat64(*op, [&](const std::string& name) {
    const Var* var = block.FindRecursive(name);
    return var ? ElementType(var->desc()) : DType::kUnset;
  });
  if (!may) RoundFloats(op);
}

void JoinExact(ProgramDesc* program) {
  for (BlockDesc& block : program->blocks) {
    for (size_t i = 0; i < block.ops.size(); ++i) {
      const std::vector<OpDesc::Attr>& attrs = std::as_const(block.ops)[i].attrs;
      bool any = std::any_of(attrs.begin(), attrs.end(), [](const OpDesc::Attr& a) {
        return std::holds_alternative<double>(a.value) || !RoundedName(a.name).empty();
      });
      if (any) Join(&block.ops[i]);
    }
  }
}

bool HasExact(const OpDesc& op) { return std::any_of(op.attrs.begin(), op.attrs.end(), IsExact); }

OpDesc SplitExact(OpDesc op) {
  for (size_t i = 0; i < op.attrs.size(); ++i) {
    if (!IsExact(op.attrs[i])) continue;
    const double number = std::get<double>(op.attrs[i].value);
    OpDesc::Attr digits{op.attrs[i].name + kExactSuffix, ToString(number), {}};
    op.attrs[i].value = static_cast<float>(number);
    op.attrs.insert(op.attrs.begin() + static_cast<ptrdiff_t>(++i), std::move(digits));
  }
  return op;
}

BlockDesc SplitExact(BlockDesc block) {
  for (size_t i : ExactOps(block)) block.ops[i] = SplitExact(std::as_const(block.ops)[i]);
  return block;
}

ProgramDesc SplitExact(ProgramDesc program) {
  for (size_t b = 0; b < program.blocks.size(); ++b) {
    const std::vector<size_t> exact = ExactOps(program.blocks[b]);
    if (exact.empty()) continue;
    Types types;
    AddTypes(program, static_cast<int32_t>(b), &types);
    Items<OpDesc>& ops = program.blocks[b].ops;
    for (size_t i : exact) {
      const bool may = MayWorkOnFloat64(std::as_const(ops)[i], [&](const std::string& name) {
        auto at = types.find(name);
        return at == types.end() ? DType::kUnset : at->second;
      });
      if (!may) RoundFloats(&ops[i]);
      ops[i] = SplitExact(std::as_const(ops)[i]);
    }
  }
  return program;
}

}  // namespace dygraph::program
