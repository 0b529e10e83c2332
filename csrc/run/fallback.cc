#include "run/fallback.h"

#include <cstdio>
#include <map>
#include <mutex>

#include "platform/device_flags.h"

namespace dygraph {

namespace {

struct Counts {
  std::mutex mutex;
  std::map<std::string, int64_t> by_operator;
};

Counts& TheCounts() {
  static Counts* counts = new Counts;
  return *counts;
}

void (*g_warn)(const std::string&) = [](const std::string& text) {
  std::fprintf(stderr, "dygraph: %s\n", text.c_str());
};

}  // namespace

void SetWarn(void (*warn)(const std::string& text)) { g_warn = warn; }

void NoteFallback(const Call& call, Place place) {
  bool first;
  {
    std::lock_guard<std::mutex> lock(TheCounts().mutex);
    first = ++TheCounts().by_operator[call.op->type] == 1;
  }
  if (!first || FLAGS_host_fallback != "warn") return;
  g_warn(call.op->type + " has no kernel for " + ToString(place) +
         ": the host computes it, and its values are copied to the host and back. "
         "dygraph.cuda.fallbacks() counts such calls; FLAGS_host_fallback=quiet silences this");
}

std::vector<std::pair<std::string, int64_t>> Fallbacks() {
  std::lock_guard<std::mutex> lock(TheCounts().mutex);
  return {TheCounts().by_operator.begin(), TheCounts().by_operator.end()};
}

int64_t CountFallbacks() {
  int64_t count = 0;
  for (const auto& [name, calls] : Fallbacks()) count += calls;
  return count;
}

Value CopyTo(const Value& value, Place place) {
  if (value.is_tensor()) return Value(CopyTo(value.tensor(), place));
  if (value.is_rows()) {
    const SelectedRows& rows = value.rows();
    if (rows.value().place() == place) return value;
    return Value(MakeRef<SelectedRows>(rows.rows(), rows.height(), CopyTo(rows.value(), place)));
  }
  if (!value.is_array()) return value;
  std::vector<Tensor> items;
  for (const Tensor& t : value.array().items) items.push_back(CopyTo(t, place));
  return Value(MakeRef<TensorArray>(std::move(items)));
}

void MoveOutputs(Call& call, Place place) {
  for (Value* out : call.out.flat()) {
    if (!out || out->empty()) continue;
    if (!out->is_tensor()) {
      *out = CopyTo(*out, place);
    } else if (out->tensor().has_data()) {
      Tensor& t = out->MutableTensor();
      t = CopyTo(t, place);
    }
  }
}

}  // namespace dygraph
