// Operators and variables of programs for Python. What stands in a program is edited there.
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>

#include "program/exact_attrs.h"
#include "program/infer.h"
#include "program/op_binding.h"
#include "program/open_attrs.h"
#include "program/wire.h"
#include "python/attributes.h"
#include "python/bind_descriptions.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/steal.h"
#include "python/symbol.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

using program::Op;
using program::OpDesc;
using program::OpRef;
using program::Var;
using program::VarDesc;
using program::VarRef;
using program::VarType;
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

// In the slots of one side.
void Rename(Op& op, std::vector<OpDesc::Var> OpDesc::*side, const std::string& from,
            const std::string& to) {
  if (program::Mention(op.desc().*side, from))
    program::RenameArguments(&(op.Edit().*side), from, to);
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
  // An optional field of the description.
  auto field = [](auto member) {
    using T = typename std::decay_t<decltype(std::declval<VarDesc>().*member)>;
    return std::make_pair(
        [member](const Var& v) -> T { return v.desc().*member; },
        [member](Var& v, T value) { v.Edit([&](VarDesc& desc) { desc.*member = value; }); });
  };
  auto [get_persistable, set_persistable] = field(&VarDesc::persistable);
  auto [get_check, set_check] = field(&VarDesc::need_check_feed);
  auto [get_parameter, set_parameter] = field(&VarDesc::is_parameter);
  auto [get_stop, set_stop] = field(&VarDesc::stop_gradient);
  py::class_<Var, VarRef>(m, "Var")
      .def(py::init([](std::string name, const std::string& type) {
             VarDesc var;
             var.name = std::move(name);
             var.type.type = TypeOfName(type);
             return MakeRef<Var>(std::move(var));
           }),
           py::arg("name"), py::arg("type") = "LOD_TENSOR")
      .def("copy", [](const Var& v) { return MakeRef<Var>(v.part()); })
      .def_property_readonly("name", [](const Var& v) { return v.name(); })
      .def_property("persistable", get_persistable, set_persistable)
      .def_property("need_check_feed", get_check, set_check)
      .def_property("is_parameter", get_parameter, set_parameter)
      .def_property("stop_gradient", get_stop, set_stop)
      // Axis -> name of an open size that other fed variables have, too.
      .def_property(
          "size_names", [](const Var& v) { return program::SizeNames(v.desc()); },
          [](Var& v, const std::map<int, std::string>& names) {
            v.Edit([&](VarDesc& desc) { program::SetSizeNames(&desc, names); });
          })
      .def_readonly("made_at", &Var::made_at)
      .def_property(
          "type",
          [](const Var& v) {
            const char* name = program::EnumName(v.desc().type.type);
            return std::string(name ? name : "unknown");
          },
          [](Var& v, const std::string& name) {
            VarType::Type type = TypeOfName(name);
            v.Edit([&](VarDesc& desc) { desc.type.type = type; });
          })
      .def_property(
          "dtype",
          [](const Var& v) -> py::object {
            DType dtype = program::ElementType(v.desc());
            return dtype == DType::kUnset ? py::none() : Steal(DTypeToPython(dtype));
          },
          [](Var& v, py::handle dtype) {
            VarType::Type type = program::WireType(DTypeFromPython(dtype.ptr()));
            v.Edit([&](VarDesc& desc) { TensorFor(desc).data_type = type; });
          })
      .def_property(
          "shape",
          [](const Var& v) -> py::object {
            const auto* tensor = TensorIn(v.desc());
            return tensor ? py::object(py::tuple(py::cast(tensor->dims))) : py::none();
          },
          // None: neither sizes nor an element type
          [](Var& v, std::optional<std::vector<int64_t>> shape) {
            v.Edit([&](VarDesc& desc) {
              TensorFor(desc).dims = shape.value_or(std::vector<int64_t>());
              if (!shape) desc.type.lod_tensor.reset();
            });
          })
      .def_property(
          "lod_level",
          [](const Var& v) -> py::object {
            const VarType& type = v.desc().type;
            if (type.tensor_array) return py::cast(type.tensor_array->lod_level);
            return type.lod_tensor ? py::cast(type.lod_tensor->lod_level) : py::none();
          },
          [](Var& v, int32_t level) {
            v.Edit([&](VarDesc& desc) {
              TensorFor(desc);
              if (desc.type.tensor_array) desc.type.tensor_array->lod_level = level;
              if (desc.type.lod_tensor) desc.type.lod_tensor->lod_level = level;
            });
          })
      // Type, element type and sizes of a Variable.
      .def("describe_value",
           [](Var& v, const Given& variable) {
             v.Edit([&](VarDesc& desc) { program::Describe(variable->value(), &desc); });
           })
      .def("to_string", [](const Var& v) { return program::ToText(v.desc()); });
}

// Operators ---------------------------------------------------------------------------------------

