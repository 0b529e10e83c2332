// The Variable type: life of wrappers, plain properties. Methods that are not hot are
// written in Python.
#include <pybind11/pybind11.h>
#include <structmember.h>

#include "python/convert.h"
#include "python/errors.h"
#include "python/sizes.h"
#include "python/variable_calls.h"
#include "python/variable_slots.h"
#include "python/wrapper.h"
#include "tape/door.h"
#include "tape/engine.h"
#include "tape/thread_state.h"

namespace dygraph::python {

namespace {

PyVariable* AsPy(PyObject* o) { return reinterpret_cast<PyVariable*>(o); }

// Life of wrappers --------------------------------------------------------------------------------

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeepsSpares = false;  // the sanitizer sees every wrapper come and go
#else
constexpr bool kKeepsSpares = true;
#endif
constexpr int kMostSpare = 256;
PyObject* spare_wrappers[kMostSpare];
int spare_count = 0;

// What a dead wrapper leaves to its variable: class and attributes, so that the next wrapper is the
// same to its users.
struct WrapperState {
  PyTypeObject* type;
  PyObject* dict;
};

void ReleaseState(void* p) {
  auto* state = static_cast<WrapperState*>(p);
  Py_XDECREF(state->dict);
  Py_DECREF(reinterpret_cast<PyObject*>(state->type));
  delete state;
}

void VisitHooks(const Node* node, void (*visit)(void*, void*), void* arg) {
  if (node && node->unique()) node->VisitHookOwners(visit, arg);
}

// Attributes that the gradient's dead wrapper left behind: they are this variable's to answer for.
WrapperState* StateOfGrad(const Variable* var) {
  const Ref<LeafNode>& leaf = var->leaf();
  if (!leaf || !leaf->unique() || !leaf->grad || !leaf->grad->unique()) return nullptr;
  return static_cast<WrapperState*>(leaf->grad->wrapper_state);
}

int Traverse(PyObject* self, visitproc visit, void* arg) {
  PyVariable* p = AsPy(self);
  Py_VISIT(p->dict);
  // Only what this wrapper alone keeps alive may be counted as its own.
  if (p->var && p->var->unique()) {
    struct Visit {
      visitproc fn;
      void* arg;
      int result;
    } v{visit, arg, 0};
    auto each = [](void* owner, void* state) {
      auto* s = static_cast<Visit*>(state);
      if (!s->result && owner) s->result = s->fn(static_cast<PyObject*>(owner), s->arg);
    };
    VisitHooks(p->var->leaf().get(), each, &v);
    VisitHooks(p->var->producer().node.get(), each, &v);
    if (WrapperState* left = StateOfGrad(p->var)) each(left->dict, &v);
    if (v.result) return v.result;
  }
  return 0;
}

int Clear(PyObject* self) {
  PyVariable* p = AsPy(self);
  Py_CLEAR(p->dict);
  if (p->var && p->var->unique()) {
    if (p->var->leaf()) p->var->leaf()->ClearHooks();
    if (WrapperState* left = StateOfGrad(p->var)) Py_CLEAR(left->dict);
    if (p->var->producer().node && p->var->producer().node->unique())
      p->var->producer().node->ClearHooks();
  }
  return 0;
}

void Leave(Whole** held) {
  Whole* whole = std::exchange(*held, nullptr);
  if (--whole->holders == 0) delete whole;
}

void LeaveWholes(PyVariable* p) {
  if (p->own_whole) {
    p->own_whole->wrapper = nullptr;
    Leave(&p->own_whole);
  }
  if (p->whole) Leave(&p->whole);
  p->writes_through = false;
}

// What `v` is a part of, if that lives; else nullptr.
PyObject* LivingWhole(const Variable& v) {
  PyVariable* p = static_cast<PyVariable*>(v.wrapper);
  return p && p->whole ? p->whole->wrapper : nullptr;
}

void Dealloc(PyObject* self) {
  PyVariable* p = AsPy(self);
  PyTypeObject* type = Py_TYPE(self);
  if (p->own_whole || p->whole) LeaveWholes(p);
  if (__builtin_expect(p->tracked, 0)) {
    PyObject_GC_UnTrack(self);
    p->tracked = false;
  }
  if (p->weakrefs) PyObject_ClearWeakRefs(self);
  if (Variable* var = p->var) {
    p->var = nullptr;
    var->wrapper = nullptr;
    if (!var->unique() && (type != &VariableType || p->dict)) {
      Py_INCREF(reinterpret_cast<PyObject*>(type));
      var->wrapper_state = new WrapperState{type, std::exchange(p->dict, nullptr)};
    }
    var->Release();
  }
  Py_CLEAR(p->dict);
  if (kKeepsSpares && type == &VariableType && spare_count < kMostSpare) {
    spare_wrappers[spare_count++] = self;
    return;
  }
  type->tp_free(self);
}

PyObject* NewWrapper(PyTypeObject* type) {
  if (type == &VariableType && spare_count > 0) {
    PyObject* self = spare_wrappers[--spare_count];
    Py_SET_REFCNT(self, 1);  // the type is still there
    return self;
  }
  PyObject* self = type->tp_alloc(type, 0);  // tracks
  if (!self) return nullptr;
  AsPy(self)->tracked = type != &VariableType;
  if (!AsPy(self)->tracked) PyObject_GC_UnTrack(self);  // refers to nothing it should see
  return self;
}

PyObject* New(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = NewWrapper(type);
  if (!self) return nullptr;
  Ref<Variable> var = Variable::Make();
  var->wrapper = self;
  AsPy(self)->var = var.Detach();
  return self;
}

int Init(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"value", "lod", "dtype", "stop_gradient", "name", nullptr};
  PyObject *value = Py_None, *lod = Py_None, *dtype = Py_None;
  int stop_gradient = 1;
  const char* name = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOpz", const_cast<char**>(names), &value, &lod,
                                   &dtype, &stop_gradient, &name)) {
    return -1;
  }
  PyObject* done = Guarded([&]() -> PyObject* {
    Variable& var = VarOf(self);
    if (value != Py_None) {
      DType cast = dtype == Py_None ? DType::kUnset : DTypeFromPython(dtype);
      const Place place = CurrentThread().place;
      Tensor t = IsVariable(value) ? VarOf(value).tensor()
                                   : CopyTo(TensorFromPython(value, cast), place);
      if (lod != Py_None) t.SetLoD(LoDFromPython(lod));
      var.SetValue(Value(std::move(t)));
    }
    if (!stop_gradient) var.set_stop_gradient(false);
    if (name) var.set_name(name);
    Py_RETURN_NONE;
  });
  Py_XDECREF(done);
  return done ? 0 : -1;
}

