// What a thread may do while it records a graph.
#pragma once

#include <cuda_runtime_api.h>

namespace dygraph::cuda {

// While it lives, the thread may ask for memory and for events that are no part of the graph.
class WhileCapturing {
 public:
  WhileCapturing() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~WhileCapturing() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  WhileCapturing(const WhileCapturing&) = delete;
  WhileCapturing& operator=(const WhileCapturing&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace dygraph::cuda
