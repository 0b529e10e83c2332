#include <pybind11/stl.h>

#include "python/bind.h"
#include "python/caster.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/steal.h"
#include "python/symbol.h"
#include "python/variable_calls.h"
#include "python/variable_slots.h"
#include "tape/door.h"
#include "tape/thread_state.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

using VarRef = Ref<Variable>;

DType GivenType(const py::object& dtype) {
  return dtype.is_none() ? DType::kUnset : DTypeFromPython(dtype.ptr());
}

VarRef ToVariable(py::object value, py::object lod, py::object dtype, py::object name,
                  py::object beside) {
  const DType cast = GivenType(dtype), meets = GivenType(beside);
  Tensor t = TensorFromPython(value.ptr(), cast, meets);
  const DType down = CurrentThread().cast_floats_to;
  if (cast == DType::kUnset && meets == DType::kUnset && down != DType::kUnset &&
      IsFloating(t.dtype()) && t.dtype() != down) {
    t = TensorFromPython(value.ptr(), down);
  }
  if (!lod.is_none()) t.SetLoD(LoDFromPython(lod.ptr()));
  const Place place = CurrentThread().place;
  if (t.place() != place) t = CopyTo(t, place);
  VarRef v = Variable::Make(Value(std::move(t)));
  if (!name.is_none()) v->set_name(py::cast<std::string>(name));
  return v;
}

VarRef Number(PyObject* number, DType dtype) {
  return Variable::Make(Value(CopyTo(ScalarTensor(number, dtype), CurrentThread().place)));
}

}  // namespace

