#include <pybind11/stl.h>

#include "base/nearest.h"
#include "op/lod_rule.h"
#include "op/open_attr.h"
#include "op/recipes.h"
#include "python/attributes.h"
#include "python/bind.h"
#include "python/caster.h"
#include "python/convert.h"
#include "python/open_inputs.h"
#include "python/steal.h"
#include "run/run.h"
#include "tape/door.h"
#include "tape/thread_state.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

Ref<Attrs> AttrsFromDict(const OpInfo& op, const py::dict& given,
                         std::vector<OpenInput>* open = nullptr) {
  if (given.empty()) return op.default_attrs;
  Ref<Attrs> attrs = Attrs::Make(op.attr_table);
  for (auto [key, value] : given) {
    int i = op.attr_table.Require(py::cast<std::string>(key));
    if (open && MayBeOpen(op, i)) {
      SetOpenable(value.ptr(), i, attrs.get(), open);
    } else {
      attrs->Set(i, AttrFromPython(value.ptr(), op.attr_table.fields[i]));
    }
  }
  return attrs;
}

SlotList<Variable> InputsFromDict(const OpInfo& op, const py::dict& given) {
  for (auto [key, value] : given) op.InputSlot(py::cast<std::string>(key));
  SlotList<Variable> in;
  for (const SlotInfo& slot : op.inputs) {
    py::object value = py::none();
    if (given.contains(slot.name.c_str())) value = given[slot.name.c_str()];
    if (value.is_none()) {
      ENFORCE(slot.dispensable(), InvalidArgument, "Input(", slot.name,
              ") must be given, got nothing");
    } else if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value)) {
      py::sequence list = value;
      ENFORCE(slot.duplicable() || list.size() == 1, InvalidArgument, "Input(", slot.name,
              ") must be one Variable, got a list of ", list.size());
      for (size_t i = 0; i < list.size(); ++i) {
        py::object item = list[i];
        in.Push(&RequireVariable(item.ptr(), ("Input(" + slot.name + ")").c_str()));
      }
    } else {
      in.Push(&RequireVariable(value.ptr(), ("Input(" + slot.name + ")").c_str()));
    }
    in.Close();
  }
  return in;
}

// outputs={'Out': 3}: how many; also asks for outputs that are not made otherwise.
py::dict RunByName(const std::string& type, const py::dict& inputs, const py::dict& given,
                   const py::object& outputs) {
  const OpInfo& op = GetOp(type);
  try {
    SlotList<Variable> in = InputsFromDict(op, inputs);
    std::vector<OpenInput> open;
    Ref<Attrs> attrs = AttrsFromDict(op, given, &open);
    SmallVector<int, 4> counts;
    for (const SlotInfo& slot : op.outputs) counts.push_back(slot.extra() ? 0 : -1);
    if (!outputs.is_none()) {
      bool any = py::len(outputs) < op.outputs.size();
      for (auto [key, value] : py::dict(outputs)) {
        int slot = op.OutputSlot(py::cast<std::string>(key));
        ENFORCE(PyLong_Check(value.ptr()), Type,
                "outputs must map slot names to how many variables, got ",
                Py_TYPE(value.ptr())->tp_name, " for ", op.outputs[slot].name);
        long n = PyLong_AsLong(value.ptr());
        if (n == -1 && PyErr_Occurred()) throw py::error_already_set();
        ENFORCE(n >= 0 && n <= 100000, OutOfRange,
                "outputs must ask for 0 to 100000 variables, got ", n, " for ",
                op.outputs[slot].name);
        const SlotInfo& info = op.outputs[slot];
        bool optional = info.duplicable() || info.extra() || info.intermediate() || op.gradient_of;
        ENFORCE(n > 0 || optional, InvalidArgument, "Output(", info.name,
                ") is always made, got a request for none");
        counts[slot] = static_cast<int>(n);
        any |= n > 0;
      }
      ENFORCE(any || op.outputs.empty(), InvalidArgument,
              "at least one output must be asked for, got a request for none");
    }
    OpOptions options;
    options.counts = &counts;
    Outputs out;
    if (open.empty()) {
      RunOp(op, attrs, in, &out, options);
    } else {
      options.open = &open;
      DescribeOp(op, attrs, in, &out, options);
    }
    py::dict result;
    size_t flat = 0;
    for (size_t s = 0; s < op.outputs.size(); ++s) {
      int count = out.slots.count(static_cast<int>(s));
      if (op.outputs[s].duplicable()) {
        py::list list;
        for (int i = 0; i < count; ++i) list.append(Steal(Wrap(out.owned[flat++])));
        result[op.outputs[s].name.c_str()] = list;
      } else if (count) {
        result[op.outputs[s].name.c_str()] = Steal(Wrap(out.owned[flat++]));
      }
    }
    return result;
  } catch (Error& e) {
    e.AddOperator(type);
    throw;
  }
}

