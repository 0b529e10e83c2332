// Program descriptions as Python holds them.
#pragma once

#include <memory>

#include "program/desc.h"

namespace dygraph::python {

using ProgramRef = std::shared_ptr<const program::ProgramDesc>;

// A whole program, as files have it and the executor takes it. It does not change.
struct PyProgram {
  ProgramRef desc;
};

}  // namespace dygraph::python
