// The edge: handles become objects, exceptions become statuses.
#include "inference/c_api.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <new>

#include "base/enforce.h"
#include "inference/context.h"
#include "inference/handles.h"

namespace dygraph::inference {

namespace {

// A status that no typed error of the library stands for.
struct Refused {
  int status;
  std::string text;
};

std::string& LastError() {
  static thread_local std::string text;
  return text;
}

int Note(int status, const char* function, const char* text) {
  try {
    LastError().assign(function).append(": ").append(text);
  } catch (...) {  // no memory for the words
    LastError().clear();
  }
  return status;
}

int StatusOf(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::InvalidArgument: return DYGRAPH_INVALID_ARGUMENT;
    case ErrorKind::Type: return DYGRAPH_TYPE;
    case ErrorKind::NotFound: return DYGRAPH_NOT_FOUND;
    case ErrorKind::FileNotFound: return DYGRAPH_FILE_NOT_FOUND;
    case ErrorKind::AlreadyExists: return DYGRAPH_INVALID_ARGUMENT;
    case ErrorKind::OutOfRange: return DYGRAPH_OUT_OF_RANGE;
    case ErrorKind::Unimplemented: return DYGRAPH_UNIMPLEMENTED;
    case ErrorKind::ResourceExhausted: return DYGRAPH_OUT_OF_MEMORY;
    case ErrorKind::PreconditionNotMet: return DYGRAPH_WRONG_STATE;
    case ErrorKind::Format: return DYGRAPH_FORMAT;
    case ErrorKind::Assertion: return DYGRAPH_ASSERTION_FAILED;
    case ErrorKind::NonFinite: return DYGRAPH_NOT_FINITE;
    case ErrorKind::Interrupted: return DYGRAPH_CANCELLED;
  }
  return DYGRAPH_INTERNAL;
}

// Runs f; nothing it throws passes.
template <class F>
int Edge(const char* function, F&& f) noexcept {
  try {
    f();
    return DYGRAPH_OK;
  } catch (const Refused& e) {
    return Note(e.status, function, e.text.c_str());
  } catch (const Error& e) {
    return Note(StatusOf(e.kind()), function, e.what());
  } catch (const std::bad_alloc&) {
    return Note(DYGRAPH_OUT_OF_MEMORY, function, "the system has no more memory");
  } catch (const std::exception& e) {
    return Note(DYGRAPH_INTERNAL, function, e.what());
  } catch (...) {
    return Note(DYGRAPH_INTERNAL, function, "an exception of an unknown kind");
  }
}

void NotNull(const void* pointer, const char* name) {
  ENFORCE(pointer, InvalidArgument, "`", name, "` must not be a null pointer");
}

struct OptionsObject {
  std::mutex mutex;
  Options options;
};

// A context that one thread uses at a time.
struct ContextObject {
  explicit ContextObject(std::shared_ptr<Context> c) : context(std::move(c)) {}
  std::shared_ptr<Context> context;
  std::atomic<bool> busy{false};
  std::vector<std::vector<dygraph_level>> levels;  // of the outputs that were asked for
  std::string profile;
};

template <class T>
std::shared_ptr<T> Find(Kind kind, const void* handle, const char* name) {
  NotNull(handle, name);
  std::shared_ptr<void> object = FindHandle(kind, handle);
  if (!object) {
    throw Refused{DYGRAPH_CLOSED, std::string("`") + name +
                                      "` must be open, got a handle that is "
                                      "closed or of another kind"};
  }
  return std::static_pointer_cast<T>(std::move(object));
}

void Close(Kind kind, const void* handle, const char* name) {
  NotNull(handle, name);
  if (!CloseHandle(kind, handle)) {
    throw Refused{DYGRAPH_CLOSED, std::string("`") + name +
                                      "` must be open to be closed, got a "
                                      "handle that is closed or of another kind"};
  }
}

std::shared_ptr<const Model> FindModel(const dygraph_predictor* predictor) {
  return Find<const Model>(Kind::kPredictor, predictor, "predictor");
}

// The context, for the calling thread alone.
class Used {
 public:
  explicit Used(const dygraph_context* handle)
      : object_(Find<ContextObject>(Kind::kContext, handle, "context")) {
    if (object_->busy.exchange(true, std::memory_order_acquire)) {
      throw Refused{DYGRAPH_BUSY,
                    "a context may be used by one thread at a time, and another one uses it. "
                    "Give each thread a clone"};
    }
  }
  ~Used() { object_->busy.store(false, std::memory_order_release); }
  Used(const Used&) = delete;
  Used& operator=(const Used&) = delete;
  ContextObject* operator->() { return object_.get(); }
  Context& context() { return *object_->context; }

