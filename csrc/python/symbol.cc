#include "python/symbol.h"

#include <pybind11/stl.h>
#include <structmember.h>

#include <cstring>
#include <utility>

#include "program/describe.h"
#include "program/infer.h"
#include "program/op_binding.h"
#include "program/open_attrs.h"
#include "python/attributes.h"
#include "python/errors.h"
#include "python/holder.h"
#include "python/open_inputs.h"
#include "python/steal.h"
#include "tape/describe.h"
#include "tape/thread_state.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

using program::Block;
using program::OpDesc;
using program::Program;
using program::Var;
using program::VarDesc;
using program::VarRef;

// Set by `dygraph.static` and never freed: calls may come until the process ends.
struct Statics {
  PyObject* variable_class = nullptr;
  PyObject* parameter_class = nullptr;
  PyObject* operator_class = nullptr;
  PyObject* current = nullptr;   // gives the program of calls without inputs, as _core.Program
  PyObject* generate = nullptr;  // a name that no layer has
  PyObject* write = nullptr;     // write(target, result)
} statics;
std::vector<std::string> own_folders;

py::handle Required(PyObject* o) {
  ENFORCE(o, PreconditionNotMet, "programs are described by dygraph.static: import it first");
  return o;
}

PySymbol* AsSymbol(PyObject* o) { return reinterpret_cast<PySymbol*>(o); }

int Traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(AsSymbol(self)->block);
  return VariableType.tp_traverse(self, visit, arg);
}

int Clear(PyObject* self) {
  Py_CLEAR(AsSymbol(self)->block);
  return VariableType.tp_clear(self);
}

void Dealloc(PyObject* self) {
  if (PyObject_GC_IsTracked(self)) PyObject_GC_UnTrack(self);
  if (Var* var = std::exchange(AsSymbol(self)->var, nullptr)) var->Release();
  Py_CLEAR(AsSymbol(self)->block);
  VariableType.tp_dealloc(self);
}

PyObject* New(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError,
                  "a variable of a program is declared in a block: write block.create_var(...)");
  return nullptr;
}

PyObject* GetDesc(PyObject* self, void*) {
  return Guarded([&]() -> PyObject* {
    Var* var = AsSymbol(self)->var;
    if (!var) Py_RETURN_NONE;
    return py::cast(VarRef(var)).release().ptr();
  });
}

PyObject* GetStopGradient(PyObject* self, void*) {
  Var* var = AsSymbol(self)->var;
  return PyBool_FromLong(var ? var->stop_gradient() : VarOf(self).stop_gradient());
}

int SetStopGradient(PyObject* self, PyObject* value, void*) {
  int truth = value ? PyObject_IsTrue(value) : -1;
  if (!value) PyErr_SetString(PyExc_AttributeError, "stop_gradient cannot be deleted");
  if (truth < 0) return -1;
  PyObject* done = Guarded([&]() -> PyObject* {
    // Scripts of Fluid's set it on counters, too; without a gradient there is nothing to stop.
    const Value& value = VarOf(self).value();
    if (!truth && value.is_tensor() && !IsInexact(value.dtype())) Py_RETURN_NONE;
    VarOf(self).set_stop_gradient(truth);
    if (Var* var = AsSymbol(self)->var) var->set_stop_gradient(truth);
    Py_RETURN_NONE;
  });
  Py_XDECREF(done);
  return done ? 0 : -1;
}

