// oneDNN's C functions as a table of pointers. Only files named *onednn*.cc include this.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include "base/enforce.h"
#include "platform/onednn.h"

namespace dygraph {

struct OneDnnApi {
  decltype(&::dnnl_sgemm) dnnl_sgemm = nullptr;
  decltype(&::dnnl_engine_create) dnnl_engine_create = nullptr;
  decltype(&::dnnl_stream_create) dnnl_stream_create = nullptr;
  decltype(&::dnnl_stream_destroy) dnnl_stream_destroy = nullptr;
  decltype(&::dnnl_memory_desc_create_with_tag) dnnl_memory_desc_create_with_tag = nullptr;
  decltype(&::dnnl_memory_desc_create_with_strides) dnnl_memory_desc_create_with_strides = nullptr;
  decltype(&::dnnl_memory_desc_destroy) dnnl_memory_desc_destroy = nullptr;
  decltype(&::dnnl_memory_desc_equal) dnnl_memory_desc_equal = nullptr;
  decltype(&::dnnl_memory_desc_query) dnnl_memory_desc_query = nullptr;
  decltype(&::dnnl_memory_desc_get_size) dnnl_memory_desc_get_size = nullptr;
  decltype(&::dnnl_memory_create) dnnl_memory_create = nullptr;
  decltype(&::dnnl_memory_destroy) dnnl_memory_destroy = nullptr;
  decltype(&::dnnl_memory_set_data_handle) dnnl_memory_set_data_handle = nullptr;
  decltype(&::dnnl_primitive_attr_create) dnnl_primitive_attr_create = nullptr;
  decltype(&::dnnl_primitive_attr_destroy) dnnl_primitive_attr_destroy = nullptr;
  decltype(&::dnnl_primitive_attr_set_scratchpad_mode) dnnl_primitive_attr_set_scratchpad_mode =
      nullptr;
  decltype(&::dnnl_primitive_desc_destroy) dnnl_primitive_desc_destroy = nullptr;
  decltype(&::dnnl_primitive_desc_query_md) dnnl_primitive_desc_query_md = nullptr;
  decltype(&::dnnl_convolution_forward_primitive_desc_create)
      dnnl_convolution_forward_primitive_desc_create = nullptr;
  decltype(&::dnnl_convolution_backward_data_primitive_desc_create)
      dnnl_convolution_backward_data_primitive_desc_create = nullptr;
  decltype(&::dnnl_convolution_backward_weights_primitive_desc_create)
      dnnl_convolution_backward_weights_primitive_desc_create = nullptr;
  decltype(&::dnnl_reorder_primitive_desc_create) dnnl_reorder_primitive_desc_create = nullptr;
  decltype(&::dnnl_primitive_create) dnnl_primitive_create = nullptr;
  decltype(&::dnnl_primitive_execute) dnnl_primitive_execute = nullptr;
  decltype(&::dnnl_primitive_destroy) dnnl_primitive_destroy = nullptr;
  decltype(&::dnnl_set_primitive_cache_capacity) dnnl_set_primitive_cache_capacity = nullptr;
  decltype(&::dnnl_post_ops_create) dnnl_post_ops_create = nullptr;
  decltype(&::dnnl_post_ops_destroy) dnnl_post_ops_destroy = nullptr;
  decltype(&::dnnl_post_ops_append_binary) dnnl_post_ops_append_binary = nullptr;
  decltype(&::dnnl_post_ops_append_sum) dnnl_post_ops_append_sum = nullptr;
  decltype(&::dnnl_post_ops_append_eltwise) dnnl_post_ops_append_eltwise = nullptr;
  decltype(&::dnnl_primitive_attr_set_post_ops) dnnl_primitive_attr_set_post_ops = nullptr;
  dnnl_engine_t engine = nullptr;  // the CPU
  int (*omp_get_max_threads)() = nullptr;  // of the OpenMP that it uses; null if it uses none
  void (*omp_set_num_threads)(int) = nullptr;

