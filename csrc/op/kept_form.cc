#include "op/kept_form.h"

#include <algorithm>
#include <atomic>

#include "base/flags.h"

namespace dygraph {

FLAG(int64_t, kept_weights_mb, 2048,
     "most megabytes of weights that programs keep in the order of their kernels; beyond it a call "
     "brings its weight into order for itself");

namespace {
std::atomic<size_t> g_kept_bytes{0};
}  // namespace

KeptForm::Form::Form(size_t bytes, Library library) : bytes_(bytes), library_(library) {
  g_kept_bytes += bytes_;
}
KeptForm::Form::~Form() { g_kept_bytes -= bytes_; }

bool KeptForm::HasRoom(size_t bytes) {
  size_t most = static_cast<size_t>(std::max<int64_t>(FLAGS_kept_weights_mb, 0)) << 20;
  return g_kept_bytes + bytes <= most;
}

}  // namespace dygraph
