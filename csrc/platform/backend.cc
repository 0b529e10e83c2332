#include "platform/backend.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

#include "base/enforce.h"
#include "base/flags.h"
#include "platform/device_flags.h"

namespace dygraph {

FLAG(std::string, cuda_library, "",
     "the library that computes on CUDAPlace; empty: libdygraph_cuda.so beside libdygraph");

namespace {

std::string& Problem() {
  static std::string* problem = new std::string;
  return *problem;
}

std::string BesideThisLibrary() {
  constexpr const char* kName = "libdygraph_cuda.so";
  Dl_info self;
  if (!dladdr(reinterpret_cast<const void*>(&OpenBackend), &self) || !self.dli_fname) return kName;
  const std::string path = self.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? kName : path.substr(0, slash + 1) + kName;
}

void Open() {
  const bool asked = !FLAGS_cuda_library.empty();
  const std::string path = asked ? FLAGS_cuda_library : BesideThisLibrary();
  if (!asked && access(path.c_str(), F_OK) != 0) return;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* reason = dlerror();
    Problem() = reason ? reason : path;
    return;
  }
  // Its registrations join the registry, which lies above this room.
  void* start = dlsym(library, "dygraph_cuda_start");
  if (!start) {
    Problem() = path + " has no function dygraph_cuda_start";
    return;
  }
  reinterpret_cast<void (*)()>(start)();
}

// The process in which a device was first used; 0: in none.
std::atomic<pid_t> g_user{0};
std::atomic<bool> g_forked{false};

}  // namespace

void OpenBackend(DeviceKind kind) {
  if (kind != DeviceKind::kCUDA && kind != DeviceKind::kCUDAPinned) return;
  static std::recursive_mutex mutex;
  static bool tried = false;
  std::lock_guard<std::recursive_mutex> lock(mutex);
  if (tried) return;
  tried = true;
  Open();
}

const std::string& BackendProblem() { return Problem(); }

void NoteDeviceUse() {
  static const int once =
      pthread_atfork(nullptr, nullptr, [] { g_forked = g_user.load() != 0; });
  (void)once;
  pid_t none = 0;
  g_user.compare_exchange_strong(none, getpid());
}

void RefuseAfterFork(Place place) {
  ENFORCE(!g_forked.load(std::memory_order_relaxed), PreconditionNotMet, place,
          " must not be used in a child of fork() once the parent has used it, because CUDA's "
          "driver does not survive a fork. Start the process with multiprocessing's 'spawn', or "
          "use the device in the child alone");
}

}  // namespace dygraph
