// Scopes and what their names stand for, for Python.
#include <pybind11/stl.h>

#include <algorithm>

#include "python/bind.h"
#include "python/caster.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/scope_variable.h"
#include "python/steal.h"
#include "tape/thread_state.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

// Writes `value` to an array of which nothing else is asked meanwhile, as element i.
void WriteElement(program::ScopeVar* var, const std::string& name, size_t i, const Value& value) {
  const Tensor next = value.tensor();
  Value held = var->Get();
  const std::vector<Tensor>& items = held.array().items;
  for (size_t k = 0; k < items.size(); ++k) {
    const DType dtype = items[k].dtype();
    if (k == i || dtype == DType::kUnset) continue;
    ENFORCE(dtype == next.dtype(), Type, "the elements of the array '", name,
            "' must have one type, ", dtype, ", got ", next.dtype(), ". Convert with astype()");
    break;
  }
  var->Set(Value());  // so that the handles of the others need no copy
  TensorArray& array = held.MutableArray();
  if (array.items.size() <= i) array.items.resize(i + 1);
  array.items[i] = next;
  var->Set(std::move(held));
}

}  // namespace

Value ScopeVariable::Get() const {
  Value held = var->Get();
  if (element < 0) return held;
  const std::vector<Tensor>& items = held.array().items;
  ENFORCE(static_cast<size_t>(element) < items.size(), OutOfRange, "the array must still hold '",
          name, "', but has only ", items.size(), " elements by now");
  const Tensor& item = items[element];
  return item.dtype() == DType::kUnset ? Value() : Value(item);
}

void ScopeVariable::Set(Value value) const {
  if (element < 0) {
    var->Set(std::move(value));
  } else {
    Get();  // checks the number
    WriteElement(var, name, element, value);
  }
}

Value ScopeVariable::value() const {
  Value held = Get();
  ENFORCE(!held.empty(), PreconditionNotMet, "the variable '", name,
          "' of the scope must hold a value, got none. Run the startup program, or set(array)");
  return held;
}

Tensor ScopeVariable::tensor() const {
  Value held = value();
  ENFORCE(held.is_tensor(), Type, "the variable '", name, "' of the scope must hold a tensor, got ",
          Name(held.kind()),
          held.is_array() ? ". Take its elements from get_lod_tensor_array()" : "");
  return held.tensor();
}

void ScopeVariable::SetLoD(LoDLevels lod) const {
  Tensor t = tensor();
  t.SetLoD(std::move(lod));
  Set(Value(std::move(t)));
}

ScopeArray::ScopeArray(ScopeVariable of)
    : scope(std::move(of.scope)), var(of.var), name(std::move(of.name)) {
  ENFORCE(of.element < 0, Type, "'", name,
          "' must be a variable to hold an array, not an element of one");
  if (var->empty()) var->Set(Value(MakeRef<TensorArray>()));
  value();  // checks the kind
}

Value ScopeArray::value() const {
  Value held = var->Get();
  ENFORCE(held.is_array(), Type, "the variable '", name, "' of the scope must hold an array, got ",
          Name(held.kind()));
  return held;
}

ScopeVariable ScopeArray::At(int64_t i) const {
  const int64_t count = size(), at = i < 0 ? i + count : i;
  ENFORCE(at >= 0 && at < count, OutOfRange, "the index into the array '", name, "' must be in [",
          -count, ", ", count, "), got ", i);
  return {scope, var, name + "[" + std::to_string(at) + "]", at};
}

void ScopeArray::Append(Value next) const { WriteElement(var, name, size(), next); }

Value ValueFromPython(py::handle o, DType dtype) {
  if (IsVariable(o.ptr())) {
    Variable& variable = VarOf(o.ptr());
    ENFORCE(!variable.symbolic(), Type,
            "a value is taken from an array or an eager Variable, got a variable of a program, "
            "which has none");
    CurrentThread().OnRead(variable, "a feed");
    return variable.value();
  }
  if (py::isinstance<ScopeVariable>(o)) return o.cast<const ScopeVariable&>().value();
  if (py::isinstance<ScopeArray>(o)) return o.cast<const ScopeArray&>().value();
  return Value(CopyTo(TensorFromPython(o.ptr(), dtype), CurrentThread().place));
}

