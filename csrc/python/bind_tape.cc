// The tape as Python sees it: its nodes, to be looked at, and hooks on what it keeps; the layer of
// mixed precision.
#include <pybind11/stl.h>

#include "op/op_registry.h"
#include "python/bind.h"
#include "python/callable.h"
#include "python/caster.h"
#include "python/convert.h"
#include "python/errors.h"
#include "tape/auto_cast.h"
#include "tape/thread_state.h"
#include "tape/variable.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

struct NodeView {
  Ref<Node> node;
};

py::object ViewOf(const Ref<Node>& node) {
  if (!node) return py::none();
  return py::cast(NodeView{node});
}

py::list InputsOf(const NodeView& view) {
  py::list list;
  const SmallVector<Edge, 2> edges = view.node->edges();  // the collector may run a backward
  for (const Edge& e : edges) list.append(py::make_tuple(ViewOf(e.node), e.index));
  return list;
}

const char* KindOf(const NodeView& view) {
  Node* node = view.node.get();
  if (dynamic_cast<LeafNode*>(node)) return "leaf";
  return dynamic_cast<OpNode*>(node) ? "operator" : "function";
}

// (slot, shape, dtype, bytes) of each kept value.
py::list KeptBy(const NodeView& view) {
  py::list list;
  auto* node = dynamic_cast<OpNode*>(view.node.get());
  if (!node || node->freed()) return list;
  const SmallVector<Value, 2> kept = node->kept();
  for (size_t i = 0; i < kept.size(); ++i) {
    RecipeRef r = node->recipe().kept[i];
    const Value& v = kept[i];
    if (v.empty()) continue;  // an absent element of a list
    const auto& slots = r.kind == RecipeRef::kOutput ? node->op().outputs : node->op().inputs;
    bool held = v.is_rows() || v.tensor().has_data();
    list.append(py::make_tuple(
        slots[r.slot].name, py::reinterpret_steal<py::object>(DimsToPython(v.dims())),
        py::reinterpret_steal<py::object>(DTypeToPython(v.dtype())), held ? v.bytes() : 0));
  }
  return list;
}

// pack(variable) -> anything; unpack(that) -> a variable of the same shape and type.
class PythonHooks : public SavedValueHooks {
 public:
  PythonHooks(py::object pack, py::object unpack)
      : pack_(std::make_shared<Kept>(std::move(pack))),
        unpack_(std::make_shared<Kept>(std::move(unpack))) {}

  Unpack Pack(const Value& value) override {
    Quiet quiet;
    PyObject* variable = Wrap(Variable::Make(value));
    PyObject* packed = Surviving([&] { return PyObject_CallOneArg(pack_->get(), variable); });
    Py_XDECREF(variable);
    if (!packed) ThrowPythonError();
    auto kept = std::make_shared<Kept>(py::reinterpret_steal<py::object>(packed));
    return [kept, unpack = unpack_] {
      Quiet quiet;
      PyObject* result = Surviving([&] { return PyObject_CallOneArg(unpack->get(), kept->get()); });
      if (!result) ThrowPythonError();
      py::object holder = py::reinterpret_steal<py::object>(result);
      return RequireVariable(result, "what an unpack hook returns").value();
    };
  }

 private:
  // While a hook runs nothing is recorded, and what it computes is not packed in turn.
  class Quiet {
   public:
    Quiet() : recording_(false), hooks_(CurrentThread().saved_value_hooks) {
      CurrentThread().saved_value_hooks = nullptr;
    }
    ~Quiet() { CurrentThread().saved_value_hooks = hooks_; }

   private:
    GradSwitch recording_;
    SavedValueHooks* hooks_;
  };
  std::shared_ptr<Kept> pack_, unpack_;
};

}  // namespace

void BindTape(py::module_& m) {
  py::class_<NodeView>(m, "Node", "One step of the tape: an operator, a function or a leaf.")
      .def_property_readonly("name", [](const NodeView& v) { return std::string(v.node->name()); })
      .def_property_readonly("kind", &KindOf)
      .def_property_readonly("number", [](const NodeView& v) { return v.node->seq(); })
      .def_property_readonly("inputs", &InputsOf)
      .def_property_readonly("outputs", [](const NodeView& v) { return v.node->outputs(); })
      .def_property_readonly("kept", &KeptBy)
      .def_property_readonly("freed", [](const NodeView& v) { return v.node->freed(); })
      .def_property_readonly("caller",
                             [](const NodeView& v) -> py::object {
                               if (!v.node->caller) return py::none();
                               return py::str(*v.node->caller);
                             })
      .def("__eq__", [](const NodeView& a, const NodeView& b) { return a.node == b.node; })
      .def("__hash__", [](const NodeView& v) { return v.node->seq(); })
      .def("__repr__", [](const NodeView& v) {
        return "<" + std::string(v.node->name()) + " node " + std::to_string(v.node->seq()) + ">";
      });
  // The node that made a variable or, for a leaf that wants a gradient, the one that collects it.
  m.def("node_of",
        [](const Given& v) { return v->RequiresGrad() ? ViewOf(v->GradEdge().node) : py::none(); });
  m.def("producer_of", [](const Given& v) { return ViewOf(v->producer().node); });
  m.def("push_saved_value_hooks",
        [](py::object pack, py::object unpack) { new PythonHooks(pack, unpack); });
  py::class_<AutoCast, std::shared_ptr<AutoCast>>(m, "AutoCast")
      .def(py::init([](py::object narrow, const std::vector<std::string>& white,
                       const std::vector<std::string>& black) {
        return std::make_shared<AutoCast>(DTypeFromPython(narrow.ptr()), white, black);
      }))
      .def("enter", [](std::shared_ptr<AutoCast> layer) { AddLayer(std::move(layer)); })
      .def("leave", [](const AutoCast& layer) { RemoveLayer(&layer); })
      .def("widened", &AutoCast::widened);
  m.def("pop_saved_value_hooks", [] {
    ENFORCE(CurrentThread().saved_value_hooks, PreconditionNotMet,
            "saved_value_hooks must have been entered on this thread, got an exit without it");
    delete CurrentThread().saved_value_hooks;
  });
}

}  // namespace dygraph::python
