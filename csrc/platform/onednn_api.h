// oneDNN's C functions as a table of pointers. Only files named *onednn*.cc include this.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include "base/enforce.h"
#include "platform/onednn.h"

namespace dygraph {

#define DYGRAPH_ONEDNN_FUNCTIONS(X)                                                                                     \
  X(dnnl_sgemm)                                                                                                         \
  X(dnnl_engine_create)                                                                                                 \
  X(dnnl_stream_create)                                                                                                 \
  X(dnnl_stream_destroy)                                                                                                \
  X(dnnl_memory_desc_create_with_tag)                                                                                   \
  X(dnnl_memory_desc_create_with_strides)                                                                               \
  X(dnnl_memory_desc_destroy)                                                                                           \
  X(dnnl_memory_desc_equal)                                                                                             \
  X(dnnl_memory_desc_get_size)                                                                                          \
  X(dnnl_memory_create)                                                                                                 \
  X(dnnl_memory_destroy)                                                                                                \
  X(dnnl_memory_set_data_handle)                                                                                        \
  X(dnnl_primitive_attr_create)                                                                                         \
  X(dnnl_primitive_attr_destroy)                                                                                        \
  X(dnnl_primitive_attr_set_scratchpad_mode)                                                                            \
  X(dnnl_primitive_desc_destroy)                                                                                        \
  X(dnnl_primitive_desc_query_md)                                                                                       \
  X(dnnl_convolution_forward_primitive_desc_create)                                                                     \
  X(dnnl_convolution_backward_data_primitive_desc_create)                                                               \
  X(dnnl_convolution_backward_weights_primitive_desc_create)                                                            \
  X(dnnl_reorder_primitive_desc_create)                                                                                 \
  X(dnnl_primitive_create)                                                                                              \
  X(dnnl_primitive_execute)                                                                                             \
  X(dnnl_primitive_destroy)                                                                                             \
  X(dnnl_set_primitive_cache_capacity)

struct OneDnnApi {
#define DYGRAPH_ONEDNN_MEMBER(name) decltype(&::name) name = nullptr;
  DYGRAPH_ONEDNN_FUNCTIONS(DYGRAPH_ONEDNN_MEMBER)
#undef DYGRAPH_ONEDNN_MEMBER
  dnnl_engine_t engine = nullptr;  // the CPU
};

// Throws what a status other than success means.
inline void CheckOneDnn(dnnl_status_t status, const char* what) {
  if (status == dnnl_success) return;
  ENFORCE(status != dnnl_out_of_memory, ResourceExhausted, "oneDNN has no memory for ", what);
  THROW(PreconditionNotMet, "oneDNN must be able to do ", what, ", got status ", static_cast<int>(status),
        ". dygraph.set_flags({'kernel_library': 'plain'}) takes our own kernels");
}

}  // namespace dygraph