 private:
  std::shared_ptr<ContextObject> object_;
};

Options OptionsIn(const dygraph_options* handle) {
  if (!handle) return Options();
  auto object = Find<OptionsObject>(Kind::kOptions, handle, "options");
  std::lock_guard<std::mutex> lock(object->mutex);
  return object->options;
}

void CheckNumber(size_t number, size_t count, const char* what) {
  ENFORCE(number < count, OutOfRange, "the number of an ", what, " must be less than ", count,
          ", got ", number);
}

void CheckStruct(const dygraph_tensor* tensor, const char* name) {
  NotNull(tensor, name);
  ENFORCE(tensor->struct_size >= sizeof(dygraph_tensor) && tensor->struct_size < 4096,
          InvalidArgument, "`", name, "->struct_size` must be sizeof(dygraph_tensor), which is ",
          sizeof(dygraph_tensor), ", got ", tensor->struct_size);
}

// All members but the size.
void Fill(dygraph_tensor* tensor, dygraph_tensor values) {
  values.struct_size = tensor->struct_size;
  *tensor = values;
}

void Describe(const std::vector<Model::Port>& ports, size_t number, const char* what,
              dygraph_tensor* description) {
  CheckStruct(description, "description");
  CheckNumber(number, ports.size(), what);
  const Model::Port& port = ports[number];
  Fill(description, {0, port.name.c_str(), ToWire(port.dtype), port.rank, port.dims.data(), nullptr,
                     0, nullptr, static_cast<size_t>(port.levels)});
}

size_t Number(const std::vector<Model::Port>& ports, const char* name, const char* what) {
  NotNull(name, "name");
  std::string known;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].name == name) return i;
    known += (i ? ", '" : "'") + ports[i].name + "'";
  }
  THROW(NotFound, "`name` must be that of an ", what, ", one of ", known, ", got '", name, "'");
}

LoDLevels LevelsOf(const dygraph_tensor& t) {
  ENFORCE(t.level_count <= kMaxRank, InvalidArgument, "a tensor may have ", kMaxRank,
          " levels of detail, got ", t.level_count);
  ENFORCE(t.level_count == 0 || t.levels, InvalidArgument,
          "`tensor->levels` must not be a null pointer where level_count is ", t.level_count);
  LoDLevels levels;
  for (size_t i = 0; i < t.level_count; ++i) {
    const dygraph_level& level = t.levels[i];
    ENFORCE(level.offsets && level.count > 0 && level.count < size_t{1} << 40, InvalidArgument,
            "level ", i, " of detail must have an offset at least, got none");
    levels.emplace_back(level.offsets, level.offsets + level.count);
  }
  return levels;
}

// A tensor on the caller's data.
Tensor TensorFrom(const dygraph_tensor& t, const std::string& input) {
  DType dtype = DType::kUnset;
  try {
    dtype = DTypeFromWire(t.type);
  } catch (const Error&) {
  }
  ENFORCE(dtype != DType::kUnset, Type, "`tensor->type` must be one of dygraph_type, got ", t.type);
  ENFORCE(t.rank >= 0 && t.rank <= kMaxRank, InvalidArgument, "`tensor->rank` must be 0 to ",
          kMaxRank, ", got ", t.rank);
  ENFORCE(t.rank == 0 || t.dims, InvalidArgument,
          "`tensor->dims` must not be a null pointer where the rank is ", t.rank);
  const Dims dims(Span<const int64_t>(t.dims, static_cast<size_t>(t.rank)));
  ENFORCE(!dims.HasUnknown(), InvalidArgument, "the sizes of an input must not be negative, got ",
          dims);
  const size_t bytes = ByteSize(dims, dtype);
  ENFORCE(bytes == t.bytes, InvalidArgument, "`tensor->bytes` must be ", bytes, " for the input '",
          input, "' of ", dtype, " ", dims, ", got ", t.bytes);
  ENFORCE(t.data || bytes == 0, InvalidArgument, "`tensor->data` must not be a null pointer, for ",
          bytes, " bytes");
  const char* data = static_cast<const char*>(t.data);
  ENFORCE(dtype != DType::kBool ||
              std::all_of(data, data + bytes, [](char b) { return b == 0 || b == 1; }),
          InvalidArgument, "an input of bools must hold bytes of 0 and 1, got another byte");
  Tensor tensor;
  if (bytes > 0 && reinterpret_cast<uintptr_t>(data) % std::min<size_t>(SizeOf(dtype), 8) == 0) {
    tensor.ShareStorage(Storage::Foreign(CPUPlace(), const_cast<char*>(data), bytes, [] {}), dims,
                        dtype);
  } else {
    tensor = Tensor(dims, dtype);
    if (bytes > 0) std::memcpy(tensor.mutable_raw_data(), data, bytes);
  }
  if (t.level_count > 0) tensor.SetLoD(LevelsOf(t));
  return tensor;
}

