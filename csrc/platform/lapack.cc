#include "platform/lapack.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <atomic>
#include <mutex>
#include <vector>

#include "base/enforce.h"
#include "base/flags.h"

namespace dygraph {

FLAG(std::string, lapack, "",
     "file of the library that has LAPACK; empty: the one NumPy uses, or the system's");

namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "see LapackApi::wide");

constexpr int kRoutines = static_cast<int>(LapackRoutine::kCount);
// In the order of LapackRoutine.
constexpr const char* kNames[] = {"geev",  "gels",  "gelsd", "gelss", "gelsy", "geqrf", "gesdd",
                                  "getrf", "getri", "getrs", "orgqr", "potrf", "syevd", "trsm"};
static_assert(sizeof(kNames) / sizeof(kNames[0]) == kRoutines);

// What stands before and behind a name: LAPACK's own, and OpenBLAS's as NumPy and SciPy build it.
struct Spelling {
  const char *before, *behind;
  bool wide;
};
constexpr Spelling kSpellings[] = {
    {"scipy_", "_64_", true}, {"scipy_", "_", false}, {"", "_64_", true}, {"", "_", false}};

// All routines in one spelling, in a library or in those it needs.
bool Read(void* handle, LapackApi* api) {
  for (const Spelling& s : kSpellings) {
    bool complete = true;
    for (int i = 0; i < kRoutines; ++i) {
      const std::string name = std::string(kNames[i]) + s.behind;
      api->single[i] = dlsym(handle, (s.before + ("s" + name)).c_str());
      api->dual[i] = dlsym(handle, (s.before + ("d" + name)).c_str());
      complete &= api->single[i] && api->dual[i];
    }
    if (!complete) continue;
    api->wide = s.wide;
    const std::string behind = s.wide ? "64_" : "";
    auto find = [&](const char* name) {
      void* at = dlsym(handle, (s.before + (name + behind)).c_str());
      return at ? at : dlsym(handle, name);
    };
    void *set = find("openblas_set_num_threads"), *get = find("openblas_get_num_threads");
    if (set && get) {
      api->set_num_threads = reinterpret_cast<void (*)(int)>(set);
      api->get_num_threads = reinterpret_cast<int (*)()>(get);
    }
    return true;
  }
  return false;
}

// Libraries in this process through which LAPACK may be found. NumPy's and SciPy's modules need
// theirs.
std::vector<std::string> Loaded() {
  std::vector<std::string> found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        const std::string path = info->dlpi_name ? info->dlpi_name : "";
        const std::string name = path.substr(path.rfind('/') + 1);
        for (const char* part : {"_multiarray_umath", "_umath_linalg", "cython_lapack", "openblas",
                                 "lapack", "mkl_rt"}) {
          if (name.find(part) == std::string::npos) continue;
          static_cast<std::vector<std::string>*>(to)->push_back(path);
          break;
        }
        return 0;
      },
      &found);
  return found;
}

bool Open(const std::string& file, int flags, LapackApi* api) {
  void* handle = dlopen(file.c_str(), flags);
  if (!handle || !Read(handle, api)) return false;  // stays open: others may have it too
  api->file = file;
  return true;
}

bool Find(LapackApi* api) {
  if (!FLAGS_lapack.empty()) {
    ENFORCE(Open(FLAGS_lapack, RTLD_NOW | RTLD_LOCAL, api), PreconditionNotMet,
            "FLAGS_lapack must be a library with LAPACK's routines, got '", FLAGS_lapack, "'");
    return true;
  }
  for (const std::string& file : Loaded()) {
    if (Open(file, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD, api)) return true;
  }
  for (const char* file : {"liblapack.so.3", "libopenblas.so.0"}) {
    if (Open(file, RTLD_NOW | RTLD_LOCAL, api)) return true;
  }
  return false;
}

std::mutex g_mutex;
int g_calls = 0, g_threads_before = 0;
// A child has none of the threads that were in a call, nor what they would have put back.
const int g_fork_handlers = pthread_atfork([] { g_mutex.lock(); }, [] { g_mutex.unlock(); },
                                           [] {
                                             g_calls = 0;
                                             g_mutex.unlock();
                                           });

}  // namespace

const LapackApi& Lapack() {
  static LapackApi api;
  static std::atomic<bool> found{false};
  if (found.load(std::memory_order_acquire)) return api;
  std::lock_guard<std::mutex> lock(g_mutex);
  // sought again after a failure: the user may have loaded one
  ENFORCE(!api.file.empty() || Find(&api), PreconditionNotMet,
          "LAPACK is needed, and neither NumPy's library nor the system has it. Install one (pip "
          "install numpy; apt-get install liblapack3), import scipy.linalg first, or set "
          "FLAGS_lapack to the file of a library");
  found.store(true, std::memory_order_release);
  return api;
}

LapackOnOneThread::LapackOnOneThread(const LapackApi& api) : api_(api) {
  if (!api_.set_num_threads) return;
  std::lock_guard<std::mutex> lock(g_mutex);
  if (g_calls++ > 0) return;
  g_threads_before = api_.get_num_threads();
  if (g_threads_before != 1) api_.set_num_threads(1);
}

LapackOnOneThread::~LapackOnOneThread() {
  if (!api_.set_num_threads) return;
  std::lock_guard<std::mutex> lock(g_mutex);
  if (--g_calls == 0 && g_threads_before != 1) api_.set_num_threads(g_threads_before);
}

}  // namespace dygraph
