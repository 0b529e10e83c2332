#include "cuda/errors_cuda.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cuda/stream.h"

namespace dygraph::cuda {

namespace {

struct Reporters {
  std::mutex mutex;
  std::vector<Reporter> list;
  std::map<std::pair<const char*, const char*>, int32_t> numbers;  // of the texts' addresses
};

Reporters& TheReporters() {
  static Reporters* reporters = new Reporters;
  return *reporters;
}

// Statuses after which every call of the process fails: the first text says what happened.
std::mutex g_mutex;
std::string& Sticky() {
  static std::string* text = new std::string;
  return *text;
}

bool EndsContext(cudaError_t status) {
  const int code = status;  // as the driver numbers them
  return code == 214 || code == 700 || code == 702 || code == 710 || (code >= 714 && code <= 719);
}

}  // namespace

int32_t NumberOf(const Reporter& reporter) {
  Reporters& all = TheReporters();
  std::lock_guard<std::mutex> lock(all.mutex);
  int32_t& number = all.numbers[{reporter.op, reporter.slot}];
  if (number == 0) {
    all.list.push_back(reporter);
    number = static_cast<int32_t>(all.list.size());
  }
  return number;
}

Reporter ReporterOf(int32_t number) {
  Reporters& all = TheReporters();
  std::lock_guard<std::mutex> lock(all.mutex);
  const bool known = number >= 1 && number <= static_cast<int32_t>(all.list.size());
  return known ? all.list[static_cast<size_t>(number) - 1] : Reporter();
}

void Fail(cudaError_t status, const char* what) {
  cudaGetLastError();  // which a later check would find again
  ENFORCE(status != cudaErrorMemoryAllocation, ResourceExhausted,
          "the device has no memory left for ", what);
  std::string text = std::string("CUDA reports an error of ") + what + ": " +
                     cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")";
  std::lock_guard<std::mutex> lock(g_mutex);
  if (EndsContext(status) && Sticky().empty())
    Sticky() = text +
               ". It may stem from an earlier call: FLAGS_cuda_sync=1 names the operator. The "
               "device cannot be used again in this process";
  throw Error(ErrorKind::PreconditionNotMet, Sticky().empty() ? text : Sticky());
}

void FailIn(const char* library, const std::string& says, const char* what) {
  cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess) status = cudaStreamQuery(CurrentStream());
  if (status != cudaSuccess && status != cudaErrorNotReady) Fail(status, what);
  cudaGetLastError();
  THROW(PreconditionNotMet, library, " must succeed in ", what, ", got the status ", says);
}

}  // namespace dygraph::cuda
