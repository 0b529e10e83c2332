// Slots of the Variable type whose work is written in Python. A static type does not look special
// methods up in its dictionary, so each such slot calls the function that was given for it.
#include "python/variable_slots.h"

#include <cstring>

#include "python/errors.h"
#include "python/variable_calls.h"
#include "python/wrapper.h"

namespace dygraph::python {

namespace {

enum Method {
  kGetItem, kSetItem, kLength, kIterate, kRepr, kAbsolute, kContains, kLeftShift, kRightShift,
  kMethods
};
const char* const kNames[kMethods] = {"__getitem__", "__setitem__", "__len__",     "__iter__",
                                      "__repr__",    "__abs__",     "__contains__",
                                      "__lshift__",  "__rshift__"};
PyObject* functions[kMethods];

template <class... Args>
PyObject* CallMethod(Method method, Args... args) {
  if (!functions[method]) {
    PyErr_Format(PyExc_NotImplementedError, "%s is not available before dygraph is imported",
                 kNames[method]);
    return nullptr;
  }
  PyObject* list[] = {args...};
  return PyObject_Vectorcall(functions[method], list, sizeof...(args), nullptr);
}

template <Method method>
PyObject* Unary(PyObject* self) {
  return CallMethod(method, self);
}

PyObject* GetItem(PyObject* self, PyObject* index) {
  PyObject* item = QuickItem(self, index);
  return item || PyErr_Occurred() ? item : CallMethod(kGetItem, self, index);
}

Py_ssize_t Length(PyObject* self) {
  PyObject* n = CallMethod(kLength, self);
  if (!n) return -1;
  Py_ssize_t length = PyLong_AsSsize_t(n);
  Py_DECREF(n);
  return length;
}


int SetItem(PyObject* self, PyObject* index, PyObject* value) {
  if (!value) {
    PyErr_SetString(PyExc_TypeError, "elements of a Variable cannot be deleted");
    return -1;
  }
  const bool temporary = IsTemporary(self) && VarOf(self).unique();
  PyObject* done = Guarded([&]() -> PyObject* {
    Variable& written = VarOf(self);
    RefusePart(written);
    if (temporary && !IsAlias(written) &&
        PyErr_WarnEx(PyExc_UserWarning,
                     "writing into a temporary Variable has no effect, since it has values of its "
                     "own. Write x[mask] = v, or keep the result: y = x[mask]; y[0] = v",
                     1) < 0) {
      return nullptr;
    }
    PyObject* set = CallMethod(kSetItem, self, index, value);
    if (set) WriteThrough(written);
    return set;
  });
  Py_XDECREF(done);
  return done ? 0 : -1;
}

int Contains(PyObject* self, PyObject* value) {
  PyObject* found = CallMethod(kContains, self, value);
  if (!found) return -1;
  int truth = PyObject_IsTrue(found);
  Py_DECREF(found);
  return truth;
}

PyMappingMethods mapping_methods;
PySequenceMethods sequence_methods;

}  // namespace

PyObject* LeftShift(PyObject* a, PyObject* b) { return CallMethod(kLeftShift, a, b); }
PyObject* RightShift(PyObject* a, PyObject* b) { return CallMethod(kRightShift, a, b); }

bool IsTemporary(PyObject* self) {
#if PY_VERSION_HEX >= 0x030E0000
  return PyUnstable_Object_IsUniqueReferencedTemporary(self);
#else
  return Py_REFCNT(self) == 1;
#endif
}

void AddSlots(PyTypeObject* type) {
  mapping_methods.mp_length = Length;
  mapping_methods.mp_subscript = GetItem;
  mapping_methods.mp_ass_subscript = SetItem;
  type->tp_as_mapping = &mapping_methods;
  // Only membership: with more slots Python would take a Variable for a sequence of its own.
  sequence_methods.sq_contains = Contains;
  type->tp_as_sequence = &sequence_methods;
  type->tp_iter = Unary<kIterate>;
  type->tp_repr = Unary<kRepr>;
  type->tp_as_number->nb_absolute = Unary<kAbsolute>;
}

bool SetSlotFunction(const char* name, PyObject* function) {
  for (int i = 0; i < kMethods; ++i) {
    if (std::strcmp(kNames[i], name) != 0) continue;
    Py_INCREF(function);
    Py_XSETREF(functions[i], function);
    return true;
  }
  return false;
}

}  // namespace dygraph::python