py::dict DescribeSlot(const SlotInfo& s) {
  py::dict d;
  d["name"] = s.name;
  d["python_name"] = s.python_name;
  d["help"] = s.help;
  d["duplicable"] = s.duplicable();
  d["dispensable"] = s.dispensable();
  d["intermediate"] = s.intermediate();
  d["extra"] = s.extra();
  d["rows"] = s.takes_rows();
  d["array"] = s.Takes(VarKind::kArray);
  d["table"] = s.Takes(VarKind::kRankTable);
  return d;
}

py::dict DescribeOp(const std::string& type) {
  const OpInfo& op = GetOp(type);
  py::dict d;
  d["type"] = op.type;
  d["comment"] = op.comment;
  py::list inputs, outputs, attrs, kernels, in_place, may_share;
  for (const SlotInfo& s : op.inputs) inputs.append(DescribeSlot(s));
  for (const SlotInfo& s : op.outputs) outputs.append(DescribeSlot(s));
  for (size_t i = 0; i < op.attr_table.fields.size(); ++i) {
    const AttrField& f = op.attr_table.fields[i];
    py::dict a;
    a["name"] = f.name;
    a["help"] = f.help;
    a["type"] = Name(f.type);
    a["wire_type"] = static_cast<int>(f.type);
    a["is_dtype"] = f.is_dtype;
    a["may_be_open"] = MayBeOpen(op, static_cast<int>(i));
    a["default"] = AttrObject(op.attr_table.Get(op.default_attrs->data(), static_cast<int>(i)));
    attrs.append(a);
  }
  for (const Kernel& k : op.kernels) kernels.append(ToString(k.key));
  for (auto [in, out] : op.in_place)
    in_place.append(py::make_tuple(op.inputs[in].name, op.outputs[out].name));
  for (auto [in, out] : op.may_share)
    may_share.append(py::make_tuple(op.inputs[in].name, op.outputs[out].name));
  d["inputs"] = inputs;
  d["outputs"] = outputs;
  d["attrs"] = attrs;
  d["kernels"] = kernels;
  d["in_place"] = in_place;
  d["may_share"] = may_share;
  d["has_shape_rule"] = op.shape_rule != nullptr;
  d["has_var_type_rule"] = op.var_type_rule != nullptr;
  d["has_gradient"] = op.grad_maker != nullptr;
  d["no_gradient"] = op.has_no_grad;
  d["runs_block"] = op.control != Control::kNone;
  d["keeps_layout"] = op.keeps_layout;
  d["random"] = op.random;
  py::list shares_lod_of;
  for (int slot : LoDSlots(op)) shares_lod_of.append(op.inputs[slot].name);
  d["shares_lod_of"] = shares_lod_of;
  d["file"] = op.file;
  d["line"] = op.line;
  return d;
}

