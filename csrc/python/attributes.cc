#include "python/attributes.h"

#include <pybind11/complex.h>
#include <pybind11/stl.h>

#include <complex>
#include <utility>

#include "op/open_attr.h"
#include "program/foreign_attrs.h"
#include "program/op_binding.h"
#include "program/open_attrs.h"
#include "program/utf8.h"
#include "python/convert.h"
#include "python/open_inputs.h"
#include "python/steal.h"

namespace dygraph::python {

using program::OpDesc;
using Names = std::vector<std::string>;

namespace {

// What is of one type here and of another in Python.
py::object ObjectOf(BlockIndex v) { return py::int_(v.index); }
py::object ObjectOf(const VarName& v) { return py::str(v.value); }
py::object ObjectOf(const VarNames& v) { return py::cast(v.values); }
// A str, or bytes where the string of a file is no text.
py::object ObjectOf(const std::string& v) {
  if (program::IsUtf8(v)) return py::str(v);
  return py::bytes(v);
}
py::object ObjectOf(const TypedNumber& v) {
  switch (v.type) {
    case TypedNumber::Type::BOOLEAN: return py::bool_(v.b.value_or(false));
    case TypedNumber::Type::LONG: return py::int_(v.i.value_or(0));
    case TypedNumber::Type::FLOAT64: return py::float_(v.r.value_or(0));
    case TypedNumber::Type::COMPLEX128:
      return py::cast(v.c ? std::complex<double>(v.c->r, v.c->i) : std::complex<double>());
    default: return py::none();
  }
}
py::object ObjectOf(const Boxed<TypedNumber>& v) { return v ? ObjectOf(*v) : py::none(); }
template <class T>
py::object ObjectOf(const T& v) {
  return py::cast(v);
}
template <class T>
py::object ObjectOf(const std::vector<T>& v) {
  py::list list;
  for (size_t i = 0; i < v.size(); ++i) list.append(ObjectOf(static_cast<const T&>(v[i])));
  return std::move(list);
}

// py::cast_error where the value is of another type.
template <class T>
void Take(py::handle from, T* v) {
  *v = py::cast<T>(from);
}
void Take(py::handle from, BlockIndex* v) { v->index = py::cast<int32_t>(from); }
void Take(py::handle from, VarName* v) { v->value = py::cast<std::string>(from); }
void Take(py::handle from, VarNames* v) { v->values = py::cast<Names>(from); }
void Take(py::handle from, TypedNumber* v) {
  if (py::isinstance<py::bool_>(from)) {
    v->type = TypedNumber::Type::BOOLEAN;
    v->b = py::cast<bool>(from);
  } else if (py::isinstance<py::int_>(from)) {
    v->type = TypedNumber::Type::LONG;
    v->i = py::cast<int64_t>(from);
  } else if (PyComplex_Check(from.ptr())) {
    v->type = TypedNumber::Type::COMPLEX128;
    auto complex = py::cast<std::complex<double>>(from);
    v->c.emplace();
    v->c->r = complex.real();
    v->c->i = complex.imag();
  } else {
    v->type = TypedNumber::Type::FLOAT64;
    v->r = py::cast<double>(from);
  }
}
void Take(py::handle from, Boxed<TypedNumber>* v) { Take(from, &v->emplace()); }
void Take(py::handle from, std::vector<BlockIndex>* v) {
  for (int32_t block : py::cast<std::vector<int32_t>>(from)) v->push_back({block});
}
void Take(py::handle from, std::vector<TypedNumber>* v) {
  for (py::handle number : from) Take(number, &v->emplace_back());
}

// The wire type that a value implies; NotFound if it implies none.
std::string WireTypeOf(py::handle value) {
  auto scalar = [](py::handle v) -> std::string {
    if (PyBool_Check(v.ptr())) return "BOOLEAN";
    if (PyLong_Check(v.ptr())) {
      int overflow = 0;
      long long n = PyLong_AsLongLongAndOverflow(v.ptr(), &overflow);
      return n == static_cast<int32_t>(n) && !overflow ? "INT" : "LONG";
    }
    if (PyFloat_Check(v.ptr())) return "FLOAT";
    if (PyUnicode_Check(v.ptr())) return "STRING";
    return "";
  };
  std::string type = scalar(value);
  if (type.empty() && (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr())) &&
      PySequence_Size(value.ptr()) > 0) {
    type = scalar(Steal(PySequence_GetItem(value.ptr(), 0)));
    if (!type.empty()) type += 'S';
  }
  ENFORCE(!type.empty(), Type,
          "an attribute must be a bool, int, float, str or a list of them, got ",
          Py_TYPE(value.ptr())->tp_name);
  return type;
}

}  // namespace

