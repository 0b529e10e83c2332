// Values between Python and C++: arrays, numbers, types, places, attributes.
#pragma once

#include <Python.h>

#include "op/attribute.h"
#include "tensor/tensor.h"

namespace dygraph::python {

// The type of Python's floats where nothing else gives one: `set_default_dtype`, or float32.
DType DefaultFloat();
// A NumPy array, or what np.asarray makes of a list or number -> a tensor with its own memory.
// Python's floats have no type of their own. They take the type of the arrays and Variables in the
// same list, else `beside`, the type of a Variable that they meet, else the default. OutOfRange for
// a float that does not fit. TypeError for object or string arrays, naming what came.
Tensor TensorFromPython(PyObject* value, DType cast_to = DType::kUnset,
                        DType beside = DType::kUnset);
// An independent, writable array. bfloat16 comes as float32.
PyObject* ArrayFromTensor(const Tensor& t);
// A read-only array over the tensor's memory, which lives as long as the array.
PyObject* ViewOfTensor(const Tensor& t);
// A 0-d tensor of a number for an operator whose other side has this type.
bool IsPythonNumber(PyObject* o);
// TypeError where the number does not fit the type
Tensor ScalarTensor(PyObject* number, DType dtype);

PyObject* ItemFromTensor(const Tensor& t);  // a Python bool, int, float or complex

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
