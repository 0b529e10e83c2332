#include "python/open_inputs.h"

#include <deque>

#include "op/open_attr.h"
#include "python/convert.h"
#include "python/wrapper.h"

namespace dygraph::python {

namespace {

bool IsSymbol(PyObject* o) { return IsVariable(o) && VarOf(o).symbolic(); }
bool IsSequence(PyObject* o) { return PyList_Check(o) || PyTuple_Check(o); }

Ref<Variable> Element(PyObject* o, const AttrField& field) {
  if (IsVariable(o)) return Ref<Variable>(&VarOf(o));
  AttrField one = field;
  one.type = AttrType::kLong;
  Tensor number(Dims{1}, DType::kInt64, CPUPlace());
  number.mutable_data<int64_t>()[0] = std::get<int64_t>(AttrFromPython(o, one));
  Ref<Variable> made = Variable::Make(Value(std::move(number)));
  made->literal = true;
  return made;
}

// What is known of an element of a list, whatever its variable's shape.
Tensor OneOf(DType dtype) {
  Tensor one;
  one.SetMeta(Dims{1}, dtype);
  return one;
}

}  // namespace

bool HoldsSymbol(PyObject* value) {
  if (PyLong_CheckExact(value)) return false;  // most often
  if (!IsSequence(value)) return IsSymbol(value);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
    if (IsSymbol(PySequence_Fast_GET_ITEM(value, i))) return true;
  }
  return false;
}

OpenInput OpenFromPython(PyObject* value, int field, Attrs* attrs) {
  const AttrField& f = attrs->table().fields[field];
  OpenInput open;
  open.field = field;
  open.list = IsSequence(value);
  ENFORCE(!open.list || f.type == AttrType::kInts || f.type == AttrType::kLongs, Type,
          "the attribute ", f.name, " must be ", Name(f.type), " or one Variable, got a list");
  if (open.list) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i)
      open.variables.push_back(Element(PySequence_Fast_GET_ITEM(value, i), f));
  } else {
    open.variables.push_back(Element(value, f));
  }
  std::vector<const Tensor*> tensors;
  std::deque<Tensor> single;  // addresses stay
  for (const Ref<Variable>& v : open.variables) {
    ENFORCE(v->value().is_tensor(), Type, "the attribute ", f.name,
            " must be given by tensors, got another kind of variable");
    tensors.push_back(&v->tensor());
  }
  for (const Tensor*& t : tensors) {
    ENFORCE(!open.list || t->dims().HasUnknown() || t->numel() == 1, InvalidArgument,
            "each variable in the list of the attribute ", f.name,
            " must hold one number, got shape ", t->dims());
    if (open.list) t = &single.emplace_back(OneOf(t->dtype()));
  }
  OpenFor(attrs, field, {tensors.data(), tensors.size()});
  return open;
}

void SetOpenable(PyObject* value, int field, Attrs* attrs, std::vector<OpenInput>* open) {
  if (HoldsSymbol(value)) {
    open->push_back(OpenFromPython(value, field, attrs));
    return;
  }
  attrs->Set(field, AttrFromPython(value, attrs->table().fields[field]));
  CheckNotOpen(*attrs, field);
}

}  // namespace dygraph::python