void BindVariable(py::module_& m) {
  m.def("to_variable", &ToVariable, py::arg("value"), py::arg("lod") = py::none(),
        py::arg("dtype") = py::none(), py::arg("name") = py::none(),
        py::arg("beside") = py::none(),
        "beside: the type of a Variable that the value meets, which Python's floats take.");
  m.def(
      "literal",
      [](py::object value, py::object dtype) {
        const bool is_number = IsPythonNumber(value.ptr()) && !dtype.is_none();
        const py::object none = py::none();
        VarRef v = is_number ? Number(value.ptr(), DTypeFromPython(dtype.ptr()))
                             : ToVariable(std::move(value), none, std::move(dtype), none, none);
        v->literal = true;
        return v;
      },
      py::arg("value"), py::arg("dtype") = py::none(),
      "A constant of a formula, which a program that is being described takes in. A number must fit "
      "into the type.");
  m.def("view", [](const Given& v) {
    TellRead(*v, "np.asarray()");
    return Steal(ViewOfTensor(v->value().ToDense()));
  });
  m.def("lod", [](const Given& v) { return Steal(LoDToPython(v->tensor().lod_levels())); });
  m.def("set_lod", [](const Given& v, py::object lod) {
    Tensor t = v->tensor();
    t.SetLoD(LoDFromPython(lod.ptr()));
    v->SetValue(Value(std::move(t)));
  });
  m.def("lengths_to_offsets", [](py::object lengths) {
    return Steal(LoDToPython(LengthsToOffsets(LoDFromPython(lengths.ptr()))));
  });
  m.def("offsets_to_lengths", [](py::object offsets) {
    return Steal(LoDToPython(OffsetsToLengths(LoDFromPython(offsets.ptr()))));
  });
  // Takes over value and producer: how in-place operations end.
  m.def("become", [](const Given& v, const Given& result) {
    if (result->symbolic()) return WriteInProgram(v.ref, result.ref);
    RefusePart(*v);
    v->Become(*result);
    WriteThrough(*v);
  });
  m.def(
      "alias",
      [](py::object v) {
        py::object all = Steal(Wrap(RequireVariable(v.ptr(), "x").Detach()));
        MarkAlias(all.ptr(), v.ptr());
        return all;
      },
      "The values without a past; what is written into it is written into `v`.");
  m.def("set_value", [](const Given& v, py::object value) {
    Tensor t = IsVariable(value.ptr())
                   ? VarOf(value.ptr()).tensor()
                   : TensorFromPython(value.ptr(),
                                      v->value().empty() ? DType::kUnset : v->value().dtype());
    if (!v->value().empty()) {
      ENFORCE(t.dims() == v->value().dims(), InvalidArgument, "set_value must keep the shape ",
              v->value().dims(), ", got ", t.dims());
      ENFORCE(t.dtype() == v->value().dtype(), Type, "set_value must keep the element type ",
              v->value().dtype(), ", got ", t.dtype());
    }
    RefusePart(*v);
    v->SetValue(Value(CopyTo(t, v->value().empty() ? CurrentThread().place : v->value().place())));
    if (IsVariable(value.ptr())) v->value_number = VarOf(value.ptr()).value_number;
    WriteThrough(*v);
  });
  m.def(
      "storage_id",
      [](const Given& v) { return reinterpret_cast<uintptr_t>(v->tensor().storage().get()); },
      "Identity of the storage: equal for variables that share it.");
  m.def("data_pointer",
        [](const Given& v) { return reinterpret_cast<uintptr_t>(v->tensor().raw_data()); });
  m.def("layout",
        [](const Given& v) { return v->tensor().layout() == Layout::kNHWC ? "NHWC" : "NCHW"; });
  m.def("to_layout", [](const Given& v, const std::string& layout) {
    ENFORCE(layout == "NCHW" || layout == "NHWC", InvalidArgument,
            "the layout must be NCHW or NHWC, got '", layout, "'");
    Value value(layout == "NHWC" ? ToLayout(v->tensor(), Layout::kNHWC) : v->tensor().Plain());
    VarRef out = Variable::Make(std::move(value));
    out->value_number = v->value_number;
    return out;
  });
  m.def("to_place", [](const Given& v, py::object place) {
    VarRef out = Variable::Make(Value(CopyTo(v->tensor(), PlaceFromPython(place.ptr()))));
    out->value_number = v->value_number;
    return out;
  });
  m.def("is_empty", [](const Given& v) { return v->value().empty(); });
  m.def("value_kind", [](const Given& v) { return std::string(Name(v->value().kind())); });
  m.def("array_length", [](const Given& v) { return v->value().array().items.size(); });
  m.def("array_shapes", [](const Given& v) {  // None: never written
    py::list shapes;
    for (const Tensor& t : v->value().array().items) {
      shapes.append(t.dtype() == DType::kUnset ? py::none() : Steal(DimsToPython(t.dims())));
    }
    return shapes;
  });
  m.def("table_items", [](const Given& v) {
    py::list items;
    for (const LoDRankTable::Item& i : v->value().rank_table().items())
      items.append(py::make_tuple(i.index, i.length));
    return items;
  });
  m.def("is_selected_rows", [](const Given& v) { return v->value().is_rows(); });
  m.def("rows", [](const Given& v) {
    TellRead(*v, "rows()");
    return v->value().rows().rows();
  });
  m.def("height", [](const Given& v) { return v->value().rows().height(); });
  m.def("rows_value",
        [](const Given& v) { return Variable::Make(Value(v->value().rows().value())); });
  m.def("to_dense", [](const Given& v) {
    TellRead(*v, "to_dense()");
    return Variable::Make(Value(v->value().ToDense()));
  });
  m.def("merged", [](const Given& v) {
    TellRead(*v, "merged()");
    return Variable::Make(Value(v->value().rows().Merged()));
  });
  m.def("make_selected_rows", [](const std::vector<int64_t>& rows, int64_t height,
                                 const Given& value) {
    return Variable::Make(Value(MakeRef<SelectedRows>(rows, height, value->tensor().Plain())));
  });
  m.def("set_type_attribute", [](const std::string& name, py::object value) {
    SetTypeAttribute(name.c_str(), value.ptr());
  });
  m.def("quick_function", [](const std::string& signature, const std::string& op, py::object slow) {
    PyObject* made = MakeQuickFunction(signature.c_str(), op.c_str(), slow.ptr());
    if (!made) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(made);
  });
  m.def("set_foreign_attributes", [](py::dict names) { SetForeignAttributes(names.ptr()); });
  m.def("set_count_type", [](py::object type) { SetCountType(type.ptr()); });
}

}  // namespace dygraph::python
