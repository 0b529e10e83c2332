// Element types as Python's objects.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <string>

#include "python/convert.h"
#include "python/steal.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {
struct PyDType {
  DType dtype;
};
PyObject* dtype_objects[kNumDTypes];
}  // namespace

DType DTypeFromPython(PyObject* o) {
  if (PyUnicode_Check(o)) {
    std::string name = py::str(py::reinterpret_borrow<py::object>(o));
    if (name == "float") name = "float32";
    return DTypeFromName(name);
  }
  if (PyLong_Check(o) && !PyBool_Check(o)) {
    int overflow = 0;
    long number = PyLong_AsLongAndOverflow(o, &overflow);
    ENFORCE(!overflow && number == static_cast<int>(number), InvalidArgument,
            "the number of an element type must be one of VarType.Type, got a larger int");
    return DTypeFromWire(static_cast<int>(number));
  }
  py::handle h(o);
  if (py::isinstance<PyDType>(h)) return h.cast<PyDType&>().dtype;
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::kFloat32;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::kInt64;
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::kBool;
  if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::kComplex64;
  try {
    return DTypeFromName(py::cast<std::string>(
        py::dtype::from_args(py::reinterpret_borrow<py::object>(o)).attr("name")));
  } catch (py::error_already_set&) {
    std::string text = py::str(py::repr(h));
    THROW(Type, "an element type must be a dtype, a name such as 'float32' or a NumPy type, got ",
          text);
  }
}

PyObject* DTypeToPython(DType t) {
  if (t == DType::kUnset) Py_RETURN_NONE;
  PyObject* o = dtype_objects[static_cast<int>(t)];
  Py_INCREF(o);
  return o;
}

void AddDTypes(PyObject* module) {
  py::module_ m = py::reinterpret_borrow<py::module_>(module);
  py::class_<PyDType> cls(m, "dtype", "The element type of a variable.");
  cls.def("__repr__",
          [](const PyDType& d) {
            return std::string("dygraph.") + (d.dtype == DType::kBool ? "bool_" : Name(d.dtype));
          })
      .def("__str__", [](const PyDType& d) { return std::string(Name(d.dtype)); })
      .def_property_readonly("name", [](const PyDType& d) { return std::string(Name(d.dtype)); })
      .def_property_readonly("itemsize", [](const PyDType& d) { return SizeOf(d.dtype); })
      .def_property_readonly("is_floating", [](const PyDType& d) { return IsFloating(d.dtype); })
      .def_property_readonly("is_inexact", [](const PyDType& d) { return IsInexact(d.dtype); })
      .def_property_readonly("is_complex", [](const PyDType& d) { return IsComplex(d.dtype); })
      .def_property_readonly("wire", [](const PyDType& d) { return ToWire(d.dtype); })
      .def("__hash__", [](const PyDType& d) { return py::hash(py::str(Name(d.dtype))); })
      .def("__eq__",
           [](const PyDType& d, py::object other) {
             if (other.is_none()) return false;
             try {
               return d.dtype == DTypeFromPython(other.ptr());
             } catch (const Error&) {
               return false;
             }
           })
      // a name of this module, which pickle looks up
      .def("__reduce__", [](const PyDType& d) {
        return std::string(d.dtype == DType::kBool ? "bool_" : Name(d.dtype));
      });
  for (int i = 0; i < kNumDTypes; ++i) {
    DType t = static_cast<DType>(i);
    dtype_objects[i] = py::cast(PyDType{t}).release().ptr();
    m.attr(t == DType::kBool ? "bool_" : Name(t)) = py::handle(dtype_objects[i]);
  }
  m.def("dtype_of", [](py::object o) {
    return py::reinterpret_steal<py::object>(DTypeToPython(DTypeFromPython(o.ptr())));
  });
  m.def("promote", [](py::object a, py::object b) {
    return py::reinterpret_steal<py::object>(
        DTypeToPython(Promote(DTypeFromPython(a.ptr()), DTypeFromPython(b.ptr()))));
  });
}

}  // namespace dygraph::python