PyObject* count_type = nullptr;          // of `size`: an int with the attribute _shape
PyObject* str_shape = nullptr;
PyObject* foreign_attributes = nullptr;  // name -> what to write in its place

// What assigns a value in another library must not become an attribute without effect.
bool IsForeign(PyObject* self, PyObject* name) {
  PyObject* fix = foreign_attributes ? PyDict_GetItem(foreign_attributes, name) : nullptr;
  if (!fix || PyObject_HasAttr(reinterpret_cast<PyObject*>(Py_TYPE(self)), name)) return false;
  PyErr_Format(PyExc_AttributeError, "a Variable has no attribute '%U' to assign. %U", name, fix);
  return true;
}

int SetAttr(PyObject* self, PyObject* name, PyObject* value) {
  if (value && IsForeign(self, name)) return -1;
  int result = PyObject_GenericSetAttr(self, name, value);
  if (AsPy(self)->dict) TrackWrapper(self);
  return result;
}

Py_hash_t Hash(PyObject* self) {
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(AsPy(self)->var) >> 4);
}

// Properties --------------------------------------------------------------------------------------

PyObject* GetShape(PyObject* self, void*) {
  return Guarded([&] {
    if (__builtin_expect(size_tracker != nullptr, 0)) return TrackedDims(self);
    return DimsToPython(VarOf(self).value().dims());
  });
}
PyObject* GetDType(PyObject* self, void*) {
  return Guarded([&] { return DTypeToPython(VarOf(self).value().dtype()); });
}
PyObject* GetNdim(PyObject* self, void*) {
  return Guarded([&] { return PyLong_FromLong(VarOf(self).value().dims().rank()); });
}
PyObject* GetSize(PyObject* self, void*) {
  return Guarded([&]() -> PyObject* {
    if (__builtin_expect(size_tracker != nullptr, 0)) return TrackedNumel(self);
    const Dims& dims = VarOf(self).value().dims();
    const long long count = Numel(dims);
    PyObject* plain = PyLong_FromLongLong(count);
    if (!count_type || !plain) return plain;
    auto own = [](PyObject* o) { return pybind11::reinterpret_steal<pybind11::object>(o); };
    pybind11::object args = own(PyTuple_Pack(1, plain)), shape = own(DimsToPython(dims));
    Py_DECREF(plain);
    pybind11::object made =
        own(PyLong_Type.tp_new(reinterpret_cast<PyTypeObject*>(count_type), args.ptr(), nullptr));
    if (!made || PyObject_SetAttr(made.ptr(), str_shape, shape.ptr()) < 0) return nullptr;
    return made.release().ptr();
  });
}
PyObject* GetPlace(PyObject* self, void*) {
  return Guarded([&] { return pybind11::cast(VarOf(self).value().place()).release().ptr(); });
}
PyObject* GetStopGradient(PyObject* self, void*) {
  return PyBool_FromLong(VarOf(self).stop_gradient());
}
// 0 or 1; -1 with a Python error set, also for a deletion (a null value).
int TruthGiven(PyObject* value, const char* property) {
  if (value) return PyObject_IsTrue(value);
  PyErr_Format(PyExc_AttributeError, "%s cannot be deleted", property);
  return -1;
}