template <class Load>
int LoadInto(const char* function, const dygraph_options* options, dygraph_predictor** predictor,
             const Load& load) {
  return Edge(function, [&] {
    NotNull(predictor, "predictor");
    *predictor = nullptr;
    std::shared_ptr<const Model> model = load(OptionsIn(options));
    *predictor = static_cast<dygraph_predictor*>(
        OpenHandle(Kind::kPredictor, std::const_pointer_cast<Model>(std::move(model))));
  });
}

dygraph_context* OpenContext(std::shared_ptr<Context> context) {
  return static_cast<dygraph_context*>(
      OpenHandle(Kind::kContext, std::make_shared<ContextObject>(std::move(context))));
}

}  // namespace

#pragma GCC visibility push(default)  // also where the library hides all other names
extern "C" {

const char* dygraph_last_error(void) { return LastError().c_str(); }

const char* dygraph_status_name(int status) {
  static const char* const kNames[] = {"DYGRAPH_OK",
                                       "DYGRAPH_INVALID_ARGUMENT",
                                       "DYGRAPH_TYPE",
                                       "DYGRAPH_NOT_FOUND",
                                       "DYGRAPH_FILE_NOT_FOUND",
                                       "DYGRAPH_OUT_OF_RANGE",
                                       "DYGRAPH_UNIMPLEMENTED",
                                       "DYGRAPH_OUT_OF_MEMORY",
                                       "DYGRAPH_WRONG_STATE",
                                       "DYGRAPH_FORMAT",
                                       "DYGRAPH_ASSERTION_FAILED",
                                       "DYGRAPH_NOT_FINITE",
                                       "DYGRAPH_CANCELLED",
                                       "DYGRAPH_TIMED_OUT",
                                       "DYGRAPH_BUSY",
                                       "DYGRAPH_CLOSED",
                                       "DYGRAPH_INTERNAL"};
  return 0 <= status && status <= DYGRAPH_INTERNAL ? kNames[status] : "unknown status";
}

const char* dygraph_version(void) { return DYGRAPH_VERSION; }

int dygraph_options_create(dygraph_options** options) {
  return Edge("dygraph_options_create", [&] {
    NotNull(options, "options");
    *options = static_cast<dygraph_options*>(
        OpenHandle(Kind::kOptions, std::make_shared<OptionsObject>()));
  });
}

int dygraph_options_set(dygraph_options* options, const char* name, const char* value) {
  return Edge("dygraph_options_set", [&] {
    auto object = Find<OptionsObject>(Kind::kOptions, options, "options");
    NotNull(name, "name");
    NotNull(value, "value");
    std::lock_guard<std::mutex> lock(object->mutex);
    object->options.Set(name, value);
  });
}

int dygraph_options_close(dygraph_options* options) {
  return Edge("dygraph_options_close", [&] { Close(Kind::kOptions, options, "options"); });
}

int dygraph_load(const char* path, const dygraph_options* options, dygraph_predictor** predictor) {
  return LoadInto("dygraph_load", options, predictor, [&](const Options& o) {
    NotNull(path, "path");
    return Model::Load(path, o);
  });
}

int dygraph_load_memory(const void* model, size_t model_bytes, const void* weights,
                        size_t weights_bytes, const dygraph_options* options,
                        dygraph_predictor** predictor) {
  return LoadInto("dygraph_load_memory", options, predictor, [&](const Options& o) {
    NotNull(model, "model");
    return Model::LoadMemory(model, model_bytes, weights, weights_bytes, o);
  });
}

int dygraph_save(const dygraph_predictor* predictor, const char* path) {
  return Edge("dygraph_save", [&] {
    std::shared_ptr<const Model> model = FindModel(predictor);
    NotNull(path, "path");
    model->Save(path);
  });
}

int dygraph_predictor_close(dygraph_predictor* predictor) {
  return Edge("dygraph_predictor_close", [&] { Close(Kind::kPredictor, predictor, "predictor"); });
}

int dygraph_predictor_inputs(const dygraph_predictor* predictor, size_t* count) {
  return Edge("dygraph_predictor_inputs", [&] {
    std::shared_ptr<const Model> model = FindModel(predictor);
    NotNull(count, "count");
    *count = model->inputs().size();
  });
}

int dygraph_predictor_outputs(const dygraph_predictor* predictor, size_t* count) {
  return Edge("dygraph_predictor_outputs", [&] {
    std::shared_ptr<const Model> model = FindModel(predictor);
    NotNull(count, "count");
    *count = model->outputs().size();
  });
}

int dygraph_predictor_input(const dygraph_predictor* predictor, size_t number,
                            dygraph_tensor* description) {
  return Edge("dygraph_predictor_input",
              [&] { Describe(FindModel(predictor)->inputs(), number, "input", description); });
}

int dygraph_predictor_output(const dygraph_predictor* predictor, size_t number,
                             dygraph_tensor* description) {
  return Edge("dygraph_predictor_output",
              [&] { Describe(FindModel(predictor)->outputs(), number, "output", description); });
}

int dygraph_predictor_find_input(const dygraph_predictor* predictor, const char* name,
                                 size_t* number) {
  return Edge("dygraph_predictor_find_input", [&] {
    std::shared_ptr<const Model> model = FindModel(predictor);
    NotNull(number, "number");
    *number = Number(model->inputs(), name, "input");
  });
}

int dygraph_predictor_find_output(const dygraph_predictor* predictor, const char* name,
                                  size_t* number) {
  return Edge("dygraph_predictor_find_output", [&] {
    std::shared_ptr<const Model> model = FindModel(predictor);
    NotNull(number, "number");
    *number = Number(model->outputs(), name, "output");
  });
}

int dygraph_context_create(const dygraph_predictor* predictor, dygraph_context** context) {
  return Edge("dygraph_context_create", [&] {
    NotNull(context, "context");
    *context = nullptr;
    *context = OpenContext(std::make_shared<Context>(FindModel(predictor)));
  });
}

int dygraph_context_clone(const dygraph_context* context, dygraph_context** clone) {
  return Edge("dygraph_context_clone", [&] {
    NotNull(clone, "clone");
    *clone = nullptr;
    Used used(context);
    *clone = OpenContext(used.context().Clone());
  });
}

int dygraph_context_close(dygraph_context* context) {
  return Edge("dygraph_context_close", [&] { Close(Kind::kContext, context, "context"); });
}

int dygraph_context_set_input(dygraph_context* context, size_t number,
                              const dygraph_tensor* tensor) {
  return Edge("dygraph_context_set_input", [&] {
    Used used(context);
    CheckStruct(tensor, "tensor");
    const auto& inputs = used.context().model().inputs();
    CheckNumber(number, inputs.size(), "input");
    used.context().SetInput(number, TensorFrom(*tensor, inputs[number].name));
  });
}

int dygraph_context_run(dygraph_context* context) {
  return Edge("dygraph_context_run", [&] {
    Used used(context);
    used->levels.clear();
    try {
      used.context().Run();
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::Interrupted || used.context().cancelled()) throw;
      if (used.context().timed_out()) throw Refused{DYGRAPH_TIMED_OUT, e.message()};
      throw;
    }
  });
}