py::object AttrObject(const AttrValue& value) {
  return std::visit([](const auto& v) { return ObjectOf(v); }, value);
}

AttrValue AttrOfType(py::handle value, const std::string& type) {
  for (int32_t i = 0; const char* name = program::EnumName(static_cast<AttrType>(i)); ++i) {
    if (type != name) continue;
    AttrValue result = EmptyValue(static_cast<AttrType>(i));
    std::visit([&](auto& v) { Take(value, &v); }, result);
    return result;
  }
  THROW(InvalidArgument, "the type of an attribute must be one of AttrType's, got '", type, "'");
}

void SetAttr(OpDesc& op, const std::string& name, py::handle value, const py::object& type) {
  try {
    const OpInfo* info = FindOp(op.type);
    int field = info ? info->attr_table.Find(name) : -1;
    if (!type.is_none()) {
      const std::string word = py::cast<std::string>(type);
      const bool exact = field >= 0 && info->attr_table.fields[field].is_double && word == "FLOAT";
      op.SetAttr(name, exact ? FloatValue(py::cast<double>(value)) : AttrOfType(value, word),
                 word == "FLOAT64");
      return program::NamesToInputs(&op);
    }
    if (field < 0) return op.SetAttr(name, AttrOfType(value, WireTypeOf(value)));
    if (MayBeOpen(*info, field) && HoldsSymbol(value.ptr())) {
      const OpenInput open =
          OpenFromPython(value.ptr(), field, Attrs::Make(info->attr_table).get());
      Names names;
      for (const Ref<Variable>& v : open.variables) {
        ENFORCE(v->symbolic(), Type, "the attribute ", name,
                " of an operator that is appended must be a value or Variables of the program "
                "alone, got a number among Variables");
        names.push_back(v->name());
      }
      return program::GiveBy(&op, name, std::move(names), open.list);
    }
    Ref<Attrs> attrs = Attrs::Make(info->attr_table);
    attrs->Set(field, AttrFromPython(value.ptr(), info->attr_table.fields[field]));
    AttrValue fitting = attrs->Get(field);
    program::SpellForPaddle(op.type, name, &fitting);
    op.SetAttr(name, std::move(fitting));
  } catch (Error& e) {
    e.AddOperator(op.type);
    throw;
  } catch (const py::cast_error&) {
    THROW(Type, op.type, ": the attribute ", name, " must be of the type ",
          type.is_none() ? "that its value implies" : py::cast<std::string>(type), ", got ",
          Py_TYPE(value.ptr())->tp_name);
  }
}

py::object Attribute(const OpDesc& op, const std::string& name) {
  const AttrValue* value = op.FindAttr(name);
  ENFORCE(value, NotFound, op.type, ": there must be an attribute of the given name, got '", name,
          "'");
  const auto* given = op.Input(name);
  if (given && std::holds_alternative<VarNames>(*value)) return py::cast(*given);
  if (given && std::holds_alternative<VarName>(*value) && given->size() == 1)
    return py::str(given->front());
  return AttrObject(*value);
}

}  // namespace dygraph::python
