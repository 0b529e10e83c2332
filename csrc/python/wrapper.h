// The Python face of a Variable: a raw type, because two objects in and one out must cost tens of
// nanoseconds.
#pragma once

#include <Python.h>

#include "tape/variable.h"

namespace dygraph::python {

// A wrapper that parts were taken from: shared by it and by them.
struct Whole {
  int holders = 1;
  PyObject* wrapper;  // null: it is gone
};

struct PyVariable {
  PyObject_HEAD Variable* var;  // owned
  PyObject* dict;
  PyObject* weakrefs;
  Whole* own_whole;     // where parts were taken from it
  Whole* whole;         // where it is a part
  bool writes_through;  // it is all of `whole`, and a write into it is one into that
  bool tracked;  // the collector sees it, since it may refer to others
};

extern PyTypeObject VariableType;

inline bool IsVariable(PyObject* o) {
  return Py_TYPE(o) == &VariableType || PyType_IsSubtype(Py_TYPE(o), &VariableType);
}
inline Variable& VarOf(PyObject* o) { return *reinterpret_cast<PyVariable*>(o)->var; }
// TypeError naming the argument when it is something else.
Variable& RequireVariable(PyObject* o, const char* what);
// The one wrapper of a variable: the living one, or a new one. A new reference; None for a null
// variable.
PyObject* Wrap(Ref<Variable> var);
// The first wrapper of a variable, of a class derived from Variable.
PyObject* WrapAs(Ref<Variable> var, PyTypeObject* type);

// Parts ---------------------------------------------------------------------------------------------
// `x[0]` and `x.reshape(6)` have values of their own, where in other libraries they share those of
// x. So a write into a part raises as long as its whole lives, where the difference would show.

// `part` was taken from `of`: from all that `of` was taken from, if that lives.
void MarkPart(PyObject* part, PyObject* of);
// `all` stands for the values of `of`: a write into it is one into `of`.
void MarkAlias(PyObject* all, PyObject* of);
bool IsAlias(const Variable& v);  // of a Variable that lives
// PreconditionNotMet for a write into a part whose whole lives.
void RefusePart(const Variable& written);
// After a write: what an alias stands for has the values too.
void WriteThrough(const Variable& written);

// The collector sees it from now on: it may refer to others.
void TrackWrapper(PyObject* self);

// Adds methods written in Python to the type.
void SetTypeAttribute(const char* name, PyObject* value);
// A dict of names that cannot be attributes of a Variable, each with what to write in its place.
void SetForeignAttributes(PyObject* names);
// The type of `x.size`: an int that keeps the shape in the attribute _shape.
void SetCountType(PyObject* type);
bool ReadyVariableType();

}  // namespace dygraph::python