void BindOperators(py::module_& m) {
  py::class_<Op, OpRef>(m, "Op")
      .def(py::init([](std::string type) {
             OpDesc op;
             op.type = std::move(type);
             return MakeRef<Op>(std::move(op));
           }),
           py::arg("type"))
      .def("copy", [](const Op& o) { return MakeRef<Op>(o.part()); })
      .def_property_readonly("type", [](const Op& o) { return o.desc().type; })
      .def_property_readonly("input_names", [](const Op& o) { return SlotNames(o.desc().inputs); })
      .def_property_readonly("output_names",
                             [](const Op& o) { return SlotNames(o.desc().outputs); })
      .def_property_readonly("input_arg_names",
                             [](const Op& o) { return ArgumentNames(o.desc().inputs); })
      .def_property_readonly("output_arg_names",
                             [](const Op& o) { return ArgumentNames(o.desc().outputs); })
      .def_property_readonly("inputs", [](const Op& o) { return SlotDict(o.desc().inputs); })
      .def_property_readonly("outputs", [](const Op& o) { return SlotDict(o.desc().outputs); })
      .def_property_readonly("attr_names",
                             [](const Op& o) {
                               Names names;
                               for (const OpDesc::Attr& a : o.desc().attrs) names.push_back(a.name);
                               return names;
                             })
      .def_property_readonly("attrs",
                             [](const Op& o) {
                               py::dict dict;
                               for (const OpDesc::Attr& a : o.desc().attrs)
                                 dict[py::str(a.name)] = Attribute(o.desc(), a.name);
                               return dict;
                             })
      .def("input",
           [](const Op& o, const std::string& slot) {
             return Arguments(o.desc().inputs, slot, "input", o.desc().type);
           })
      .def("output",
           [](const Op& o, const std::string& slot) {
             return Arguments(o.desc().outputs, slot, "output", o.desc().type);
           })
      .def("attr", [](const Op& o, const std::string& name) { return Attribute(o.desc(), name); })
      .def("has_attr",
           [](const Op& o, const std::string& name) { return o.desc().FindAttr(name) != nullptr; })
      .def("attr_type",
           [](const Op& o, const std::string& name) {
             Attribute(o.desc(), name);  // NotFound
             for (const OpDesc::Attr& a : o.desc().attrs) {  // an exact FLOAT is one
               if (a.name == name && a.type() == AttrType::kFloat64 && !a.is_float64)
                 return "FLOAT";
             }
             return program::EnumName(TypeOf(*o.desc().FindAttr(name)));
           })
      .def("set_input", [](Op& o, const std::string& slot,
                           Names names) { SetArguments(o.Edit().inputs, slot, std::move(names)); })
      .def("set_output",
           [](Op& o, const std::string& slot, Names names) {
             SetArguments(o.Edit().outputs, slot, std::move(names));
           })
      .def("remove_input",
           [](Op& o, const std::string& slot) {
             auto& slots = o.Edit().inputs;
             slots.erase(std::remove_if(slots.begin(), slots.end(),
                                        [&](const OpDesc::Var& s) { return s.parameter == slot; }),
                         slots.end());
           })
      .def("rename_input", [](Op& o, const std::string& from,
                              const std::string& to) { Rename(o, &OpDesc::inputs, from, to); })
      .def("rename_output", [](Op& o, const std::string& from,
                               const std::string& to) { Rename(o, &OpDesc::outputs, from, to); })
      .def(
          "set_attr",
          [](Op& o, const std::string& name, py::handle value, const py::object& type) {
            OpDesc set;  // what is wrong raises before the edit
            set.type = o.desc().type;
            SetAttr(set, name, value, type);
            OpDesc& op = o.Edit();
            program::RemoveOpenInput(&op, name);
            op.SetAttr(name, std::move(set.attrs[0].value), set.attrs[0].is_float64);
            if (o.block()) program::RoundUnlessFloat64(*o.block(), &op);
            for (OpDesc::Var& given : set.inputs)
              SetArguments(op.inputs, given.parameter, std::move(given.arguments));
          },
          py::arg("name"), py::arg("value"), py::arg("type") = py::none())
      .def("remove_attr",
           [](Op& o, const std::string& name) {
             program::RemoveOpenInput(&o.Edit(), name);
             auto& attrs = o.Edit().attrs;
             attrs.erase(std::remove_if(attrs.begin(), attrs.end(),
                                        [&](const OpDesc::Attr& a) { return a.name == name; }),
                         attrs.end());
           })
      // Declared attributes that were not given get their defaults, and all are checked.
      .def("complete_attrs",
           [](Op& o) {
             try {
               Ref<Attrs> attrs = program::ReadAttrs(GetOp(o.desc().type), o.desc());
               OpDesc all;
               all.type = o.desc().type;
               program::WriteAttrs(*attrs, &all);
               OpDesc& op = o.Edit();
               for (OpDesc::Attr& a : all.attrs) {
                 if (!op.FindAttr(a.name) && !program::IsLeftOut(op.type, a.name, a.value))
                   op.attrs.push_back(std::move(a));
               }
             } catch (Error& e) {
               e.AddOperator(o.desc().type);
               throw;
             }
           })
      .def("to_string", [](const Op& o) { return program::ToText(o.desc()); });
}

}  // namespace

void BindParts(py::module_& m) {
  BindVariables(m);
  BindOperators(m);
}

}  // namespace dygraph::python
