// Symbolic sizes: shapes that Python reads while jit.trace records.
#pragma once

#include <Python.h>

namespace dygraph::python {

// The object of `dygraph.sizes` that makes this thread's sizes in place of plain ints; null if
// sizes are not followed.
extern __thread PyObject* size_tracker __attribute__((tls_model("initial-exec")));

PyObject* TrackedDims(PyObject* variable);   // its tuple of sizes
PyObject* TrackedNumel(PyObject* variable);  // its number of elements

// An attribute that may hold followed sizes: a new reference to the value with ints in their place,
// or null where there are none. The recorder's next call learns of it.
PyObject* WithoutSizes(PyObject* value, PyObject* name);
PyObject* TakeSizeNotes();  // {attribute: value as it was given}, or null; a new reference
void DropSizeNotes();

// Where reading the attribute `name` of the operator `op` raised in Python: a new reference to the
// value with the numbers that sizes of programs give this attribute, and no error; null, with the
// error, where it holds no such sizes.
PyObject* WithDescribedSizes(PyObject* value, const char* op, PyObject* name);

// Reports that an operator refused its inputs, which the function might hide.
void TellSizesOfError(const char* text);

}  // namespace dygraph::python
