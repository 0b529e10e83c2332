// Lets ordinary pybind11 functions take and return Ref<Variable>.
#pragma once

#include <pybind11/pybind11.h>

#include "python/wrapper.h"

namespace dygraph::python {
// A parameter that must not be None; Ref<Variable> takes None as a null reference.
struct Given {
  Ref<Variable> ref;
  Variable* operator->() const { return ref.get(); }
  Variable& operator*() const { return *ref; }
};
}  // namespace dygraph::python

namespace pybind11::detail {
template <>
struct type_caster<dygraph::python::Given> {
  PYBIND11_TYPE_CASTER(dygraph::python::Given, const_name("Variable"));
  bool load(handle source, bool) {
    if (!dygraph::python::IsVariable(source.ptr())) return false;
    value.ref = dygraph::Ref<dygraph::Variable>(&dygraph::python::VarOf(source.ptr()));
    return true;
  }
};

template <>
struct type_caster<dygraph::Ref<dygraph::Variable>> {
  PYBIND11_TYPE_CASTER(dygraph::Ref<dygraph::Variable>, const_name("Variable"));
  bool load(handle source, bool) {
    if (source.is_none()) return true;  // a null reference
    if (!dygraph::python::IsVariable(source.ptr())) return false;
    value = dygraph::Ref<dygraph::Variable>(&dygraph::python::VarOf(source.ptr()));
    return true;
  }
  static handle cast(dygraph::Ref<dygraph::Variable> var, return_value_policy, handle) {
    return dygraph::python::Wrap(std::move(var));
  }
};
}  // namespace pybind11::detail
