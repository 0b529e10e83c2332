// One run of a model at a time: its inputs, outputs, limits and times.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "execute/op_times.h"
#include "inference/model.h"
#include "platform/run_limit.h"

namespace dygraph::inference {

class Context {
 public:
  explicit Context(std::shared_ptr<const Model> model);
  const Model& model() const { return *model_; }
  std::shared_ptr<Context> Clone() const;

  void SetInput(size_t number, Tensor tensor);
  // Throws what operators throw; Interrupted where it was cancelled or took too long.
  void Run();
  // On the host and in row-major order, in memory that does not change before the next run.
  const Tensor& Output(size_t number) const;

  void Cancel() { limit_.cancelled = true; }  // from any thread
  bool cancelled() const { return limit_.cancelled; }
  bool timed_out() const { return limit_.passed(); }
  void set_time_limit(double seconds) { seconds_ = seconds; }

  void Profile(bool on);
  std::string ProfileText(bool json) const;

 private:
  std::shared_ptr<const Model> model_;
  std::vector<Value> inputs_;
  std::vector<Tensor> outputs_;
  RunLimit limit_;
  double seconds_ = 0;
  bool timed_ = false;
  uint64_t runs_ = 0, nanoseconds_ = 0;
  program::OpTimes times_;
};

}  // namespace dygraph::inference
