// Descriptions of programs for Python: operators and variables one by one, to be edited and put in
// order there, and whole programs made of them.
#include "python/bind_descriptions.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "execute/executor.h"
#include "files/inference_model.h"
#include "passes/prune.h"
#include "program/backward.h"
#include "program/infer.h"
#include "program/op_binding.h"
#include "program/verify.h"
#include "program/wire.h"
#include "python/attributes.h"
#include "python/bind.h"
#include "python/caster.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/steal.h"
#include "python/wrapper.h"
#include "tape/describe.h"
#include "tape/thread_state.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

using program::BlockDesc;
using program::BlockIndices;
using program::OpDesc;
using program::ProgramDesc;
using program::VarDesc;
using program::VarType;
using OpHandle = std::shared_ptr<OpDesc>;
using VarHandle = std::shared_ptr<VarDesc>;
using Names = std::vector<std::string>;

// Slots -------------------------------------------------------------------------------------------

Names Arguments(const std::vector<OpDesc::Var>& slots, const std::string& slot, const char* side,
                const std::string& type) {
  for (const OpDesc::Var& var : slots) {
    if (var.parameter == slot) return var.arguments;
  }
  std::string known;
  for (const OpDesc::Var& var : slots) known += (known.empty() ? "" : ", ") + var.parameter;
  THROW(NotFound, type, ": there must be an ", side, " slot of the given name, got '", slot,
        "'. The slots are ", known);
}

Names SlotNames(const std::vector<OpDesc::Var>& slots) {
  Names names;
  for (const OpDesc::Var& var : slots) names.push_back(var.parameter);
  return names;
}

Names ArgumentNames(const std::vector<OpDesc::Var>& slots) {
  Names names;
  for (const OpDesc::Var& var : slots)
    names.insert(names.end(), var.arguments.begin(), var.arguments.end());
  return names;
}

py::dict SlotDict(const std::vector<OpDesc::Var>& slots) {
  py::dict dict;
  for (const OpDesc::Var& var : slots) dict[py::str(var.parameter)] = var.arguments;
  return dict;
}

void SetArguments(std::vector<OpDesc::Var>& slots, const std::string& slot, Names names) {
  for (OpDesc::Var& var : slots) {
    if (var.parameter == slot) {
      var.arguments = std::move(names);
      return;
    }
  }
  slots.push_back({slot, std::move(names), {}});
}

void Rename(std::vector<OpDesc::Var>& slots, const std::string& from, const std::string& to) {
  for (OpDesc::Var& var : slots) std::replace(var.arguments.begin(), var.arguments.end(), from, to);
}

// Variables ---------------------------------------------------------------------------------------

VarType::Type TypeOfName(const std::string& name) {
  for (int32_t i = 0; i <= static_cast<int32_t>(VarType::Type::SPARSE_CSR); ++i) {
    const char* known = program::EnumName(static_cast<VarType::Type>(i));
    if (known && name == known) return static_cast<VarType::Type>(i);
  }
  THROW(InvalidArgument, "the type of a variable must be one of VarType's, got '", name, "'");
}

VarType::TensorDesc& TensorFor(VarDesc& var) {
  if (var.type.type == VarType::Type::SELECTED_ROWS) {
    if (!var.type.selected_rows) var.type.selected_rows.emplace();
    return *var.type.selected_rows;
  }
  if (var.type.type == VarType::Type::LOD_TENSOR_ARRAY) {
    if (!var.type.tensor_array) var.type.tensor_array.emplace();
    return var.type.tensor_array->tensor;
  }
  ENFORCE(var.type.type == VarType::Type::LOD_TENSOR, InvalidArgument, "the variable '", var.name,
          "' holds no tensor, so it has neither shape nor element type, got one for a ",
          program::EnumName(var.type.type));
  if (!var.type.lod_tensor) var.type.lod_tensor.emplace();
  return var.type.lod_tensor->tensor;
}

