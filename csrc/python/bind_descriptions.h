// Program descriptions as Python holds them.
#pragma once

#include <pybind11/pybind11.h>

#include "program/program.h"
#include "python/holder.h"

namespace dygraph::python {

// A whole program, as files have it and the executor takes it. It does not change.
struct PyProgram {
  program::ProgramRef desc;
};

// Operators and variables one by one.
void BindParts(pybind11::module_& m);
void BindPasses(pybind11::module_& m);

}  // namespace dygraph::python
