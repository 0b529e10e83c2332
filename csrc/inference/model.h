// A loaded model, ready to run: what predictors of the C interface are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "execute/executor.h"
#include "files/packed_model.h"
#include "program/scope.h"

namespace dygraph::inference {

struct Options {
  int threads = 0;          // 0: what the process may use
  size_t memory_limit = 0;  // bytes; 0: none
  std::vector<std::string> passes;
  bool share_weights = false, check_weights = true;
  std::string model_file, weights_file;  // "": the usual names

  // NotFound for a name that is no option's; InvalidArgument for a value that is none of its.
  void Set(const std::string& name, const std::string& value);
};

class Model {
 public:
  static std::shared_ptr<const Model> Load(const std::string& path, const Options& options);
  // `weights` null: `model` is a packed file, or a model without weights.
  static std::shared_ptr<const Model> LoadMemory(const void* model, size_t model_bytes,
                                                 const void* weights, size_t weights_bytes,
                                                 const Options& options);
  void Save(const std::string& path) const;

  struct Port {  // an input or output, as the program describes it
    std::string name;
    DType dtype = DType::kUnset;
    int rank = -1;  // not known
    std::vector<int64_t> dims;
    int levels = 0;
  };
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  const Options& options() const { return options_; }
  program::PreparedProgram& prepared() const { return *prepared_; }

 private:
  template <class Fill>
  static std::shared_ptr<const Model> Make(const Options& options, const Fill& fill);

  Options options_;
  std::shared_ptr<program::Scope> scope_;
  std::shared_ptr<const program::ProgramDesc> program_;
  std::unique_ptr<program::PreparedProgram> prepared_;  // safe from any thread
  std::vector<Port> inputs_, outputs_;
};

}  // namespace dygraph::inference
