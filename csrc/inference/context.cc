#include "inference/context.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/enforce.h"
#include "memory/budget.h"
#include "platform/profiler.h"
#include "platform/thread_limit.h"

namespace dygraph::inference {

namespace {

// What a caller may read until the next run, whatever becomes of inputs meanwhile.
Tensor Readable(const Value& value, const Model::Port& port) {
  ENFORCE(value.is_tensor(), Unimplemented, "the output '", port.name,
          "' must be a tensor, got an array of tensors or selected rows");
  Tensor t = CopyTo(value.tensor(), CPUPlace()).Plain();
  return t.storage() && t.storage()->foreign() ? t.Clone() : t;
}

}  // namespace

Context::Context(std::shared_ptr<const Model> model)
    : model_(std::move(model)), inputs_(model_->inputs().size()) {}

std::shared_ptr<Context> Context::Clone() const {
  auto clone = std::make_shared<Context>(model_);
  clone->seconds_ = seconds_;
  return clone;
}

void Context::SetInput(size_t number, Tensor tensor) { inputs_[number] = Value(std::move(tensor)); }

void Context::Run() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    ENFORCE(!inputs_[i].empty(), PreconditionNotMet, "the input '", model_->inputs()[i].name,
            "' (number ", i, ") must be set before a run, got none");
  }
  outputs_.clear();
  limit_.cancelled = false;
  limit_.deadline = 0;
  if (seconds_ > 0) {
    const double most = std::min(std::ceil(seconds_ * 1000), 1e15);
    limit_.deadline = RunLimit::Now() + static_cast<int64_t>(most);
  }
  const Limited limited(&limit_);
  const ThreadLimit threads(model_->options().threads);
  const memory::Budget budget(model_->options().memory_limit);
  const uint64_t start = timed_ ? profiler::Now() : 0;
  const std::vector<Value> values = model_->prepared().Run(inputs_, timed_ ? &times_ : nullptr);
  if (timed_) {
    nanoseconds_ += profiler::Now() - start;
    ++runs_;
  }
  std::vector<Tensor> outputs;
  outputs.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    outputs.push_back(Readable(values[i], model_->outputs()[i]));
  outputs_ = std::move(outputs);
}

const Tensor& Context::Output(size_t number) const {
  ENFORCE(!outputs_.empty(), PreconditionNotMet,
          "outputs are there after a run that succeeded, got none");
  return outputs_[number];
}

void Context::Profile(bool on) {
  timed_ = on;
  times_.Clear();
  runs_ = nanoseconds_ = 0;
}

std::string Context::ProfileText(bool json) const {
  std::vector<program::OpTimes::Entry> entries = times_.Entries();
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.nanoseconds > b.nanoseconds; });
  char line[512];
  std::string text;
  auto add = [&](const char* format, auto... values) {
    std::snprintf(line, sizeof(line), format, values...);
    text += line;
  };
  const double ms = 1e-6, runs = static_cast<double>(std::max<uint64_t>(runs_, 1));
  if (json) {
    add("{\"runs\": %llu, \"milliseconds\": %.6f, \"operators\": [",
        static_cast<unsigned long long>(runs_), nanoseconds_ * ms);
  } else {
    add("%llu runs of %.3f ms\n", static_cast<unsigned long long>(runs_), nanoseconds_ * ms / runs);
    add("%10s %6s %8s  %s\n", "ms a run", "%", "calls", "operator (number in its block)");
  }
  bool first = true;
  for (const auto& entry : entries) {
    const auto calls = static_cast<unsigned long long>(entry.calls);
    if (json) {
      add("%s{\"operator\": \"%.200s\", \"block\": %d, \"number\": %d, \"calls\": %llu, "
          "\"milliseconds\": %.6f}",
          first ? "" : ", ", entry.operators.c_str(), entry.block, entry.position, calls,
          entry.nanoseconds * ms);
    } else {
      add("%10.4f %6.1f %8llu  %.200s (%d%s)\n", entry.nanoseconds * ms / runs,
          100.0 * entry.nanoseconds / std::max<uint64_t>(nanoseconds_, 1), calls,
          entry.operators.c_str(), entry.position,
          entry.block ? (" of block " + std::to_string(entry.block)).c_str() : "");
    }
    first = false;
  }
  return json ? text + "]}" : text;
}

}  // namespace dygraph::inference
