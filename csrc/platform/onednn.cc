#include "platform/onednn.h"

#include <algorithm>

#include "base/flags.h"
#include "platform/interrupt.h"
#include "platform/signal_stack.h"
#include "platform/threads.h"

#ifdef WITH_ONEDNN
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "platform/onednn_api.h"
#endif

namespace dygraph {

FLAG(std::string, kernel_library, "",
     "take kernels of this library where there are some: plain, onednn; empty: the best that fits");

#ifdef WITH_ONEDNN
namespace {

// Beside the library this code is in, then wherever the system looks.
void* OpenLibrary() {
  constexpr const char* kName = "libdnnl.so.3";
  Dl_info self;
  if (dladdr(reinterpret_cast<const void*>(&OneDnn), &self) && self.dli_fname) {
    std::string path = self.dli_fname;
    size_t slash = path.rfind('/');
    path = slash == std::string::npos ? std::string(kName) : path.substr(0, slash + 1) + kName;
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  }
  return dlopen(kName, RTLD_NOW | RTLD_LOCAL);
}

std::atomic<int> g_calls{0};  // that oneDNN computes
std::atomic<bool> g_ends{false};
const int g_fork_handler = pthread_atfork(nullptr, nullptr, [] { g_calls = 0; });

const OneDnnApi* Load() {
  void* handle = OpenLibrary();
  if (!handle) return nullptr;
  static OneDnnApi api(handle);
  if (!api.complete) return nullptr;
  api.omp_get_max_threads =
      reinterpret_cast<decltype(api.omp_get_max_threads)>(dlsym(handle, "omp_get_max_threads"));
  api.omp_set_num_threads =
      reinterpret_cast<decltype(api.omp_set_num_threads)>(dlsym(handle, "omp_set_num_threads"));
  if (api.dnnl_engine_create(&api.engine, dnnl_cpu, 0) != dnnl_success) return nullptr;
  api.dnnl_set_primitive_cache_capacity(
      0);  // we keep ready primitives ourselves, in a bounded number
  return &api;
}

}  // namespace

OneDnnApi::Symbol OneDnnApi::Find(const char* name) {
  void* at = dlsym(library, name);
  complete &= at != nullptr;
  return {at};
}

void EnterLibrary() {
  ++g_calls;
  if (!g_ends) return;
  --g_calls;
  for (;;) pause();
}
void LeaveLibrary() { --g_calls; }

void EndOneDnn() {
  constexpr int kMostNaps = 20000;
  const timespec nap{0, 100000};
  g_ends = true;
  for (int i = 0; i < kMostNaps && g_calls > 0; ++i) nanosleep(&nap, nullptr);
}

const OneDnnApi* OneDnn() {
  if (FLAGS_kernel_library == "plain") return nullptr;
  static const OneDnnApi* api = Load();
  GuardFromSignals();
  return api;
}

bool OneDnnGemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
                int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc) {
  const OneDnnApi* api = OneDnn();
  if (!api) return false;
  // Pieces by the sizes alone, so that the bits are the same for any number of threads. Those of
  // long products take 50 ms at most, between which Ctrl-C is looked for, and end along k where
  // oneDNN's own steps do.
  constexpr int64_t kLeast = 1 << 20, kMost = int64_t{1} << 31, kPieces = 8, kRowUnit = 8,
                    kColumnUnit = 16, kLeastColumns = 128, kDepth = 1536;
  int64_t rows = m, columns = n;
  const double volume = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  for (int64_t pieces = 1; volume >= 2.0 * kLeast * static_cast<double>(pieces) &&
                           (pieces < kPieces || volume > static_cast<double>(pieces * kMost));
       pieces *= 2) {
    const bool wide = columns >= 2 * kLeastColumns, high = rows >= 2 * kRowUnit;
    if (!wide && !high) break;
    // vectors lie along columns: they should stay long
    const bool across = wide && (!high || columns > rows);
    int64_t& side = across ? columns : rows;
    const int64_t unit = across ? kColumnUnit : kRowUnit;
    side = ((side + 1) / 2 + unit - 1) / unit * unit;
  }
  const int64_t depth = k < 2 * kDepth ? k : kDepth;
  const int64_t down = (m + rows - 1) / rows, total = down * ((n + columns - 1) / columns);
  ParallelBlocks(total, [&](int64_t piece) {
    const OneThread alone(*api);
    const int64_t i = piece % down * rows, j = piece / down * columns;
    for (int64_t p = 0, next; p < k; p = next) {
      next = k - p < 2 * depth ? k : p + depth;
      if (p > 0) CheckInterrupt();
      CheckOneDnn(
          api->dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', std::min(rows, m - i),
                          std::min(columns, n - j), next - p, alpha,
                          a + (ta ? i + p * lda : i * lda + p), lda,
                          b + (tb ? j * ldb + p : j + p * ldb), ldb, p == 0 ? beta : 1.0f,
                          c + i * ldc + j, ldc),
          "a matrix product");
    }
  });
  return true;
}
#else
const OneDnnApi* OneDnn() { return nullptr; }
void EndOneDnn() {}
bool OneDnnGemm(bool, bool, int64_t, int64_t, int64_t, float, const float*, int64_t, const float*,
                int64_t, float, float*, int64_t) {
  return false;
}
#endif

}  // namespace dygraph
