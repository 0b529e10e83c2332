#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <set>

#include "python/bind.h"
#include "python/callable.h"
#include "python/caster.h"
#include "python/convert.h"
#include "python/errors.h"
#include "run/generator.h"
#include "run/watch.h"
#include "tape/engine.h"
#include "tape/thread_state.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

using VarRef = Ref<Variable>;

std::vector<Variable*> Pointers(const std::vector<VarRef>& vars, const char* what) {
  std::vector<Variable*> list;
  for (const VarRef& v : vars) {
    ENFORCE(v, Type, what, " must hold Variables, got None");
    list.push_back(v.get());
  }
  return list;
}

uint64_t AddPythonHook(const VarRef& var, py::object f) {
  ENFORCE(var, Type, "a hook belongs to a Variable, got None");
  ENFORCE(PyCallable_Check(f.ptr()), Type, "a hook must be a function of the gradient, got ",
          Py_TYPE(f.ptr())->tp_name);
  PyObject* owner = f.ptr();
  auto callable = std::make_shared<Kept>(std::move(f));
  uint64_t handle = var->AddHook(
      [callable](const VarRef& grad) -> VarRef {
        PyObject* wrapped = Wrap(grad);
        PyObject* result = Surviving([&] { return PyObject_CallOneArg(callable->get(), wrapped); });
        Py_XDECREF(wrapped);
        if (!result) ThrowPythonError();
        py::object holder = py::reinterpret_steal<py::object>(result);
        if (result == Py_None) return nullptr;
        return VarRef(&RequireVariable(result, "what a hook returns"));
      },
      owner);
  PyObject* self = static_cast<PyObject*>(var->wrapper);
  if (self) TrackWrapper(self);
  return handle;
}

// Ties outputs to inputs through backward(saved, *grads) -> a gradient (or None) for each input.
// `saved` holds the outputs named by `saved_outputs`: the node keeps their values only, since a
// variable would keep the node itself alive for ever.
void RecordFunction(const std::string& name, const std::vector<VarRef>& inputs,
                    const std::vector<VarRef>& outputs, py::object backward,
                    const std::vector<uint32_t>& saved_outputs) {
  bool any = false;
  for (const VarRef& v : inputs) any |= v && v->RequiresGrad();
  if (!any || !CurrentThread().recording) return;
  auto callable = std::make_shared<Kept>(std::move(backward));
  auto self = std::make_shared<Node*>(nullptr);
  std::vector<std::pair<Value, uint64_t>> kept;  // with the number, for a recorder
  for (uint32_t i : saved_outputs) {
    const VarRef& v = outputs.at(i);
    kept.emplace_back(v->value(), v->value_number);
  }
  size_t count = inputs.size();
  auto play = [callable, self, saved_outputs, kept, count, name](
                  GradList& grads, GradList* input_grads, bool create_graph) {
    py::tuple saved(kept.size());
    for (size_t i = 0; i < kept.size(); ++i) {
      VarRef v = Variable::Make(kept[i].first);
      v->value_number = kept[i].second;
      if (create_graph) v->SetProducer(Ref<Node>(*self), saved_outputs[i]);
      saved[i] = py::reinterpret_steal<py::object>(Wrap(std::move(v)));
    }
    py::tuple args(grads.size() + 1);
    args[0] = saved;
    for (size_t i = 0; i < grads.size(); ++i)
      args[i + 1] = py::reinterpret_steal<py::object>(Wrap(grads[i]));
    PyObject* result = Surviving([&] { return PyObject_CallObject(callable->get(), args.ptr()); });
    if (!result) ThrowPythonError();
    py::object holder = py::reinterpret_steal<py::object>(result);
    py::tuple list =
        PyTuple_Check(result) || PyList_Check(result) ? py::tuple(holder) : py::make_tuple(holder);
    ENFORCE(list.size() == count, InvalidArgument, name,
            ": backward must give a gradient or None for each of the ", count, " inputs, got ",
            list.size());
    for (size_t i = 0; i < count; ++i) {
      py::object item = list[i];
      if (!item.is_none())
        (*input_grads)[i] = VarRef(&RequireVariable(item.ptr(), (name + ": a gradient").c_str()));
    }
  };
  Ref<FunctionNode> node(new FunctionNode(name, static_cast<uint32_t>(outputs.size()), play));
  *self = node.get();
  for (const VarRef& v : inputs) {
    bool holds = v && !v->value().empty();
    node->Expect(holds ? v->value().dims() : Dims(), holds ? v->value().dtype() : DType::kUnset);
  }
  for (const VarRef& v : inputs) node->AddEdge(v ? v->GradEdge() : Edge());
  if (watch::Switches() & watch::kCallers) node->caller = watch::AskCaller();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] && IsInexact(outputs[i]->value().dtype()))
      outputs[i]->SetProducer(Ref<Node>(node.get()), static_cast<uint32_t>(i));
  }
}

}  // namespace