namespace {

using program::ScopeVar;
using ScopeRef = std::shared_ptr<program::Scope>;

py::object VariableOrNone(const ScopeRef& scope, ScopeVar* var, const std::string& name) {
  return var ? py::cast(ScopeVariable{scope, var, name}) : py::none();
}

// numpy.array(v), numpy.asarray(v): always a copy, since a run may write the variable.
py::object ArrayOf(const ScopeVariable& v, const py::object& dtype, const py::object& copy) {
  ENFORCE(copy.is_none() || copy.cast<bool>(), InvalidArgument, "the variable '", v.name,
          "' of the scope is copied to become an array, got copy=False");
  py::object array = Steal(ArrayFromTensor(v.tensor()));
  return dtype.is_none() ? array : array.attr("astype")(dtype);
}

std::string Shown(const Value& value) {
  return py::repr(Steal(Wrap(Variable::Make(value)))).cast<std::string>();
}

void BindScopeVariable(py::module_& m) {
  py::class_<ScopeVariable>(m, "ScopeVariable")
      .def(
          "get", [](const ScopeVariable& v) { return Variable::Make(v.Get()); },
          "The value as a Variable: its own from here on.")
      .def(
          "get_tensor", [](const ScopeVariable& v) { return v; },
          "Itself: what is set here is set in the scope, what is asked is its value now.")
      .def(
          "get_lod_tensor_array", [](const ScopeVariable& v) { return ScopeArray(v); },
          "The array that the variable holds, an empty one where it holds nothing; TypeError if it "
          "holds something else. What is set here is set in the scope.")
      .def(
          "get_lod_rank_table", [](const ScopeVariable& v) { return ScopeRankTable{v}; },
          "The rank table that the variable holds; its items() are what lod_rank_table found.")
      .def(
          "set",
          [](const ScopeVariable& v, py::object value, py::object place) {
            Value next = ValueFromPython(value, DType::kUnset);
            if (!place.is_none()) next = Value(CopyTo(next.tensor(), PlaceFromPython(place.ptr())));
            v.Set(std::move(next));
          },
          py::arg("value"), py::arg("place") = py::none(),
          "Take a value, in its type; a level of detail set before goes.")
      .def(
          "share",
          [](const ScopeVariable& v, const Ref<Variable>& variable) {
            ENFORCE(v.element < 0, Type, "share: '", v.name,
                    "' must be a variable, not an element of an array. Use set()");
            v.var->Share(std::make_shared<SharedVariable>(variable));
          },
          py::arg("variable"),
          "Stand for an eager Variable: what a program writes it sees, and the reverse.")
      .def("is_empty", &ScopeVariable::empty, "Whether it holds no value.")
      .def_property_readonly("name", [](const ScopeVariable& v) { return v.name; })
      .def_property_readonly(
          "shape", [](const ScopeVariable& v) { return Steal(DimsToPython(v.value().dims())); },
          "Sizes; RuntimeError if it holds no value.")
      .def_property_readonly(
          "dtype", [](const ScopeVariable& v) { return Steal(DTypeToPython(v.value().dtype())); },
          "Element type; RuntimeError if it holds no value.")
      .def(
          "numpy", [](const ScopeVariable& v) { return ArrayOf(v, py::none(), py::none()); },
          "A copy as an array; RuntimeError if it holds no value.")
      .def("__array__", &ArrayOf, py::arg("dtype") = py::none(), py::arg("copy") = py::none())
      .def(
          "lod",
          [](const ScopeVariable& v) {
            return v.empty() ? py::object(py::list()) : Steal(LoDToPython(v.tensor().lod_levels()));
          },
          "The level of detail by offsets.")
      .def(
          "set_lod",
          [](const ScopeVariable& v, py::object lod) {
            v.value();
            v.SetLoD(LoDFromPython(lod.ptr()));
          },
          py::arg("lod"), "Set the level of detail by offsets; ValueError if it does not fit.")
      .def(
          "recursive_sequence_lengths",
          [](const ScopeVariable& v) {
            return v.empty() ? py::object(py::list())
                             : Steal(LoDToPython(OffsetsToLengths(v.tensor().lod_levels())));
          },
          "The level of detail by lengths.")
      .def(
          "set_recursive_sequence_lengths",
          [](const ScopeVariable& v, py::object lengths) {
            v.value();
            v.SetLoD(LengthsToOffsets(LoDFromPython(lengths.ptr())));
          },
          py::arg("recursive_sequence_lengths"), "Set the level of detail by lengths.")
      .def(
          "has_valid_recursive_sequence_lengths",
          [](const ScopeVariable& v) {
            v.value();
            return true;
          },
          "Whether the level of detail fits the rows: always, since no other can be set.")
      .def("__repr__", [](const ScopeVariable& v) {
        if (v.empty()) return "<variable '" + v.name + "' of a scope, without a value>";
        return "<variable '" + v.name + "' of a scope: " + Shown(v.value()) + ">";
      });
}

void BindScopeArray(py::module_& m) {
  py::class_<ScopeArray>(
      m, "LoDTensorArray",
      "A list of tensors, each with its own shape and level of detail, all of one type.\n\n"
      "One that is made here is empty; `get_lod_tensor_array()` of a scope's variable gives the "
      "one that programs read and write. An element is its own tensor: what is set or asked is "
      "that of the array, now.\n\n"
      "Examples\n--------\n"
      ">>> import numpy as np\n>>> from dygraph import static\n"
      ">>> array = static.core.LoDTensorArray()\n"
      ">>> array.append(np.ones(2))\n"
      ">>> array.append(np.zeros(3))\n"
      ">>> array[0].set(np.full(1, 7.0))\n"
      ">>> len(array), [np.array(element).tolist() for element in array]\n"
      "(2, [[7.0], [0.0, 0.0, 0.0]])")
      .def(py::init([] {
        ScopeRef own = program::Scope::Make();
        return ScopeArray({own, &own->Var("array"), "array"});
      }))
      .def("__len__", &ScopeArray::size)
      .def("__getitem__", &ScopeArray::At, py::arg("index"))
      .def(
          "__setitem__",
          [](const ScopeArray& array, int64_t i, py::handle value) {
            array.At(i).Set(ValueFromPython(value, DType::kUnset));
          },
          py::arg("index"), py::arg("value"))
      .def(
          "append",
          [](const ScopeArray& array, py::handle value) {
            array.Append(ValueFromPython(value, DType::kUnset));
          },
          py::arg("value"), "Add an element; TypeError if the others have another type.")
      .def("__repr__", [](const ScopeArray& array) {
        return "<array '" + array.name + "' of a scope: " + Shown(array.value()) + ">";
      });
  py::class_<ScopeRankTable>(m, "LoDRankTable")
      .def(
          "items",
          [](const ScopeRankTable& table) {
            const Value held = table.of.value();
            std::vector<std::pair<size_t, size_t>> items;
            for (const LoDRankTable::Item& i : held.rank_table().items())
              items.emplace_back(i.index, i.length);
            return items;
          },
          "(number, length) of the sequences, the longest first.");
}

}  // namespace

