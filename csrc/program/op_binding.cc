#include "program/op_binding.h"

#include <algorithm>
#include <string_view>

#include "base/nearest.h"
#include "op/gradient_shapes.h"
#include "op/open_attr.h"
#include "program/foreign_attrs.h"
#include "program/open_attrs.h"

namespace dygraph::program {

namespace {

std::string ListOf(const std::vector<SlotInfo>& slots) {
  std::string list;
  for (const SlotInfo& s : slots) list += (list.empty() ? "" : ", ") + s.name;
  return list.empty() ? "none" : list;
}

// A gradient operator may be given any variable of its forward call, as Paddle gives it most of
// them; those it does not read change nothing.
bool IsOfForward(const OpInfo& op, const std::string& slot) {
  if (!op.gradient_of) return false;
  const OpInfo& forward = *op.gradient_of->forward;
  return FindSlot(forward.inputs, slot) >= 0 || FindSlot(forward.outputs, slot) >= 0;
}

// An input that gives an attribute.
bool GivesAttr(const OpInfo& op, const OpDesc& desc, const std::string& slot) {
  const int field = op.attr_table.Find(slot);
  if (field < 0 || !MayBeOpen(op, field)) return false;
  return std::any_of(desc.attrs.begin(), desc.attrs.end(), [&](const OpDesc::Attr& attr) {
    return attr.name == slot && GivenBy(desc, attr);
  });
}

void CheckSide(const OpInfo& op, const OpDesc& desc, const std::vector<OpDesc::Var>& bound,
               const std::vector<SlotInfo>& slots, const char* side) {
  for (const OpDesc::Var& var : bound) {
    if (&slots == &op.inputs && GivesAttr(op, desc, var.parameter)) continue;
    int slot = FindSlot(slots, var.parameter);
    bool unread = slot < 0 && &slots == &op.inputs && IsOfForward(op, var.parameter);
    ENFORCE(slot >= 0 || var.arguments.empty() || unread, Format, "the ", side, " slots are ",
            ListOf(slots), ", got a variable in a slot '", var.parameter, "'");
    if (slot < 0) continue;
    ENFORCE(var.arguments.size() <= 1 || slots[slot].duplicable(), Format, "the ", side, " slot ",
            var.parameter, " takes one variable, got ", var.arguments.size());
  }
}

// Whether the slot has variables. Some of them alone may not be absent, but for gradients that
// nothing gave: the function of a user is given None, an operator's optional list keeps the places.
bool Bound(const OpInfo& op, const std::vector<OpDesc::Var>& bound, const SlotInfo& slot) {
  bool holes =
      op.type == "py_func_grad" || op.control != Control::kNone ||
      (slot.duplicable() && slot.dispensable() && slot.name.find("@GRAD") != std::string::npos);
  for (const OpDesc::Var& var : bound) {
    if (var.parameter != slot.name) continue;
    auto absent = [](const std::string& name) { return name.empty() || name == kEmptyName; };
    ptrdiff_t count = std::count_if(var.arguments.begin(), var.arguments.end(), absent);
    ptrdiff_t all = static_cast<ptrdiff_t>(var.arguments.size());
    ENFORCE(count == 0 || count == all || holes, Format, "Input(", slot.name,
            ") must have all of its ", all, " variables, got ", all - count);
    return all > count;
  }
  return false;
}

// An attribute that variables may give. How long a list is shows with them.
void ReadOpenable(const OpDesc& desc, const OpDesc::Attr& attr, int field, Attrs* attrs) {
  if (const std::vector<std::string>* names = GivenBy(desc, attr)) {
    auto absent = [](const std::string& name) { return name.empty() || name == kEmptyName; };
    ENFORCE(!names->empty() && std::none_of(names->begin(), names->end(), absent), Format,
            "the attribute ", attr.name, " must be a value or name its variables, got no name");
    return Open(attrs, field, names->size());
  }
  attrs->Set(field, Declarable(attr));
  CheckNotOpen(*attrs, field);
}

// Joined with its float while the file is read, but for one that does not fit.
void RefuseExact(const OpInfo& op, const OpDesc::Attr& attr) {
  const std::string name = attr.name.substr(0, attr.name.find(kExactSuffix));
  const bool known = name != attr.name && op.attr_table.Find(name) >= 0;
  ENFORCE(!known, Format, "the attribute ", attr.name, " must be a string with the digits of ",
          name, ", got ", ToString(attr.value));
}

// Two results in one variable would be written with one shape into the memory of the other.
void CheckResultsDiffer(const OpDesc& desc) {
  std::vector<std::pair<std::string_view, std::string_view>> results;  // variable, slot
  for (const OpDesc::Var& var : desc.outputs) {
    for (const std::string& name : var.arguments) {
      if (!name.empty() && name != kEmptyName) results.emplace_back(name, var.parameter);
    }
  }
  std::sort(results.begin(), results.end());
  for (size_t i = 1; i < results.size(); ++i) {
    ENFORCE(results[i].first != results[i - 1].first, Format,
            "each result must have a variable of its own, got '", results[i].first, "' for Output(",
            results[i - 1].second, ") and Output(", results[i].second, ")");
  }
}

void CheckFeedFetch(const BlockDesc& block, const OpDesc& op) {
  const auto* x = op.Input("X");
  const auto* out = op.Output("Out");
  ENFORCE(x && x->size() == 1 && out && out->size() == 1, Format,
          "it must have one variable X and one Out");
  const int32_t* column = op.FindAttr<int32_t>("col");
  ENFORCE(column && *column >= 0, Format, "its attribute col must be an int of at least 0");
  ENFORCE(block.idx == 0, Format, "it must stand in block 0, got block ", block.idx);
  const VarDesc* holder = block.FindVar(IsFeed(op) ? (*x)[0] : (*out)[0]);
  const auto type = IsFeed(op) ? VarType::Type::FEED_MINIBATCH : VarType::Type::FETCH_LIST;
  ENFORCE(!holder || holder->type.type == type, Format, IsFeed(op) ? "X" : "Out",
          " must be of the type ", EnumName(type), ", got ", EnumName(holder->type.type));
}

}  // namespace

bool IsLeftOut(const std::string& type, const std::string& name, const AttrValue& value) {
  if (type == "write_to_array" && name == "add") return !std::get<bool>(value);
  const auto* directory = name == "within" ? std::get_if<std::string>(&value) : nullptr;
  return directory && directory->empty();
}

void WriteAttrs(const Attrs& attrs, OpDesc* desc, bool float64) {
  const AttrTable& table = attrs.table();
  const OpInfo& op = GetOp(desc->type);
  for (size_t i = 0; i < table.fields.size(); ++i) {
    AttrValue value = attrs.Get(static_cast<int>(i));
    if (IsLeftOut(desc->type, table.fields[i].name, value)) continue;
    if (IsOpen(attrs, static_cast<int>(i)) && MayBeOpen(op, static_cast<int>(i))) value = VarName();
    SpellForPaddle(desc->type, table.fields[i].name, &value);
    if (auto* number = std::get_if<double>(&value); number && !float64)
      value = static_cast<float>(*number);
    desc->attrs.push_back({table.fields[i].name, std::move(value), {}});
  }
}

OpDesc MakeOp(const char* type, std::vector<OpDesc::Var> inputs, std::vector<OpDesc::Var> outputs) {
  OpDesc op;
  op.type = type;
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  WriteAttrs(*GetOp(op.type).default_attrs, &op);
  return op;
}

Ref<Attrs> ReadAttrs(const OpInfo& op, const OpDesc& desc) {
  Ref<Attrs> attrs = Attrs::Make(op.attr_table);
  for (const OpDesc::Attr& attr : desc.attrs) {
    int field = op.attr_table.Find(attr.name);
    if (field < 0) {
      if (HasNoEffect(attr) || ReadForeignAttr(op, desc, attr, attrs.get())) continue;
      RefuseExact(op, attr);
      std::vector<std::string> names;
      for (const AttrField& f : op.attr_table.fields) names.push_back(f.name);
      THROW(Format, "the operator must know its attributes, got '", attr.name, "'.",
            DidYouMean(attr.name, names));
    }
    if (MayBeOpen(op, field)) {
      ReadOpenable(desc, attr, field, attrs.get());
    } else {
      attrs->Set(field, Declarable(attr));
    }
  }
  return attrs;
}

void CheckSlots(const OpInfo& op, const OpDesc& desc) {
  CheckSide(op, desc, desc.inputs, op.inputs, "input");
  CheckSide(op, desc, desc.outputs, op.outputs, "output");
  CheckResultsDiffer(desc);
  for (const SlotInfo& slot : op.inputs) {
    bool given = Bound(op, desc.inputs, slot);
    ENFORCE(slot.dispensable() || given, Format, "Input(", slot.name,
            ") must be given, got nothing");
  }
}

void CheckOperators(const ProgramDesc& program) {
  for (const BlockDesc& block : program.blocks) {
    for (size_t i = 0; i < block.ops.size(); ++i) {
      const OpDesc& desc = block.ops[i];
      try {
        if (IsFeed(desc) || IsFetch(desc)) {
          CheckFeedFetch(block, desc);
          continue;
        }
        const OpInfo& op = GetOp(desc.type);
        CheckSlots(op, desc);
        ReadAttrs(op, desc);
      } catch (Error& e) {
        e.AddOperator(desc.type);
        e.Append(PositionText(desc, i, block.idx));
        throw;
      }
    }
  }
}

bool KeepsRunningMeans(const OpInfo& op, const OpDesc& desc) {
  auto on = [&](const char* name) {
    const bool* value = desc.FindAttr<bool>(name);
    return value && *value;
  };
  if (op.in_place.empty() || op.attr_table.Find("use_global_stats") < 0) return false;
  return on("use_global_stats") || (on("is_test") && !on("trainable_statistics"));
}

bool IsFeed(const OpDesc& op) { return op.type == "feed"; }
bool IsFetch(const OpDesc& op) { return op.type == "fetch"; }

std::string PositionText(const OpDesc& op, size_t index, int block) {
  std::string text = " (operator " + std::to_string(index) + " of block " + std::to_string(block);
  const auto* lines = op.FindAttr<std::vector<std::string>>(kCallstackAttr);
  if (lines && !lines->empty()) text += ", made at " + lines->back();
  return text + ")";
}

VarType::Type WireType(DType dtype) { return static_cast<VarType::Type>(ToWire(dtype)); }

const VarType::TensorDesc* TensorOf(const VarDesc& var) {
  if (var.type.type == VarType::Type::LOD_TENSOR && var.type.lod_tensor)
    return &var.type.lod_tensor->tensor;
  if (var.type.type == VarType::Type::SELECTED_ROWS && var.type.selected_rows)
    return &*var.type.selected_rows;
  return nullptr;
}

Dims DimsOf(const VarType::TensorDesc& tensor) {
  return Dims(tensor.dims.begin(), tensor.dims.end());
}

int32_t LevelOf(const VarDesc& var) {
  if (var.type.lod_tensor) return var.type.lod_tensor->lod_level.value_or(0);
  return var.type.tensor_array ? var.type.tensor_array->lod_level.value_or(0) : 0;
}

DType ElementType(const VarDesc& var) {
  const VarType::TensorDesc* tensor = TensorOf(var);
  if (!tensor && var.type.tensor_array) tensor = &var.type.tensor_array->tensor;
  if (!tensor) return DType::kUnset;
  for (int i = 0; i < kNumDTypes; ++i) {
    if (ToWire(static_cast<DType>(i)) == static_cast<int>(tensor->data_type))
      return static_cast<DType>(i);
  }
  return DType::kUnset;
}

}  // namespace dygraph::program
