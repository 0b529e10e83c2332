#include "python/errors.h"

#include <pybind11/pybind11.h>

#include <cstring>
#include <map>
#include <string>

#include "base/standard_errors.h"
#include "python/sizes.h"

namespace dygraph::python {

namespace {

struct ErrorClass {
  ErrorKind kind;
  const char* name;
  PyObject** builtin;
  const char* doc;
};

const ErrorClass kClasses[] = {
    {ErrorKind::InvalidArgument, "InvalidArgumentError", &PyExc_ValueError,
     "A value, shape or attribute is not allowed."},
    {ErrorKind::Type, "ArgumentTypeError", &PyExc_TypeError,
     "An argument or element type does not fit."},
    {ErrorKind::NotFound, "NotFoundError", &PyExc_KeyError, "A name is unknown."},
    {ErrorKind::FileNotFound, "MissingFileError", &PyExc_FileNotFoundError, "A file is not there."},
    {ErrorKind::AlreadyExists, "AlreadyExistsError", &PyExc_ValueError, "A name is taken."},
    {ErrorKind::OutOfRange, "OutOfRangeError", &PyExc_IndexError,
     "An axis, index or size is out of range."},
    {ErrorKind::Unimplemented, "UnimplementedError", &PyExc_NotImplementedError,
     "No kernel or backend for this."},
    {ErrorKind::ResourceExhausted, "ResourceExhaustedError", &PyExc_MemoryError, "Memory ran out."},
    {ErrorKind::PreconditionNotMet, "PreconditionNotMetError", &PyExc_RuntimeError,
     "Something must happen first."},
    {ErrorKind::Format, "FormatError", &PyExc_ValueError,
     "A file is damaged or not what it should be."},
    {ErrorKind::Assertion, "AssertionFailedError", &PyExc_AssertionError,
     "A condition that a program asserts does not hold."},
    {ErrorKind::NonFinite, "NonFiniteError", &PyExc_FloatingPointError,
     "A result holds NaN or infinity and is checked for them."},
};

std::map<ErrorKind, PyObject*>& Classes() {
  static auto* classes = new std::map<ErrorKind, PyObject*>;
  return *classes;
}

}  // namespace

void AddErrorClasses(PyObject* module) {
  PyObject* base = PyErr_NewExceptionWithDoc(
      "dygraph.errors.DygraphError", "Base of all errors of dygraph.", PyExc_Exception, nullptr);
  PyModule_AddObject(module, "DygraphError", base);
  for (const ErrorClass& c : kClasses) {
    PyObject* bases = PyTuple_Pack(2, base, *c.builtin);
    std::string name = std::string("dygraph.errors.") + c.name;
    PyObject* dict = nullptr;
    if (c.kind == ErrorKind::NotFound) {  // KeyError would print the message as a quoted key
      dict = PyDict_New();
      PyObject* str = PyObject_GetAttrString(PyExc_Exception, "__str__");
      PyDict_SetItemString(dict, "__str__", str);
      Py_DECREF(str);
    }
    PyObject* cls = PyErr_NewExceptionWithDoc(name.c_str(), c.doc, bases, dict);
    Py_XDECREF(dict);
    Py_DECREF(bases);
    Classes()[c.kind] = cls;
    Py_INCREF(cls);
    PyModule_AddObject(module, c.name, cls);
  }
}

namespace {

// A message may quote a file, whose bytes need not be text.
void SetError(PyObject* kind, const char* text) {
  PyObject* message = PyUnicode_DecodeUTF8(text, std::strlen(text), "backslashreplace");
  if (!message) return;
  PyErr_SetObject(kind, message);
  Py_DECREF(message);
}

}  // namespace

void SetErrorFromException() {
  try {
    RethrowTyped();
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::Interrupted && PyErr_Occurred()) return;
    if (e.kind() == ErrorKind::InvalidArgument || e.kind() == ErrorKind::OutOfRange)
      TellSizesOfError(e.what());
    auto it = Classes().find(e.kind());
    SetError(it == Classes().end() ? PyExc_RuntimeError : it->second, e.what());
  } catch (pybind11::error_already_set& e) {
    e.restore();
  } catch (const std::exception& e) {
    SetError(Classes()[ErrorKind::PreconditionNotMet], e.what());
  }
}

void AppendToPythonError(const std::string& text) {
  if (!PyGILState_Check() || !PyErr_ExceptionMatches(PyExc_Exception)) return;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyObject* module = PyImport_ImportModule("dygraph.errors");
  PyObject* done =
      module ? PyObject_CallMethod(module, "append_text", "Os", value, text.c_str()) : nullptr;
  Py_XDECREF(done);
  Py_XDECREF(module);
  PyErr_Clear();  // the first error is the one to tell
  PyErr_Restore(type, value, trace);
}

void ThrowPythonError() { throw Error(ErrorKind::Interrupted, "a Python error is set"); }

}  // namespace dygraph::python
