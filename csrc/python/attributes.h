// Attributes as Python objects, and those of described operators back.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "program/desc.h"

namespace dygraph::python {

namespace py = pybind11;

py::object AttrObject(const AttrValue& value);
// An attribute that no operator declares, from its wire type's name.
AttrValue AttrOfType(py::handle value, const std::string& type);
// Sets an attribute: of its declared type, of the named wire type, or of the one that the value
// implies.
void SetAttr(program::OpDesc& op, const std::string& name, py::handle value,
             const py::object& type);
// NotFound if the operator has no such attribute.
py::object Attribute(const program::OpDesc& op, const std::string& name);

}  // namespace dygraph::python
