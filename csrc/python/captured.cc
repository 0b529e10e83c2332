// Calls of captured functions: whether a program is the one of these arguments, its run, and for
// backward() a node of the tape that keeps what the second half of the program reads.
#include "python/captured.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/flags.h"
#include "execute/executor.h"
#include "python/callable.h"
#include "python/caster.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/guards.h"
#include "python/layer_call.h"
#include "python/steal.h"
#include "run/generator.h"
#include "run/watch.h"
#include "tape/thread_state.h"

namespace py = pybind11;

namespace dygraph {
FLAG(bool, log_compiles, false, "print a line on stderr when and why jit.compile compiles");
}  // namespace dygraph

namespace dygraph::python {

namespace {

using program::PreparedProgram;
using VarRef = Ref<Variable>;

struct Names {
  PyObject *rate, *last, *call;
} names;  // set by BindCaptured()

// What stands at a place among the arguments: a Variable of this kind, or this very constant.
struct Argument {
  PyObject* constant = nullptr;
  DType dtype = DType::kUnset;
  std::vector<int64_t> pattern;  // sizes; -1: any; below: one for all axes with this number
  size_t levels = 0;
  bool wants_gradient = false;

  // `shared` has the sizes that arguments before this one have on axes with a number, -1 elsewhere.
  bool Fits(PyObject* o, std::vector<int64_t>* shared) const {
    if (constant) return Same(o, constant);
    if (!IsVariable(o)) return false;
    const Variable& v = VarOf(o);
    if (v.symbolic() || v.RequiresGrad() != wants_gradient || !v.value().is_tensor()) return false;
    const Tensor& t = v.tensor();
    if (t.dtype() != dtype || t.rank() != static_cast<int>(pattern.size()) ||
        t.lod_levels().size() != levels)
      return false;
    for (int i = 0; i < t.rank(); ++i) {
      if (pattern[i] >= 0 && pattern[i] != t.dim(i)) return false;
      if (pattern[i] >= -1) continue;
      const bool of_sequences = i == 0 && levels > 0;
      const int64_t size = of_sequences ? t.lod_levels()[0].size() - 1 : t.dim(i);
      int64_t& known = (*shared)[-2 - pattern[i]];
      if (known < 0) known = size;
      if (known != size) return false;
    }
    return true;
  }
};

// Where gradients go and come from, for a program in two halves.
struct Gradients {
  std::vector<uint32_t> inputs;  // numbers of the inputs that get one, in the order of the fetches
  std::vector<VarRef> weights;   // and after them these
  std::vector<uint32_t>
      results;               // numbers of the results that bring one, in the order of the feeds
  std::vector<VarRef> held;  // all that the program shares, for running it eagerly once more
};

// A call that was recorded.
class ProgramNode final : public Node {
 public:
  ProgramNode(uint32_t results, std::shared_ptr<PreparedProgram> program,
              std::shared_ptr<const Gradients> gradients, py::object entry,
              std::vector<Value> inputs)
      : Node(results),
        program_(std::move(program)),
        gradients_(std::move(gradients)),
        entry_(std::move(entry)),
        inputs_(std::move(inputs)),
        random_(GetGeneratorState()) {
    for (const VarRef& v : gradients_->held) held_.push_back(v->value());
  }
  std::vector<Value>* carried() { return &carried_; }

