#include "program/open_attrs.h"

#include <algorithm>
#include <utility>

#include "op/open_attr.h"

namespace dygraph::program {

namespace {

bool TakesVariables(const OpInfo& info, const std::string& attr) {
  const int field = info.attr_table.Find(attr);
  return field >= 0 && MayBeOpen(info, field);
}

bool NamesVariables(const AttrValue& value) {
  return std::holds_alternative<VarName>(value) || std::holds_alternative<VarNames>(value);
}

// The names in an attribute, which holds none afterwards.
std::vector<std::string> TakeNames(AttrValue* value) {
  if (auto* names = std::get_if<VarNames>(value)) return std::exchange(names->values, {});
  return {std::exchange(std::get<VarName>(*value).value, {})};
}

}  // namespace

void NamesToInputs(OpDesc* op) {
  const OpInfo* info = nullptr;
  for (OpDesc::Attr& attr : op->attrs) {
    if (!NamesVariables(attr.value)) continue;
    if (!info) info = FindOp(op->type);
    if (!info || !TakesVariables(*info, attr.name) || op->Input(attr.name)) continue;
    op->inputs.push_back({attr.name, TakeNames(&attr.value), {}});
  }
}

void NamesToInputs(ProgramDesc* program) {
  for (BlockDesc& block : program->blocks) {
    for (size_t i = 0; i < block.ops.size(); ++i) {
      const std::vector<OpDesc::Attr>& attrs = std::as_const(block.ops)[i].attrs;
      bool any = std::any_of(attrs.begin(), attrs.end(),
                             [](const OpDesc::Attr& a) { return NamesVariables(a.value); });
      if (any) NamesToInputs(&block.ops[i]);
    }
  }
}

const std::vector<std::string>* GivenBy(const OpDesc& op, const OpDesc::Attr& attr) {
  return NamesVariables(attr.value) ? op.Input(attr.name) : nullptr;
}

void RemoveOpenInput(OpDesc* op, const std::string& attr) {
  const AttrValue* value = op->FindAttr(attr);
  if (!value || !NamesVariables(*value)) return;
  auto gives = [&](const OpDesc::Var& slot) { return slot.parameter == attr; };
  op->inputs.erase(std::remove_if(op->inputs.begin(), op->inputs.end(), gives), op->inputs.end());
}

bool HasOpenAttr(const OpDesc& op) {
  return std::any_of(op.attrs.begin(), op.attrs.end(),
                     [&](const OpDesc::Attr& a) { return GivenBy(op, a) != nullptr; });
}

OpDesc InputsToNames(OpDesc op) {
  for (OpDesc::Attr& attr : op.attrs) {
    if (!GivenBy(op, attr)) continue;
    std::vector<std::string> names = *op.Input(attr.name);
    RemoveOpenInput(&op, attr.name);
    auto* one = std::get_if<VarName>(&attr.value);
    if (one && names.size() == 1) {
      one->value = std::move(names[0]);
    } else {
      attr.value = VarNames{std::move(names)};
    }
  }
  return op;
}

BlockDesc InputsToNames(BlockDesc block) {
  for (size_t i = 0; i < block.ops.size(); ++i) {
    const OpDesc& op = std::as_const(block.ops)[i];
    if (HasOpenAttr(op)) block.ops[i] = InputsToNames(op);
  }
  return block;
}

ProgramDesc InputsToNames(ProgramDesc program) {
  for (BlockDesc& block : program.blocks) block = InputsToNames(std::move(block));
  return program;
}

void GiveBy(OpDesc* op, const std::string& attr, std::vector<std::string> names, bool list) {
  op->SetAttr(attr, list ? AttrValue(VarNames()) : AttrValue(VarName()));
  if (auto* given = op->Input(attr)) {
    *given = std::move(names);
  } else {
    op->inputs.push_back({attr, std::move(names), {}});
  }
}

}  // namespace dygraph::program
