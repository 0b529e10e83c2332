// Slots of the Variable type that call Python functions: indexing, iteration, printing.
#pragma once

#include <Python.h>

namespace dygraph::python {

// Fills the slots in; before the type is readied.
void AddSlots(PyTypeObject* type);
// Gives the function behind a slot. False when the name is not one of these slots'.
bool SetSlotFunction(const char* name, PyObject* function);

}  // namespace dygraph::python
