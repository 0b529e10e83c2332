// Variables of programs as Python holds them: a Variable to every function of the library, and the
// face of a described variable, whose shape and type it shows.
#pragma once

#include <pybind11/pybind11.h>

#include "program/program.h"
#include "python/wrapper.h"

namespace dygraph::python {

struct PySymbol {
  PyVariable base;
  program::Var* var;  // owned
  PyObject* block;    // the Block it was declared in, which keeps the program alive
};

extern PyTypeObject SymbolType;
bool ReadySymbolType();

// What a Variable stands for; null if it is no variable of a program.
program::Var* DescribedBy(const Variable& variable);

// The Python objects of parts that stand in a program, made when they are first looked at.
pybind11::object FaceOf(program::Op& op);
// `type` is the class of a new one; null: what the description says.
pybind11::object FaceOf(program::Var& var, PyTypeObject* type = nullptr);
// The Variable, which was taken out, stands in a block again.
void StandIn(pybind11::handle symbol, program::Var& var);
// Makes an object the face of a part, or frees the part of it.
void SetFace(program::Faced* part, pybind11::handle face);

// Classes of new faces, from `dygraph.static`.
void BindSymbols(pybind11::module_& m);

// "/home/me/model.py:12 in forward": the newest frame that is not of this library.
std::string UserLine();

// `target` is to hold what `result`, a variable of a program, holds after its operator.
void WriteInProgram(const Ref<Variable>& target, const Ref<Variable>& result);

}  // namespace dygraph::python
