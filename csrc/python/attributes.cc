#include "python/attributes.h"

#include <pybind11/complex.h>
#include <pybind11/stl.h>

#include <complex>
#include <utility>

#include "program/foreign_attrs.h"
#include "program/op_binding.h"
#include "program/utf8.h"
#include "python/convert.h"
#include "python/steal.h"

namespace dygraph::python {

using program::OpDesc;
using Names = std::vector<std::string>;

namespace {

// A str, or bytes where the string of a file is no text.
py::object StringObject(const std::string& value) {
  if (program::IsUtf8(value)) return py::str(value);
  return py::bytes(value);
}

py::object Number(const program::Scalar& v) {
  switch (v.type) {
    case program::Scalar::Type::BOOLEAN: return py::bool_(v.b.value_or(false));
    case program::Scalar::Type::LONG: return py::int_(v.i.value_or(0));
    case program::Scalar::Type::FLOAT64: return py::float_(v.r.value_or(0));
    case program::Scalar::Type::COMPLEX128:
      return py::cast(v.c ? std::complex<double>(v.c->r, v.c->i) : std::complex<double>());
    default: return py::none();
  }
}

program::Scalar ScalarOf(py::handle value) {
  program::Scalar number;
  if (py::isinstance<py::bool_>(value)) {
    number.type = program::Scalar::Type::BOOLEAN;
    number.b = py::cast<bool>(value);
  } else if (py::isinstance<py::int_>(value)) {
    number.type = program::Scalar::Type::LONG;
    number.i = py::cast<int64_t>(value);
  } else if (PyComplex_Check(value.ptr())) {
    number.type = program::Scalar::Type::COMPLEX128;
    auto complex = py::cast<std::complex<double>>(value);
    number.c.emplace();
    number.c->r = complex.real();
    number.c->i = complex.imag();
  } else {
    number.type = program::Scalar::Type::FLOAT64;
    number.r = py::cast<double>(value);
  }
  return number;
}

// What a value alone tells of its wire type; NotFound where that is nothing.
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

py::object AttrObject(const program::AttrValue& value) {
  return std::visit(
      [](const auto& v) -> py::object {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, program::BlockIndex>) {
          return py::int_(v.value);
        } else if constexpr (std::is_same_v<T, program::VarName>) {
          return py::str(v.value);
        } else if constexpr (std::is_same_v<T, program::BlockIndices> ||
                             std::is_same_v<T, program::VarNames>) {
          return py::cast(v.values);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return StringObject(v);
        } else if constexpr (std::is_same_v<T, Names>) {
          py::list list;
          for (const std::string& s : v) list.append(StringObject(s));
          return list;
        } else if constexpr (std::is_same_v<T, program::Boxed<program::Scalar>>) {
          return v ? Number(*v) : py::none();
        } else if constexpr (std::is_same_v<T, std::vector<program::Scalar>>) {
          py::list list;
          for (const program::Scalar& number : v) list.append(Number(number));
          return std::move(list);
        } else {
          return py::cast(v);
        }
      },
      value);
}

program::AttrValue AttrOfType(py::handle value, const std::string& type) {
  if (type == "INT") return py::cast<int32_t>(value);
  if (type == "FLOAT") return py::cast<float>(value);
  if (type == "STRING") return py::cast<std::string>(value);
  if (type == "INTS") return py::cast<std::vector<int32_t>>(value);
  if (type == "FLOATS") return py::cast<std::vector<float>>(value);
  if (type == "STRINGS") return py::cast<Names>(value);
  if (type == "BOOLEAN") return py::cast<bool>(value);
  if (type == "BOOLEANS") return py::cast<std::vector<bool>>(value);
  if (type == "BLOCK") return program::BlockIndex{py::cast<int32_t>(value)};
  if (type == "LONG") return py::cast<int64_t>(value);
  if (type == "BLOCKS") return program::BlockIndices{py::cast<std::vector<int32_t>>(value)};
  if (type == "LONGS") return py::cast<std::vector<int64_t>>(value);
  if (type == "FLOAT64S") return py::cast<std::vector<double>>(value);
  if (type == "VAR") return program::VarName{py::cast<std::string>(value)};
  if (type == "VARS") return program::VarNames{py::cast<Names>(value)};
  if (type == "FLOAT64") return py::cast<double>(value);
  if (type == "SCALAR") {
    program::Boxed<program::Scalar> number;
    number.emplace() = ScalarOf(value);
    return number;
  }
  if (type == "SCALARS") {
    std::vector<program::Scalar> numbers;
    for (py::handle number : value) numbers.push_back(ScalarOf(number));
    return numbers;
  }
  THROW(InvalidArgument, "the type of an attribute must be one of AttrType's, got '", type, "'");
}

void SetAttr(OpDesc& op, const std::string& name, py::handle value, const py::object& type) {
  try {
    if (!type.is_none()) return op.SetAttr(name, AttrOfType(value, py::cast<std::string>(type)));
    const OpInfo* info = FindOp(op.type);
    int field = info ? info->attr_table.Find(name) : -1;
    if (field < 0) return op.SetAttr(name, AttrOfType(value, WireTypeOf(value)));
    Ref<Attrs> attrs = Attrs::Make(info->attr_table);
    attrs->Set(field, AttrFromPython(value.ptr(), info->attr_table.fields[field]));
    program::AttrValue wire = program::WireValue(*attrs, field);
    program::SpellForPaddle(op.type, name, &wire);
    op.SetAttr(name, std::move(wire));
  } catch (Error& e) {
    e.AddOperator(op.type);
    throw;
  } catch (const py::cast_error&) {
    THROW(Type, op.type, ": the attribute ", name, " must be of the type ",
          type.is_none() ? "its value tells" : py::cast<std::string>(type), ", got ",
          Py_TYPE(value.ptr())->tp_name);
  }
}

py::object Attribute(const OpDesc& op, const std::string& name) {
  const program::AttrValue* value = op.FindAttr(name);
  ENFORCE(value, NotFound, op.type, ": there must be an attribute of the given name, got '", name,
          "'");
  return AttrObject(*value);
}

}  // namespace dygraph::python
