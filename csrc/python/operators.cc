#include "python/operators.h"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/nearest.h"
#include "op/open_attr.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/open_inputs.h"
#include "python/operator_help.h"
#include "python/sizes.h"
#include "python/wrapper.h"
#include "tape/door.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

// Slots and attributes together; more are refused when the operator is loaded.
constexpr size_t kMostArguments = 64;

// One operator as Python calls it.
struct Function {
  const OpInfo* op;
  int inputs, attrs;
  std::vector<PyObject*> names;  // interned: slots, then attributes
  std::vector<int> order;        // positional arguments as numbers of names; empty: as they stand
  std::string name, doc;
  PyMethodDef def;
  bool returns_one;   // the first output, a single one, and no other
  bool plain;         // that, and positional arguments stand in the order of the slots
  bool takes_parts;   // of its first input; see MarkPart
  uint64_t open = 0;  // attributes that variables of programs may give, as bits
  std::vector<std::pair<int, int>>
      twins;  // (slot, attribute) of one Python name, as numbers of arguments: reshape2's shape
};

// What a function of the module is bound to.
struct Bound {
  PyObject_HEAD const Function* function;
};
PyTypeObject BoundType{};

PyObject* Bind(const Function* function) {
  Bound* bound = PyObject_New(Bound, &BoundType);
  if (!bound) ThrowPythonError();
  bound->function = function;
  return reinterpret_cast<PyObject*>(bound);
}

int FindKeyword(const Function& f, PyObject* key) {
  int n = static_cast<int>(f.names.size());
  for (int i = 0; i < n; ++i) {
    if (f.names[i] == key) return i;
  }
  for (int i = 0; i < n; ++i) {
    if (PyUnicode_Compare(f.names[i], key) == 0) return i;
  }
  for (int i = 0; i < n; ++i) {
    std::string name = PyUnicode_AsUTF8(f.names[i]), spelling = Spelling(name);
    if (spelling != name && spelling == PyUnicode_AsUTF8(key)) return i;
  }
  return -1;
}

[[noreturn]] void UnknownKeyword(const Function& f, PyObject* key) {
  std::vector<std::string> names;
  for (PyObject* n : f.names) names.push_back(PyUnicode_AsUTF8(n));
  const char* text = PyUnicode_AsUTF8(key);
  THROW(Type, f.name, ": there must be an argument of the given name, got '", text, "'.",
        DidYouMeanOrAll(text, names));
}

// The members of lists that were given, for the length of a call: reading an attribute runs Python
// code, and long calls run without the lock, so that the lists may have changed before it ends.
struct Members {
  SmallVector<PyObject*, 8> held;
  ~Members() {
    for (PyObject* o : held) Py_DECREF(o);
  }
};

void AddInput(const Function& f, int slot, PyObject* value, SlotList<Variable>* in,
              Members* members) {
  const SlotInfo& info = f.op->inputs[slot];
  if (!value || value == Py_None) {
    ENFORCE(info.dispensable(), Type, f.name, ": the argument ", info.python_name,
            " must be given, got nothing");
    return in->Close();
  }
  if (__builtin_expect(IsVariable(value), 1)) return in->Add(&VarOf(value));
  bool list = PyList_Check(value) || PyTuple_Check(value);
  ENFORCE(list && info.duplicable(), Type, f.name, ": ", info.python_name, " must be ",
          info.duplicable() ? "a list of Variables" : "a Variable", ", got ",
          Py_TYPE(value)->tp_name, ". Convert arrays and numbers with dygraph.to_variable()");
  Py_ssize_t n = PySequence_Fast_GET_SIZE(value);
  ENFORCE(n > 0, InvalidArgument, f.name, ": ", info.python_name,
          " must be a list of at least one Variable, got an empty one");
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(value, i);
    ENFORCE(IsVariable(item), Type, f.name, ": ", info.python_name, "[", i,
            "] must be a Variable, got ", Py_TYPE(item)->tp_name,
            ". Convert arrays and numbers with dygraph.to_variable()");
    Py_INCREF(item);
    members->held.push_back(item);
    in->Push(&VarOf(item));
  }
  in->Close();
}

