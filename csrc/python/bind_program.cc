// Programs, recorder, scopes and the executor for Python.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "imperative/thread_state.h"
#include "imperative/transform.h"
#include "program/executor.h"
#include "program/inference_model.h"
#include "program/op_binding.h"
#include "program/prune.h"
#include "program/recorder.h"
#include "program/verify.h"
#include "program/wire.h"
#include "python/bind.h"
#include "python/caster.h"
#include "python/convert.h"
#include "python/errors.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

using program::BlockDesc;
using program::BlockIndices;
using program::OpDesc;
using program::PreparedProgram;
using program::ProgramDesc;
using program::Recorder;
using program::Recording;
using program::Scope;
using program::ScopeVar;
using program::VarDesc;
using VarRef = Ref<Variable>;
using ProgramRef = std::shared_ptr<const ProgramDesc>;
using ScopeRef = std::shared_ptr<Scope>;

py::object Steal(PyObject* o) {
  if (!o) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(o);
}

// Parts of a program keep it alive and are found by place: nothing dangles.
struct PyProgram {
  ProgramRef desc;
};
struct PyBlock {
  ProgramRef program;
  size_t index;
  const BlockDesc& desc() const { return program->blocks[index]; }
};
struct PyOp {
  ProgramRef program;
  size_t block, index;
  const OpDesc& desc() const { return program->blocks[block].ops[index]; }
};
struct PyVar {
  ProgramRef program;
  size_t block, index;
  const VarDesc& desc() const { return program->blocks[block].vars[index]; }
};

py::object AttrObject(const program::AttrValue& value) {
  return std::visit(
      [](const auto& v) -> py::object {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, program::BlockIndex>) {
          return py::int_(v.value);
        } else if constexpr (std::is_same_v<T, BlockIndices>) {
          return py::cast(v.values);
        } else {
          return py::cast(v);
        }
      },
      value);
}

std::vector<std::string> Arguments(const std::vector<OpDesc::Var>& slots, const std::string& slot, const char* side,
                                   const std::string& type) {
  for (const OpDesc::Var& var : slots) {
    if (var.parameter == slot) return var.arguments;
  }
  std::string known;
  for (const OpDesc::Var& var : slots) known += (known.empty() ? "" : ", ") + var.parameter;
  THROW(NotFound, type, ": there must be an ", side, " slot of the given name, got '", slot, "'. The slots are ", known);
}

std::vector<std::string> SlotNames(const std::vector<OpDesc::Var>& slots) {
  std::vector<std::string> names;
  for (const OpDesc::Var& var : slots) names.push_back(var.parameter);
  return names;
}

std::vector<std::string> ArgumentNames(const std::vector<OpDesc::Var>& slots) {
  std::vector<std::string> names;
  for (const OpDesc::Var& var : slots) names.insert(names.end(), var.arguments.begin(), var.arguments.end());
  return names;
}

py::dict SlotDict(const std::vector<OpDesc::Var>& slots) {
  py::dict dict;
  for (const OpDesc::Var& var : slots) dict[py::str(var.parameter)] = var.arguments;
  return dict;
}

py::object Attribute(const OpDesc& op, const std::string& name) {
  const program::AttrValue* value = op.FindAttr(name);
  ENFORCE(value, NotFound, op.type, ": there must be an attribute of the given name, got '", name, "'");
  return AttrObject(*value);
}

PyVar FindVar(const ProgramRef& program, size_t block, const std::string& name) {
  const BlockDesc& desc = program->blocks[block];
  const VarDesc* var = desc.FindVar(name);
  ENFORCE(var, NotFound, "block ", block, " must have the variable, got '", name, "'");
  return {program, block, static_cast<size_t>(var - desc.vars.data())};
}

Value ValueFromPython(py::handle o, DType dtype) {
  if (IsVariable(o.ptr())) return VarOf(o.ptr()).value();
  return Value(CopyTo(TensorFromPython(o.ptr(), dtype), CurrentThread().place));
}