int SetStopGradient(PyObject* self, PyObject* value, void*) {
  int truth = TruthGiven(value, "stop_gradient");
  if (truth < 0) return -1;
  PyObject* done = Guarded([&]() -> PyObject* {
    VarOf(self).set_stop_gradient(truth);
    Py_RETURN_NONE;
  });
  Py_XDECREF(done);
  return done ? 0 : -1;
}
PyObject* GetPersistable(PyObject* self, void*) { return PyBool_FromLong(VarOf(self).persistable); }
int SetPersistable(PyObject* self, PyObject* value, void*) {
  int truth = TruthGiven(value, "persistable");
  if (truth >= 0) VarOf(self).persistable = truth;
  return truth < 0 ? -1 : 0;
}
PyObject* GetIsLeaf(PyObject* self, void*) { return PyBool_FromLong(VarOf(self).IsLeaf()); }
PyObject* GetName(PyObject* self, void*) {
  const std::string& name = VarOf(self).name();
  return PyUnicode_FromStringAndSize(name.data(), name.size());
}
int SetName(PyObject* self, PyObject* value, void*) {
  const char* text = value ? PyUnicode_AsUTF8(value) : nullptr;
  if (!text) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_AttributeError, "name cannot be deleted");
    return -1;
  }
  VarOf(self).set_name(text);
  return 0;
}
PyObject* GetGrad(PyObject* self, void*) {
  // whatever is put on the gradient may lead back here
  TrackWrapper(self);
  return Guarded([&] { return Wrap(VarOf(self).grad()); });
}
int SetGrad(PyObject* self, PyObject* value, void*) {
  PyObject* done = Guarded([&]() -> PyObject* {
    Variable& var = VarOf(self);
    if (!value || value == Py_None) {
      var.ClearGrad();
      Py_RETURN_NONE;
    }
    Variable& grad = RequireVariable(value, "grad");
    ENFORCE(
        grad.value().dims() == var.value().dims() && grad.value().dtype() == var.value().dtype(),
        InvalidArgument, "a gradient must have the shape and type of its variable, ",
        var.value().dims(), " of ", var.value().dtype(), ", got ", grad.value().dims(), " of ",
        grad.value().dtype());
    // A variable that is its own gradient would keep itself alive.
    var.SetGrad(&grad == &var ? var.Detach() : Ref<Variable>(&grad));
    Py_RETURN_NONE;
  });
  Py_XDECREF(done);
  return done ? 0 : -1;
}

// Attributes of its own, which pickle and copies read. Made at first need, and then the collector
// must see it.
PyObject* GetDict(PyObject* self, void*) {
  PyObject* dict = PyObject_GenericGetDict(self, nullptr);
  if (dict) TrackWrapper(self);
  return dict;
}

