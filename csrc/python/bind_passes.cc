// Passes for Python: the registry, its door, and passes that are Python functions.
#include <pybind11/stl.h>

#include "passes/graph.h"
#include "passes/pass.h"
#include "python/attributes.h"
#include "python/bind_descriptions.h"
#include "python/callable.h"
#include "python/caster.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/symbol.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

using program::Pass;
using program::PassCall;
using program::PassOption;
using program::PassOptions;
using ScopeRef = std::shared_ptr<program::Scope>;

PassOptions OptionsOf(const std::string& name, const py::dict& given) {
  const Pass& pass = program::GetPass(name);
  PassOptions options;
  for (const auto& [key, value] : given) {
    auto option = py::cast<std::string>(key);
    const PassOption* known = nullptr;
    for (const PassOption& each : pass.options) known = each.field.name == option ? &each : known;
    // the door says what is wrong with the name of one that is not known
    options.emplace_back(option, known ? AttrFromPython(value.ptr(), known->field) : 0);
  }
  return options;
}

// An option from its initial value in Python: a bool, int, float, str or list of str.
PassOption OptionFrom(std::string name, py::handle initial, std::string help) {
  PassOption option;
  option.field.name = std::move(name);
  option.field.help = std::move(help);
  option.field.type = py::isinstance<py::bool_>(initial)    ? AttrType::kBool
                      : py::isinstance<py::int_>(initial)   ? AttrType::kLong
                      : py::isinstance<py::float_>(initial) ? AttrType::kFloat
                      : py::isinstance<py::str>(initial)    ? AttrType::kString
                                                            : AttrType::kStrings;
  option.initial = AttrFromPython(initial.ptr(), option.field);
  return option;
}

// function(program, scope, **options), which edits the static.Program.
void RunFunction(const Kept& function, const std::string& name, const Pass& pass, PassCall& call) {
  Locked lock;
  void* face = call.program().blocks().at(0)->face();
  ENFORCE(face, Unimplemented, "the pass ", name, " is a function of Python, so the program must ",
          "be a static.Program, got a description");
  py::object program = py::handle(static_cast<PyObject*>(face)).attr("program");
  py::dict options;
  for (size_t i = 0; i < pass.options.size(); ++i)
    options[py::str(pass.options[i].field.name)] = AttrObject(call.values()[i]);
  try {
    py::handle(function.get())(program, call.scope(), **options);
  } catch (py::error_already_set& e) {
    e.restore();
    ThrowPythonError();
  }
}

// A node as (operator, versions read, versions written, those of its block that it reads and
// writes, block that it runs, whether it was taken out).
py::tuple NodeTuple(const program::BlockGraph& graph, size_t n) {
  const program::BlockGraph::Node& node = graph.nodes().at(n);
  return py::make_tuple(FaceOf(*node.op), node.inputs, node.outputs, node.hidden_inputs,
                        node.hidden_outputs, node.body, node.removed);
}

// A version as (name, number, producer, consumers, next version, whether it is wanted elsewhere).
py::tuple VersionTuple(const program::BlockGraph& graph, size_t v) {
  const program::BlockGraph::Version& version = graph.versions().at(v);
  return py::make_tuple(version.name, version.number, version.producer, version.consumers,
                        version.next, version.wanted);
}

void BindGraph(py::module_& m) {
  using program::Graph;
  auto at = [](Graph& g, size_t block) -> program::BlockGraph& { return g.blocks().at(block); };
  py::class_<Graph>(m, "Graph")
      .def(py::init<program::Program*, const std::vector<std::string>&>(), py::keep_alive<1, 2>())
      .def_property_readonly("block_count", [](Graph& g) { return g.blocks().size(); })
      .def("node_count", [at](Graph& g, size_t b) { return at(g, b).nodes().size(); })
      .def("version_count", [at](Graph& g, size_t b) { return at(g, b).versions().size(); })
      .def("node", [at](Graph& g, size_t b, size_t n) { return NodeTuple(at(g, b), n); })
      .def("version", [at](Graph& g, size_t b, size_t v) { return VersionTuple(at(g, b), v); })
      .def("replace", [at](Graph& g, size_t b, int v, int by) { return at(g, b).Replace(v, by); })
      .def("remove", [at](Graph& g, size_t b, int n) { at(g, b).Remove(n); })
      .def("write", &Graph::Write)
      .def("text", &Graph::Text);
}

}  // namespace

void BindPasses(py::module_& m) {
  BindGraph(m);
  m.def("pass_names", &program::PassNames);
  // (what it does, [(option, type, initial value, help)])
  m.def("pass_info", [](const std::string& name) {
    const Pass& pass = program::GetPass(name);
    py::list options;
    for (const PassOption& option : pass.options) {
      options.append(py::make_tuple(option.field.name, std::string(Name(option.field.type)),
                                    AttrObject(option.initial), option.field.help));
    }
    return py::make_tuple(pass.what, options);
  });
  m.def(
      "apply_pass",
      [](program::Program& program, const std::string& name, const py::dict& options,
         const ScopeRef& scope) { ApplyPass(name, &program, OptionsOf(name, options), scope); },
      py::arg("program"), py::arg("name"), py::arg("options"), py::arg("scope") = py::none());
  m.def("apply_pass",
        [](const PyProgram& program, const std::string& name, const py::dict& options) {
          return PyProgram{ApplyPass(name, program.desc, OptionsOf(name, options))};
        });
  m.def("add_pass", [](const std::string& name, std::string what, py::function function,
                       const std::vector<std::tuple<std::string, py::object, std::string>>& options,
                       const std::string& line) {
    auto pass = std::make_unique<Pass>();
    pass->name = name;
    pass->what = std::move(what);
    for (const auto& [option, initial, help] : options)
      pass->options.push_back(OptionFrom(option, initial, help));
    pass->place = line;
    auto kept = std::make_shared<Kept>(std::move(function));
    const Pass* self = pass.get();
    pass->run = [kept, self](PassCall& call) { RunFunction(*kept, self->name, *self, call); };
    program::AddPass(std::move(pass));
  });
}

}  // namespace dygraph::python
