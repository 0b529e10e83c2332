// The stream of the calling thread's device, and what CUDA says of a call. For host files too.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "base/enforce.h"
#include "platform/place.h"

// What plug-ins may call; all else is hidden.
#define DYGRAPH_CUDA_API __attribute__((visibility("default")))

namespace dygraph::cuda {

// The compute stream and the place of the device that the thread entered last
// (DeviceContext::Enter).
DYGRAPH_CUDA_API cudaStream_t CurrentStream();
DYGRAPH_CUDA_API Place CurrentPlace();

// Raises what the status says of the work named `what`: "a launch", "a copy to the host".
[[noreturn]] DYGRAPH_CUDA_API void Fail(cudaError_t status, const char* what);
// The same for what a library, such as "cuBLASLt", says of the work. An error of the device, which
// may be its cause, is raised in its place.
[[noreturn]] DYGRAPH_CUDA_API void FailIn(const char* library, const std::string& says,
                                          const char* what);
inline void Check(cudaError_t status, const char* what) {
  if (__builtin_expect(status != cudaSuccess, 0)) Fail(status, what);
}

}  // namespace dygraph::cuda