// A variable of a scope, alive as long as the scope. Fluid's core.Tensor for its users.
struct PyScopeVar {
  ScopeRef scope;
  ScopeVar* var;
};

py::object ScopeVarOrNone(const ScopeRef& scope, ScopeVar* var) {
  return var ? py::cast(PyScopeVar{scope, var}) : py::none();
}

void BindDescriptions(py::module_& m) {
  py::class_<PyVar>(m, "VarDesc")
      .def_property_readonly("name", [](const PyVar& v) { return v.desc().name; })
      .def_property_readonly("persistable", [](const PyVar& v) { return v.desc().persistable.value_or(false); })
      .def_property_readonly("type", [](const PyVar& v) {
        const char* name = program::EnumName(v.desc().type.type);
        return std::string(name ? name : "unknown");
      })
      .def_property_readonly("dtype", [](const PyVar& v) -> py::object {
        DType dtype = program::ElementType(v.desc());
        return dtype == DType::kUnset ? py::none() : Steal(DTypeToPython(dtype));
      })
      .def_property_readonly("shape", [](const PyVar& v) -> py::object {
        const auto* tensor = program::TensorOf(v.desc());
        return tensor ? py::object(py::tuple(py::cast(tensor->dims))) : py::none();
      })
      .def_property_readonly("lod_level", [](const PyVar& v) {
        const auto& tensor = v.desc().type.lod_tensor;
        return tensor ? tensor->lod_level.value_or(0) : 0;
      })
      .def("to_string", [](const PyVar& v) { return program::ToText(v.desc()); });
  py::class_<PyOp>(m, "OpDesc")
      .def_property_readonly("type", [](const PyOp& o) { return o.desc().type; })
      .def_property_readonly("input_names", [](const PyOp& o) { return SlotNames(o.desc().inputs); })
      .def_property_readonly("output_names", [](const PyOp& o) { return SlotNames(o.desc().outputs); })
      .def_property_readonly("input_arg_names", [](const PyOp& o) { return ArgumentNames(o.desc().inputs); })
      .def_property_readonly("output_arg_names", [](const PyOp& o) { return ArgumentNames(o.desc().outputs); })
      .def_property_readonly("inputs", [](const PyOp& o) { return SlotDict(o.desc().inputs); })
      .def_property_readonly("outputs", [](const PyOp& o) { return SlotDict(o.desc().outputs); })
      .def_property_readonly("attr_names", [](const PyOp& o) {
        std::vector<std::string> names;
        for (const OpDesc::Attr& a : o.desc().attrs) names.push_back(a.name);
        return names;
      })
      .def_property_readonly("attrs", [](const PyOp& o) {
        py::dict dict;
        for (const OpDesc::Attr& a : o.desc().attrs) dict[py::str(a.name)] = AttrObject(a.value);
        return dict;
      })
      .def("input", [](const PyOp& o, const std::string& slot) {
        return Arguments(o.desc().inputs, slot, "input", o.desc().type);
      })
      .def("output", [](const PyOp& o, const std::string& slot) {
        return Arguments(o.desc().outputs, slot, "output", o.desc().type);
      })
      .def("attr", [](const PyOp& o, const std::string& name) { return Attribute(o.desc(), name); })
      .def("has_attr", [](const PyOp& o, const std::string& name) { return o.desc().FindAttr(name) != nullptr; })
      .def("attr_type", [](const PyOp& o, const std::string& name) {
        Attribute(o.desc(), name);
        return program::EnumName(static_cast<program::AttrType>(o.desc().FindAttr(name)->index()));
      })
      .def("to_string", [](const PyOp& o) { return program::ToText(o.desc()); });
  py::class_<PyBlock>(m, "BlockDesc")
      .def_property_readonly("idx", [](const PyBlock& b) { return b.desc().idx; })
      .def_property_readonly("parent_idx", [](const PyBlock& b) { return b.desc().parent_idx; })
      .def_property_readonly("ops", [](const PyBlock& b) {
        std::vector<PyOp> ops;
        for (size_t i = 0; i < b.desc().ops.size(); ++i) ops.push_back({b.program, b.index, i});
        return ops;
      })
      .def_property_readonly("vars", [](const PyBlock& b) {
        py::dict vars;
        for (size_t i = 0; i < b.desc().vars.size(); ++i) {
          vars[py::str(b.desc().vars[i].name)] = PyVar{b.program, b.index, i};
        }
        return vars;
      })
      .def("has_var", [](const PyBlock& b, const std::string& name) { return b.desc().FindVar(name) != nullptr; })
      .def("var", [](const PyBlock& b, const std::string& name) { return FindVar(b.program, b.index, name); })
      .def("var_recursive", [](const PyBlock& b, const std::string& name) {
        for (int32_t i : b.program->VisibleBlocks(b.desc().idx)) {
          if (b.program->blocks[i].FindVar(name)) return FindVar(b.program, i, name);
        }
        THROW(NotFound, "block ", b.index, " and the blocks around it must have the variable, got '", name, "'");
      })
      .def("to_string", [](const PyBlock& b) { return program::ToText(b.desc()); });
  py::class_<PyProgram>(m, "Program")
      .def("to_bytes", [](const PyProgram& p) { return py::bytes(program::SerializeProgram(*p.desc)); })
      .def("to_text", [](const PyProgram& p) { return program::ToText(*p.desc); })
      .def("verify", [](const PyProgram& p) {
        program::Verify(*p.desc);
        program::CheckOperators(*p.desc);
      })
      .def_property_readonly("num_blocks", [](const PyProgram& p) { return p.desc->blocks.size(); })
      .def("block", [](const PyProgram& p, size_t i) {
        ENFORCE(i < p.desc->blocks.size(), OutOfRange, "the program has ", p.desc->blocks.size(), " blocks, got block ", i);
        return PyBlock{p.desc, i};
      })
      .def_property_readonly("feed_names", [](const PyProgram& p) { return program::FeedNames(*p.desc); })
      .def_property_readonly("fetch_names", [](const PyProgram& p) { return program::FetchNames(*p.desc); });
  m.def("prune", [](const PyProgram& p, const std::vector<std::string>& feeds, const std::vector<std::string>& fetches) {
    return PyProgram{std::make_shared<const ProgramDesc>(program::Prune(*p.desc, feeds, fetches))};
  });
  m.def("program_from_bytes", [](const py::bytes& bytes) {
    return PyProgram{std::make_shared<const ProgramDesc>(program::ParseProgram(std::string_view(bytes)))};
  });
}

