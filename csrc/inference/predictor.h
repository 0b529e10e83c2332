// dygraph in C++17: the C interface with owners, exceptions and spans; this header alone.
//
//   dygraph::Predictor predictor("model");
//   dygraph::Context context = predictor.context();
//   std::vector<float> image(28 * 28);
//   context.set(0, image, {1, 1, 28, 28});
//   context.run();
//   dygraph::Output scores = context.output(0);
//   const float* first = scores.data<float>();
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "inference/c_api.h"

namespace dygraph {

// What a function of the C interface refused: its status and its words.
class PredictorError : public std::runtime_error {
 public:
  PredictorError(int status, const char* text) : std::runtime_error(text), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

namespace inference_detail {

inline void Check(int status) {
  if (status != DYGRAPH_OK) throw PredictorError(status, dygraph_last_error());
}

// Closes a handle at its end.
template <class T, int (*kClose)(T*)>
class Owner {
 public:
  explicit Owner(T* handle = nullptr) : handle_(handle) {}
  ~Owner() {
    if (handle_) kClose(handle_);
  }
  Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owner& operator=(Owner&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  T* get() const { return handle_; }
  T** out() { return &handle_; }

 private:
  T* handle_;
};

template <class T>
struct TypeOf;
#define REGISTER_C_TYPE(type, number)        \
  template <>                                \
  struct TypeOf<type> {                      \
    static constexpr int32_t value = number; \
  }
REGISTER_C_TYPE(bool, DYGRAPH_BOOL);
REGISTER_C_TYPE(int8_t, DYGRAPH_INT8);
REGISTER_C_TYPE(uint8_t, DYGRAPH_UINT8);
REGISTER_C_TYPE(int16_t, DYGRAPH_INT16);
REGISTER_C_TYPE(int32_t, DYGRAPH_INT32);
REGISTER_C_TYPE(int64_t, DYGRAPH_INT64);
REGISTER_C_TYPE(float, DYGRAPH_FLOAT32);
REGISTER_C_TYPE(double, DYGRAPH_FLOAT64);
REGISTER_C_TYPE(std::complex<float>, DYGRAPH_COMPLEX64);
REGISTER_C_TYPE(std::complex<double>, DYGRAPH_COMPLEX128);
#undef REGISTER_C_TYPE

inline dygraph_tensor Empty() {
  dygraph_tensor t{};
  t.struct_size = sizeof(t);
  return t;
}

}  // namespace inference_detail

// Values and their number; not an owner.
template <class T>
class View {
 public:
  View(const T* data, size_t size) : data_(data), size_(size) {}
  View(const std::vector<T>& values) : View(values.data(), values.size()) {}
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T& operator[](size_t i) const { return data_[i]; }

 private:
  const T* data_;
  size_t size_;
};

using Lod = std::vector<std::vector<int64_t>>;  // levels of offsets, outermost first

// An input or output of a model, as its program describes it.
struct Port {
  std::string name;
  int32_t type;               // dygraph_type; -1 where it is not known
  std::vector<int64_t> dims;  // -1: any size
  size_t levels;              // of detail
};

// A result, valid until the next run of its context.
class Output {
 public:
  explicit Output(const dygraph_tensor& t) : tensor_(t) {}
  const char* name() const { return tensor_.name; }
  int32_t type() const { return tensor_.type; }
  View<int64_t> dims() const { return {tensor_.dims, static_cast<size_t>(tensor_.rank)}; }
  size_t bytes() const { return tensor_.bytes; }
  size_t level_count() const { return tensor_.level_count; }
  View<int64_t> level(size_t i) const {
    return {tensor_.levels[i].offsets, tensor_.levels[i].count};
  }
  // Throws where T is not the type of its elements.
  template <class T>
  View<T> values() const {
    if (tensor_.type != inference_detail::TypeOf<T>::value)
      throw PredictorError(DYGRAPH_TYPE, "an output must be read as the type that it has");
    return {static_cast<const T*>(tensor_.data), tensor_.bytes / sizeof(T)};
  }
  template <class T>
  const T* data() const {
    return values<T>().data();
  }