  // Calls f(name, pointer) for every function.
  template <class F>
  void ForEach(F f) {
    f("dnnl_sgemm", &dnnl_sgemm);
    f("dnnl_engine_create", &dnnl_engine_create);
    f("dnnl_stream_create", &dnnl_stream_create);
    f("dnnl_stream_destroy", &dnnl_stream_destroy);
    f("dnnl_memory_desc_create_with_tag", &dnnl_memory_desc_create_with_tag);
    f("dnnl_memory_desc_create_with_strides", &dnnl_memory_desc_create_with_strides);
    f("dnnl_memory_desc_destroy", &dnnl_memory_desc_destroy);
    f("dnnl_memory_desc_equal", &dnnl_memory_desc_equal);
    f("dnnl_memory_desc_query", &dnnl_memory_desc_query);
    f("dnnl_memory_desc_get_size", &dnnl_memory_desc_get_size);
    f("dnnl_memory_create", &dnnl_memory_create);
    f("dnnl_memory_destroy", &dnnl_memory_destroy);
    f("dnnl_memory_set_data_handle", &dnnl_memory_set_data_handle);
    f("dnnl_primitive_attr_create", &dnnl_primitive_attr_create);
    f("dnnl_primitive_attr_destroy", &dnnl_primitive_attr_destroy);
    f("dnnl_primitive_attr_set_scratchpad_mode", &dnnl_primitive_attr_set_scratchpad_mode);
    f("dnnl_primitive_desc_destroy", &dnnl_primitive_desc_destroy);
    f("dnnl_primitive_desc_query_md", &dnnl_primitive_desc_query_md);
    f("dnnl_convolution_forward_primitive_desc_create",
      &dnnl_convolution_forward_primitive_desc_create);
    f("dnnl_convolution_backward_data_primitive_desc_create",
      &dnnl_convolution_backward_data_primitive_desc_create);
    f("dnnl_convolution_backward_weights_primitive_desc_create",
      &dnnl_convolution_backward_weights_primitive_desc_create);
    f("dnnl_reorder_primitive_desc_create", &dnnl_reorder_primitive_desc_create);
    f("dnnl_primitive_create", &dnnl_primitive_create);
    f("dnnl_primitive_execute", &dnnl_primitive_execute);
    f("dnnl_primitive_destroy", &dnnl_primitive_destroy);
    f("dnnl_set_primitive_cache_capacity", &dnnl_set_primitive_cache_capacity);
    f("dnnl_post_ops_create", &dnnl_post_ops_create);
    f("dnnl_post_ops_destroy", &dnnl_post_ops_destroy);
    f("dnnl_post_ops_append_binary", &dnnl_post_ops_append_binary);
    f("dnnl_post_ops_append_sum", &dnnl_post_ops_append_sum);
    f("dnnl_post_ops_append_eltwise", &dnnl_post_ops_append_eltwise);
    f("dnnl_primitive_attr_set_post_ops", &dnnl_primitive_attr_set_post_ops);
  }
};

// Around each call that computes or makes a primitive; see EndOneDnn().
void EnterLibrary();
void LeaveLibrary();

// While it lives, oneDNN computes with the calling thread alone, and primitives are made for that.
class OneThread {
 public:
  explicit OneThread(const OneDnnApi& api) : api_(api) {
    EnterLibrary();
    if (!api.omp_set_num_threads || !api.omp_get_max_threads) return;
    before_ = api.omp_get_max_threads();
    if (before_ != 1) api.omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ > 1) api_.omp_set_num_threads(before_);
    LeaveLibrary();
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const OneDnnApi& api_;
  int before_ = 1;
};

// Throws what a status other than success means.
inline void CheckOneDnn(dnnl_status_t status, const char* what) {
  if (status == dnnl_success) return;
  ENFORCE(status != dnnl_out_of_memory, ResourceExhausted, "oneDNN has no memory for ", what);
  THROW(PreconditionNotMet, "oneDNN must be able to do ", what, ", got status ",
        static_cast<int>(status),
        ". dygraph.set_flags({'kernel_library': 'plain'}) takes our own kernels");
}

}  // namespace dygraph