const VarType::TensorDesc* TensorIn(const VarDesc& var) {
  if (var.type.tensor_array) return &var.type.tensor_array->tensor;
  return program::TensorOf(var);
}

void BindVariables(py::module_& m) {
  py::class_<VarDesc, VarHandle>(m, "VarDesc")
      .def(py::init([](std::string name, const std::string& type) {
             auto var = std::make_shared<VarDesc>();
             var->name = std::move(name);
             var->type.type = TypeOfName(type);
             return var;
           }),
           py::arg("name"), py::arg("type") = "LOD_TENSOR")
      .def("copy", [](const VarDesc& v) { return std::make_shared<VarDesc>(v); })
      .def_readwrite("name", &VarDesc::name)
      .def_readwrite("persistable", &VarDesc::persistable)
      .def_readwrite("need_check_feed", &VarDesc::need_check_feed)
      .def_readwrite("is_parameter", &VarDesc::is_parameter)
      .def_readwrite("stop_gradient", &VarDesc::stop_gradient)
      .def_property(
          "type",
          [](const VarDesc& v) {
            const char* name = program::EnumName(v.type.type);
            return std::string(name ? name : "unknown");
          },
          [](VarDesc& v, const std::string& name) { v.type.type = TypeOfName(name); })
      .def_property(
          "dtype",
          [](const VarDesc& v) -> py::object {
            DType dtype = program::ElementType(v);
            return dtype == DType::kUnset ? py::none() : Steal(DTypeToPython(dtype));
          },
          [](VarDesc& v, py::handle dtype) {
            TensorFor(v).data_type = program::WireType(DTypeFromPython(dtype.ptr()));
          })
      .def_property(
          "shape",
          [](const VarDesc& v) -> py::object {
            const auto* tensor = TensorIn(v);
            return tensor ? py::object(py::tuple(py::cast(tensor->dims))) : py::none();
          },
          [](VarDesc& v, std::vector<int64_t> shape) { TensorFor(v).dims = std::move(shape); })
      .def_property(
          "lod_level",
          [](const VarDesc& v) -> py::object {
            if (v.type.tensor_array) return py::cast(v.type.tensor_array->lod_level);
            return v.type.lod_tensor ? py::cast(v.type.lod_tensor->lod_level) : py::none();
          },
          [](VarDesc& v, int32_t level) {
            TensorFor(v);
            if (v.type.tensor_array) v.type.tensor_array->lod_level = level;
            if (v.type.lod_tensor) v.type.lod_tensor->lod_level = level;
          })
      .def("to_string", [](const VarDesc& v) { return program::ToText(v); });
  // The Variable stands for the described one from here on: its name, shape and type.
  m.def("make_symbol", [](const Given& variable, const VarDesc& desc) {
    variable->fresh_value() = program::ValueOf(desc);
    variable->set_symbolic();
    variable->set_name(desc.name);
    variable->persistable = desc.persistable.value_or(false);
  });
  m.def("describe_value",
        [](VarDesc& desc, const Given& variable) { program::Describe(variable->value(), &desc); });
  m.def("is_literal", [](const Given& variable) { return variable->literal; });
  m.def("is_symbol", [](const Given& variable) { return variable->symbolic(); });
}

// Operators ---------------------------------------------------------------------------------------

