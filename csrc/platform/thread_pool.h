// The threads that help with loops. The caller of a loop claims its pieces as every helper does, so
// it also computes what a late helper has not begun.
#pragma once

#include <cstdint>

namespace dygraph::detail {

// Above 0 the thread computes alone.
extern __thread int t_serial __attribute__((tls_model("initial-exec")));

// Runs body(state, i) for i in [0, blocks) on the calling thread and on at most `helpers` others;
// looks for Ctrl-C between them. The first exception of a body is thrown again afterwards.
void RunOnPool(int helpers, int64_t blocks, void (*body)(void*, int64_t), void* state);

}  // namespace dygraph::detail
