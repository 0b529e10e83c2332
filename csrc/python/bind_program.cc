// Programs, recorder and the executor for Python.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <array>
#include <cstring>

#include "execute/executor.h"
#include "files/inference_model.h"
#include "program/op_binding.h"
#include "program/verify.h"
#include "program/wire.h"
#include "python/bind.h"
#include "python/bind_descriptions.h"
#include "python/callable.h"
#include "python/caster.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/scope_variable.h"
#include "python/sizes.h"
#include "python/steal.h"
#include "python/variable_slots.h"
#include "tape/thread_state.h"
#include "trace/recorder.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

using program::PreparedProgram;
using program::ProgramDesc;
using program::Recorder;
using program::Recording;
using VarRef = Ref<Variable>;
using ScopeRef = std::shared_ptr<program::Scope>;

// Of bytes; that another array has the same happens only where it was made so on purpose.
std::pair<uint64_t, uint64_t> Mixed(const void* data, size_t bytes) {
  struct Mix {
    uint64_t a, b;
    void Add(uint64_t word) {
      a = (a ^ word) * 0xFF51AFD7ED558CCDu;
      a ^= a >> 32;
      b = (b + word) * 0x9FB21C651E98DF25u;
      b ^= b >> 29;
    }
  };
  Mix whole{0x9E3779B97F4A7C15u + bytes, 0xC2B2AE3D27D4EB4Fu ^ bytes};
  const char* at = static_cast<const char*>(data);
  uint64_t word;
  constexpr int kLanes = 6;  // which do not wait for each other
  if (bytes >= 64 * kLanes * sizeof(word)) {
    Mix lanes[kLanes];
    for (int k = 0; k < kLanes; ++k) lanes[k] = {whole.a + k, whole.b + k};
    for (; bytes >= kLanes * sizeof(word); bytes -= kLanes * sizeof(word)) {
      for (Mix& lane : lanes) {
        std::memcpy(&word, at, sizeof(word));
        lane.Add(word);
        at += sizeof(word);
      }
    }
    for (const Mix& lane : lanes) {
      whole.Add(lane.a);
      whole.Add(lane.b);
    }
  }
  for (; bytes >= sizeof(word); at += sizeof(word), bytes -= sizeof(word)) {
    std::memcpy(&word, at, sizeof(word));
    whole.Add(word);
  }
  word = 0;
  if (bytes > 0) std::memcpy(&word, at, bytes);
  whole.Add(word);
  return {whole.a, whole.b};
}

// A digest of a value, for comparing it with one that no longer exists: type, shape, levels of
// detail or rows, bits.
py::tuple DigestOf(const Given& v) {
  if (v->symbolic()) TellRead(*v, "the value");  // which raises
  const Value& value = v->value();
  const Tensor& held = value.is_rows() ? value.rows().value() : value.tensor();
  ENFORCE(held.has_data(), PreconditionNotMet, "a Variable must hold values to be read");
  Tensor t = CopyTo(held, CPUPlace());
  if (t.layout() != Layout::kPlain) t = ToLayout(t, Layout::kPlain);
  py::object rows = py::none();
  if (value.is_rows()) rows = py::make_tuple(value.rows().rows(), value.rows().height());
  std::pair<uint64_t, uint64_t> bits;
  {
    py::gil_scoped_release unlocked;
    bits = Mixed(t.raw_data(), t.bytes());
  }
  return py::make_tuple(std::string(Name(t.dtype())), Steal(DimsToPython(t.dims())),
                        Steal(LoDToPython(held.lod_levels())), rows, bits);
}