  void Play(GradList& grads, GradList* input_grads, const PlayOptions& options) override {
    if (options.create_graph) return Replay(grads, input_grads);
    std::vector<Value> feeds;
    for (uint32_t r : gradients_->results) feeds.push_back(grads[r] ? grads[r]->value() : Value());
    std::vector<Value> carried;
    if (options.retain_graph) {
      carried = carried_;
    } else {
      carried.swap(carried_);
      inputs_.clear();
      held_.clear();
      freed_ = true;
    }
    std::vector<Value> results =
        program_->RunSecond(std::move(carried), feeds, options.retain_graph);
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].empty()) (*input_grads)[i] = Variable::Make(std::move(results[i]));
    }
  }
  const char* name() const override { return "captured program"; }
  bool freed() const override { return freed_; }

 private:
  // The function runs eagerly as it ran then, and its tape is played: which can be differentiated.
  void Replay(GradList& grads, GradList* input_grads) {
    Locked lock;
    py::object entry = Steal(PyObject_CallNoArgs(entry_.get()));
    ENFORCE(!entry.is_none(), PreconditionNotMet,
            "create_graph=True runs the captured function eagerly once more, but it is gone. Keep "
            "it until backward() has run");
    py::list inputs, held, given;
    const size_t wanted = gradients_->inputs.size();
    for (const Value& value : inputs_) inputs.append(Steal(Wrap(Variable::Make(value))));
    for (size_t i = 0; i < wanted; ++i) {
      const Edge& edge = edges()[i];
      auto same = [&](const VarRef& weight) { return weight->leaf().get() == edge.node.get(); };
      const auto& weights = gradients_->weights;
      auto weight = std::find_if(weights.begin(), weights.end(), same);  // that is an input, too
      const uint32_t number = gradients_->inputs[i];
      if (weight != weights.end())
        inputs[number] = Steal(Wrap(*weight));
      else
        VarOf(py::object(inputs[number]).ptr()).SetProducer(edge.node, edge.index);
    }
    for (const Value& value : held_) held.append(Steal(Wrap(Variable::Make(value))));
    for (uint32_t r : gradients_->results) given.append(Steal(Wrap(grads[r])));
    py::list made =
        entry.attr("replay")(inputs, held, py::make_tuple(random_.seed, random_.calls), given);
    for (size_t i = 0; i < made.size(); ++i) {
      py::object grad = made[i];
      if (!grad.is_none()) (*input_grads)[i] = VarRef(&VarOf(grad.ptr()));
    }
  }

  std::shared_ptr<PreparedProgram> program_;
  std::shared_ptr<const Gradients> gradients_;
  Kept entry_;  // a weak reference to Python's side
  std::vector<Value> inputs_, held_, carried_;
  GeneratorState random_;
  bool freed_ = false;
};

class CapturedCall {
 public:
  // `kept` is a list that Python's side owns.
  CapturedCall(std::shared_ptr<PreparedProgram> program, const py::list& kept)
      : program_(std::move(program)), guards_(kept.ptr()), kept_(kept.ptr()) {}

  void AddVariable(const py::object& dtype, std::vector<int64_t> pattern, size_t levels,
                   bool wants_gradient) {
    for (int64_t size : pattern) {
      if (size < -1) shared_ = std::max(shared_, static_cast<size_t>(-1 - size));
    }
    arguments_.push_back(
        {nullptr, DTypeFromPython(dtype.ptr()), std::move(pattern), levels, wants_gradient});
  }
  void AddConstant(const py::object& value) {
    Keep(value);
    arguments_.push_back({value.ptr(), DType::kUnset, {}, 0, false});
  }
  void AddKeyword(const py::str& name) {
    Keep(name);
    keywords_.push_back(name.ptr());
  }
  void SetGradients(std::vector<uint32_t> inputs, std::vector<VarRef> weights,
                    std::vector<uint32_t> results, std::vector<VarRef> held) {
    gradients_ = std::make_shared<const Gradients>(
        Gradients{std::move(inputs), std::move(weights), std::move(results), std::move(held)});
  }
  void SetSingle(bool single) { single_ = single; }
  // An optimizer, whose rate is asked for before each run: `ask` does it. A rate that is a number
  // is asked for only when it was set.
  void AddRate(const py::object& optimizer, const py::object& ask) {
    Keep(optimizer);
    Keep(ask);
    rates_.push_back({optimizer.ptr(), ask.ptr()});
  }
  Guards& guards() { return guards_; }
  // The same program, for guards and arguments as they are now. Another thread may be comparing
  // those of this one.
  std::unique_ptr<CapturedCall> Fresh(const py::list& kept, bool is_quiet_layer) const {
    auto call = std::make_unique<CapturedCall>(program_, kept);
    call->gradients_ = gradients_;
    call->results_ = results_;
    call->single_ = single_;
    call->recording_ = CurrentThread().recording;
    call->is_quiet_layer_ = is_quiet_layer;
    return call;
  }

