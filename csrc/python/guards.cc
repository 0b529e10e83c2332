#include "python/guards.h"

#include <algorithm>
#include <cstring>

#include "base/enforce.h"

namespace dygraph::python {

namespace {

// 0: the class has none.
unsigned VersionOf(PyTypeObject* type) { return type->tp_version_tag; }

// As they are seen from C, contiguous.
class Bytes {
 public:
  explicit Bytes(PyObject* o) : held_(PyObject_GetBuffer(o, &view_, PyBUF_C_CONTIGUOUS) == 0) {
    if (!held_) PyErr_Clear();
  }
  ~Bytes() {
    if (held_) PyBuffer_Release(&view_);
  }
  bool operator==(const Bytes& other) const {
    return held_ && other.held_ && view_.len == other.view_.len && view_.ndim == other.view_.ndim &&
           std::equal(view_.shape, view_.shape + view_.ndim, other.view_.shape) &&
           std::memcmp(view_.buf, other.view_.buf, view_.len) == 0;
  }

 private:
  Py_buffer view_;
  bool held_;
};

// Whether a value is the one that was noted. While that is held, a write makes a copy first: so the
// same storage has the same bits, unless another library writes it.
bool IsStill(const Value& now, const Value& then) {
  if (!now.is_tensor() || !then.is_tensor()) return false;
  const Tensor &a = now.tensor(), &b = then.tensor();
  return a.storage().get() == b.storage().get() && a.raw_data() == b.raw_data() &&
         a.dims() == b.dims() && a.dtype() == b.dtype() && a.lod_levels() == b.lod_levels() &&
         !(a.has_data() && a.storage()->foreign());
}

}  // namespace

bool Same(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (!a || !b || Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_CheckExact(a)) {
    double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
    return std::memcmp(&x, &y, sizeof x) == 0;
  }
  if (!PyLong_CheckExact(a) && !PyUnicode_CheckExact(a) && !PyBytes_CheckExact(a)) return false;
  return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

#if PY_VERSION_HEX < 0x030C0000
bool Guards::Seen::Is(PyObject* dict) const {
  return version_ == reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
}
void Guards::Seen::Note(PyObject* dict) {
  version_ = reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
}
#else
bool Guards::Seen::Is(PyObject*) const { return false; }
void Guards::Seen::Note(PyObject*) {}
#endif

PyObject* Guards::Keep(PyObject* o) {
  if (o) ENFORCE(PyList_Append(kept_, o) == 0, ResourceExhausted, "no memory for a guard");
  return o;
}

Guards::Items Guards::ItemsOf(PyObject* dict) {
  Items items;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);)
    items.emplace_back(Keep(key), Keep(value));
  return items;
}

bool Guards::HasItems(PyObject* dict, const Items& items) {
  if (PyDict_GET_SIZE(dict) != static_cast<Py_ssize_t>(items.size())) return false;
  PyObject *key, *value;
  auto item = items.begin();
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value); ++item) {
    if (item == items.end() || !Same(key, item->first) || !Same(value, item->second)) return false;
  }
  return true;
}

void Guards::AddItem(PyObject* dict, PyObject* key, PyObject* value) {
  auto names = std::find_if(names_.begin(), names_.end(),
                            [&](const Names& known) { return known.dict == dict; });
  if (names == names_.end()) names = names_.insert(names_.end(), {Keep(dict), {}, {}});
  names->items.emplace_back(Keep(key), Keep(value));
}

void Guards::AddCell(PyObject* cell) { cells_.push_back({Keep(cell), Keep(PyCell_GET(cell))}); }

void Guards::AddContent(PyObject* o) {
  if (PyDict_Check(o)) {
    dicts_.push_back({nullptr, Keep(o), ItemsOf(o)});
    return;
  }
  ENFORCE(PyList_Check(o), Type, "a guard takes the content of a list or dict, got ",
          Py_TYPE(o)->tp_name);
  lists_.push_back({Keep(o), {}});
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); ++i)
    lists_.back().items.push_back(Keep(PyList_GET_ITEM(o, i)));
}

void Guards::AddAttributes(PyObject* o) {
  PyObject* dict = PyObject_GenericGetDict(o, nullptr);
  if (!dict) PyErr_Clear();
  ENFORCE(dict, PreconditionNotMet, "a guard takes objects with attributes of their own, got ",
          Py_TYPE(o)->tp_name);
  Py_DECREF(dict);  // the object and the list hold it
  dicts_.push_back({Keep(o), Keep(dict), ItemsOf(dict)});
}

void Guards::AddClass(PyObject* type) {
  auto* t = reinterpret_cast<PyTypeObject*>(type);
  Py_XDECREF(PyObject_GetAttrString(type, "__module__"));  // a look-up numbers the class
  PyErr_Clear();
  Keep(type);
  classes_.push_back({t, VersionOf(t)});
}

void Guards::AddArray(PyObject* array, PyObject* before) {
  arrays_.push_back({Keep(array), Keep(before)});
}

void Guards::AddVariable(Ref<Variable> variable) {
  Value value = variable->value();
  variables_.push_back({std::move(variable), std::move(value)});
}

void Guards::AddFlag(Ref<Variable> variable) {
  bool wants = variable->RequiresGrad();
  flags_.push_back({std::move(variable), wants});
}

bool Guards::Holds() const {
  for (Names& names : names_) {
    if (names.seen.Is(names.dict)) continue;
    for (const auto& [key, value] : names.items) {
      if (!Same(PyDict_GetItemWithError(names.dict, key), value)) return false;
    }
    names.seen.Note(names.dict);
  }
  for (const Cell& cell : cells_) {
    if (!Same(PyCell_GET(cell.cell), cell.value)) return false;
  }
  for (const List& list : lists_) {
    if (PyList_GET_SIZE(list.list) != static_cast<Py_ssize_t>(list.items.size())) return false;
    for (size_t i = 0; i < list.items.size(); ++i) {
      if (!Same(PyList_GET_ITEM(list.list, i), list.items[i])) return false;
    }
  }
  for (Dict& dict : dicts_) {
    if (dict.owner) {
      PyObject* now = PyObject_GenericGetDict(dict.owner, nullptr);
      if (!now) PyErr_Clear();
      Py_XDECREF(now);
      if (now != dict.dict) return false;
    }
    if (dict.seen.Is(dict.dict)) continue;
    if (!HasItems(dict.dict, dict.items)) return false;
    dict.seen.Note(dict.dict);
  }
  for (const Class& type : classes_) {
    if (type.version == 0 || VersionOf(type.type) != type.version) return false;
  }
  for (const Array& array : arrays_) {
    if (!(Bytes(array.array) == Bytes(array.before))) return false;
  }
  for (const Held& held : variables_) {
    if (!IsStill(held.variable->value(), held.value)) return false;
  }
  for (const Flag& flag : flags_) {
    if (flag.variable->RequiresGrad() != flag.wants) return false;
  }
  return true;
}

}  // namespace dygraph::python