PyGetSetDef properties[] = {{"desc", GetDesc, nullptr, "What it stands for in its block.", nullptr},
                            {"stop_gradient", GetStopGradient, SetStopGradient,
                             "True: no gradient flows into or through it.", nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef members[] = {
    {"block", T_OBJECT_EX, offsetof(PySymbol, block), READONLY, "Where it is declared."},
    {nullptr, 0, 0, 0, nullptr}};

// The Variable shows what the description says.
void Show(Variable& variable, const VarDesc& desc, bool stop_gradient) {
  variable.fresh_value() = program::ValueOf(desc);
  variable.set_name(desc.name);
  variable.persistable = desc.persistable.value_or(false);
  const Value& value = variable.value();
  bool floating = !value.empty() && IsInexact(value.dtype());
  variable.set_stop_gradient(stop_gradient || !floating);
}

void Attach(PyObject* wrapper, Var& var) {
  var.Retain();
  AsSymbol(wrapper)->var = &var;
  StandIn(wrapper, var);
}

// Calls on symbolic variables ---------------------------------------------------------------------

Program& ProgramOf(const EagerCall& call) {
  auto program_of = [&](Variable* v) -> Program* {
    Var* var = v && v->symbolic() ? DescribedBy(*v) : nullptr;
    if (!var) return nullptr;
    ENFORCE(var->block() && var->block()->program(), PreconditionNotMet, call.op.type,
            ": its variables must stand in a program, but '", var->name(),
            "' was taken out of its block");
    return var->block()->program();
  };
  for (Variable* v : call.in.flat()) {
    if (Program* program = program_of(v)) return *program;
  }
  if (call.options.open) {
    for (const OpenInput& open : *call.options.open) {
      for (const Ref<Variable>& v : open.variables) {
        if (Program* program = program_of(v.get())) return *program;
      }
    }
  }
  return py::cast<Program&>(Required(statics.current)());
}

// A name means the variable of the nearest block that declares it.
void NotSeen(const Block& block, const Var& var, const std::string& type) {
  const Var* nearest = block.FindRecursive(var.name());
  ENFORCE(!nearest, PreconditionNotMet, type, ": in block ", block.idx(), " the name '", var.name(),
          "' means the variable that ", nearest->made_at, " made there, not the one of block ",
          var.block()->idx(), ". Use a copy that was made outside, with static.layers.assign");
  THROW(PreconditionNotMet, type, ": '", var.name(), "' is a variable of block ",
        var.block()->idx(), ", made at ", var.made_at,
        ", and ends with it. Write it to a variable "
        "that was made before the block, with static.layers.assign(value, output=variable)");
}

// The name of a variable in the program; an eager parameter enters it.
std::string NameIn(Program& program, const Block& block, Variable* v, const std::string& type) {
  if (!v) return program::kEmptyName;
  Var* var = v->symbolic() ? DescribedBy(*v) : nullptr;
  if (var && var->block() && var->block()->program() == &program) {
    if (var->block() != &block && block.FindRecursive(var->name()) != var)
      NotSeen(block, *var, type);
    return var->name();
  }
  py::object owner = py::handle(static_cast<PyObject*>(block.face())).attr("program");
  py::object given = py::reinterpret_steal<py::object>(Wrap(Ref<Variable>(v)));
  return py::cast<std::string>(owner.attr("name_of")(given, type));
}

// Gives the names of the results of one call.
class ResultNames {
 public:
  ResultNames(Program& program, const std::string& type) : program_(program) {
    if (program.layers.empty()) own_.name = py::cast<std::string>(Required(statics.generate)(type));
  }
  std::string operator()() {
    Program::Layer& layer = program_.layers.empty() ? own_ : program_.layers.back();
    return layer.name + ".tmp_" + std::to_string(layer.results++);
  }

 private:
  Program& program_;
  Program::Layer own_;
};

void AppendCall(const EagerCall& call) {
  const std::string& type = call.op.type;
  Program& program = ProgramOf(call);
  Block& block = *program.blocks().at(program.stack.back());
  ENFORCE(block.face(), PreconditionNotMet, type,
          ": the program must be alive while it is described, but it was deleted. Keep a reference "
          "to it");
  OpDesc op;
  op.type = type;
  op.attrs.reserve(call.attrs->table().fields.size() + 8);
  program::WriteAttrs(*call.attrs, &op, AnyFloat64(call.in) || AnyFloat64(call.out));
  op.inputs.reserve(call.op.inputs.size());
  for (size_t s = 0; s < call.op.inputs.size(); ++s) {
    OpDesc::Var& slot = op.inputs.emplace_back();
    slot.parameter = call.op.inputs[s].name;
    int count = call.in.count(static_cast<int>(s));
    slot.arguments.reserve(count);
    for (int i = 0; i < count; ++i)
      slot.arguments.push_back(NameIn(program, block, call.in.at(static_cast<int>(s), i), type));
  }
  if (call.options.open) {
    for (const OpenInput& open : *call.options.open) {
      std::vector<std::string> given;
      for (const Ref<Variable>& v : open.variables)
        given.push_back(NameIn(program, block, v.get(), type));
      program::GiveBy(&op, call.attrs->table().fields[open.field].name, std::move(given),
                      open.list);
    }
  }
  ResultNames names(program, type);
  std::string line = UserLine();
  std::vector<VarRef> made;
  op.outputs.reserve(call.op.outputs.size());
  for (size_t s = 0; s < call.op.outputs.size(); ++s) {
    int count = call.out.count(static_cast<int>(s));
    if (count == 0) continue;
    OpDesc::Var& slot = op.outputs.emplace_back();
    slot.parameter = call.op.outputs[s].name;
    for (int i = 0; i < count; ++i) {
      Variable* v = call.out.at(static_cast<int>(s), i);
      Variable* target = call.targets ? call.targets->at(static_cast<int>(s), i) : nullptr;
      if (target || !v) {
        slot.arguments.push_back(NameIn(program, block, target, type));
        continue;
      }
      VarRef var = program::DeclareResult(program, block, v->value(), names);
      var->made_at = line;
      var->set_stop_gradient(v->stop_gradient());
      v->set_name(var->name());
      py::object face = py::reinterpret_steal<py::object>(
          WrapAs(Ref<Variable>(v), reinterpret_cast<PyTypeObject*>(statics.variable_class)));
      Attach(face.ptr(), *var);
      slot.arguments.push_back(var->name());
      made.push_back(std::move(var));
    }
  }
  program::InferLevels(block, call.op, op, made);
  program::Mark(program, {std::move(line)}, nullptr, &op);
  block.Insert(block.ops().size(), MakeRef<program::Op>(std::move(op)));
}

bool IsOwnFile(const char* file) {
  for (const std::string& folder : own_folders) {
    if (std::strncmp(file, folder.c_str(), folder.size()) == 0) return true;
  }
  return false;
}

const char* Text(PyObject* text) {
  const char* utf8 = text ? PyUnicode_AsUTF8(text) : nullptr;
  if (!utf8) PyErr_Clear();  // a path that is no text
  return utf8 ? utf8 : "?";
}

}  // namespace

PyTypeObject SymbolType{};

bool ReadySymbolType() {
  PyTypeObject& t = SymbolType;
  Py_SET_REFCNT(&t, 1);
  t.tp_name = "dygraph._core.Symbol";
  t.tp_doc = "A variable of a program.";
  t.tp_base = &VariableType;
  t.tp_basicsize = sizeof(PySymbol);
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
  t.tp_new = New;
  t.tp_dealloc = Dealloc;
  t.tp_traverse = Traverse;
  t.tp_clear = Clear;
  t.tp_hash = VariableType.tp_hash;
  t.tp_richcompare = VariableType.tp_richcompare;
  t.tp_getset = properties;
  t.tp_members = members;
  return PyType_Ready(&t) == 0;
}

Var* DescribedBy(const Variable& variable) {
  PyObject* wrapper = static_cast<PyObject*>(variable.wrapper);
  if (!wrapper || !PyType_IsSubtype(Py_TYPE(wrapper), &SymbolType)) return nullptr;
  return AsSymbol(wrapper)->var;
}

void StandIn(py::handle symbol, Var& var) {
  PyObject* block = static_cast<PyObject*>(var.block()->face());
  Py_XINCREF(block);
  Py_XSETREF(AsSymbol(symbol.ptr())->block, block);
  SetFace(&var, symbol);
}

void SetFace(program::Faced* part, py::handle face) {
  if (part->face() == face.ptr()) return;
  part->ReleaseFace();
  if (!face) return;
  Py_INCREF(face.ptr());
  part->set_face(face.ptr());
}

py::object FaceOf(program::Op& op) {
  if (op.face()) return py::reinterpret_borrow<py::object>(static_cast<PyObject*>(op.face()));
  ENFORCE(op.block() && op.block()->face(), PreconditionNotMet, op.desc().type,
          ": the operator must be in its block, but it was taken out");
  py::object block = py::reinterpret_borrow<py::object>(static_cast<PyObject*>(op.block()->face()));
  py::object made = Required(statics.operator_class)(block, program::OpRef(&op));
  if (!op.face()) SetFace(&op, made);  // another thread may have come first
  return py::reinterpret_borrow<py::object>(static_cast<PyObject*>(op.face()));
}

py::object FaceOf(Var& var, PyTypeObject* type) {
  if (var.face()) return py::reinterpret_borrow<py::object>(static_cast<PyObject*>(var.face()));
  ENFORCE(var.block() && var.block()->face(), PreconditionNotMet, "the variable '", var.name(),
          "' must be in its block, but it was taken out");
  if (!type) {
    bool parameter = var.desc().is_parameter.value_or(false);
    type = reinterpret_cast<PyTypeObject*>(
        Required(parameter ? statics.parameter_class : statics.variable_class).ptr());
  }
  Ref<Variable> variable = Variable::Make();
  variable->set_symbolic();
  Show(*variable, var.desc(), var.stop_gradient());
  py::object made = py::reinterpret_steal<py::object>(WrapAs(std::move(variable), type));
  if (!var.face()) Attach(made.ptr(), var);
  return py::reinterpret_borrow<py::object>(static_cast<PyObject*>(var.face()));
}

std::string UserLine() {
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  while (frame) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const char* file = Text(code->co_filename);
    if (!IsOwnFile(file)) {
      std::string line = std::string(file) + ":" + std::to_string(PyFrame_GetLineNumber(frame)) +
                         " in " + Text(code->co_name);
      Py_DECREF(code);
      Py_DECREF(frame);
      return line;
    }
    Py_DECREF(code);
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  return "an unknown line";
}

void WriteInProgram(const Ref<Variable>& target, const Ref<Variable>& result) {
  py::object to = py::reinterpret_steal<py::object>(Wrap(target));
  Required(statics.write)(to, py::reinterpret_steal<py::object>(Wrap(result)));
}

void BindSymbols(py::module_& m) {
  if (!ReadySymbolType()) throw py::error_already_set();
  Py_INCREF(reinterpret_cast<PyObject*>(&SymbolType));
  m.add_object("Symbol", py::handle(reinterpret_cast<PyObject*>(&SymbolType)));
  program::Faced::hooks().release = [](void* face) { Py_DECREF(static_cast<PyObject*>(face)); };
  program::Faced::hooks().changed = [](void* face, const VarDesc& desc) {
    auto* symbol = static_cast<PyObject*>(face);
    Show(VarOf(symbol), desc, AsSymbol(symbol)->var->stop_gradient());
  };
  m.def("set_describing", [](bool on) { return CurrentThread().SetDescribing(on); });
  m.def("set_static", [](py::type variable, py::type parameter, py::type op, py::function current,
                         py::function generate, py::function write) {
    statics = {variable.release().ptr(), parameter.release().ptr(), op.release().ptr(),
               current.release().ptr(),  generate.release().ptr(),  write.release().ptr()};
    SetDescribeCall(&AppendCall, &UserLine);
  });
  // {type: {name: (wire type, value)}}
  m.def("set_hints", [](const py::dict& hints) {
    program::TheHints().clear();
    for (auto [type, attrs] : hints) {
      auto& list = program::TheHints()[py::cast<std::string>(type)];
      for (auto [name, hint] : py::reinterpret_borrow<py::dict>(attrs)) {
        auto [kind, value] = py::cast<std::pair<std::string, py::object>>(hint);
        list.push_back({py::cast<std::string>(name), AttrOfType(value, kind), {}});
      }
    }
  });
  m.def("set_own_folders",
        [](std::vector<std::string> folders) { own_folders = std::move(folders); });
  m.def("user_line", &UserLine,
        "``/home/me/model.py:12 in forward``: the newest frame that is not of this library.");
  m.def("is_own_file", [](const char* file) { return IsOwnFile(file); });
  m.def("is_literal", [](const Given& variable) { return variable->literal; });
  m.def(
      "holds_symbol", [](py::handle value) { return HoldsSymbol(value.ptr()); },
      "Whether it is a variable of a program, or a list that holds one.");
  m.def("is_symbol", [](const Given& variable) { return variable->symbolic(); });
}

}  // namespace dygraph::python
