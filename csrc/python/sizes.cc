#include "python/sizes.h"

#include <cstring>

#include "python/errors.h"

namespace dygraph::python {

__thread PyObject* size_tracker __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

thread_local PyObject* size_notes = nullptr;

PyObject* Name(const char* text) { return PyUnicode_InternFromString(text); }

PyObject* Ask(PyObject* method, PyObject* variable) {
  PyObject* answer = PyObject_CallMethodOneArg(size_tracker, method, variable);
  if (!answer) ThrowPythonError();
  return answer;
}

// The int behind a followed size; null, without an error, for anything else.
PyObject* PlainOf(PyObject* o) {
  static PyObject* attribute = Name("followed_value");
  if (PyLong_CheckExact(o) || PyFloat_CheckExact(o)) return nullptr;
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(o));
  if (!PyObject_HasAttr(type, attribute)) return nullptr;
  PyObject* plain = PyObject_GetAttr(o, attribute);
  if (!plain) ThrowPythonError();
  return plain;
}

}  // namespace

PyObject* TrackedDims(PyObject* variable) {
  static PyObject* dims = Name("dims");
  return Ask(dims, variable);
}

PyObject* TrackedNumel(PyObject* variable) {
  static PyObject* numel = Name("numel");
  return Ask(numel, variable);
}

PyObject* WithoutSizes(PyObject* value, PyObject* name) {
  PyObject* plain = PlainOf(value);
  if (!plain && (PyList_Check(value) || PyTuple_Check(value))) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
      PyObject* element = PlainOf(PySequence_Fast_GET_ITEM(value, i));
      if (!element) continue;
      if (!plain) plain = PySequence_List(value);
      if (!plain || PyList_SetItem(plain, i, element) != 0) ThrowPythonError();
    }
  }
  if (!plain) return nullptr;
  if (!size_notes) size_notes = PyDict_New();
  if (!size_notes || PyDict_SetItem(size_notes, name, value) != 0) ThrowPythonError();
  return plain;
}

PyObject* TakeSizeNotes() {
  PyObject* notes = size_notes;
  size_notes = nullptr;
  return notes;
}

void TellSizesOfError(const char* text) {
  if (!size_tracker) return;
  static PyObject* failed = Name("failed");
  PyObject* message = PyUnicode_DecodeUTF8(text, std::strlen(text), "backslashreplace");
  PyObject* done =
      message ? PyObject_CallMethodOneArg(size_tracker, failed, message) : nullptr;
  if (!done) PyErr_Clear();
  Py_XDECREF(done);
  Py_XDECREF(message);
}

PyObject* WithDescribedSizes(PyObject* value, const char* op, PyObject* name) {
  static PyObject* method = Name("as_attribute");
  if (!PyErr_Occurred() || (!PyList_Check(value) && !PyTuple_Check(value))) return nullptr;
  PyObject *type, *error, *trace;
  PyErr_Fetch(&type, &error, &trace);
  PyObject* plain = nullptr;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(value, i);
    if (!PyObject_HasAttr(reinterpret_cast<PyObject*>(Py_TYPE(item)), method)) continue;
    if (!plain) plain = PySequence_List(value);
    PyObject* owner = plain ? PyUnicode_FromString(op) : nullptr;
    PyObject* said =
        owner ? PyObject_CallMethodObjArgs(item, method, owner, name, nullptr) : nullptr;
    Py_XDECREF(owner);
    if (!said || PyList_SetItem(plain, i, said) != 0) {
      Py_XDECREF(plain);
      Py_XDECREF(type);
      Py_XDECREF(error);
      Py_XDECREF(trace);
      ThrowPythonError();
    }
  }
  if (!plain) {
    PyErr_Restore(type, error, trace);
    return nullptr;
  }
  Py_XDECREF(type);
  Py_XDECREF(error);
  Py_XDECREF(trace);
  return plain;
}

void DropSizeNotes() { Py_CLEAR(size_notes); }

}  // namespace dygraph::python
