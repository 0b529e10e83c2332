#include "python/variable_calls.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "python/errors.h"
#include "python/sizes.h"
#include "python/wrapper.h"
#include "tape/door.h"

namespace dygraph::python {

namespace {

using Ints = SmallVector<int32_t, 16>;

PyObject* RunFirst(const OpInfo& op, const Ref<Attrs>& attrs, Variable& x) {
  SlotList<Variable> in;
  in.Add(&x);
  in.CloseUpTo(static_cast<int>(op.inputs.size()));
  Outputs out;
  RunOp(op, attrs, in, &out);
  return Wrap(std::move(out.owned[0]));
}

// Attributes made of a few whole numbers, kept for the next call with the same ones.
class KnownAttrs {
 public:
  // Of a call of `op` on `x`, whose first slot alone is filled: its first output. The attributes
  // leave the table for the length of the call, which saves counting who holds them.
  template <class Make>
  PyObject* Run(const OpInfo& op, Variable& x, const Ints& numbers, const Make& make) {
    uint32_t hash = static_cast<uint32_t>(numbers.size());
    for (int32_t n : numbers) hash = (hash ^ static_cast<uint32_t>(n)) * 0x9E3779B1u;
    Entry& entry = entries_[hash >> 27];
    bool known = __builtin_expect(entry.attrs && entry.numbers == numbers, 1);
    Ref<Attrs> attrs = known ? std::move(entry.attrs) : make();
    PyObject* result = RunFirst(op, attrs, x);
    if (__builtin_expect(!entry.attrs, 1)) {  // another call may have taken the place meanwhile
      entry.attrs = std::move(attrs);
      entry.numbers = numbers;
    }
    return result;
  }

 private:
  struct Entry {
    Ints numbers;
    Ref<Attrs> attrs;
  };
  Entry entries_[32];
};

// What stays for the life of the process: calls may come until its end.
struct Calls {
  const OpInfo &reshape = GetOp("reshape2"), &sum = GetOp("reduce_sum"),
               &mean = GetOp("reduce_mean"), &slice = GetOp("slice"),
               &strided = GetOp("strided_slice");
  KnownAttrs shapes, sums, means, slices, strides;
};
Calls* calls = nullptr;

PyObject* Part(PyObject* whole, PyObject* part) {
  if (part) MarkPart(part, whole);
  return part;
}

std::vector<int32_t> List(const int32_t* first, size_t n) { return {first, first + n}; }

// An int that is no bool, of 32 bits.
bool IsInt(PyObject* o, int32_t* value) {
  if (!PyLong_CheckExact(o)) return false;
  int overflow = 0;
  long n = PyLong_AsLongAndOverflow(o, &overflow);
  if (overflow || n != static_cast<int32_t>(n)) return false;
  *value = static_cast<int32_t>(n);
  return true;
}

// Calls ------------------------------------------------------------------------------------------

// False: not at once.
bool ReadShape(PyObject* const* items, Py_ssize_t n, Ints* shape) {
  if (n > kMaxRank) return false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    int32_t size;
    if (!IsInt(items[i], &size) || size < -1) return false;
    shape->push_back(size);
  }
  return true;
}

PyObject* Reshape(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  if (n == 1 && (PyList_CheckExact(args[0]) || PyTuple_CheckExact(args[0]))) {
    n = PySequence_Fast_GET_SIZE(args[0]);
    args = PySequence_Fast_ITEMS(args[0]);
  }
  Ints shape;
  if (!ReadShape(args, n, &shape)) return nullptr;
  static const int kShape = calls->reshape.attr_table.Find("shape");
  return Part(self, calls->shapes.Run(calls->reshape, VarOf(self), shape, [&] {
    Ref<Attrs> made = Attrs::Make(calls->reshape.attr_table);
    made->Set(kShape, List(shape.data(), shape.size()));
    return made;
  }));
}

bool IsWide(DType t) { return t == DType::kFloat32 || t == DType::kFloat64; }

// axis=None, keepdims=False by position.
PyObject* Reduce(const OpInfo& op, KnownAttrs* known, PyObject* self, PyObject* const* args,
                 Py_ssize_t n) {
  Variable& x = VarOf(self);
  if (n > 2 || (n == 2 && !PyBool_Check(args[1])) || x.value().empty()) return nullptr;
  int32_t rank = x.value().dims().rank(), axis = 0;
  bool all = n == 0 || args[0] == Py_None, keep = n == 2 && args[1] == Py_True;
  if (!all) {
    if (!IsInt(args[0], &axis) || axis < -rank || axis >= rank) return nullptr;
    if (axis < 0) axis += rank;
    if (rank == 1) all = true;
  }
  return known->Run(op, x, {all ? -1 : axis, keep ? 1 : 0}, [&] {
    Ref<Attrs> made = Attrs::Make(op.attr_table);
    made->Set("dim", std::vector<int32_t>{all ? 0 : axis});
    made->Set("keep_dim", keep);
    made->Set("reduce_all", all);
    return made;
  });
}

// Smaller integers are added as int64, which Python's function asks for.
PyObject* Sum(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  const Value& x = VarOf(self).value();
  if (x.empty() || !(IsWide(x.dtype()) || x.dtype() == DType::kInt64)) return nullptr;
  return Reduce(calls->sum, &calls->sums, self, args, n);
}

PyObject* Mean(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  const Value& x = VarOf(self).value();
  if (x.empty() || !IsWide(x.dtype())) return nullptr;
  return Reduce(calls->mean, &calls->means, self, args, n);
}

constexpr int32_t kFar = 0x7FFFFFFF;  // beyond every axis that an attribute can name

// A start, stop or step: None gives `other`, what is far is cut.
bool ReadBound(PyObject* o, int32_t other, int32_t* value) {
  if (o == Py_None) {
    *value = other;
    return true;
  }
  if (!IsInt(o, value)) return false;
  *value = std::max(*value, -kFar);
  return true;
}

// Ints and slices, in the terms of the slicing operators: axis, start, end, step of each; a step of
// 0 stands for an index, which takes its axis away.
struct Selection {
  static constexpr size_t kAxis = 0, kStart = 1, kEnd = 2, kStep = 3, kFields = 4;
  Ints parts;
  bool strided = false, picked = false;

