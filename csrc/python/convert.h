// Values between Python and C++: arrays, numbers, types, places, attributes.
#pragma once

#include <Python.h>

#include "op/attribute.h"
#include "tensor/tensor.h"

namespace dygraph::python {

// A NumPy array (or what np.asarray makes of a list or number) -> a tensor with its own memory.
// TypeError for object or string arrays, naming what came.
Tensor TensorFromPython(PyObject* value, DType cast_to = DType::kUnset);
// An independent, writable array. bfloat16 comes as float32.
PyObject* ArrayFromTensor(const Tensor& t);
// A read-only array over the tensor's memory, which lives as long as the array.
PyObject* ViewOfTensor(const Tensor& t);
// A 0-d tensor of a number for an operator whose other side has this type.
bool IsPythonNumber(PyObject* o);
// TypeError where the number does not fit the type
Tensor ScalarTensor(PyObject* number, DType dtype);

PyObject* ItemFromTensor(const Tensor& t);  // a Python bool, int or float

DType DTypeFromPython(PyObject* o);  // our dtype, NumPy's, a name, or a wire number
PyObject* DTypeToPython(DType t);    // the one object of this type
void AddDTypes(PyObject* module);

AttrValue AttrFromPython(PyObject* value, const AttrField& field);
LoDLevels LoDFromPython(PyObject* o);
PyObject* LoDToPython(const LoDLevels& levels);
PyObject* DimsToPython(const Dims& dims);  // a tuple
Dims DimsFromPython(PyObject* o);
Place PlaceFromPython(PyObject* o);  // a place object or its name

}  // namespace dygraph::python
