// The cold parts of the binding, by subject.
#pragma once

#include <pybind11/pybind11.h>

namespace dygraph::python {

void BindPlatform(pybind11::module_& m);  // places, flags, memory, threads
void BindRegistry(pybind11::module_& m);  // op_info, explain, run_op
// backward, grad, hooks, recording switches, custom functions
void BindAutograd(pybind11::module_& m);
void BindTape(pybind11::module_& m);          // nodes to look at, saved-value hooks
void BindWatch(pybind11::module_& m);         // profiler, log and checks of calls
void BindVariable(pybind11::module_& m);      // making variables, LoD, selected rows, writes
void BindDescriptions(pybind11::module_& m);  // operators, variables, programs as data; backward
void BindScope(pybind11::module_& m);         // scopes and what their names stand for
void BindProgram(pybind11::module_& m);       // recorder, executor
void BindUpdate(pybind11::module_& m);        // optimizer steps
void BindDevice(pybind11::module_& m);
void BindDLPack(pybind11::module_& m);        // memory shared with other libraries
void BindFiles(pybind11::module_& m);         // atomic writes, Fluid's tensor files

}  // namespace dygraph::python
