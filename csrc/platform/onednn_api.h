// oneDNN's C functions as pointers. Only files named *onednn*.cc include this.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include "base/enforce.h"
#include "platform/onednn.h"

namespace dygraph {

struct OneDnnApi {
  explicit OneDnnApi(void* library) : library(library) {}

  void* const library;
  bool complete = true;  // all functions were found
  decltype(&::dnnl_sgemm) dnnl_sgemm = Find("dnnl_sgemm");
  decltype(&::dnnl_engine_create) dnnl_engine_create = Find("dnnl_engine_create");
  decltype(&::dnnl_stream_create) dnnl_stream_create = Find("dnnl_stream_create");
  decltype(&::dnnl_stream_destroy) dnnl_stream_destroy = Find("dnnl_stream_destroy");
  decltype(&::dnnl_memory_desc_create_with_tag) dnnl_memory_desc_create_with_tag =
      Find("dnnl_memory_desc_create_with_tag");
  decltype(&::dnnl_memory_desc_create_with_strides) dnnl_memory_desc_create_with_strides =
      Find("dnnl_memory_desc_create_with_strides");
  decltype(&::dnnl_memory_desc_destroy) dnnl_memory_desc_destroy = Find("dnnl_memory_desc_destroy");
  decltype(&::dnnl_memory_desc_equal) dnnl_memory_desc_equal = Find("dnnl_memory_desc_equal");
  decltype(&::dnnl_memory_desc_query) dnnl_memory_desc_query = Find("dnnl_memory_desc_query");
  decltype(&::dnnl_memory_desc_get_size) dnnl_memory_desc_get_size =
      Find("dnnl_memory_desc_get_size");
  decltype(&::dnnl_memory_create) dnnl_memory_create = Find("dnnl_memory_create");
  decltype(&::dnnl_memory_destroy) dnnl_memory_destroy = Find("dnnl_memory_destroy");
  decltype(&::dnnl_memory_set_data_handle) dnnl_memory_set_data_handle =
      Find("dnnl_memory_set_data_handle");
  decltype(&::dnnl_primitive_attr_create) dnnl_primitive_attr_create =
      Find("dnnl_primitive_attr_create");
  decltype(&::dnnl_primitive_attr_destroy) dnnl_primitive_attr_destroy =
      Find("dnnl_primitive_attr_destroy");
  decltype(&::dnnl_primitive_attr_set_scratchpad_mode) dnnl_primitive_attr_set_scratchpad_mode =
      Find("dnnl_primitive_attr_set_scratchpad_mode");
  decltype(&::dnnl_primitive_desc_destroy) dnnl_primitive_desc_destroy =
      Find("dnnl_primitive_desc_destroy");
  decltype(&::dnnl_primitive_desc_query_md) dnnl_primitive_desc_query_md =
      Find("dnnl_primitive_desc_query_md");
  decltype(&::dnnl_convolution_forward_primitive_desc_create)
      dnnl_convolution_forward_primitive_desc_create =
          Find("dnnl_convolution_forward_primitive_desc_create");
  decltype(&::dnnl_convolution_backward_data_primitive_desc_create)
      dnnl_convolution_backward_data_primitive_desc_create =
          Find("dnnl_convolution_backward_data_primitive_desc_create");
  decltype(&::dnnl_convolution_backward_weights_primitive_desc_create)
      dnnl_convolution_backward_weights_primitive_desc_create =
          Find("dnnl_convolution_backward_weights_primitive_desc_create");
  decltype(&::dnnl_reorder_primitive_desc_create) dnnl_reorder_primitive_desc_create =
      Find("dnnl_reorder_primitive_desc_create");
  decltype(&::dnnl_primitive_create) dnnl_primitive_create = Find("dnnl_primitive_create");
  decltype(&::dnnl_primitive_execute) dnnl_primitive_execute = Find("dnnl_primitive_execute");
  decltype(&::dnnl_primitive_destroy) dnnl_primitive_destroy = Find("dnnl_primitive_destroy");
  decltype(&::dnnl_set_primitive_cache_capacity) dnnl_set_primitive_cache_capacity =
      Find("dnnl_set_primitive_cache_capacity");
  decltype(&::dnnl_post_ops_create) dnnl_post_ops_create = Find("dnnl_post_ops_create");
  decltype(&::dnnl_post_ops_destroy) dnnl_post_ops_destroy = Find("dnnl_post_ops_destroy");
  decltype(&::dnnl_post_ops_append_binary) dnnl_post_ops_append_binary =
      Find("dnnl_post_ops_append_binary");
  decltype(&::dnnl_post_ops_append_sum) dnnl_post_ops_append_sum = Find("dnnl_post_ops_append_sum");
  decltype(&::dnnl_post_ops_append_eltwise) dnnl_post_ops_append_eltwise =
      Find("dnnl_post_ops_append_eltwise");
  decltype(&::dnnl_primitive_attr_set_post_ops) dnnl_primitive_attr_set_post_ops =
      Find("dnnl_primitive_attr_set_post_ops");
  dnnl_engine_t engine = nullptr;  // the CPU
  int (*omp_get_max_threads)() = nullptr;  // of the OpenMP that it uses; null if it uses none
  void (*omp_set_num_threads)(int) = nullptr;

  // A function of any type.
  struct Symbol {
    void* at;
    template <class F>
    operator F*() const {
      return reinterpret_cast<F*>(at);
    }
  };
  Symbol Find(const char* name);
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
