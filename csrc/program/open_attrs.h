// Open attributes (op/open_attr.h) in a program. A file names the variables in the attribute, as
// VAR or VARS. In memory they are arguments of an input that is called as the attribute is, so that
// all who ask what an operator reads, rename it or take it out see them; the attribute keeps its
// place and its kind, without names.
#pragma once

#include "op/op_registry.h"
#include "program/desc.h"

namespace dygraph::program {

// From the form of files to that of memory.
void NamesToInputs(OpDesc* op);
void NamesToInputs(ProgramDesc* program);
// And back.
bool HasOpenAttr(const OpDesc& op);
OpDesc InputsToNames(OpDesc op);
BlockDesc InputsToNames(BlockDesc block);
ProgramDesc InputsToNames(ProgramDesc program);

// The variables that give an attribute; null where it holds a value.
const std::vector<std::string>* GivenBy(const OpDesc& op, const OpDesc::Attr& attr);
// Opens the attribute for these; `list`: as VARS.
void GiveBy(OpDesc* op, const std::string& attr, std::vector<std::string> names, bool list);
// Takes out the input that gives an attribute.
void RemoveOpenInput(OpDesc* op, const std::string& attr);

// each(field, attribute, names) for the open attributes.
template <class F>
void ForOpenAttrs(const OpInfo& info, const OpDesc& op, F&& each) {
  for (const OpDesc::Attr& attr : op.attrs) {
    const std::vector<std::string>* names = GivenBy(op, attr);
    const int field = names ? info.attr_table.Find(attr.name) : -1;
    if (field >= 0) each(field, attr, *names);
  }
}

}  // namespace dygraph::program
