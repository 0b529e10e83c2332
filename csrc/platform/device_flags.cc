#include "platform/device_flags.h"

#include "base/flags.h"

namespace dygraph {

FLAG(std::string, cuda_library_path, "",
     "folders, with ':' between them, that have NVIDIA's libraries; they are also found where the "
     "system looks and among Python's packages");
FLAG(std::string, host_fallback, "warn",
     "what an operator does that has no kernel for a device: warn computes on the host and says so "
     "once, quiet says nothing, off raises");
FLAG(bool, allow_tf32, false,
     "products and convolutions of float32 may round their inputs to 10 bits of fraction, which "
     "tensor cores multiply faster");
FLAG(bool, cuda_atomics, false,
     "sums of scattered elements use atomic additions: faster, in an order that differs from run to "
     "run");
FLAG(bool, cuda_graphs, true, "programs that run repeatedly on CUDAPlace become CUDA graphs");
FLAG(bool, cuda_sync, false,
     "wait after each operator on CUDAPlace, so that an error names the operator that made it");
FLAG(bool, cudnn_deterministic, true, "convolutions take algorithms that give equal bits each run");
FLAG(bool, cudnn_exhaustive_search, false,
     "the first convolution of each shape times all algorithms and keeps the fastest");
FLAG(int64_t, conv_workspace_size_limit, 512,
     "megabytes of working memory that one convolution on a GPU may take");
FLAG(int64_t, initial_gpu_memory_in_mb, 0,
     "megabytes of the first arena on a GPU; 0: as much as the first allocations need");
FLAG(int64_t, reallocate_gpu_memory_in_mb, 0, "megabytes of each further arena; 0: 64 and up");

}  // namespace dygraph
