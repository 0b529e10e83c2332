// NumPy arrays by number and address, for code that has no Tensor.
#pragma once

#include <Python.h>

#include "tensor/dims.h"

namespace dygraph::python {

DType DTypeFromNumpy(int number);  // of an array's descriptor; unset where we have none
// An independent, writable array with a copy of row-major data.
PyObject* ArrayOf(const Dims& dims, DType dtype, const void* data);

}  // namespace dygraph::python
