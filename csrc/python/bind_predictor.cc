// Predictors for Python, by the functions of the C interface alone. Handles are ints.
#include "python/bind_predictor.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enforce.h"
#include "inference/c_api.h"
#include "python/arrays.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/wrapper.h"
#include "run/interpreter.h"
#include "tape/thread_state.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

ErrorKind KindOf(int status) {
  switch (status) {
    case DYGRAPH_TYPE: return ErrorKind::Type;
    case DYGRAPH_NOT_FOUND: return ErrorKind::NotFound;
    case DYGRAPH_FILE_NOT_FOUND: return ErrorKind::FileNotFound;
    case DYGRAPH_OUT_OF_RANGE: return ErrorKind::OutOfRange;
    case DYGRAPH_UNIMPLEMENTED: return ErrorKind::Unimplemented;
    case DYGRAPH_OUT_OF_MEMORY: return ErrorKind::ResourceExhausted;
    case DYGRAPH_FORMAT: return ErrorKind::Format;
    case DYGRAPH_ASSERTION_FAILED: return ErrorKind::Assertion;
    case DYGRAPH_NOT_FINITE: return ErrorKind::NonFinite;
    case DYGRAPH_WRONG_STATE:
    case DYGRAPH_BUSY:
    case DYGRAPH_CLOSED:
    case DYGRAPH_CANCELLED:
    case DYGRAPH_TIMED_OUT:
    case DYGRAPH_INTERNAL: return ErrorKind::PreconditionNotMet;
    default: return ErrorKind::InvalidArgument;
  }
}

// Throws what a status stands for. A Python error that is set, as by Ctrl-C, goes before.
void Check(int status) {
  if (__builtin_expect(status == DYGRAPH_OK, 1)) return;
  if (PyErr_Occurred()) ThrowPythonError();
  std::string text = dygraph_last_error();
  const size_t colon = text.find(": ");  // the name of the C function means nothing here
  throw Error(KindOf(status),
              "Predictor: " + (colon == std::string::npos ? text : text.substr(colon + 2)));
}

// A C function that computes or waits, without the interpreter's lock.
template <class F>
int Unlocked(const F& f) {
  void* token = Interpreter().release_lock();
  const int status = f();
  if (token) Interpreter().acquire_lock(token);
  return status;
}

template <class T>
T* HandleIn(uintptr_t number) {
  return reinterpret_cast<T*>(number);
}
template <class T>
uintptr_t NumberOf(T* handle) {
  return reinterpret_cast<uintptr_t>(handle);
}

dygraph_tensor NoTensor() {
  dygraph_tensor t{};
  t.struct_size = sizeof(t);
  return t;
}

class Options {
 public:
  explicit Options(const std::vector<std::pair<std::string, std::string>>& given) {
    Check(dygraph_options_create(&handle_));
    try {
      for (const auto& [name, value] : given)
        Check(dygraph_options_set(handle_, name.c_str(), value.c_str()));
    } catch (...) {
      dygraph_options_close(handle_);
      throw;
    }
  }
  ~Options() { dygraph_options_close(handle_); }
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;
  const dygraph_options* get() const { return handle_; }

 private:
  dygraph_options* handle_ = nullptr;
};
using OptionList = std::vector<std::pair<std::string, std::string>>;

uintptr_t Load(const std::string& path, const OptionList& given) {
  const Options options(given);
  dygraph_predictor* predictor = nullptr;
  Check(Unlocked([&] { return dygraph_load(path.c_str(), options.get(), &predictor); }));
  return NumberOf(predictor);
}

uintptr_t LoadMemory(const py::bytes& model, const std::optional<py::bytes>& weights,
                     const OptionList& given) {
  const Options options(given);
  const auto model_bytes = static_cast<std::string_view>(model);
  std::string_view weight_bytes;
  if (weights) weight_bytes = static_cast<std::string_view>(*weights);
  dygraph_predictor* predictor = nullptr;
  Check(Unlocked([&] {
    return dygraph_load_memory(model_bytes.data(), model_bytes.size(),
                               weights ? weight_bytes.data() : nullptr, weight_bytes.size(),
                               options.get(), &predictor);
  }));
  return NumberOf(predictor);
}

