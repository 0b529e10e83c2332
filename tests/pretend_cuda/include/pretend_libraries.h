// What the pretended cuBLASLt and cuDNN need from the pretended runtime.
#pragma once

#include <cstddef>
#include <functional>

#include "cuda_runtime_api.h"

namespace pretend {

// Runs `work` in the order of the stream, or records it where the stream is captured. Says what the
// real runtime would say of a call on that stream.
cudaError_t EnqueueFunction(cudaStream_t stream, std::function<void()> work);

// Whether all these bytes lie in one live block of memory of a device.
bool OnDevice(const void* memory, size_t bytes);

}  // namespace pretend