void BindOperators(py::module_& m) {
  py::class_<OpDesc, OpHandle>(m, "OpDesc")
      .def(py::init([](std::string type) {
             auto op = std::make_shared<OpDesc>();
             op->type = std::move(type);
             return op;
           }),
           py::arg("type"))
      .def("copy", [](const OpDesc& o) { return std::make_shared<OpDesc>(o); })
      .def_readonly("type", &OpDesc::type)
      .def_property_readonly("input_names", [](const OpDesc& o) { return SlotNames(o.inputs); })
      .def_property_readonly("output_names", [](const OpDesc& o) { return SlotNames(o.outputs); })
      .def_property_readonly("input_arg_names",
                             [](const OpDesc& o) { return ArgumentNames(o.inputs); })
      .def_property_readonly("output_arg_names",
                             [](const OpDesc& o) { return ArgumentNames(o.outputs); })
      .def_property_readonly("inputs", [](const OpDesc& o) { return SlotDict(o.inputs); })
      .def_property_readonly("outputs", [](const OpDesc& o) { return SlotDict(o.outputs); })
      .def_property_readonly("attr_names",
                             [](const OpDesc& o) {
                               Names names;
                               for (const OpDesc::Attr& a : o.attrs) names.push_back(a.name);
                               return names;
                             })
      .def_property_readonly("attrs",
                             [](const OpDesc& o) {
                               py::dict dict;
                               for (const OpDesc::Attr& a : o.attrs)
                                 dict[py::str(a.name)] = AttrObject(a.value);
                               return dict;
                             })
      .def("input",
           [](const OpDesc& o, const std::string& slot) {
             return Arguments(o.inputs, slot, "input", o.type);
           })
      .def("output",
           [](const OpDesc& o, const std::string& slot) {
             return Arguments(o.outputs, slot, "output", o.type);
           })
      .def("attr", &Attribute)
      .def("has_attr",
           [](const OpDesc& o, const std::string& name) { return o.FindAttr(name) != nullptr; })
      .def("attr_type",
           [](const OpDesc& o, const std::string& name) {
             Attribute(o, name);
             return program::EnumName(static_cast<program::AttrType>(o.FindAttr(name)->index()));
           })
      .def("set_input", [](OpDesc& o, const std::string& slot,
                           Names names) { SetArguments(o.inputs, slot, std::move(names)); })
      .def("set_output", [](OpDesc& o, const std::string& slot,
                            Names names) { SetArguments(o.outputs, slot, std::move(names)); })
      .def("rename_input", [](OpDesc& o, const std::string& from,
                              const std::string& to) { Rename(o.inputs, from, to); })
      .def("rename_output", [](OpDesc& o, const std::string& from,
                               const std::string& to) { Rename(o.outputs, from, to); })
      .def("set_attr", &SetAttr, py::arg("name"), py::arg("value"), py::arg("type") = py::none())
      // What all operators of a program carry, and hints, a dict of names to (type, value) or None,
      // where they have none yet.
      .def("mark",
           [](OpDesc& o, int32_t role, Names role_var, std::string scope, std::string device,
              Names callstack, const py::object& hints) {
             o.SetAttr("op_role", role);
             o.SetAttr("op_role_var", std::move(role_var));
             o.SetAttr("op_namescope", std::move(scope));
             o.SetAttr("op_device", std::move(device));
             o.SetAttr("op_callstack", std::move(callstack));
             if (hints.is_none()) return;
             for (auto [name, hint] : py::cast<py::dict>(hints)) {
               std::string text = py::cast<std::string>(name);
               if (o.FindAttr(text)) continue;
               auto [type, value] = py::cast<std::pair<std::string, py::object>>(hint);
               o.SetAttr(text, AttrOfType(value, type));
             }
           })
      .def("remove_attr",
           [](OpDesc& o, const std::string& name) {
             o.attrs.erase(std::remove_if(o.attrs.begin(), o.attrs.end(),
                                          [&](const OpDesc::Attr& a) { return a.name == name; }),
                           o.attrs.end());
           })
      // Declared attributes that were not given get their defaults, and all are checked.
      .def("complete_attrs",
           [](OpDesc& o) {
             try {
               Ref<Attrs> attrs = program::ReadAttrs(GetOp(o.type), o);
               OpDesc all;
               program::WriteAttrs(*attrs, &all);
               for (OpDesc::Attr& a : all.attrs) {
                 if (!o.FindAttr(a.name)) o.attrs.push_back(std::move(a));
               }
             } catch (Error& e) {
               e.AddOperator(o.type);
               throw;
             }
           })
      .def("to_string", [](const OpDesc& o) { return program::ToText(o); });

  // Sets shape and type of the variables that the operator writes; `find` gives the VarDesc of a
  // name, or None.
  m.def("infer_shapes", [](const OpDesc& op, const py::function& find) {
    std::vector<VarHandle> found;
    auto look = [&](const std::string& name) -> VarDesc* {
      py::object var = find(name);
      if (var.is_none()) return nullptr;
      found.push_back(py::cast<VarHandle>(var));
      return found.back().get();
    };
    program::InferShapes(op, look, [&](const std::string& name, const Value& value, int levels) {
      VarDesc* var = look(name);
      if (!var) return;
      program::Describe(value, var);
      if (levels > 0) var->type.lod_tensor->lod_level = levels;
    });
  });
}