// (name, dtype, sizes or None, levels) of each.
template <class Count, class Describe>
py::list Ports(uintptr_t number, const Count& count, const Describe& describe) {
  const auto* predictor = HandleIn<dygraph_predictor>(number);
  size_t n = 0;
  Check(count(predictor, &n));
  py::list ports;
  for (size_t i = 0; i < n; ++i) {
    dygraph_tensor t = NoTensor();
    Check(describe(predictor, i, &t));
    py::object dtype = py::none(), dims = py::none();
    if (t.type >= 0)
      dtype = py::reinterpret_steal<py::object>(DTypeToPython(DTypeFromWire(t.type)));
    if (t.rank >= 0) {
      const Dims sizes(Span<const int64_t>(t.dims, static_cast<size_t>(t.rank)));
      dims = py::reinterpret_steal<py::object>(DimsToPython(sizes));
    }
    ports.append(py::make_tuple(t.name, dtype, dims, t.level_count));
  }
  return ports;
}

// An input: the array's own memory where C takes it as it is, else a copy. `kept` holds what is
// read.
class Input {
 public:
  Input(PyObject* value, dygraph_tensor* t) {
    if (IsVariable(value)) {
      Take(VariableIn(value), t);
    } else if (!TakeArray(value, t)) {
      Take(TensorFromPython(value), t);
    }
  }

 private:
  static Tensor VariableIn(PyObject* value) {
    Variable& v = VarOf(value);
    CurrentThread().OnRead(v, "a feed");
    ENFORCE(v.value().is_tensor() && !v.symbolic() && v.value().tensor().has_data(),
            InvalidArgument,
            "Predictor.run: an input must be an array or a Variable that holds a "
            "tensor, got one that does not");
    return CopyTo(v.value().tensor(), CPUPlace()).Plain();
  }

  bool TakeArray(PyObject* value, dygraph_tensor* t) {
    const auto& npy = py::detail::npy_api::get();
    if (Py_TYPE(value) != npy.PyArray_Type_) return false;
    auto* array = py::detail::array_proxy(value);
    auto* descr = py::detail::array_descriptor_proxy(array->descr);
    const DType dtype = DTypeFromNumpy(descr->type_num);
    if (dtype == DType::kUnset || descr->byteorder == '>' || array->nd > kMaxRank ||
        !(array->flags & py::detail::npy_api::NPY_ARRAY_C_CONTIGUOUS_))
      return false;
    for (int i = 0; i < array->nd; ++i) dims_.push_back(array->dimensions[i]);
    *t = NoTensor();
    t->type = ToWire(dtype);
    t->rank = array->nd;
    t->dims = dims_.data();
    t->data = array->data;
    t->bytes = ByteSize(dims_, dtype);
    return true;
  }

  void Take(Tensor tensor, dygraph_tensor* t) {
    tensor_ = std::move(tensor);
    *t = NoTensor();
    t->type = ToWire(tensor_.dtype());
    t->rank = tensor_.rank();
    t->dims = tensor_.dims().data();
    t->data = tensor_.raw_data();
    t->bytes = tensor_.bytes();
    for (const auto& level : tensor_.lod_levels()) levels_.push_back({level.data(), level.size()});
    t->levels = levels_.data();
    t->level_count = levels_.size();
  }

  Tensor tensor_;
  Dims dims_;
  std::vector<dygraph_level> levels_;
};

PyObject* OutputArray(const dygraph_tensor& t) {
  const Dims dims(Span<const int64_t>(t.dims, static_cast<size_t>(t.rank)));
  const DType dtype = DTypeFromWire(t.type);
  if (dtype != DType::kBFloat16) return ArrayOf(dims, dtype, t.data);
  Tensor narrow;  // becomes float32
  narrow.ShareStorage(Storage::Foreign(CPUPlace(), const_cast<void*>(t.data), t.bytes, [] {}), dims,
                      dtype);
  return ArrayFromTensor(narrow);
}

// take(tensor) for the outputs of a context.
template <class Take>
void ForOutputs(dygraph_context* context, size_t count, const Take& take) {
  dygraph_tensor t = NoTensor();
  for (size_t i = 0; i < count; ++i) {
    Check(dygraph_context_output(context, i, &t));
    take(t);
  }
}