PyGetSetDef properties[] = {
    {"__dict__", GetDict, nullptr, "Attributes of its own.", nullptr},
    {"shape", GetShape, nullptr, "Sizes of the axes, a tuple of ints.", nullptr},
    {"dtype", GetDType, nullptr, "Element type.", nullptr},
    {"ndim", GetNdim, nullptr, "Number of axes.", nullptr},
    {"size", GetSize, nullptr, "Number of elements.", nullptr},
    {"place", GetPlace, nullptr, "Where the data lies.", nullptr},
    {"stop_gradient", GetStopGradient, SetStopGradient,
     "True: no gradient flows into or through it.", nullptr},
    {"persistable", GetPersistable, SetPersistable,
     "True: survives a run of a program and is saved.", nullptr},
    {"is_leaf", GetIsLeaf, nullptr, "True: no recorded operator computed it.", nullptr},
    {"name", GetName, SetName, "Its name; empty if it has none.", nullptr},
    {"grad", GetGrad, SetGrad, "Gradient of the last backward passes, or None.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

// Methods that must be quick ----------------------------------------------------------------------

PyObject* MethodNumpy(PyObject* self, PyObject*) {
  return Guarded([&] {
    TellRead(self, "numpy()");
    return ArrayFromTensor(VarOf(self).value().ToDense());
  });
}
PyObject* MethodItem(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return Guarded([&]() -> PyObject* {
    if (count == 0) {
      TellRead(self, "item()");
      return ItemFromTensor(VarOf(self).tensor());
    }
    pybind11::object element = pybind11::reinterpret_borrow<pybind11::object>(self).attr("_element");
    return PyObject_Vectorcall(element.ptr(), args, static_cast<size_t>(count), nullptr);
  });
}
PyObject* MethodDetach(PyObject* self, PyObject*) {
  static const std::string kDetached =
      "it comes from detach(), which cuts the path. Compute the loss from what was detached";
  return Guarded([&] {
    const Variable& of = VarOf(self);
    Ref<Variable> made = of.Detach();
    if (of.RequiresGrad() || of.not_recorded()) made->set_not_recorded(&kDetached);
    PyObject* values = Wrap(std::move(made));
    MarkPart(values, self);
    return values;
  });
}
PyObject* MethodClearGradient(PyObject* self, PyObject*) {
  VarOf(self).ClearGrad();
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"numpy", MethodNumpy, METH_NOARGS,
     "numpy()\n--\n\nThe values as an independent, writable NumPy array."},
    {"item", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(MethodItem)), METH_FASTCALL,
     "item($self, /, *index)\n--\n\n"
     "One element as a Python number: of the only one, by its number, or by one int an axis.\n\n"
     "Raises\n------\nInvalidArgumentError\n"
     "    Without an index, where there is more than one element.\n"
     "OutOfRangeError\n    For an index outside.\n\n"
     "Examples\n--------\n>>> import dygraph\n"
     ">>> x = dygraph.to_variable([[1.0, 2.0], [3.0, 4.0]])\n"
     ">>> x.item(2), x.item(0, 1)\n(3.0, 2.0)\n"},
    {"detach", MethodDetach, METH_NOARGS,
     "detach()\n--\n\nThe same values without a past; no gradient flows through."},
    {"clear_gradient", MethodClearGradient, METH_NOARGS,
     "clear_gradient()\n--\n\nForgets the gradient."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyTypeObject VariableType{};

Variable& RequireVariable(PyObject* o, const char* what) {
  ENFORCE(IsVariable(o), Type, what, " must be a Variable, got ", Py_TYPE(o)->tp_name,
          ". Convert arrays and numbers with dygraph.to_variable()");
  return VarOf(o);
}

PyObject* Wrap(Ref<Variable> var) {
  if (__builtin_expect(!var, 0)) Py_RETURN_NONE;
  if (var->wrapper) {
    PyObject* existing = static_cast<PyObject*>(var->wrapper);
    Py_INCREF(existing);
    return existing;
  }
  PyTypeObject* type = &VariableType;
  WrapperState* state = static_cast<WrapperState*>(std::exchange(var->wrapper_state, nullptr));
  if (state) type = state->type;
  PyObject* self = NewWrapper(type);
  if (!self) ThrowPythonError();
  if (state) {
    AsPy(self)->dict = std::exchange(state->dict, nullptr);
    ReleaseState(state);
    if (AsPy(self)->dict) TrackWrapper(self);
  }
  var->wrapper = self;
  AsPy(self)->var = var.Detach();
  return self;
}

void MarkPart(PyObject* part, PyObject* of) {
  PyVariable *p = AsPy(part), *o = AsPy(of);
  if (part == of || p->whole || o->var->symbolic()) return;
  if (!o->whole || !o->whole->wrapper) {
    if (!o->own_whole) o->own_whole = new Whole{1, of};
    p->whole = o->own_whole;
  } else {
    p->whole = o->whole;
  }
  ++p->whole->holders;
}

void MarkAlias(PyObject* all, PyObject* of) {
  bool direct = !LivingWhole(VarOf(of)) || AsPy(of)->writes_through;
  MarkPart(all, of);
  AsPy(all)->writes_through = direct;
}

bool IsAlias(const Variable& v) {
  return LivingWhole(v) && static_cast<PyVariable*>(v.wrapper)->writes_through;
}

void RefusePart(const Variable& written) {
  PyObject* whole = LivingWhole(written);
  ENFORCE(!whole || IsAlias(written), PreconditionNotMet,
          "a part has values of its own, so a write into it does not reach the Variable of shape ",
          VarOf(whole).value().dims(),
          " that it was taken from by indexing, reshape, detach or the like. Write into that one: "
          "x[0, 1] = value in place of x[0][1] = value; or into a copy: y = x[0].clone()");
}

void WriteThrough(const Variable& written) {
  if (!IsAlias(written)) return;
  Variable& whole = VarOf(LivingWhole(written));
  whole.SetValue(written.value());
  whole.value_number = written.value_number;
}

void TrackWrapper(PyObject* self) {
  if (!PyObject_GC_IsTracked(self)) PyObject_GC_Track(self);
  AsPy(self)->tracked = true;
}

PyObject* WrapAs(Ref<Variable> var, PyTypeObject* type) {
  ENFORCE(!var->wrapper && !var->wrapper_state, PreconditionNotMet,
          "the variable has a wrapper already");
  Py_INCREF(reinterpret_cast<PyObject*>(type));
  var->wrapper_state = new WrapperState{type, nullptr};
  return Wrap(std::move(var));
}

void SetTypeAttribute(const char* name, PyObject* value) {
  SetSlotFunction(name, value);
  PyObject* quick = QuickMethod(name, value);
  PyErr_Clear();
  PyDict_SetItemString(VariableType.tp_dict, name, quick ? quick : value);
  Py_XDECREF(quick);
  PyType_Modified(&VariableType);
}

void SetForeignAttributes(PyObject* names) {
  Py_INCREF(names);
  Py_XSETREF(foreign_attributes, names);
}

void SetCountType(PyObject* type) {
  Py_INCREF(type);
  Py_XSETREF(count_type, type);
  if (!str_shape) str_shape = PyUnicode_InternFromString("_shape");
}

bool ReadyVariableType() {
  PyTypeObject& t = VariableType;
  Py_SET_REFCNT(&t, 1);
  t.tp_name = "dygraph.Variable";
  t.tp_doc =
      "Variable(value=None, lod=None, dtype=None, stop_gradient=True, name=None)\n--\n\n"
      "An eager variable: values, and a gradient where stop_gradient is False.";
  t.tp_basicsize = sizeof(PyVariable);
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
  t.tp_new = New;
  t.tp_init = Init;
  t.tp_dealloc = Dealloc;
  t.tp_traverse = Traverse;
  t.tp_clear = Clear;
  t.tp_free = PyObject_GC_Del;
  t.tp_setattro = SetAttr;
  t.tp_getattro = PyObject_GenericGetAttr;
  t.tp_dictoffset = offsetof(PyVariable, dict);
  t.tp_weaklistoffset = offsetof(PyVariable, weakrefs);
  PrepareCalls();
  AddNumberSlots(&t);
  AddSlots(&t);
  t.tp_hash = Hash;
  t.tp_getset = properties;
  t.tp_methods = methods;
  Variable::release_wrapper_state = ReleaseState;
  return PyType_Ready(&t) == 0;
}

}  // namespace dygraph::python