void BindAutograd(py::module_& m) {
  m.def("backward", [](const std::vector<VarRef>& roots, const std::vector<VarRef>& grads,
                       bool retain_graph, bool create_graph) {
    std::vector<Variable*> r = Pointers(roots, "what backward starts from"), g;
    for (const VarRef& v : grads) g.push_back(v.get());
    ENFORCE(g.empty() || g.size() == r.size(), InvalidArgument,
            "backward needs one gradient (or None) for each of the ", r.size(), " variables, got ",
            g.size());
    Backward({r.data(), r.size()}, {g.data(), g.size()}, retain_graph, create_graph);
  });
  m.def(
      "grad",
      [](const std::vector<VarRef>& outputs, const std::vector<VarRef>& inputs,
         const std::vector<VarRef>& grads, bool retain_graph, bool create_graph, bool allow_unused,
         const std::vector<VarRef>& no_grad_vars) {
        std::vector<Variable*> o = Pointers(outputs, "outputs"), i = Pointers(inputs, "inputs"), g;
        std::vector<Variable*> constants = Pointers(no_grad_vars, "no_grad_vars");
        for (const VarRef& v : grads) g.push_back(v.get());
        ENFORCE(!o.empty() && !i.empty(), InvalidArgument,
                "grad needs at least one output and one input, got ", o.size(), " and ", i.size());
        ENFORCE(g.empty() || g.size() == o.size(), InvalidArgument,
                "grad_outputs must have one entry for each of the ", o.size(), " outputs, got ",
                g.size());
        return Grad({o.data(), o.size()}, {i.data(), i.size()}, {g.data(), g.size()}, retain_graph,
                    create_graph, allow_unused, {constants.data(), constants.size()});
      },
      py::arg("outputs"), py::arg("inputs"), py::arg("grad_outputs"), py::arg("retain_graph"),
      py::arg("create_graph"), py::arg("allow_unused"),
      py::arg("no_grad_vars") = std::vector<VarRef>());
  m.def("grad_enabled", [] { return CurrentThread().recording; });
  // reason: why recording is off, for the error of a later backward(); an empty one keeps the
  // default text.
  m.def(
      "set_grad_enabled",
      [](bool on, const std::string& reason) {
        static std::set<std::string>* reasons =
            new std::set<std::string>;  // variables point to them
        CurrentThread().SetRecording(on);
        CurrentThread().grad_off_reason =
            on || reason.empty() ? nullptr : &*reasons->insert(reason).first;
      },
      py::arg("on"), py::arg("reason") = "");
  m.def("add_hook", &AddPythonHook);
  m.def("remove_hook", [](const Given& var, uint64_t handle) { var->RemoveHook(handle); });
  m.def("retain_grad", [](const Given& var) { var->RetainGrad(); });
  m.def("record_function", &RecordFunction, py::arg("name"), py::arg("inputs"), py::arg("outputs"),
        py::arg("backward"), py::arg("saved_outputs") = std::vector<uint32_t>());
  m.def("saved", [](const VarRef& root) {
    ENFORCE(root, Type, "saved() takes a Variable, got None");
    py::list list;
    for (const KeptTensor& k : KeptFor(*root)) {
      py::tuple shape = py::reinterpret_steal<py::tuple>(DimsToPython(k.dims));
      list.append(py::make_tuple(k.op, k.slot, shape,
                                 py::reinterpret_steal<py::object>(DTypeToPython(k.dtype)), k.bytes,
                                 reinterpret_cast<uintptr_t>(k.block)));
    }
    return list;
  });
  m.def("count_nodes", [](const VarRef& root) { return root ? CountNodes(*root) : 0; });
  m.def("live_variables", &Variable::live_count);
  m.def("seed", &SeedGenerator);
  m.def("generator_state", [] {
    GeneratorState s = GetGeneratorState();
    return py::make_tuple(s.seed, s.calls);
  });
  m.def("set_generator_state",
        [](uint64_t seed, uint64_t calls) { SetGeneratorState({seed, calls}); });
}

}  // namespace dygraph::python
