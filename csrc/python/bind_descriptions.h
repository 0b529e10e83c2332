// Program descriptions as Python holds them.
#pragma once

#include <memory>

#include "program/desc.h"
#include "tape/variable.h"

namespace dygraph::python {

using ProgramRef = std::shared_ptr<const program::ProgramDesc>;

// A whole program, as files have it and the executor takes it. It does not change.
struct PyProgram {
  ProgramRef desc;
};

// `target` is to hold what `result`, a variable of a program, holds after its operator.
void WriteInProgram(const Ref<Variable>& target, const Ref<Variable>& result);

}  // namespace dygraph::python