void BindRecorder(py::module_& m) {
  // The object of dygraph.sizes that this thread asks for shapes, or None; gives the one before.
  m.def("track_sizes", [](const py::object& tracker) {
    PyObject* before = size_tracker;
    size_tracker = tracker.is_none() ? nullptr : py::object(tracker).release().ptr();
    DropSizeNotes();
    return before ? py::reinterpret_steal<py::object>(before) : py::none();
  });
  // The function that this thread asks for the truth of Variables, or None; gives the one before.
  m.def("answer_truth", [](const py::object& answers) {
    PyObject* before = truth_answers;
    truth_answers = answers.is_none() ? nullptr : py::object(answers).release().ptr();
    return before ? py::reinterpret_steal<py::object>(before) : py::none();
  });
  // Plain sizes, whatever follows them.
  m.def("dims", [](const Given& v) { return Steal(DimsToPython(v->value().dims())); });
  py::class_<Recording>(m, "Recording")
      .def_property_readonly("program",
                             [](const Recording& r) {
                               return PyProgram{std::make_shared<const ProgramDesc>(r.program)};
                             })
      .def_property_readonly("feeds", [](const Recording& r) { return r.feeds; })
      .def_property_readonly("fetches", [](const Recording& r) { return r.fetches; })
      .def("generalize",
           [](Recording& r, const Recording& second) { program::Generalize(&r, second); })
      .def_readonly("trains", &Recording::trains)
      .def_readonly("sources", &Recording::sources)
      // Copies of all weights, as they were at their first sight; or the variables themselves.
      .def("share_scope",
           [](const Recording& r, const ScopeRef& scope) {
             for (const auto& [name, value] : r.weights) {
               auto source = r.sources.find(name);
               if (source == r.sources.end()) {
                 scope->Var(name).Set(value);
               } else {
                 scope->Var(name).Share(std::make_shared<SharedVariable>(source->second));
               }
             }
           })
      .def("fill_scope", [](const Recording& r, const ScopeRef& scope) {
        for (const auto& [name, value] : r.weights) scope->Var(name).Set(value);
      });
  m.def("digest", &DigestOf);
  // Another Variable of the same value, unknown to recorders; and back again where the value
  // changed.
  m.def("snapshot", [](const Given& v) { return Variable::Make(v->value()); });
  m.def("restore", [](const Given& v, const Given& saved) {
    const Value &now = v->value(), &then = saved->value();
    bool same = now.is_tensor() && then.is_tensor() &&
                now.tensor().storage() == then.tensor().storage() && now.dims() == then.dims();
    if (!same) v->SetValue(then);
  });
  auto list = [](const std::vector<program::Journal::Before>& entries) {
    std::vector<std::pair<VarRef, VarRef>> pairs;
    for (const auto& entry : entries) pairs.emplace_back(entry.var, entry.value);
    return pairs;
  };
  py::class_<program::Journal>(m, "Journal")
      .def(py::init<>())
      .def("start", [](program::Journal& j) { AddListener(&j); })
      .def("stop",
           [](program::Journal& j) {
             RemoveListener(&j);
             j.Prune();
           })
      .def_property_readonly("played", &program::Journal::played)
      .def("written", [list](const program::Journal& j) { return list(j.written()); })
      .def("leaves", [list](const program::Journal& j) { return list(j.leaves()); });
  m.def("recording", [] {
    for (Listener* l = CurrentThread().listeners; l; l = l->next()) {
      if (dynamic_cast<Recorder*>(l)) return true;
    }
    return false;
  });
  py::class_<Recorder>(m, "Recorder")
      .def(py::init([](py::function where) {
        return std::make_unique<Recorder>([where] { return py::cast<std::string>(where()); });
      }))
      .def(
          "add_feed",
          [](Recorder& r, const VarRef& v, const std::string& name,
             const std::map<int, std::string>& sizes) { return r.AddFeed(*v, name, sizes); },
          py::arg("variable"), py::arg("name"), py::arg("sizes") = py::dict())
      .def("add_parameter",
           [](Recorder& r, const VarRef& v, const std::string& name) { r.AddParameter(*v, name); })
      // revise(operator, {attribute: value with followed sizes}), for operators that have such.
      .def("set_reviser",
           [](Recorder& r, py::function revise) {
             auto kept = std::make_shared<Kept>(std::move(revise));
             r.SetReviser([kept](program::OpDesc& op) {
               py::object notes = py::reinterpret_steal<py::object>(TakeSizeNotes());
               if (!notes) return;
               auto copy = MakeRef<program::Op>(op);
               py::reinterpret_borrow<py::function>(kept->get())(copy, notes);
               op = copy->desc();
             });
           })
      .def("find_name",
           [](const Recorder& r, const VarRef& v) -> py::object {
             const std::string* name = r.FindName(*v);
             return name ? py::object(py::str(*name)) : py::none();
           })
      .def_property_readonly("count", [](const Recorder& r) { return r.block().ops.size(); })
      // (names of inputs, names of outputs) of an operator.
      .def("arguments",
           [](const Recorder& r, size_t i) {
             const program::OpDesc& op = r.block().ops.at(i);
             std::vector<std::string> in, out;
             for (const auto& slot : op.inputs)
               in.insert(in.end(), slot.arguments.begin(), slot.arguments.end());
             for (const auto& slot : op.outputs)
               out.insert(out.end(), slot.arguments.begin(), slot.arguments.end());
             return std::make_pair(in, out);
           })
      // (name, sizes) of what was declared from number `first` on.
      .def("declared",
           [](const Recorder& r, size_t first) {
             std::vector<std::pair<std::string, std::vector<int64_t>>> list;
             for (size_t i = first; i < r.block().vars.size(); ++i) {
               const auto* tensor = program::TensorOf(r.block().vars[i]);
               list.emplace_back(r.block().vars[i].name,
                                 tensor ? tensor->dims : std::vector<int64_t>());
             }
             return list;
           })
      .def("infer_op", &Recorder::InferOp)
      // False where the variable has sequences: their number counts, not that of the rows.
      .def("fill_like",
           [](const Recorder& r, program::Op& op, const std::string& name, int axis, int at) {
             const program::VarDesc* var = r.block().FindVar(name);
             if (!var || !var->type.lod_tensor || var->type.lod_tensor->lod_level.value_or(0) > 0)
               return false;
             program::FillLike(&op.Edit(), name, axis, at);
             return true;
           })
      .def("start", [](Recorder& r) { AddListener(&r); })
      .def("stop", [](Recorder& r) { RemoveListener(&r); })
      .def("finish", [](Recorder& r, const std::vector<VarRef>& outputs) {
        std::vector<Variable*> list;
        for (const VarRef& v : outputs) list.push_back(v.get());
        return r.Finish(list);
      });
}