int dygraph_context_output(dygraph_context* context, size_t number, dygraph_tensor* tensor) {
  return Edge("dygraph_context_output", [&] {
    Used used(context);
    CheckStruct(tensor, "tensor");
    const auto& outputs = used.context().model().outputs();
    CheckNumber(number, outputs.size(), "output");
    const Tensor& value = used.context().Output(number);
    used->levels.resize(outputs.size());
    std::vector<dygraph_level>& levels = used->levels[number];
    levels.clear();
    for (const auto& level : value.lod_levels()) levels.push_back({level.data(), level.size()});
    Fill(tensor,
         {0, outputs[number].name.c_str(), ToWire(value.dtype()), value.rank(), value.dims().data(),
          value.raw_data(), value.bytes(), levels.data(), levels.size()});
  });
}

int dygraph_context_cancel(dygraph_context* context) {
  return Edge("dygraph_context_cancel",
              [&] { Find<ContextObject>(Kind::kContext, context, "context")->context->Cancel(); });
}

int dygraph_context_set_time_limit(dygraph_context* context, double seconds) {
  return Edge("dygraph_context_set_time_limit", [&] {
    Used used(context);
    ENFORCE(std::isfinite(seconds) && seconds >= 0, InvalidArgument,
            "`seconds` must be 0 or more, got ", seconds);
    used.context().set_time_limit(seconds);
  });
}

int dygraph_context_set_profile(dygraph_context* context, int on) {
  return Edge("dygraph_context_set_profile", [&] {
    Used used(context);
    used.context().Profile(on != 0);
  });
}

int dygraph_context_profile(dygraph_context* context, int json, const char** text) {
  return Edge("dygraph_context_profile", [&] {
    Used used(context);
    NotNull(text, "text");
    used->profile = used.context().ProfileText(json != 0);
    *text = used->profile.c_str();
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace dygraph::inference