  // Results in order, or the only one by itself; NotImplemented where the program is not the one of
  // this call. `entry` is a weak reference.
  // `kwargs` may be nullptr.
  py::object Call(const py::object& entry, PyObject* args, PyObject* kwargs) {
    const size_t positions = arguments_.size() - keywords_.size();
    const ThreadState& thread = CurrentThread();
    if (thread.recording != recording_ || (is_quiet_layer_ && IsRecordingForced()) ||
        thread.observed || thread.saved_value_hooks || thread.describing ||
        PyTuple_GET_SIZE(args) != static_cast<Py_ssize_t>(positions) ||
        (kwargs ? PyDict_GET_SIZE(kwargs) : 0) != static_cast<Py_ssize_t>(keywords_.size()))
      return NotThis();
    std::vector<Value> values;
    std::vector<Variable*> variables;
    values.reserve(arguments_.size());
    variables.reserve(arguments_.size());
    std::vector<int64_t> shared(shared_, -1);
    for (size_t i = 0; i < arguments_.size(); ++i) {
      PyObject* o = i < positions ? PyTuple_GET_ITEM(args, i)
                                  : PyDict_GetItemWithError(kwargs, keywords_[i - positions]);
      if (!o || !arguments_[i].Fits(o, &shared)) return NotThis();
      if (arguments_[i].constant) continue;
      variables.push_back(&VarOf(o));
      values.push_back(variables.back()->value());
    }
    if (!guards_.Holds()) return NotThis();
    for (const Rate& rate : rates_) {
      if (!rate.IsSet()) Steal(PyObject_CallNoArgs(rate.ask));
    }
    return Run(entry, variables, std::move(values));
  }

  // The same without a look at whether it is the one.
  py::object Run(const py::object& entry, const std::vector<Variable*>& variables,
                 std::vector<Value> values) {
    std::vector<Value> results;
    Ref<ProgramNode> node;
    if (gradients_) {
      node = Ref<ProgramNode>(new ProgramNode(results_, program_, gradients_, entry, values));
      results = program_->RunFirst(values, node->carried());
      for (uint32_t i : gradients_->inputs) node->AddEdge(variables[i]->GradEdge());
      for (const VarRef& weight : gradients_->weights) node->AddEdge(weight->GradEdge());
      if (watch::Switches() & watch::kCallers) node->caller = watch::AskCaller();
    } else {
      results = program_->Run(values);
    }
    if (single_ && !node) return Steal(Wrap(Variable::Make(std::move(results[0]))));
    std::vector<VarRef> made;
    made.reserve(results.size());
    for (Value& value : results) made.push_back(Variable::Make(std::move(value)));
    if (node) {
      for (uint32_t r : gradients_->results) made[r]->SetProducer(Ref<Node>(node.get()), r);
    }
    if (single_) return Steal(Wrap(std::move(made[0])));
    py::list list(made.size());
    for (size_t i = 0; i < made.size(); ++i)
      PyList_SET_ITEM(list.ptr(), i, Steal(Wrap(std::move(made[i]))).release().ptr());
    return std::move(list);
  }
  void SetResults(uint32_t count) { results_ = count; }

 private:
  static py::object NotThis() { return py::reinterpret_borrow<py::object>(Py_NotImplemented); }
  struct Rate {
    PyObject *optimizer, *ask;
    // It is a number, and the one that was asked for last.
    bool IsSet() const {
      py::object attributes = Steal(PyObject_GenericGetDict(optimizer, nullptr));
      PyObject* now = PyDict_GetItemWithError(attributes.ptr(), names.rate);
      PyObject* before = PyDict_GetItemWithError(attributes.ptr(), names.last);
      return now && before && PyFloat_CheckExact(now) && PyFloat_CheckExact(before) &&
             PyFloat_AS_DOUBLE(now) == PyFloat_AS_DOUBLE(before);
    }
  };
  void Keep(const py::object& o) {
    if (PyList_Append(kept_, o.ptr()) != 0) throw py::error_already_set();
  }

  std::shared_ptr<PreparedProgram> program_;
  Guards guards_;
  PyObject* kept_;               // borrowed
  bool recording_ = false;       // whether the thread records such calls
  bool is_quiet_layer_ = false;  // in eval mode, where enable_grad() makes a difference
  std::vector<Argument> arguments_;
  size_t shared_ = 0;  // how many numbers their axes have
  std::vector<PyObject*> keywords_;
  std::vector<Rate> rates_;
  std::shared_ptr<const Gradients> gradients_;
  uint32_t results_ = 0;
  bool single_ = false;
};

// Base of jit.Compiled, whose calls need no Python while the program of the latest call fits and
// gives one Variable.
class CompiledCalls {
 public:
  // A CapturedCall, which Python's side holds, or None.
  void SetLead(const py::object& call) {
    lead_ = call.is_none() ? py::object() : Steal(PyWeakref_NewRef(call.ptr(), nullptr));
  }
  uint64_t hits = 0;