// A whole program ---------------------------------------------------------------------------------

using Parts = std::tuple<int32_t, std::optional<int32_t>, std::vector<VarHandle>,
                         std::vector<OpHandle>>;  // parent, forward block, variables, operators

void BindPrograms(py::module_& m) {
  py::class_<PyProgram>(m, "ProgramDesc")
      .def(py::init([](const std::vector<Parts>& blocks, const PyProgram* like) {
             auto made = std::make_shared<ProgramDesc>();
             for (const auto& [parent, forward, vars, ops] : blocks) {
               BlockDesc& block = made->blocks.emplace_back();
               block.idx = static_cast<int32_t>(made->blocks.size()) - 1;
               block.parent_idx = parent;
               block.forward_block_idx = forward;
               block.vars.reserve(vars.size());
               for (const VarHandle& var : vars) block.vars.push_back(*var);
               block.ops.reserve(ops.size());
               for (const OpHandle& op : ops) block.ops.push_back(*op);
               if (like && made->blocks.size() <= like->desc->blocks.size())
                 block.unknown = like->desc->blocks[made->blocks.size() - 1].unknown;
             }
             if (like) {
               made->op_compatible_map = like->desc->op_compatible_map;
               made->version = like->desc->version;
               made->op_version_map = like->desc->op_version_map;
               made->unknown = like->desc->unknown;
             }
             return PyProgram{std::move(made)};
           }),
           py::arg("blocks"), py::arg("like") = nullptr)
      // Copies of the parts of each block.
      .def("parts",
           [](const PyProgram& p) {
             std::vector<Parts> blocks;
             for (const BlockDesc& block : p.desc->blocks) {
               std::vector<VarHandle> vars;
               for (const VarDesc& var : block.vars) vars.push_back(std::make_shared<VarDesc>(var));
               std::vector<OpHandle> ops;
               for (const OpDesc& op : block.ops) ops.push_back(std::make_shared<OpDesc>(op));
               blocks.emplace_back(block.parent_idx, block.forward_block_idx, std::move(vars),
                                   std::move(ops));
             }
             return blocks;
           })
      .def("to_bytes",
           [](const PyProgram& p) { return py::bytes(program::SerializeProgram(*p.desc)); })
      .def("to_text", [](const PyProgram& p) { return program::ToText(*p.desc); })
      .def("block_to_text",
           [](const PyProgram& p, size_t i) { return program::ToText(p.desc->blocks.at(i)); })
      .def("verify",
           [](const PyProgram& p) {
             program::Verify(*p.desc);
             program::CheckOperators(*p.desc);
           })
      .def_property_readonly("num_blocks", [](const PyProgram& p) { return p.desc->blocks.size(); })
      .def("visible_blocks", [](const PyProgram& p, int32_t i) { return p.desc->VisibleBlocks(i); })
      .def("check_size",
           [](const PyProgram& p, uint64_t bytes) { program::CheckModelSize(*p.desc, bytes); })
      .def_property_readonly("feed_names",
                             [](const PyProgram& p) { return program::FeedNames(*p.desc); })
      .def_property_readonly("fetch_names",
                             [](const PyProgram& p) { return program::FetchNames(*p.desc); });
  m.def("prune", [](const PyProgram& p, const Names& feeds, const Names& fetches) {
    return PyProgram{std::make_shared<const ProgramDesc>(program::Prune(*p.desc, feeds, fetches))};
  });
  m.def("program_from_bytes", [](const py::bytes& bytes) {
    return PyProgram{
        std::make_shared<const ProgramDesc>(program::ParseProgram(std::string_view(bytes)))};
  });
  m.def("make_backward", [](const std::vector<OpHandle>& ops, const Names& targets,
                            const Names& target_grads, const py::set& wants, const py::set& taken,
                            const Names& inputs, const Names& with_zeros, bool only_flat) {
    program::BackwardRequest request;
    for (const OpHandle& op : ops) request.ops.push_back(op.get());
    request.targets = targets;
    request.target_grads = target_grads;
    request.inputs.insert(inputs.begin(), inputs.end());
    request.with_zeros = with_zeros;
    request.only_flat = only_flat;
    request.wants = [&](const std::string& name) { return wants.contains(name); };
    request.taken = [&](const std::string& name) { return taken.contains(name); };
    program::BackwardResult result = program::MakeBackward(request);
    std::vector<std::pair<OpHandle, int>> made;
    for (auto& [op, forward] : result.ops)
      made.emplace_back(std::make_shared<OpDesc>(std::move(op)), forward);
    return std::make_pair(std::move(made), std::move(result.grads));
  });
}

