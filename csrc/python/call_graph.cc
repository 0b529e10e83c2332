// Calls of Python functions as graphs of a device: what dygraph.cuda.graph is made of.
#include "python/call_graph.h"

#include <memory>
#include <utility>
#include <vector>

#include "execute/form.h"
#include "memory/block_keeper.h"
#include "platform/accelerator.h"
#include "platform/recorded_draws.h"
#include "python/caster.h"
#include "run/generator.h"
#include "tape/variable.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

using VarRef = Ref<Variable>;

const Tensor& DenseOf(const Variable& v) {
  const Value& value = v.value();
  ENFORCE(!v.symbolic() && value.is_tensor() && value.tensor().has_data() && !value.tensor().lod(),
          InvalidArgument,
          "a graph takes dense Variables that hold values, without levels of detail");
  return value.tensor();
}

// The recorded work of one call, with the memory that it names and the variables that it reads.
class CallGraph {
 public:
  explicit CallGraph(Place place) : device_(GetAccelerator(place)), keeper_(place) {}
  ~CallGraph() { Abandon(); }

  // Until End() or Abandon(), on one thread.
  void Begin() {
    device_.BeginCapture();
    using_ = std::make_unique<memory::BlockKeeper::Use>(&keeper_);
    draws_ = std::make_unique<RecordedDraws>(device_.place(),
                                             static_cast<const uint64_t*>(streams_.raw_data()));
  }
  void End() {
    using_ = nullptr;
    draw_count_ = draws_->count();
    draws_ = nullptr;
    graph_ = device_.EndCapture();
    ENFORCE(graph_, PreconditionNotMet, device_.place(), " did not make a graph of the work");
  }
  void Abandon() {
    if (!using_) return;
    using_ = nullptr;
    draws_ = nullptr;
    device_.EndCapture();
  }

  void Read(const Given& given) {
    const Value& value = given->value();
    if (!value.is_tensor() || !value.tensor().has_data()) return;
    reads_.push_back({given.ref, program::Form(value.tensor()), value.tensor().raw_data()});
  }
  // Whether these are where they were.
  bool Fits() const {
    for (const Known& read : reads_) {
      const Value& value = read.variable->value();
      if (!read.form.Fits(value) || value.tensor().raw_data() != read.data) return false;
    }
    return true;
  }
  // Its random operators draw what eager calls would draw now.
  void Launch() {
    if (draw_count_ > 0) {
      const RandomDraw draw = NextDraws(device_.place(), draw_count_);
      const uint64_t numbers[] = {draw.seed, draw.stream};
      device_.CopyFromHost(streams_.mutable_raw_data(), numbers, sizeof numbers);
    }
    graph_->Launch();
  }

 private:
  struct Known {
    VarRef variable;
    program::Form form;
    const void* data;
  };
  Accelerator& device_;
  memory::BlockKeeper keeper_;  // ends after the graph
  Tensor streams_{{2}, DType::kInt64, device_.place()};  // a seed and the first stream of a launch
  uint64_t draw_count_ = 0;
  std::unique_ptr<RecordedDraws> draws_;
  std::vector<Known> reads_;
  std::unique_ptr<DeviceGraph> graph_;
  std::unique_ptr<memory::BlockKeeper::Use> using_;
};

}  // namespace

void BindCallGraph(py::module_& m) {
  py::class_<CallGraph>(m, "CallGraph")
      .def(py::init<Place>())
      .def("begin", &CallGraph::Begin)
      .def("end", &CallGraph::End)
      .def("abandon", &CallGraph::Abandon)
      .def("read", &CallGraph::Read)
      .def("fits", &CallGraph::Fits)
      .def("launch", &CallGraph::Launch);
  // What a graph depends on of an argument: equal ones fit one graph.
  m.def("form", [](const Given& v) {
    const Tensor& t = DenseOf(*v);
    py::tuple dims(t.rank());
    for (int i = 0; i < t.rank(); ++i) dims[i] = t.dim(i);
    return py::make_tuple(ToString(t.place()), Name(t.dtype()), static_cast<int>(t.layout()), dims);
  });
  m.def("address", [](const Given& v) {
    const Value& value = v->value();
    return value.is_tensor() ? reinterpret_cast<uintptr_t>(value.tensor().raw_data()) : 0;
  });
  // The values in memory of their own, with no part in gradients.
  m.def("copied", [](const Given& v) { return Variable::Make(Value(DenseOf(*v).Clone())); });
  m.def("copy_into", [](const Given& to, const Given& from) {
    const Tensor &source = DenseOf(*from), &target = DenseOf(*to);
    ENFORCE(program::Form(source) == program::Form(target) && source.place() == target.place(),
            InvalidArgument,
            "the values must have the type, shape and place of those they replace");
    if (source.raw_data() != target.raw_data())
      GetDeviceContext(target.place())
          .CopyWithin(const_cast<void*>(target.raw_data()), source.raw_data(), target.bytes());
  });
}

}  // namespace dygraph::python