  // As tp_call. Other calls go to the method `_call`.
  static PyObject* Call(PyObject* self, PyObject* args, PyObject* kwargs) {
    return Guarded([&]() -> PyObject* {
      CompiledCalls* calls = At<CompiledCalls>(self);
      if (calls && calls->lead_) {
        py::object held =
            py::reinterpret_borrow<py::object>(PyWeakref_GetObject(calls->lead_.ptr()));
        CapturedCall* lead = held.is_none() ? nullptr : At<CapturedCall>(held.ptr());
        py::object result = lead ? lead->Call(py::none(), args, kwargs)
                                 : py::reinterpret_borrow<py::object>(Py_NotImplemented);
        if (result.ptr() != Py_NotImplemented) {
          ++calls->hits;
          return result.release().ptr();
        }
      }
      return PyObject_Call(Steal(PyObject_GetAttr(self, names.call)).ptr(), args, kwargs);
    });
  }

 private:
  // What pybind11 keeps for an object of one C++ class.
  template <class T>
  static T* At(PyObject* o) {
    auto* instance = reinterpret_cast<py::detail::instance*>(o);
    if (!instance->simple_layout || !instance->simple_holder_constructed) return nullptr;
    return static_cast<T*>(instance->simple_value_holder[0]);
  }
  py::object lead_;  // a weak reference
};

}  // namespace

void BindCaptured(py::module_& m) {
  names = {PyUnicode_InternFromString("_learning_rate"), PyUnicode_InternFromString("_last"),
           PyUnicode_InternFromString("_call")};
  py::class_<CompiledCalls>(m, "CompiledCalls", py::dynamic_attr(),
                            py::custom_type_setup([](PyHeapTypeObject* heap) {
                              heap->ht_type.tp_call = &CompiledCalls::Call;
                            }))
      .def(py::init<>())
      .def("_set_lead", &CompiledCalls::SetLead)
      .def_readwrite("_lead_hits", &CompiledCalls::hits);
  m.def("set_exploring", [](bool on) { CurrentThread().exploring = on; });
  // Whether what the tape keeps goes through hooks, or added layers see calls.
  m.def("keeps_apart",
        [] { return CurrentThread().saved_value_hooks || CurrentThread().observed; });
  py::class_<CapturedCall>(m, "CapturedCall", py::dynamic_attr())
      .def(py::init<std::shared_ptr<PreparedProgram>, const py::list&>())
      .def("add_variable", &CapturedCall::AddVariable)
      .def("add_constant", &CapturedCall::AddConstant)
      .def("add_keyword", &CapturedCall::AddKeyword)
      .def("add_rate", &CapturedCall::AddRate)
      .def("fresh", &CapturedCall::Fresh)
      .def("set_gradients", &CapturedCall::SetGradients)
      .def("set_results",
           [](CapturedCall& call, uint32_t count, bool single) {
             call.SetResults(count);
             call.SetSingle(single);
           })
      .def("guard_item",
           [](CapturedCall& call, const py::dict& dict, const py::object& key) {
             call.guards().AddItem(dict.ptr(), key.ptr(), PyDict_GetItem(dict.ptr(), key.ptr()));
           })
      .def("guard_cell",
           [](CapturedCall& call, const py::object& cell) { call.guards().AddCell(cell.ptr()); })
      .def("guard_content",
           [](CapturedCall& call, const py::object& o) { call.guards().AddContent(o.ptr()); })
      .def("guard_attributes",
           [](CapturedCall& call, const py::object& o) { call.guards().AddAttributes(o.ptr()); })
      .def("guard_class",
           [](CapturedCall& call, const py::object& type) { call.guards().AddClass(type.ptr()); })
      .def("guard_array",
           [](CapturedCall& call, const py::object& array, const py::object& before) {
             call.guards().AddArray(array.ptr(), before.ptr());
           })
      .def("guard_variable",
           [](CapturedCall& call, const VarRef& v) { call.guards().AddVariable(v); })
      .def("guard_flag", [](CapturedCall& call, const VarRef& v) { call.guards().AddFlag(v); })
      .def("holds", [](CapturedCall& call) { return call.guards().Holds(); })
      .def("__call__",
           [](CapturedCall& call, const py::object& entry, const py::tuple& args,
              const py::dict& kwargs) { return call.Call(entry, args.ptr(), kwargs.ptr()); })
      .def("run", [](CapturedCall& call, const py::object& entry, const py::list& variables) {
        std::vector<Variable*> list;
        std::vector<Value> values;
        for (py::handle o : variables) {
          list.push_back(&RequireVariable(o.ptr(), "an argument"));
          values.push_back(list.back()->value());
        }
        return call.Run(entry, list, std::move(values));
      });
}

}  // namespace dygraph::python