// Calls on symbolic variables ---------------------------------------------------------------------

// describe(op, inputs, outputs) and write(target, result): set by the package `static`. Never
// freed: calls may come until the process ends.
PyObject* g_describe = nullptr;
PyObject* g_write = nullptr;
PyTypeObject* g_class = nullptr;

void DescribeInPython(const EagerCall& call) {
  auto op = std::make_shared<OpDesc>();
  op->type = call.op.type;
  program::WriteAttrs(*call.attrs, op.get());
  py::dict inputs, outputs;
  for (size_t s = 0; s < call.op.inputs.size(); ++s) {
    int count = call.in.count(static_cast<int>(s));
    if (count == 0) continue;
    py::list list;
    for (int i = 0; i < count; ++i)
      list.append(Steal(Wrap(Ref<Variable>(call.in.at(static_cast<int>(s), i)))));
    inputs[py::str(call.op.inputs[s].name)] = list;
  }
  for (size_t s = 0; s < call.op.outputs.size(); ++s) {
    int count = call.out.count(static_cast<int>(s));
    if (count == 0) continue;
    py::list list;
    for (int i = 0; i < count; ++i) {
      Variable* v = call.out.at(static_cast<int>(s), i);
      Variable* target = call.targets ? call.targets->at(static_cast<int>(s), i) : nullptr;
      if (target) {
        list.append(Steal(Wrap(Ref<Variable>(target))));
      } else {
        list.append(v ? Steal(WrapAs(Ref<Variable>(v), g_class)) : py::none());
      }
    }
    outputs[py::str(call.op.outputs[s].name)] = list;
  }
  py::reinterpret_borrow<py::object>(g_describe)(op, inputs, outputs);
}

}  // namespace

void WriteInProgram(const Ref<Variable>& target, const Ref<Variable>& result) {
  py::reinterpret_borrow<py::object>(g_write)(Steal(Wrap(target)), Steal(Wrap(result)));
}

void BindDescriptions(py::module_& m) {
  BindVariables(m);
  BindOperators(m);
  BindPrograms(m);
  m.def("set_describing", [](bool on) { return CurrentThread().SetDescribing(on); });
  m.def("set_write_call", [](py::function write) {
    Py_XDECREF(g_write);
    g_write = write.release().ptr();
  });
  m.def("set_describe_call", [](py::function describe, py::type symbol_class) {
    Py_XDECREF(g_describe);
    g_describe = describe.release().ptr();
    Py_XDECREF(reinterpret_cast<PyObject*>(g_class));
    g_class = reinterpret_cast<PyTypeObject*>(symbol_class.release().ptr());
    SetDescribeCall(&DescribeInPython);
  });
}

}  // namespace dygraph::python