// A slot and an attribute of one name are one argument to Python: a Variable is for the slot,
// anything else for the attribute.
void MoveToTwins(const Function& f, PyObject** bound) {
  for (auto [slot, attr] : f.twins) {
    PyObject* value = bound[slot];
    if (!value && bound[attr] && IsVariable(bound[attr])) std::swap(bound[slot], bound[attr]);
    if (!value || value == Py_None || IsVariable(value)) continue;
    ENFORCE(!bound[attr], Type, f.name, ": the argument ", f.op->inputs[slot].python_name,
            " must be given once, got it twice");
    std::swap(bound[slot], bound[attr]);
  }
}

// Operators whose results other libraries give as views.
bool TakesParts(const std::string& type) {
  static const std::set<std::string> kTypes = {
      "diagonal",   "expand_as_v2", "expand_v2",  "flatten2", "flatten_contiguous_range",
      "reshape2",   "slice",        "split",      "squeeze2", "strided_slice",
      "transpose2", "unbind",       "unsqueeze2", "unstack"};
  return kTypes.count(type) > 0;
}

// `result` is a Variable or a list of them.
void MarkParts(PyObject* result, PyObject* of) {
  if (!IsVariable(of)) return;
  if (IsVariable(result)) return MarkPart(result, of);
  if (!PyList_Check(result)) return;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(result); ++i) {
    if (IsVariable(PyList_GET_ITEM(result, i))) MarkPart(PyList_GET_ITEM(result, i), of);
  }
}

PyObject* Results(const OpInfo& op, Outputs& out) {
  PyObject* result = nullptr;
  std::vector<PyObject*> parts;
  size_t flat = 0;
  for (size_t s = 0; s < op.outputs.size(); ++s) {
    int count = out.slots.count(static_cast<int>(s));
    if (!IsReturned(op.outputs[s])) {
      flat += count;
      continue;
    }
    if (op.outputs[s].duplicable()) {
      PyObject* list = PyList_New(count);
      for (int i = 0; i < count; ++i) PyList_SET_ITEM(list, i, Wrap(std::move(out.owned[flat++])));
      parts.push_back(list);
    } else {
      parts.push_back(count ? Wrap(std::move(out.owned[flat])) : (Py_INCREF(Py_None), Py_None));
      flat += count;
    }
  }
  if (parts.empty()) Py_RETURN_NONE;
  if (parts.size() == 1) return parts[0];
  result = PyTuple_New(static_cast<Py_ssize_t>(parts.size()));
  for (size_t i = 0; i < parts.size(); ++i) PyTuple_SET_ITEM(result, i, parts[i]);
  return result;
}

// The usual call: Variables for all slots and nothing else. Null, without an error: not one.
inline PyObject* CallPlainly(const Function& f, PyObject* const* args) {
  SlotList<Variable> in;
  for (int i = 0; i < f.inputs; ++i) {
    if (!IsVariable(args[i])) return nullptr;
    in.Add(&VarOf(args[i]));
  }
  Outputs out;
  RunOp(*f.op, f.op->default_attrs, in, &out);
  return Wrap(std::move(out.owned[0]));
}

// An attribute that is a list of floats holds float32 numbers: of a float64 result it would round
// the elements, as of `value` for fill(value=[0.1], shape=[1], dtype='float64').
void RefuseRounding(const OpInfo& op, const Attrs& attrs, int attr, PyObject* list) {
  const std::vector<AttrField>& fields = op.attr_table.fields;
  const bool float64 = std::any_of(fields.begin(), fields.end(), [&](const AttrField& f) {
    const AttrValue value = attrs.Get(static_cast<int>(&f - fields.data()));
    return f.is_dtype && std::get<int32_t>(value) == ToWire(DType::kFloat64);
  });
  if (!float64) return;
  py::object items = py::reinterpret_steal<py::object>(PySequence_Fast(list, "a list"));
  if (!items) ThrowPythonError();
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.ptr()); ++i) {
    const double number = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(items.ptr(), i));
    ENFORCE(number == static_cast<float>(number) || std::isnan(number), InvalidArgument, op.type,
            ": ", fields[attr].name, " must hold float32 numbers, since it would round others, ",
            "got ", ToString(AttrValue(number)), " for dtype float64. Use dygraph.to_variable(",
            "values, dtype='float64') or, in a program, layers.assign(array)");
  }
}