void BindRecorder(py::module_& m) {
  py::class_<Recording>(m, "Recording")
      .def_property_readonly("program", [](const Recording& r) {
        return PyProgram{std::make_shared<const ProgramDesc>(r.program)};
      })
      .def_property_readonly("feeds", [](const Recording& r) { return r.feeds; })
      .def_property_readonly("fetches", [](const Recording& r) { return r.fetches; })
      .def("generalize", [](Recording& r, const Recording& second) { program::Generalize(&r, second); })
      .def("fill_scope", [](const Recording& r, const ScopeRef& scope) {
        for (const auto& [name, value] : r.weights) scope->Var(name).value = value;
      });
  // Another Variable of the same value, unknown to recorders; and back again where the value changed.
  m.def("snapshot", [](const VarRef& v) { return Variable::Make(v->value()); });
  m.def("restore", [](const VarRef& v, const VarRef& saved) {
    const Value &now = v->value(), &then = saved->value();
    bool same = now.is_tensor() && then.is_tensor() && now.tensor().storage() == then.tensor().storage() &&
                now.dims() == then.dims();
    if (!same) v->SetValue(then);
  });
  py::class_<Recorder>(m, "Recorder")
      .def(py::init([](py::function where) {
        return std::make_unique<Recorder>([where] { return py::cast<std::string>(where()); });
      }))
      .def("add_feed", [](Recorder& r, const VarRef& v, const std::string& name) { return r.AddFeed(*v, name); })
      .def("add_parameter", [](Recorder& r, const VarRef& v, const std::string& name) { r.AddParameter(*v, name); })
      .def("start", [](Recorder& r) { AddListener(&r); })
      .def("stop", [](Recorder& r) { RemoveListener(&r); })
      .def("finish", [](Recorder& r, const std::vector<VarRef>& outputs) {
        std::vector<Variable*> list;
        for (const VarRef& v : outputs) list.push_back(v.get());
        return r.Finish(list);
      });
}

