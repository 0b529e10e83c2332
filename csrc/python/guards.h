// What a captured function read while it was explored, compared before each call of its program.
#pragma once

#include <Python.h>

#include <utility>
#include <vector>

#include "tape/variable.h"

namespace dygraph::python {

// One object, or equal numbers or text of one type: 0.0 and -0.0 differ, nan is itself.
bool Same(PyObject* a, PyObject* b);

// Names are not noted: where Holds() is false, Python looks again, by value, and finds the name.
// References are borrowed: all objects are put into the list `kept`, whose owner the collector of
// circles knows.
class Guards {
 public:
  explicit Guards(PyObject* kept) : kept_(kept) {}
  // dict[key] is `value`, or is missing: nullptr.
  void AddItem(PyObject* dict, PyObject* key, PyObject* value);
  void AddCell(PyObject* cell);
  void AddContent(PyObject* o);     // of a list or dict
  void AddAttributes(PyObject* o);  // of an object with a __dict__; PreconditionNotMet without one
  void AddClass(PyObject* type);
  void AddArray(PyObject* array, PyObject* before);  // NumPy's, both contiguous
  void AddVariable(Ref<Variable> variable);          // its value
  void AddFlag(Ref<Variable> variable);              // whether it wants a gradient
  // By identity, then numbers and text by value.
  bool Holds() const;

 private:
  using Items = std::vector<std::pair<PyObject*, PyObject*>>;
  // The content of a dict as it was compared last: the number that Python gives to each content.
  // Always anew where there are no such numbers.
  class Seen {
   public:
    bool Is(PyObject* dict) const;
    void Note(PyObject* dict);

   private:
    uint64_t version_ = 0;
  };
  PyObject* Keep(PyObject* o);
  Items ItemsOf(PyObject* dict);
  static bool HasItems(PyObject* dict, const Items& items);

  struct Names {  // in one dict
    PyObject* dict;
    Items items;
    Seen seen;
  };
  struct Cell {
    PyObject *cell, *value;
  };
  struct List {
    PyObject* list;
    std::vector<PyObject*> items;
  };
  struct Dict {
    PyObject *owner, *dict;  // owner: nullptr where the dict stands for itself
    Items items;
    Seen seen = {};
  };
  struct Class {
    PyTypeObject* type;
    unsigned version;
  };
  struct Array {
    PyObject *array, *before;
  };
  struct Held {
    Ref<Variable> variable;
    Value value;
  };
  struct Flag {
    Ref<Variable> variable;
    bool wants;
  };
  PyObject* kept_;
  mutable std::vector<Names> names_;
  std::vector<Cell> cells_;
  std::vector<List> lists_;
  mutable std::vector<Dict> dicts_;
  std::vector<Class> classes_;
  std::vector<Array> arrays_;
  std::vector<Held> variables_;
  std::vector<Flag> flags_;
};

}  // namespace dygraph::python