__attribute__((noinline)) PyObject* CallAnyhow(const Function& f, PyObject* const* args,
                                               Py_ssize_t nargs, PyObject* kwnames) {
  PyObject* bound[kMostArguments];
  int total = f.inputs + f.attrs;
  ENFORCE(nargs <= total, Type, f.name, ": at most ", total, " arguments may be given, got ",
          nargs);
  if (__builtin_expect(f.order.empty(), 1)) {
    for (Py_ssize_t i = 0; i < nargs; ++i) bound[i] = args[i];
    for (int i = static_cast<int>(nargs); i < total; ++i) bound[i] = nullptr;
  } else {
    for (int i = 0; i < total; ++i) bound[i] = nullptr;
    for (Py_ssize_t i = 0; i < nargs; ++i) bound[f.order[i]] = args[i];
  }
  if (kwnames) {
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); ++k) {
      PyObject* key = PyTuple_GET_ITEM(kwnames, k);
      int i = FindKeyword(f, key);
      if (i < 0) UnknownKeyword(f, key);
      ENFORCE(!bound[i], Type, f.name, ": the argument ", PyUnicode_AsUTF8(key),
              " must be given once, got it twice");
      bound[i] = args[nargs + k];
    }
  }
  if (__builtin_expect(!f.twins.empty(), 0)) MoveToTwins(f, bound);
  if (__builtin_expect(size_tracker != nullptr, 0)) DropSizeNotes();  // of a call that failed
  SlotList<Variable> in;
  Members members;
  for (int i = 0; i < f.inputs; ++i) AddInput(f, i, bound[i], &in, &members);
  const Ref<Attrs>* attrs = &f.op->default_attrs;
  Ref<Attrs> own;
  std::vector<OpenInput> open;
  for (int i = 0; i < f.attrs; ++i) {
    PyObject* value = bound[f.inputs + i];
    if (!value) continue;
    if (!own) own = Attrs::Make(f.op->attr_table);
    py::object plain;
    if (__builtin_expect(size_tracker != nullptr, 0)) {
      plain = py::reinterpret_steal<py::object>(WithoutSizes(value, f.names[f.inputs + i]));
      if (plain) value = plain.ptr();
    }
    try {
      if (__builtin_expect(f.open >> i & 1, 0)) {
        SetOpenable(value, i, own.get(), &open);
      } else {
        own->Set(i, AttrFromPython(value, f.op->attr_table.fields[i]));
      }
    } catch (Error& e) {
      PyObject* described = WithDescribedSizes(value, f.name.c_str(), f.names[f.inputs + i]);
      if (!described) {
        e.AddOperator(f.name);
        throw;
      }
      plain = py::reinterpret_steal<py::object>(described);
      own->Set(i, AttrFromPython(described, f.op->attr_table.fields[i]));
    }
  }
  for (int i = 0; own && i < f.attrs; ++i) {
    if (__builtin_expect(f.op->attr_table.fields[i].type == AttrType::kFloats, 0) &&
        bound[f.inputs + i]) {
      RefuseRounding(*f.op, *own, i, bound[f.inputs + i]);
    }
  }
  if (own) attrs = &own;
  Outputs out;
  if (__builtin_expect(open.empty(), 1)) {
    RunOp(*f.op, *attrs, in, &out);
  } else {
    OpOptions options;
    options.open = &open;
    DescribeOp(*f.op, *attrs, in, &out, options);
  }
  if (__builtin_expect(size_tracker != nullptr, 0)) DropSizeNotes();
  PyObject* result =
      __builtin_expect(f.returns_one, 1) ? Wrap(std::move(out.owned[0])) : Results(*f.op, out);
  if (__builtin_expect(f.takes_parts, 0)) MarkParts(result, bound[0]);
  return result;
}