void BindScope(py::module_& m) {
  py::class_<PyScopeVar>(m, "ScopeVariable")
      .def("get", [](const PyScopeVar& v) { return Variable::Make(v.var->value); },
           "The value as a Variable: its own from here on.")
      .def("set", [](PyScopeVar& v, py::object value, py::object place) {
        Value next = ValueFromPython(value, DType::kUnset);
        if (!place.is_none()) next = Value(CopyTo(next.tensor(), PlaceFromPython(place.ptr())));
        v.var->value = std::move(next);
      }, py::arg("value"), py::arg("place") = py::none())
      .def("is_empty", [](const PyScopeVar& v) { return v.var->value.empty(); });
  py::class_<Scope, ScopeRef>(m, "Scope")
      .def(py::init(&Scope::Make))
      .def("var", [](const ScopeRef& s, const std::string& name) { return PyScopeVar{s, &s->Var(name)}; })
      .def("find_var", [](const ScopeRef& s, const std::string& name) { return ScopeVarOrNone(s, s->FindVar(name)); })
      .def("get_var", [](const ScopeRef& s, const std::string& name) { return PyScopeVar{s, &s->GetVar(name)}; })
      .def("new_scope", &Scope::NewScope)
      .def("drop_kids", &Scope::DropKids)
      .def_property_readonly("parent", &Scope::parent)
      .def_property_readonly("kids", &Scope::kids)
      .def("local_var_names", &Scope::LocalNames);
}

void BindExecutor(py::module_& m) {
  py::class_<PreparedProgram, std::shared_ptr<PreparedProgram>>(m, "PreparedProgram")
      .def(py::init([](const PyProgram& program, const ScopeRef& scope, std::vector<std::string> feeds,
                       std::vector<std::string> fetches, py::object place) {
        Place at = place.is_none() ? CurrentThread().place : PlaceFromPython(place.ptr());
        return std::make_shared<PreparedProgram>(program.desc, scope, std::move(feeds), std::move(fetches), at);
      }))
      .def_property_readonly("feeds", [](const PreparedProgram& p) { return p.feeds(); })
      .def_property_readonly("fetches", [](const PreparedProgram& p) { return p.fetches(); })
      .def_property_readonly("operators", &PreparedProgram::operators)
      // streams: (seed, number of the first random call), to repeat what an eager run drew.
      .def("run", [](PreparedProgram& p, const py::list& feeds, py::object streams) {
        std::vector<Value> values;
        for (py::handle feed : feeds) values.push_back(ValueFromPython(feed, DType::kUnset));
        std::vector<Value> results;
        if (streams.is_none()) {
          results = p.Run(values);
        } else {
          auto [seed, first] = py::cast<std::pair<uint64_t, uint64_t>>(streams);
          results = p.Run(values, {seed, first});
        }
        py::list list;
        for (Value& value : results) list.append(Steal(Wrap(Variable::Make(std::move(value)))));
        return list;
      }, py::arg("feeds"), py::arg("streams") = py::none());
  m.def("save_inference_model", [](const std::string& dirname, const PyProgram& program, const ScopeRef& scope) {
    program::SaveInferenceModel(dirname, *program.desc, *scope);
  });
  m.def("load_inference_model", [](const std::string& dirname, const ScopeRef& scope) {
    return PyProgram{std::make_shared<const ProgramDesc>(program::LoadInferenceModel(dirname, scope.get()))};
  });
}

}  // namespace

void BindProgram(py::module_& m) {
  BindDescriptions(m);
  BindRecorder(m);
  BindScope(m);
  BindExecutor(m);
}

}  // namespace dygraph::python