// The recipe as calls of (type, inputs, outputs) with references spelt as in the documents: X, Out,
// Out@GRAD.
py::list DescribeRecipe(const std::string& type, const py::dict& given_attrs) {
  const OpInfo& op = GetOp(type);
  ENFORCE(op.grad_maker, PreconditionNotMet, type, ": the operator has no gradient recipe to show");
  Ref<Attrs> attrs = AttrsFromDict(op, given_attrs);
  GradBuilder::Situation s;
  s.op = &op;
  s.attrs = attrs->data();
  int flat = 0;
  for (const SlotInfo& slot : op.inputs) {
    s.in_counts.push_back(slot.duplicable() ? 2 : slot.dispensable() ? 0 : 1);
    for (uint32_t i = 0; i < s.in_counts.back(); ++i) s.wanted.Set(flat++);
  }
  for (const SlotInfo& slot : op.outputs)
    s.out_counts.push_back(slot.extra() ? 0 : slot.duplicable() ? 2 : 1);
  GradBuilder builder(s);
  op.grad_maker(builder);
  Recipe recipe = builder.Finish();
  auto spell = [&](RecipeRef r) -> std::string {
    std::string index = r.index ? "[" + std::to_string(r.index) + "]" : "";
    switch (r.kind) {
      case RecipeRef::kInput: return op.inputs[r.slot].name + index;
      case RecipeRef::kInputShape: return op.inputs[r.slot].name + index + " (shape)";
      case RecipeRef::kOutput: return op.outputs[r.slot].name + index;
      case RecipeRef::kOutputGrad: return op.outputs[r.slot].name + index + "@GRAD";
      case RecipeRef::kInputGrad: return op.inputs[r.slot].name + index + "@GRAD";
      case RecipeRef::kTemp: return "tmp_" + std::to_string(r.index);
      default: return "";
    }
  };
  py::list calls;
  for (const RecipeCall& c : recipe.calls) {
    py::dict in, out;
    for (size_t i = 0; i < c.in.size(); ++i) {
      py::list names;
      for (RecipeRef r : c.in[i]) names.append(spell(r));
      if (names.size()) in[c.op->inputs[i].name.c_str()] = names;
    }
    for (size_t i = 0; i < c.out.size(); ++i) {
      py::list names;
      for (RecipeRef r : c.out[i]) names.append(spell(r));
      if (names.size()) out[c.op->outputs[i].name.c_str()] = names;
    }
    calls.append(py::make_tuple(c.op->type, in, out));
  }
  return calls;
}

py::dict Explain(const std::string& type, const py::dict& inputs, const py::dict& given) {
  const OpInfo& op = GetOp(type);
  try {
    SlotList<Variable> in = InputsFromDict(op, inputs);
    Ref<Attrs> attrs = AttrsFromDict(op, given);
    Call call;
    call.op = &op;
    call.attrs = attrs->data();
    call.in.Map(in, [](Variable* v) { return v ? &v->value() : nullptr; });
    call.place = CurrentThread().place;
    KernelChoice choice = ExplainKernel(call);
    py::dict d;
    d["chosen"] = ToString(choice.chosen->key);
    py::list candidates;
    for (auto& [kernel, reason] : choice.candidates) {
      bool chosen = kernel == choice.chosen;
      candidates.append(py::make_tuple(ToString(kernel->key), chosen,
                                       chosen           ? "chosen"
                                       : reason.empty() ? "fits; one before it was taken"
                                                        : reason));
    }
    d["candidates"] = candidates;
    return d;
  } catch (Error& e) {
    e.AddOperator(type);
    throw;
  }
}

}  // namespace

void BindRegistry(py::module_& m) {
  m.def("op_names", &OpNames);
  m.def("describe_op", &DescribeOp);
  m.def("kept_recipes", [](const std::string& type) { return KeptRecipes(GetOp(type)); });
  m.def("describe_recipe", &DescribeRecipe, py::arg("type"), py::arg("attrs") = py::dict());
  m.def("explain", &Explain, py::arg("type"), py::arg("inputs"), py::arg("attrs") = py::dict());
  m.def("run_op", &RunByName, py::arg("type"), py::arg("inputs"), py::arg("attrs") = py::dict(),
        py::arg("outputs") = py::none());
  m.def("nearest_names", &NearestNames, py::arg("name"), py::arg("known"), py::arg("most") = 3);
}

}  // namespace dygraph::python
