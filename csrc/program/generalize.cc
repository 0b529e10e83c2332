#include <cstring>

#include "program/op_binding.h"
#include "program/recorder.h"

namespace dygraph::program {

namespace {

bool SameArguments(const std::vector<OpDesc::Var>& a, const std::vector<OpDesc::Var>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].parameter != b[i].parameter || a[i].arguments != b[i].arguments) return false;
  }
  return true;
}

std::string TextOf(const AttrValue& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, BlockIndex> || std::is_same_v<T, BlockIndices>) {
          return "a block";
        } else if constexpr (!std::is_constructible_v<dygraph::AttrValue, const T&>) {
          return "a value of Paddle 2";
        } else {
          return ToString(dygraph::AttrValue(v));
        }
      },
      value);
}

void CompareAttrs(const OpDesc& a, const OpDesc& b, size_t index) {
  for (const OpDesc::Attr& attr : a.attrs) {
    if (attr.name == kCallstackAttr) continue;
    const AttrValue* other = b.FindAttr(attr.name);
    std::string first = TextOf(attr.value), second = other ? TextOf(*other) : "nothing";
    ENFORCE(first == second, InvalidArgument, a.type, ": the attribute ", attr.name,
            " must not depend on the batch size, got ", first, " at the first size and ", second,
            " at the second", PositionText(a, index, 0),
            ". Write -1 or use an operator that reads the shape when it runs");
  }
}

void CompareOps(const BlockDesc& a, const BlockDesc& b) {
  size_t count = std::min(a.ops.size(), b.ops.size());
  for (size_t i = 0; i < count; ++i) {
    ENFORCE(a.ops[i].type == b.ops[i].type, InvalidArgument, a.ops[i].type,
            ": the operators must not depend on the batch size, got ", b.ops[i].type,
            " at the second size", PositionText(a.ops[i], i, 0));
    ENFORCE(SameArguments(a.ops[i].inputs, b.ops[i].inputs) &&
                SameArguments(a.ops[i].outputs, b.ops[i].outputs),
            InvalidArgument, a.ops[i].type,
            ": what an operator reads must not depend on the batch size",
            PositionText(a.ops[i], i, 0));
    CompareAttrs(a.ops[i], b.ops[i], i);
  }
  ENFORCE(a.ops.size() == b.ops.size(), InvalidArgument,
          "the number of operators must not depend on the batch size, got ", a.ops.size(), " and ",
          b.ops.size());
}

bool SameValue(const Value& a, const Value& b) {
  if (a.kind() != b.kind() || a.dtype() != b.dtype() || a.dims() != b.dims()) return false;
  Tensor x = a.ToDense().Plain(), y = b.ToDense().Plain();
  return x.bytes() == 0 || x.raw_data() == y.raw_data() ||
         std::memcmp(x.raw_data(), y.raw_data(), x.bytes()) == 0;
}

// The first operator that reads the name, for messages.
std::string ReaderOf(const BlockDesc& block, const std::string& name) {
  for (size_t i = 0; i < block.ops.size(); ++i) {
    for (const OpDesc::Var& slot : block.ops[i].inputs) {
      for (const std::string& argument : slot.arguments) {
        if (argument == name) return block.ops[i].type + PositionText(block.ops[i], i, block.idx);
      }
    }
  }
  return "nobody";
}

void MergeVar(VarDesc* a, const VarDesc& b) {
  ENFORCE(a->type.type == b.type.type && ElementType(*a) == ElementType(b), InvalidArgument,
          "the type of '", a->name, "' must not depend on the batch size");
  auto* tensor = const_cast<VarType::TensorDesc*>(TensorOf(*a));
  if (!tensor) return;
  const std::vector<int64_t>& other = TensorOf(b)->dims;
  ENFORCE(tensor->dims.size() == other.size(), InvalidArgument, "the rank of '", a->name,
          "' must not depend on the batch size, got ", tensor->dims.size(), " and ", other.size());
  for (size_t i = 0; i < other.size(); ++i) {
    if (tensor->dims[i] != other[i]) tensor->dims[i] = -1;
  }
}

}  // namespace

void Generalize(Recording* first, const Recording& second) {
  BlockDesc& a = first->program.blocks[0];
  const BlockDesc& b = second.program.blocks[0];
  CompareOps(a, b);
  for (const std::string& name : first->constants) {
    auto other = second.weights.find(name);
    ENFORCE(other != second.weights.end() && SameValue(first->weights.at(name), other->second),
            InvalidArgument,
            "a value that no operator made becomes a constant of the program, and this one differs "
            "between two batch "
            "sizes. Compute it from the inputs, or pass it as an input. It is read by ",
            ReaderOf(a, name));
  }
  auto positions = b.VarPositions();
  for (VarDesc& var : a.vars) {
    auto at = positions.find(var.name);
    if (at == positions.end() || var.persistable.value_or(false)) continue;
    MergeVar(&var, b.vars[at->second]);
  }
}

}  // namespace dygraph::program