// run(context, inputs: tuple, number of outputs): a list of arrays; the status of a run that was
// ended early.
PyObject* RunContext(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return Guarded([&]() -> PyObject* {
    ENFORCE(count == 3 && PyTuple_Check(args[1]), InvalidArgument,
            "Predictor.run takes a context, a tuple of inputs and the number of outputs");
    auto* context = static_cast<dygraph_context*>(PyLong_AsVoidPtr(args[0]));
    if (!context && PyErr_Occurred()) ThrowPythonError();
    const Py_ssize_t inputs = PyTuple_GET_SIZE(args[1]);
    SmallVector<std::unique_ptr<Input>, 4> kept;  // until the run is over
    for (Py_ssize_t i = 0; i < inputs; ++i) {
      dygraph_tensor t;
      kept.push_back(std::make_unique<Input>(PyTuple_GET_ITEM(args[1], i), &t));
      Check(dygraph_context_set_input(context, static_cast<size_t>(i), &t));
    }
    const int status = Unlocked([&] { return dygraph_context_run(context); });
    if ((status == DYGRAPH_CANCELLED || status == DYGRAPH_TIMED_OUT) && !PyErr_Occurred())
      return PyLong_FromLong(status);
    Check(status);
    const size_t outputs = PyLong_AsSize_t(args[2]);
    if (PyErr_Occurred()) ThrowPythonError();
    py::list results;
    ForOutputs(context, outputs, [&](const dygraph_tensor& t) {
      results.append(py::reinterpret_steal<py::object>(OutputArray(t)));
    });
    return results.release().ptr();
  });
}

PyMethodDef kRun[] = {
    {"context_run", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(RunContext)),
     METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr}};

py::list OutputLevels(uintptr_t number, size_t count) {
  py::list all;
  ForOutputs(HandleIn<dygraph_context>(number), count, [&](const dygraph_tensor& t) {
    LoDLevels levels;
    for (size_t k = 0; k < t.level_count; ++k)
      levels.emplace_back(t.levels[k].offsets, t.levels[k].offsets + t.levels[k].count);
    all.append(py::reinterpret_steal<py::object>(LoDToPython(levels)));
  });
  return all;
}

}  // namespace

void BindPredictor(py::module_& m) {
  m.def("predictor_load", &Load);
  m.def("predictor_load_memory", &LoadMemory);
  m.def("predictor_save", [](uintptr_t p, const std::string& path) {
    Check(Unlocked([&] { return dygraph_save(HandleIn<dygraph_predictor>(p), path.c_str()); }));
  });
  m.def("predictor_close",
        [](uintptr_t p) { Check(dygraph_predictor_close(HandleIn<dygraph_predictor>(p))); });
  m.def("predictor_inputs",
        [](uintptr_t p) { return Ports(p, dygraph_predictor_inputs, dygraph_predictor_input); });
  m.def("predictor_outputs",
        [](uintptr_t p) { return Ports(p, dygraph_predictor_outputs, dygraph_predictor_output); });
  m.def("context_create", [](uintptr_t p) {
    dygraph_context* context = nullptr;
    Check(dygraph_context_create(HandleIn<dygraph_predictor>(p), &context));
    return NumberOf(context);
  });
  m.def("context_close",
        [](uintptr_t c) { Check(dygraph_context_close(HandleIn<dygraph_context>(c))); });
  m.def("context_cancel",
        [](uintptr_t c) { Check(dygraph_context_cancel(HandleIn<dygraph_context>(c))); });
  m.def("context_set_time_limit", [](uintptr_t c, double seconds) {
    Check(dygraph_context_set_time_limit(HandleIn<dygraph_context>(c), seconds));
  });
  m.def("context_set_profile", [](uintptr_t c, bool on) {
    Check(dygraph_context_set_profile(HandleIn<dygraph_context>(c), on));
  });
  m.def("context_profile", [](uintptr_t c, bool json) {
    const char* text = nullptr;
    Check(dygraph_context_profile(HandleIn<dygraph_context>(c), json, &text));
    return std::string(text);
  });
  m.def("context_output_levels", &OutputLevels);
  if (PyModule_AddFunctions(m.ptr(), kRun) < 0) throw py::error_already_set();
}

}  // namespace dygraph::python
