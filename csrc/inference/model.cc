#include "inference/model.h"

#include <sys/stat.h>

#include <charconv>

#include "base/enforce.h"
#include "base/nearest.h"
#include "files/inference_model.h"
#include "memory/budget.h"
#include "passes/pass.h"
#include "program/op_binding.h"

namespace dygraph::inference {

namespace {

using program::ModelBytes;

template <class T>
T NumberIn(const std::string& name, const std::string& value, T most) {
  T number{};
  const char* end = value.data() + value.size();
  auto [at, error] = std::from_chars(value.data(), end, number);
  ENFORCE(error == std::errc() && at == end && number >= 0 && number <= most, InvalidArgument,
          "the option ", name, " must be a whole number from 0 to ", most, ", got '", value, "'");
  return number;
}

std::vector<std::string> ListIn(const std::string& value) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin < value.size();) {
    const size_t end = std::min(value.find(',', begin), value.size());
    if (end > begin) names.push_back(value.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

Model::Port PortOf(const program::ProgramDesc& program, const std::string& name) {
  Model::Port port;
  port.name = name;
  for (const program::VarDesc& var : program.blocks[0].vars) {
    if (var.name != name) continue;
    port.dtype = program::ElementType(var);
    if (const auto* tensor = program::TensorOf(var)) {
      port.dims = tensor->dims;
      port.rank = static_cast<int>(tensor->dims.size());
    }
    port.levels = program::LevelOf(var);
  }
  return port;
}

bool Is(const std::string& path, bool directory) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 &&
         (directory ? S_ISDIR(status.st_mode) : !S_ISDIR(status.st_mode));
}

program::ProgramDesc LoadPacked(std::shared_ptr<const ModelBytes> bytes, program::Scope* scope,
                                const Options& options) {
  return program::LoadPackedModel(std::move(bytes), scope,
                                  {options.share_weights, options.check_weights});
}

// A directory, a prefix of Paddle 2's two files, or a packed file.
program::ProgramDesc LoadFrom(const std::string& path, program::Scope* scope,
                              const Options& options) {
  program::ModelNames names;
  std::string directory = path;
  if (!Is(path, true) && !Is(path, false) && Is(path + ".pdmodel", false)) {
    const size_t slash = path.rfind('/');
    const std::string stem = slash == std::string::npos ? path : path.substr(slash + 1);
    directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    names = {stem + ".pdmodel", stem + ".pdiparams"};
  } else if (!Is(path, true)) {
    std::shared_ptr<const ModelBytes> bytes = ModelBytes::Map(path);
    ENFORCE(bytes->is_packed(), Format, "a model must be a directory or a packed file, got '", path,
            "', a file of another kind. Give the directory that it lies in");
    return LoadPacked(std::move(bytes), scope, options);
  }
  if (!options.model_file.empty()) names.model = options.model_file;
  if (!options.weights_file.empty()) names.weights = options.weights_file;
  return program::LoadInferenceModel(directory, scope, names);
}

}  // namespace

void Options::Set(const std::string& name, const std::string& value) {
  if (name == "threads") {
    threads = NumberIn<int>(name, value, 1024);
  } else if (name == "memory_limit") {
    memory_limit = NumberIn<int64_t>(name, value, INT64_MAX);
  } else if (name == "passes") {
    std::vector<std::string> names = ListIn(value);
    for (const std::string& pass : names) program::GetPass(pass);
    passes = std::move(names);
  } else if (name == "share_weights") {
    share_weights = NumberIn<int>(name, value, 1) != 0;
  } else if (name == "check_weights") {
    check_weights = NumberIn<int>(name, value, 1) != 0;
  } else if (name == "model_file") {
    model_file = value;
  } else if (name == "weights_file") {
    weights_file = value;
  } else {
    THROW(NotFound, "an option must be one of threads, memory_limit, passes, share_weights, ",
          "check_weights, model_file, weights_file, got '", name, "'.",
          DidYouMean(name, {"threads", "memory_limit", "passes", "share_weights", "check_weights",
                            "model_file", "weights_file"}));
  }
}

template <class Fill>
std::shared_ptr<const Model> Model::Make(const Options& options, const Fill& fill) {
  memory::Budget budget(options.memory_limit);
  auto model = std::make_shared<Model>();
  model->options_ = options;
  model->scope_ = program::Scope::Make();
  auto loaded = std::make_shared<const program::ProgramDesc>(fill(model->scope_.get()));
  const std::vector<std::string> feeds = program::FeedNames(*loaded),
                                 fetches = program::FetchNames(*loaded);
  for (const std::string& pass : options.passes) {
    program::PassOptions given;  // what the model itself says
    for (const program::PassOption& option : program::GetPass(pass).options) {
      if (option.field.name == "feeds") given.emplace_back("feeds", feeds);
      if (option.field.name == "fetches") given.emplace_back("fetches", fetches);
    }
    loaded = program::ApplyPass(pass, loaded, given, model->scope_);
  }
  model->program_ = std::move(loaded);
  // With the same bits, and not a part of the model.
  const auto runs = program::ApplyPass("fuse_fc", model->program_, {{"as_declared", true}},
                                       model->scope_);
  model->prepared_ = std::make_unique<program::PreparedProgram>(runs, model->scope_, feeds, fetches,
                                                                CPUPlace());
  model->prepared_->PlanMemory();
  for (const std::string& name : feeds) model->inputs_.push_back(PortOf(*model->program_, name));
  for (const std::string& name : fetches) model->outputs_.push_back(PortOf(*model->program_, name));
  return model;
}

std::shared_ptr<const Model> Model::Load(const std::string& path, const Options& options) {
  return Make(options, [&](program::Scope* scope) { return LoadFrom(path, scope, options); });
}

std::shared_ptr<const Model> Model::LoadMemory(const void* model, size_t model_bytes,
                                               const void* weights, size_t weights_bytes,
                                               const Options& options) {
  return Make(options, [&](program::Scope* scope) {
    std::shared_ptr<const ModelBytes> bytes = ModelBytes::Of(model, model_bytes);
    if (!weights && bytes->is_packed()) return LoadPacked(std::move(bytes), scope, options);
    program::FileReader program, values;
    program.OpenMemory(model, model_bytes, "the model in memory");
    values.OpenMemory(weights, weights_bytes, "the weights in memory");
    return program::LoadInferenceModel(&program, weights ? &values : nullptr, scope);
  });
}

void Model::Save(const std::string& path) const {
  program::SavePackedModel(path, *program_, *scope_);
}

}  // namespace dygraph::inference