  bool Add(PyObject* item, int32_t axis, int64_t size) {
    int32_t start, end, step = 1;
    if (PySlice_Check(item)) {
      auto* slice = reinterpret_cast<PySliceObject*>(item);
      if (!ReadBound(slice->step, 1, &step) || step == 0) return false;
      if (step == 1 && slice->start == Py_None && slice->stop == Py_None) return true;
      if (!ReadBound(slice->start, step > 0 ? 0 : kFar, &start)) return false;
      if (!ReadBound(slice->stop, step > 0 ? kFar : -kFar, &end)) return false;
      strided |= step != 1;
    } else {
      if (!IsInt(item, &start) || start < -size || start >= size) return false;
      end = start == -1 ? kFar : start + 1;
      step = 0;
      picked = true;
    }
    int32_t* part = parts.Extend(kFields);
    part[kAxis] = axis;
    part[kStart] = start;
    part[kEnd] = end;
    part[kStep] = step;
    return true;
  }

  std::vector<int32_t> All(size_t field, bool of_picked = false) const {
    std::vector<int32_t> list;
    for (size_t i = 0; i < parts.size(); i += kFields) {
      if (!of_picked || parts[i + kStep] == 0) list.push_back(parts[i + field]);
    }
    return list;
  }
};

PyObject* Item(Variable& x, PyObject* index) {
  if (x.value().empty()) return nullptr;
  const Dims& dims = x.value().dims();
  PyObject* const* items = &index;
  Py_ssize_t n = 1;
  if (PyTuple_CheckExact(index)) {
    items = PySequence_Fast_ITEMS(index);
    n = PyTuple_GET_SIZE(index);
  }
  if (n > dims.rank()) return nullptr;
  Selection chosen;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!chosen.Add(items[i], static_cast<int32_t>(i), dims[static_cast<size_t>(i)]))
      return nullptr;
  }
  if (chosen.parts.empty() || (chosen.strided && chosen.picked)) return nullptr;
  const OpInfo& op = chosen.strided ? calls->strided : calls->slice;
  KnownAttrs& known = chosen.strided ? calls->strides : calls->slices;
  return known.Run(op, x, chosen.parts, [&] {
    Ref<Attrs> made = Attrs::Make(op.attr_table);
    made->Set("axes", chosen.All(Selection::kAxis));
    made->Set("starts", chosen.All(Selection::kStart));
    made->Set("ends", chosen.All(Selection::kEnd));
    if (chosen.strided) {
      made->Set("strides", chosen.All(Selection::kStep));
    } else {
      made->Set("decrease_axis", chosen.All(Selection::kAxis, true));
    }
    return made;
  });
}