 private:
  dygraph_tensor tensor_;
};

// Inputs and outputs of one run at a time, for one thread at a time.
class Context {
 public:
  // The values are read by every run until the input is set again; they must stay until then.
  template <class T>
  void set(size_t input, View<T> values, const std::vector<int64_t>& dims, const Lod& lod = {}) {
    dygraph_tensor t = inference_detail::Empty();
    t.type = inference_detail::TypeOf<T>::value;
    t.rank = static_cast<int32_t>(dims.size());
    t.dims = dims.data();
    t.data = values.data();
    t.bytes = values.size() * sizeof(T);
    std::vector<dygraph_level> levels;
    for (const auto& level : lod) levels.push_back({level.data(), level.size()});
    t.levels = levels.data();
    t.level_count = levels.size();
    inference_detail::Check(dygraph_context_set_input(handle_.get(), input, &t));
  }
  template <class T>
  void set(size_t input, const std::vector<T>& values, const std::vector<int64_t>& dims,
           const Lod& lod = {}) {
    set(input, View<T>(values), dims, lod);
  }
  void run() { inference_detail::Check(dygraph_context_run(handle_.get())); }
  Output output(size_t number) const {
    dygraph_tensor t = inference_detail::Empty();
    inference_detail::Check(dygraph_context_output(handle_.get(), number, &t));
    return Output(t);
  }
  void cancel() { inference_detail::Check(dygraph_context_cancel(handle_.get())); }
  void set_time_limit(double seconds) {
    inference_detail::Check(dygraph_context_set_time_limit(handle_.get(), seconds));
  }
  void set_profile(bool on) {
    inference_detail::Check(dygraph_context_set_profile(handle_.get(), on));
  }
  std::string profile(bool json = false) const {
    const char* text = nullptr;
    inference_detail::Check(dygraph_context_profile(handle_.get(), json, &text));
    return text;
  }
  Context clone() const {
    Context copy;
    inference_detail::Check(dygraph_context_clone(handle_.get(), copy.handle_.out()));
    return copy;
  }

 private:
  friend class Predictor;
  Context() = default;
  inference_detail::Owner<dygraph_context, dygraph_context_close> handle_;
};

// How a model is loaded; names and values as in inference/c_api.h.
class Options {
 public:
  Options() { inference_detail::Check(dygraph_options_create(handle_.out())); }
  Options& set(const char* name, const std::string& value) {
    inference_detail::Check(dygraph_options_set(handle_.get(), name, value.c_str()));
    return *this;
  }
  const dygraph_options* get() const { return handle_.get(); }

 private:
  inference_detail::Owner<dygraph_options, dygraph_options_close> handle_;
};

// A loaded model; safe from any number of threads, each with a context of its own.
class Predictor {
 public:
  explicit Predictor(const std::string& path) { Load(path, nullptr); }
  Predictor(const std::string& path, const Options& options) { Load(path, options.get()); }
  // A packed file's bytes. With share_weights they must stay while it or a context of it lives.
  Predictor(const void* bytes, size_t size, const Options& options = Options()) {
    inference_detail::Check(
        dygraph_load_memory(bytes, size, nullptr, 0, options.get(), handle_.out()));
  }
  void save(const std::string& path) const {
    inference_detail::Check(dygraph_save(handle_.get(), path.c_str()));
  }
  Context context() const {
    Context made;
    inference_detail::Check(dygraph_context_create(handle_.get(), made.handle_.out()));
    return made;
  }
  std::vector<Port> inputs() const {
    return Ports(dygraph_predictor_inputs, dygraph_predictor_input);
  }
  std::vector<Port> outputs() const {
    return Ports(dygraph_predictor_outputs, dygraph_predictor_output);
  }
  size_t input(const std::string& name) const {
    size_t number = 0;
    inference_detail::Check(dygraph_predictor_find_input(handle_.get(), name.c_str(), &number));
    return number;
  }
  size_t output(const std::string& name) const {
    size_t number = 0;
    inference_detail::Check(dygraph_predictor_find_output(handle_.get(), name.c_str(), &number));
    return number;
  }

 private:
  void Load(const std::string& path, const dygraph_options* options) {
    inference_detail::Check(dygraph_load(path.c_str(), options, handle_.out()));
  }
  template <class Count, class Describe>
  std::vector<Port> Ports(Count count, Describe describe) const {
    size_t n = 0;
    inference_detail::Check(count(handle_.get(), &n));
    std::vector<Port> ports;
    for (size_t i = 0; i < n; ++i) {
      dygraph_tensor t = inference_detail::Empty();
      inference_detail::Check(describe(handle_.get(), i, &t));
      const std::vector<int64_t> dims(t.dims, t.dims + (t.rank > 0 ? t.rank : 0));
      ports.push_back({t.name, t.type, dims, t.level_count});
    }
    return ports;
  }
  inference_detail::Owner<dygraph_predictor, dygraph_predictor_close> handle_;
};

}  // namespace dygraph
