#include "cuda/errors_cuda.h"

#include <deque>
#include <mutex>
#include <string>

#include "cuda/stream.h"

namespace dygraph::cuda {

namespace {

struct Names {
  std::mutex mutex;
  std::deque<const char*> list;
};

Names& TheNames() {
  static Names* names = new Names;
  return *names;
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

int32_t NameReporter(const char* what) {
  Names& names = TheNames();
  std::lock_guard<std::mutex> lock(names.mutex);
  for (size_t i = 0; i < names.list.size(); ++i) {
    if (names.list[i] == what) return static_cast<int32_t>(i) + 1;
  }
  names.list.push_back(what);
  return static_cast<int32_t>(names.list.size());
}

const char* ReporterName(int32_t number) {
  Names& names = TheNames();
  std::lock_guard<std::mutex> lock(names.mutex);
  return number >= 1 && number <= static_cast<int32_t>(names.list.size())
             ? names.list[static_cast<size_t>(number) - 1]
             : "a kernel";
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
  THROW(PreconditionNotMet, library, " reports ", says, " of ", what);
}

}  // namespace dygraph::cuda
