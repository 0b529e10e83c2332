// In-place calls of one operator over many parameters: the step of an optimizer, prepared once.
#include <pybind11/stl.h>

#include "python/bind.h"
#include "python/caster.h"
#include "python/convert.h"
#include "run/update_queue.h"
#include "tape/door.h"
#include "tape/thread_state.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

class UpdateCall {
 public:
  UpdateCall(const std::string& type, const py::dict& given)
      : op_(GetOp(type)), attrs_(Attrs::Make(op_.attr_table)) {
    for (auto [key, value] : given) {
      int i = op_.attr_table.Require(py::cast<std::string>(key));
      attrs_->Set(i, AttrFromPython(value.ptr(), op_.attr_table.fields[i]));
    }
    param_ = op_.InputSlot("Param");
    grad_ = op_.InputSlot("Grad");
    source_of_.assign(op_.outputs.size(), -1);
    for (auto [in, out] : op_.in_place) source_of_[out] = in;
  }

  std::vector<std::string> Slots() const {
    std::vector<std::string> names;
    for (const SlotInfo& slot : op_.inputs) names.push_back(slot.name);
    return names;
  }

  // Each entry has a Variable or None for every input slot; None at Grad stands for the parameter's
  // own gradient, and a parameter without one is passed over. The results go where their inputs
  // came from. Gives the number of updates.
  int Run(const py::list& entries) const {
    GradSwitch off(false);
    UpdateQueue together;
    int updated = 0;
    try {
      // other threads may change the list while an update runs without the lock
      for (size_t i = 0; i < entries.size(); ++i) {
        py::object entry = entries[i];
        updated += RunOne(entry.ptr(), &together);
      }
    } catch (...) {
      together.Run();  // the updates before it have been made
      throw;
    }
    together.Run();
    return updated;
  }

 private:
  bool RunOne(PyObject* entry, UpdateQueue* together) const {
    ENFORCE(PyTuple_Check(entry) &&
                PyTuple_GET_SIZE(entry) == static_cast<Py_ssize_t>(op_.inputs.size()),
            Type, op_.type, ": an update must be a tuple with an entry for each of the ",
            op_.inputs.size(), " input slots");
    Ref<Variable> own_grad;
    SlotList<Variable> in, targets;
    for (size_t s = 0; s < op_.inputs.size(); ++s) {
      PyObject* item = PyTuple_GET_ITEM(entry, s);
      if (item != Py_None) {
        in.Add(&RequireVariable(item, op_.inputs[s].name.c_str()));
        continue;
      }
      if (static_cast<int>(s) == grad_) {
        own_grad = RequireVariable(PyTuple_GET_ITEM(entry, param_), "Param").grad();
        if (!own_grad) return false;
      }
      in.Add(own_grad && static_cast<int>(s) == grad_ ? own_grad.get() : nullptr);
    }
    for (int source : source_of_) targets.Add(source < 0 ? nullptr : in.at(source));
    OpOptions options;
    options.targets = &targets;
    options.extras = true;  // powers of beta that Fluid's operators leave to a call of their own
    // Observers see each update as it is made.
    LoopQueue* queue = CurrentThread().observed ? nullptr : together->queue();
    options.queue = queue;
    for (int s = 0; queue && s < in.slots(); ++s) {
      if (Variable* v = in.at(s)) together->KeepInput(op_, s, v->value());
    }
    Outputs out;
    RunOp(op_, attrs_, in, &out, options);
    if (queue) {
      for (const Ref<Variable>& v : out.owned) {
        if (v) together->KeepOutput(v->value());
      }
    }
    // A parameter is no result of its update: a later backward() from it has nothing to explain.
    for (Variable* v : targets.flat()) v->set_not_recorded(nullptr);
    return true;
  }

  const OpInfo& op_;
  Ref<Attrs> attrs_;
  int param_ = 0, grad_ = 0;
  std::vector<int> source_of_;  // by output: the input whose variable takes the result
};

// An operator whose first output takes the place of its first input: inputs by slot, one Variable
// or a list of them. Where nothing is to be recorded, memory that is not shared is written in
// place.
void RunInPlace(const std::string& type, const py::list& inputs, const py::dict& given) {
  const OpInfo& op = GetOp(type);
  Ref<Attrs> attrs = given.empty() ? op.default_attrs : Attrs::Make(op.attr_table);
  for (auto [key, value] : given) {
    int i = op.attr_table.Require(py::cast<std::string>(key));
    attrs->Set(i, AttrFromPython(value.ptr(), op.attr_table.fields[i]));
  }
  SlotList<Variable> in, targets;
  std::vector<Ref<Variable>> held;  // also where other threads change the lists meanwhile
  auto push = [&](py::handle item) {
    in.Push(held.emplace_back(&RequireVariable(item.ptr(), type.c_str())).get());
  };
  for (py::handle item : inputs) {
    if (PyList_Check(item.ptr())) {
      for (py::handle one : py::reinterpret_borrow<py::list>(item)) push(one);
    } else {
      push(item);
    }
    in.Close();
  }
  in.CloseUpTo(static_cast<int>(op.inputs.size()));
  Variable* target = in.at(0);
  targets.Add(target);
  targets.CloseUpTo(static_cast<int>(op.outputs.size()));
  bool recording = CurrentThread().recording, needed = false;
  for (Variable* v : in.flat()) needed |= v->RequiresGrad();
  OpOptions options;
  options.targets = &targets;
  Outputs out;
  if (!recording || needed) return RunOp(op, attrs, in, &out, options);
  auto reason = target->not_recorded();
  GradSwitch off(false);
  RunOp(op, attrs, in, &out, options);
  target->set_not_recorded(reason);
}

}  // namespace

void BindUpdate(py::module_& m) {
  m.def("clear_gradients", [](const py::list& variables) {
    // what a gradient held may run Python code as it dies
    for (size_t i = 0; i < variables.size(); ++i) {
      py::object v = variables[i];
      RequireVariable(v.ptr(), "a parameter").ClearGrad();
    }
  });
  m.def("run_in_place", &RunInPlace, py::arg("type"), py::arg("inputs"), py::arg("attrs"));
  py::class_<UpdateCall>(m, "UpdateCall",
                         "An optimizer operator with its attributes, applied in place.")
      .def(py::init<const std::string&, const py::dict&>(), py::arg("type"),
           py::arg("attrs") = py::dict())
      .def_property_readonly("slots", &UpdateCall::Slots)
      .def("run", &UpdateCall::Run, py::arg("entries"));
}

}  // namespace dygraph::python
