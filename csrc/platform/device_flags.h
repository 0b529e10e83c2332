// Flags of devices. They stand in the core, so that the environment and set_flags() reach them
// before a backend is opened.
#pragma once

#include <cstdint>
#include <string>

namespace dygraph {

extern std::string FLAGS_cuda_library;
extern std::string FLAGS_cuda_library_path;
extern std::string FLAGS_host_fallback;
extern bool FLAGS_allow_tf32;
extern bool FLAGS_cuda_atomics;
extern bool FLAGS_cuda_graphs;
extern bool FLAGS_cuda_sync;
extern bool FLAGS_cudnn_deterministic;
extern bool FLAGS_cudnn_exhaustive_search;
extern int64_t FLAGS_conv_workspace_size_limit;
extern int64_t FLAGS_initial_gpu_memory_in_mb;
extern int64_t FLAGS_reallocate_gpu_memory_in_mb;

}  // namespace dygraph