void BindScope(py::module_& m) {
  BindScopeVariable(m);
  BindScopeArray(m);
  py::class_<program::Scope, ScopeRef>(
      m, "Scope",
      "The values that programs read and write, by the names of their variables.\n\n"
      "A name that a scope lacks is looked up in its parent.\n\n"
      "Examples\n--------\n"
      ">>> import dygraph.static as fluid\n"
      ">>> scope = fluid.Scope()\n"
      ">>> with fluid.scope_guard(scope):\n"
      "...     _ = fluid.layers.data('x', [2])\n"
      ">>> scope.find_var('x') is None  # made by the first run\n"
      "True\n"
      ">>> _ = scope.var('step')\n"
      ">>> scope.local_var_names()\n"
      "['step']\n")
      .def(py::init(&program::Scope::Make))
      .def("var", [](const ScopeRef& s,
                     const std::string& name) { return ScopeVariable{s, &s->Var(name), name}; })
      .def("find_var",
           [](const ScopeRef& s, const std::string& name) {
             return VariableOrNone(s, s->FindVar(name), name);
           })
      .def("get_var",
           [](const ScopeRef& s, const std::string& name) {
             return ScopeVariable{s, &s->GetVar(name), name};
           })
      .def(
          "has_aliases",
          [](const ScopeRef& s, const std::vector<std::string>& names) {
            std::vector<const Value*> shared;
            for (const std::string& name : names) {
              const program::ScopeVar* var = s->FindVar(name);
              if (var && var->shared()) shared.push_back(var->shared()->value());
            }
            std::sort(shared.begin(), shared.end());
            return std::adjacent_find(shared.begin(), shared.end()) != shared.end();
          },
          py::arg("names"), "Whether two of these names stand for one eager Variable.")
      .def("new_scope", &program::Scope::NewScope)
      .def("drop_kids", &program::Scope::DropKids)
      .def_property_readonly("parent", &program::Scope::parent)
      .def_property_readonly("kids", &program::Scope::kids)
      .def("local_var_names", &program::Scope::LocalNames);
}

}  // namespace dygraph::python