PyObject* Call(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const Function& f = *reinterpret_cast<const Bound*>(self)->function;
  return Guarded([&] {
    bool plain = f.plain && nargs == f.inputs && !kwnames && !size_tracker;
    PyObject* result = plain ? CallPlainly(f, args) : nullptr;
    return result ? result : CallAnyhow(f, args, nargs, kwnames);
  });
}

std::unique_ptr<Function> MakeFunction(const OpInfo& op) {
  auto f = std::make_unique<Function>();
  f->op = &op;
  f->name = op.type;
  f->inputs = static_cast<int>(op.inputs.size());
  f->attrs = static_cast<int>(op.attr_table.fields.size());
  for (const SlotInfo& s : op.inputs)
    f->names.push_back(PyUnicode_InternFromString(s.python_name.c_str()));
  for (const AttrField& a : op.attr_table.fields)
    f->names.push_back(PyUnicode_InternFromString(a.name.c_str()));
  for (int i = 0; i < f->attrs; ++i) f->open |= uint64_t{MayBeOpen(op, i)} << i;
  f->order = PositionalOrder(op);
  if (std::is_sorted(f->order.begin(), f->order.end())) f->order.clear();
  for (int i = 0; i < f->inputs; ++i) {
    int attr = op.attr_table.Find(op.inputs[i].python_name);
    if (attr >= 0) f->twins.emplace_back(i, f->inputs + attr);
  }
  int returned = 0;
  for (const SlotInfo& s : op.outputs) returned += IsReturned(s);
  f->returns_one = returned == 1 && IsReturned(op.outputs[0]) && !op.outputs[0].duplicable();
  f->takes_parts = TakesParts(op.type);
  f->plain = f->returns_one && f->order.empty() && !f->takes_parts;
  f->doc = Document(op);
  f->def = {f->name.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(Call)),
            METH_FASTCALL | METH_KEYWORDS, f->doc.c_str()};
  return f;
}

// The module's __getattr__: an operator's function is made at its first use. It stays in the
// module, so this is called once for each.
PyObject* FindFunction(PyObject* module, PyObject* name) {
  return Guarded([&]() -> PyObject* {
    const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
    if (!text && PyErr_Occurred()) ThrowPythonError();
    const OpInfo* op = text ? FindOp(text) : nullptr;
    if (!op) {
      PyErr_Format(PyExc_AttributeError, "dygraph._core.ops has no operator %R", name);
      ThrowPythonError();
    }
    Function* f = MakeFunction(*op).release();  // must live as long as the process
    PyObject* self = Bind(f);
    PyObject* module_name = PyUnicode_FromString("dygraph.ops");
    PyObject* function = PyCFunction_NewEx(&f->def, self, module_name);
    Py_DECREF(module_name);
    Py_DECREF(self);
    if (!function || PyObject_SetAttr(module, name, function) < 0) ThrowPythonError();
    return function;
  });
}

PyObject* ListFunctions(PyObject*, PyObject*) {
  return Guarded([&] {
    const std::vector<const OpInfo*> all = AllOps();
    py::list names(all.size());
    for (size_t i = 0; i < all.size(); ++i) names[i] = all[i]->type;
    return names.release().ptr();
  });
}

PyMethodDef kLookups[] = {{"__getattr__", FindFunction, METH_O, nullptr},
                          {"__dir__", ListFunctions, METH_NOARGS, nullptr},
                          {}};

}  // namespace

void CheckOperatorFunctions() {
  for (const OpInfo* op : AllOps()) {
    const size_t arguments = op->inputs.size() + op->attr_table.fields.size();
    ENFORCE(arguments <= kMostArguments, PreconditionNotMet, op->type, ": an operator has at most ",
            kMostArguments, " inputs and attributes together, got ", arguments);
  }
}

void AddOperatorFunctions(PyObject* module) {
  BoundType.tp_name = "dygraph.ops.Operator";
  BoundType.tp_basicsize = sizeof(Bound);
  BoundType.tp_flags = Py_TPFLAGS_DEFAULT;
  CheckOperatorFunctions();
  if (PyType_Ready(&BoundType) < 0 || PyModule_AddFunctions(module, kLookups) < 0)
    ThrowPythonError();
}

}  // namespace dygraph::python