// Methods ----------------------------------------------------------------------------------------

using Quick = PyObject* (*)(PyObject* self, PyObject* const* args, Py_ssize_t n);

struct Method {
  const char* name;
  const char* signature;
  Quick quick;
  bool has_axis = false;
  PyObject* slow = nullptr;
  std::string doc = {};
  PyMethodDef def = {};
};

// The keywords axis, or axis and keepdims: what they name stands as by position.
bool AreAxisAndKeep(PyObject* kwnames) {
  Py_ssize_t n = PyTuple_GET_SIZE(kwnames);
  if (n > 2 || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "axis") != 0)
    return false;
  if (n == 1) return true;
  PyObject* second = PyTuple_GET_ITEM(kwnames, 1);
  return PyUnicode_CompareWithASCIIString(second, "keepdims") == 0 ||
         PyUnicode_CompareWithASCIIString(second, "keepdim") == 0;
}

template <Method* method>
PyObject* Call(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  bool by_name = kwnames && method->has_axis && n == 0 && AreAxisAndKeep(kwnames);
  if (__builtin_expect((!kwnames || by_name) && !size_tracker, 1)) {
    Py_ssize_t count = n + (by_name ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject* result = Guarded([&] { return method->quick(self, args, count); });
    if (result || PyErr_Occurred()) return result;
  }
  SmallVector<PyObject*, 8> all;
  all.push_back(self);
  Py_ssize_t count = n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  all.Append(args, args + count);
  return PyObject_Vectorcall(method->slow, all.data(), static_cast<size_t>(n + 1), kwnames);
}

Method reshape{"reshape", "($self, *shape)", Reshape};
Method sum{"sum", "($self, axis=None, keepdims=False, *, dtype=None)", Sum, true};
Method mean{"mean", "($self, axis=None, keepdims=False)", Mean, true};

// Functions of `dygraph` ----------------------------------------------------------------------

// One operator on Variables of float32 or float64, or on a list of them and an axis (`joins`);
// `slow`, written in Python, takes all else.
struct QuickFunction {
  const OpInfo* op;
  size_t inputs;
  bool reduces, joins;
  PyObject* slow;
  std::string name, doc;
  PyMethodDef def = {};
  KnownAttrs known = {};

  bool Knows(PyObject* o) const {
    if (!IsVariable(o)) return false;
    const Value& x = VarOf(o).value();
    return x.is_tensor() && !x.empty() && IsWide(x.dtype());
  }

  bool TakesFirst(PyObject* o) const {
    return joins ? PyList_CheckExact(o) || PyTuple_CheckExact(o) : Knows(o);
  }

  PyObject* Join(PyObject* const* args, size_t n) {
    int32_t axis = 0;
    if (n > 2 || (n == 2 && !IsInt(args[1], &axis))) return nullptr;
    PyObject* const* items = PySequence_Fast_ITEMS(args[0]);
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(args[0]);
    SlotList<Variable> in;
    SmallVector<Ref<Variable>, 8> held;  // another thread may empty the list meanwhile
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (!Knows(items[i])) return nullptr;
      Variable& x = VarOf(items[i]);
      if (x.value().dtype() != VarOf(items[0]).value().dtype()) return nullptr;
      held.push_back(Ref<Variable>(&x));
      in.Push(&x);
    }
    if (count == 0) return nullptr;
    in.Close();
    in.CloseUpTo(static_cast<int>(inputs));
    Ref<Attrs> attrs = op->default_attrs;
    if (axis != 0) {
      attrs = Attrs::Make(op->attr_table);
      attrs->Set("axis", axis);
    }
    Outputs out;
    RunOp(*op, attrs, in, &out);
    return Wrap(std::move(out.owned[0]));
  }

  PyObject* Run(PyObject* const* args, size_t n) {
    if (joins) return Join(args, n);
    if (reduces) return Reduce(*op, &known, args[0], args + 1, static_cast<Py_ssize_t>(n) - 1);
    if (n != inputs) return nullptr;
    if (n == 1) return Wrap(RunUnary(*op, op->default_attrs, VarOf(args[0])));
    if (!Knows(args[1])) return nullptr;
    Variable &x = VarOf(args[0]), &y = VarOf(args[1]);
    if (x.value().dtype() != y.value().dtype()) return nullptr;
    return Wrap(RunBinary(*op, op->default_attrs, x, y));
  }
};

