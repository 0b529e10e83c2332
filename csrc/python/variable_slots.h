// Slots of the Variable type: numbers, and those that call Python functions (indexing, iteration,
// printing).
#pragma once

#include <Python.h>

#include "tape/variable.h"

namespace dygraph::python {

// Nothing but the running expression holds this wrapper.
bool IsTemporary(PyObject* self);
// Arithmetic, comparisons, conversions to Python's numbers; before AddSlots.
void AddNumberSlots(PyTypeObject* type);
// Reports to the thread's listeners that a value was read into Python, and by which function.
void TellRead(PyObject* self, const char* how);
void TellRead(Variable& v, const char* how);
// This thread's callback for the truth of a Variable of one element: True, False, or None for the
// Variable's own; null: none.
extern __thread PyObject* truth_answers __attribute__((tls_model("initial-exec")));
// Fills the slots in; before the type is readied.
void AddSlots(PyTypeObject* type);
// x << y and x >> y, one of them a Variable.
PyObject* LeftShift(PyObject* a, PyObject* b);
PyObject* RightShift(PyObject* a, PyObject* b);
// Gives the function behind a slot. False when the name is not one of these slots'.
bool SetSlotFunction(const char* name, PyObject* function);

}  // namespace dygraph::python