void BindExecutor(py::module_& m) {
  py::class_<PreparedProgram, std::shared_ptr<PreparedProgram>>(m, "PreparedProgram")
      .def(py::init([](const PyProgram& program, const ScopeRef& scope,
                       std::vector<std::string> feeds, std::vector<std::string> fetches,
                       py::object place, std::optional<std::string> files,
                       std::array<size_t, 3> halves) {
             Place at = place.is_none() ? CurrentThread().place : PlaceFromPython(place.ptr());
             return std::make_shared<PreparedProgram>(
                 program.desc, scope, std::move(feeds), std::move(fetches), at, std::move(files),
                 program::Halves{halves[0], halves[1], halves[2]});
           }),
           // halves: operators, feeds and fetches of the first one.
           py::arg("program"), py::arg("scope"), py::arg("feeds"), py::arg("fetches"),
           py::arg("place"), py::arg("files") = py::none(),
           py::arg("halves") = std::array<size_t, 3>{0, 0, 0})
      .def_property_readonly("feeds", [](const PreparedProgram& p) { return p.feeds(); })
      .def_property_readonly("fetches", [](const PreparedProgram& p) { return p.fetches(); })
      .def_property_readonly("operators", &PreparedProgram::operators)
      .def_property_readonly("operators_in_kernels", &PreparedProgram::operators_in_kernels)
      .def_property_readonly("operators_in_chains", &PreparedProgram::operators_in_chains)
      .def_property_readonly("random_operators", &PreparedProgram::random_operators)
      .def("set_seed", &PreparedProgram::set_seed)
      .def("plan_memory", &PreparedProgram::PlanMemory)
      .def("limit_together", &PreparedProgram::LimitTogether)
      .def_property_readonly("planned",
                             [](PreparedProgram& p) {
                               PreparedProgram::Planned planned = p.planned();
                               py::dict found;
                               found["arenas"] = planned.arenas;
                               found["bytes"] = planned.bytes;
                               found["unshared_bytes"] = planned.unshared;
                               found["steps"] = planned.steps;
                               found["together"] = planned.together;
                               found["strayed"] = planned.strayed;
                               found["strayed_at"] = planned.strayed_at;
                               found["operators"] = planned.operators;
                               return found;
                             })
      .def_property_readonly("graphed",
                             [](PreparedProgram& p) {
                               PreparedProgram::Graphed graphed = p.graphed();
                               py::dict found;
                               found["runs"] = graphed.runs;
                               found["graphs"] = graphed.graphs;
                               found["operators"] = graphed.operators;
                               found["between"] = graphed.between;
                               found["bytes"] = graphed.bytes;
                               found["replays"] = graphed.replays;
                               found["strayed"] = graphed.strayed;
                               found["plain"] = graphed.plain;
                               return found;
                             })
      .def("shrink", &PreparedProgram::Shrink)
      // streams: (seed, number of the first random call), to repeat what an eager run drew.
      .def(
          "run",
          [](PreparedProgram& p, const py::list& feeds, py::object streams) {
            std::vector<Value> values;
            for (size_t i = 0; i < feeds.size(); ++i) {
              py::object feed = feeds[i];  // its __array__ may take it out of the list
              values.push_back(ValueFromPython(feed, DType::kUnset));
            }
            std::vector<Value> results;
            if (streams.is_none()) {
              results = p.Run(values);
            } else {
              auto [seed, first] = py::cast<std::pair<uint64_t, uint64_t>>(streams);
              results = p.Run(values, {seed, first});
            }
            py::list list;
            for (Value& value : results) list.append(Steal(Wrap(Variable::Make(std::move(value)))));
            return list;
          },
          py::arg("feeds"), py::arg("streams") = py::none());
  m.def(
      "save_inference_model",
      [](const std::string& dirname, const PyProgram& program, const ScopeRef& scope,
         const std::string& model, const std::string& weights) {
        program::SaveInferenceModel(dirname, *program.desc, *scope, {model, weights});
      },
      py::arg("dirname"), py::arg("program"), py::arg("scope"), py::arg("model") = "__model__",
      py::arg("weights") = "__params__");
  m.def(
      "load_inference_model",
      [](const std::string& dirname, const ScopeRef& scope, const std::string& model,
         const std::string& weights) {
        return PyProgram{std::make_shared<const ProgramDesc>(
            program::LoadInferenceModel(dirname, scope.get(), {model, weights}))};
      },
      py::arg("dirname"), py::arg("scope"), py::arg("model") = "__model__",
      py::arg("weights") = "__params__");
}

}  // namespace

void BindProgram(py::module_& m) {
  BindRecorder(m);
  BindExecutor(m);
}

}  // namespace dygraph::python