struct BoundFunction {
  PyObject_HEAD QuickFunction* function;
};
PyTypeObject BoundFunctionType{};

PyObject* CallFunction(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  QuickFunction& f = *reinterpret_cast<BoundFunction*>(self)->function;
  size_t n = static_cast<size_t>(nargs);
  bool by_name = kwnames && (f.reduces || f.joins) && n == 1 && AreAxisAndKeep(kwnames);
  if (__builtin_expect(n > 0 && (!kwnames || by_name) && !size_tracker && f.TakesFirst(args[0]),
                       1)) {
    size_t count = n + (by_name ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
    PyObject* result = Guarded([&] { return f.Run(args, count); });
    if (result || PyErr_Occurred()) return result;
  }
  return PyObject_Vectorcall(f.slow, args, n, kwnames);
}

// Pickle finds a function of C by its owner: the module.
PyObject* ReduceBound(PyObject*, PyObject*) {
  PyObject* importlib = PyImport_ImportModule("importlib");
  PyObject* import = importlib ? PyObject_GetAttrString(importlib, "import_module") : nullptr;
  Py_XDECREF(importlib);
  return import ? Py_BuildValue("N(s)", import, "dygraph") : nullptr;
}
PyMethodDef bound_methods[] = {{"__reduce__", ReduceBound, METH_NOARGS, nullptr},
                               {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* MakeQuickFunction(const char* signature, const char* op, PyObject* slow) {
  if (!BoundFunctionType.tp_name) {
    BoundFunctionType.tp_name = "dygraph.Functions";
    BoundFunctionType.tp_basicsize = sizeof(BoundFunction);
    BoundFunctionType.tp_flags = Py_TPFLAGS_DEFAULT;
    BoundFunctionType.tp_methods = bound_methods;
    if (PyType_Ready(&BoundFunctionType) < 0) return nullptr;
  }
  const OpInfo& info = GetOp(op);
  PyObject *name = PyObject_GetAttrString(slow, "__name__"),
           *doc = PyObject_GetAttrString(slow, "__doc__");
  BoundFunction* bound = name && doc ? PyObject_New(BoundFunction, &BoundFunctionType) : nullptr;
  PyObject* result = nullptr;
  if (bound) {
    auto* f = new QuickFunction{&info,
                                info.inputs.size(),
                                std::strncmp(op, "reduce_", 7) == 0,
                                info.inputs[0].duplicable(),
                                slow,
                                PyUnicode_AsUTF8(name),
                                {}};
    Py_INCREF(slow);  // for the life of the process
    f->doc = f->name + signature + "\n--\n\n";
    if (PyUnicode_Check(doc)) f->doc += PyUnicode_AsUTF8(doc);
    f->def = {f->name.c_str(),
              reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(CallFunction)),
              METH_FASTCALL | METH_KEYWORDS, f->doc.c_str()};
    bound->function = f;
    PyObject* module = PyUnicode_FromString("dygraph");
    result = PyCFunction_NewEx(&f->def, reinterpret_cast<PyObject*>(bound), module);
    Py_XDECREF(module);
    Py_DECREF(bound);
  }
  Py_XDECREF(name);
  Py_XDECREF(doc);
  return result;
}

void PrepareCalls() { calls = new Calls; }

PyObject* QuickMethod(const char* name, PyObject* slow) {
  using Function = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
  const std::pair<Method*, Function> methods[] = {
      {&reshape, Call<&reshape>}, {&sum, Call<&sum>}, {&mean, Call<&mean>}};
  for (auto [method, function] : methods) {
    if (std::strcmp(method->name, name) != 0) continue;
    PyObject* doc = PyObject_GetAttrString(slow, "__doc__");
    if (!doc) return nullptr;
    const char* text = PyUnicode_Check(doc) ? PyUnicode_AsUTF8(doc) : "";
    method->doc = std::string(name) + method->signature + "\n--\n\n" + text;
    Py_DECREF(doc);
    Py_INCREF(slow);
    Py_XSETREF(method->slow, slow);
    method->def = {method->name,
                   reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)),
                   METH_FASTCALL | METH_KEYWORDS, method->doc.c_str()};
    return PyDescr_NewMethod(&VariableType, &method->def);
  }
  return nullptr;
}

PyObject* QuickItem(PyObject* self, PyObject* index) {
  if (__builtin_expect(size_tracker != nullptr, 0)) return nullptr;
  return Guarded([&] { return Part(self, Item(VarOf(self), index)); });
}

}  // namespace dygraph::python
