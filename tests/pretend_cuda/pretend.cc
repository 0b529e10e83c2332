// The host side of the pretended runtime: devices, streams, events, copies, capture and graphs.
// More than 600 lines because all of them work on the same queues under one lock.
#include <cuda_runtime.h>
#include <cxxabi.h>
#include <dlfcn.h>
#include <pretend_libraries.h>
#include <pthread.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "state.h"

namespace pretend {
struct Node {
  std::shared_ptr<Work> work;
  int device;
};
}  // namespace pretend

// The handles of the interface
// ---------------------------------------------------------------------

struct CUgraph_st {
  std::vector<pretend::Node> nodes;
};
struct CUgraphExec_st {
  std::shared_ptr<pretend::Work> work;
};

namespace pretend {

struct Capture {
  CUgraph_st graph;
  cudaStream_t origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  bool invalid = false;
  std::set<cudaStream_t> streams;
};

// One entry of a stream's queue: work, or a wait for another stream.
struct Item {
  std::shared_ptr<Work> work;
  cudaStream_t other = nullptr;
  uint64_t ticket = 0;
};

struct Stamp {
  std::chrono::steady_clock::time_point time;
};

}  // namespace pretend

struct CUstream_st {
  int device;
  std::deque<pretend::Item> queue;
  uint64_t added = 0, done = 0;
  int queries = 0;  // in vain, since the last progress
  pretend::Capture* capture = nullptr;
  uint64_t captured = 0, joined = 0;  // nodes of this stream; how many another stream waits for
};

struct CUevent_st {
  int device;
  bool timing;
  int queries = 0;
  cudaStream_t stream = nullptr;  // null: not recorded yet, which counts as done
  uint64_t ticket = 0;
  std::shared_ptr<pretend::Stamp> stamp;
  pretend::Capture* capture = nullptr;
};

namespace pretend {

std::recursive_mutex g_mutex;
Settings g_settings;
bool noop = false;

namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

constexpr int kQueriesInVain = 100;        // late: so many, and the work is done after all
constexpr size_t kHeld = size_t{8} << 20;  // larger copies from pageable memory run at once
constexpr size_t kDefaultShared = 48 << 10, kMostShared = 227 << 10;

struct Counters {
  long launches, copies_to_device, copies_to_host, copies_within, sets, waits, graph_launches,
      mallocs, frees, host_functions, host_pointers, calls, default_records, default_waits[2];
};
Counters g_counters;

thread_local int t_device = 0;
thread_local cudaError_t t_last = cudaSuccess;
thread_local bool t_in_host_function = false;
thread_local cudaStreamCaptureMode t_capture_mode = cudaStreamCaptureModeGlobal;

cudaError_t g_sticky = cudaSuccess, g_fail_with = cudaSuccess;
long g_fail_in = 0;
bool g_used = false, g_forked = false;
long g_queued = 0;

// Streams stay after their end, for events that name them; the sets hold what lives.
std::vector<std::unique_ptr<CUstream_st>> g_streams;
std::unordered_set<cudaStream_t> g_alive;
std::set<cudaEvent_t> g_events;
std::set<cudaGraph_t> g_graphs;
std::set<cudaGraphExec_t> g_execs;
std::set<Capture*> g_captures;
Capture g_ended;  // of events whose capture is over
std::map<const void*, int> g_shared_limits;

// Settings ----------------------------------------------------------------------------------------

struct Name {
  const char* name;
  long* value;
  long initial;
};
const Name kSettings[] = {
    {"DEVICES", &g_settings.devices, 1}, {"LATE", &g_settings.late, 0},
    {"REVERSE", &g_settings.reverse, 0}, {"COUNT", &g_settings.count, 0},
    {"STRICT", &g_settings.strict, 0},   {"MEMORY", &g_settings.memory, 2L << 30},
    {"BATCH", &g_settings.batch, 64},    {"POINTERS", &g_settings.pointers, 0},
};
const Name kCounters[] = {
    {"LAUNCHES", &g_counters.launches, 0},
    {"COPIES_TO_DEVICE", &g_counters.copies_to_device, 0},
    {"COPIES_TO_HOST", &g_counters.copies_to_host, 0},
    {"COPIES_WITHIN", &g_counters.copies_within, 0},
    {"SETS", &g_counters.sets, 0},
    {"WAITS", &g_counters.waits, 0},
    {"GRAPH_LAUNCHES", &g_counters.graph_launches, 0},
    {"MALLOCS", &g_counters.mallocs, 0},
    {"FREES", &g_counters.frees, 0},
    {"HOST_FUNCTIONS", &g_counters.host_functions, 0},
    {"HOST_POINTERS", &g_counters.host_pointers, 0},
    {"CALLS", &g_counters.calls, 0},
    {"DEFAULT_WAITS", &g_counters.default_waits[0], 0},
    {"PER_THREAD_WAITS", &g_counters.default_waits[1], 0},
    {"DEFAULT_RECORDS", &g_counters.default_records, 0},
};

bool IsSticky(int code) {
  return code == cudaErrorECCUncorrectable || code == cudaErrorIllegalAddress ||
         code == cudaErrorLaunchTimeout || code == cudaErrorAssert ||
         (code >= cudaErrorHardwareStackError && code <= cudaErrorLaunchFailure);
}

void SetFailure(long n, long code) {
  g_fail_in = n;
  g_fail_with = static_cast<cudaError_t>(code);
  g_sticky = cudaSuccess;
}

bool ReadEnvironment() {
  for (const Name& s : kSettings) {
    const char* text = getenv((std::string("PRETEND_CUDA_") + s.name).c_str());
    *s.value = text ? atol(text) : s.initial;
  }
  if (g_settings.devices > kMostDevices) g_settings.devices = kMostDevices;
  if (const char* text = getenv("PRETEND_CUDA_NOOP")) noop = atol(text) != 0;
  if (const char* text = getenv("PRETEND_CUDA_FAIL")) {
    const char* code = strchr(text, ':');
    SetFailure(atol(text), code ? atol(code + 1) : static_cast<long>(cudaErrorLaunchFailure));
  }
  pthread_atfork(nullptr, nullptr, [] { g_forked = g_used; });
  return true;
}
const bool g_ready = ReadEnvironment();

// Errors ------------------------------------------------------------------------------------------

cudaError_t Set(cudaError_t error) {
  if (error != cudaSuccess) t_last = error;
  return error;
}

cudaError_t Refuse(cudaError_t error, const char* why) {
  fprintf(stderr, "pretended CUDA: %s\n", why);
  return Set(error);
}

// What every call begins with: the error it has to give, if any.
cudaError_t Enter() {
  if (g_forked) return Set(cudaErrorInitializationError);
  g_used = true;
  ++g_counters.calls;
  if (g_sticky != cudaSuccess) return Set(g_sticky);
  if (t_in_host_function) return Refuse(cudaErrorNotPermitted, "a function of a stream calls CUDA");
  if (g_fail_in > 0 && --g_fail_in == 0) {
    if (IsSticky(g_fail_with)) g_sticky = g_fail_with;
    return Set(g_fail_with);
  }
  if (g_settings.devices == 0) return Set(cudaErrorNoDevice);
  return cudaSuccess;
}

#define PRETEND_ENTER() \
  Lock lock(g_mutex);   \
  if (cudaError_t error = Enter(); error != cudaSuccess) return error

bool IsDevice(int device) { return device >= 0 && device < g_settings.devices; }

// Other libraries may compute there; here nothing is ever queued on them.
bool IsDefault(cudaStream_t s) { return s == cudaStreamLegacy || s == cudaStreamPerThread; }

cudaError_t CheckStream(cudaStream_t stream) {
  if (stream == nullptr || IsDefault(stream)) {
    return Refuse(cudaErrorInvalidResourceHandle, "the default stream is not to be used");
  }
  if (g_alive.count(stream)) return cudaSuccess;
  return Refuse(cudaErrorInvalidResourceHandle, "a stream that does not live is used");
}

bool IsEvent(cudaEvent_t event) { return g_events.count(event) > 0; }

// Running -----------------------------------------------------------------------------------------

// Runs what is left of the first `upto` entries of a stream, and before them what they wait for.
void Drain(cudaStream_t stream, uint64_t upto) {
  while (stream->done < upto && !stream->queue.empty()) {
    Item item = std::move(stream->queue.front());
    stream->queue.pop_front();
    if (item.other) Drain(item.other, item.ticket);
    if (item.work) {
      SetRunningDevice(stream->device);
      item.work->Run();
    }
    ++stream->done;
    --g_queued;
    stream->queries = 0;
  }
}

void Finish(cudaStream_t stream, uint64_t upto) {
  if (stream->done >= upto) return;
  Access access;
  Drain(stream, upto);
}

void FinishAll() {
  if (g_queued == 0) return;
  Access access;
  for (const auto& s : g_streams) Drain(s.get(), s->added);
}

void Add(cudaStream_t stream, Item item) {
  stream->queue.push_back(std::move(item));
  ++stream->added;
  ++g_queued;
  if (!g_settings.late && g_queued >= g_settings.batch) FinishAll();
}

// Work of a stream, or a node where it is captured.
void Submit(cudaStream_t stream, std::shared_ptr<Work> work) {
  if (stream->capture) {
    stream->capture->graph.nodes.push_back({std::move(work), stream->device});
    ++stream->captured;
  } else {
    Add(stream, {std::move(work)});
  }
}

class CopyWork : public Work {
 public:
  CopyWork(void* to, const void* from, size_t bytes, bool hold)
      : to_(to), from_(from), bytes_(bytes) {
    if (hold) held_.assign(static_cast<const char*>(from), bytes);
    if (hold) from_ = held_.data();
  }
  void Run() override {
    SetRunningDevice(-1);
    std::memmove(to_, from_, bytes_);
  }

 private:
  void* to_;
  const void* from_;
  size_t bytes_;
  std::string held_;  // what pageable memory held at the call
};

class SetWork : public Work {
 public:
  SetWork(void* to, int value, size_t bytes) : to_(to), value_(value), bytes_(bytes) {}
  void Run() override { std::memset(to_, value_, bytes_); }

 private:
  void* to_;
  int value_;
  size_t bytes_;
};

class FunctionWork : public Work {
 public:
  explicit FunctionWork(std::function<void()> function) : function_(std::move(function)) {}
  void Run() override { function_(); }

 private:
  std::function<void()> function_;
};

class HostWork : public Work {
 public:
  HostWork(cudaHostFn_t function, void* data) : function_(function), data_(data) {}
  void Run() override {
    NoAccess no_access;
    t_in_host_function = true;
    function_(data_);
    t_in_host_function = false;
  }

 private:
  cudaHostFn_t function_;
  void* data_;
};

class GraphWork : public Work {
 public:
  explicit GraphWork(std::vector<Node> nodes) : nodes_(std::move(nodes)) {}
  void Run() override {
    for (const Node& node : nodes_) {
      SetRunningDevice(node.device);
      node.work->Run();
    }
  }

 private:
  std::vector<Node> nodes_;
};

// Capture -----------------------------------------------------------------------------------------

// A call that no capture allows, as far as the modes of the captures say so; it spoils them.
cudaError_t CheckNoCapture() {
  if (t_capture_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  bool refused = false;
  for (Capture* c : g_captures) {
    bool mine = c->thread == std::this_thread::get_id();
    if (c->mode == cudaStreamCaptureModeGlobal ||
        (c->mode == cudaStreamCaptureModeThreadLocal && mine)) {
      c->invalid = refused = true;
    }
  }
  return refused ? Set(cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}

cudaError_t CheckNotCaptured(cudaStream_t stream) {
  if (!stream->capture) return cudaSuccess;
  stream->capture->invalid = true;
  return Set(cudaErrorStreamCaptureUnsupported);
}

// Work can be added: the stream lives, and its capture is not spoiled.
cudaError_t CheckWork(cudaStream_t stream) {
  if (cudaError_t error = CheckStream(stream); error != cudaSuccess) return error;
  if (stream->capture && stream->capture->invalid) return Set(cudaErrorStreamCaptureInvalidated);
  return cudaSuccess;
}

// Whether a query runs what is asked for: always, but late only after many in vain, so that a loop
// that polls ends.
bool QueryRuns(int* queries) { return !g_settings.late || ++*queries > kQueriesInVain; }

cudaError_t Copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                 cudaStream_t stream) {
  if (cudaError_t error = CheckWork(stream); error != cudaSuccess) return error;
  if (bytes == 0) return cudaSuccess;
  bool to_device = DeviceOf(to) >= 0, from_device = DeviceOf(from) >= 0;
  bool want_to = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  bool want_from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind != cudaMemcpyDefault && (to_device != want_to || from_device != want_from)) {
    return Refuse(cudaErrorInvalidValue, "a copy has another direction than its pointers");
  }
  if ((to_device && !OnDevice(to, bytes)) || (from_device && !OnDevice(from, bytes))) {
    return Refuse(cudaErrorInvalidValue, "a copy touches freed memory, or goes past a block's end");
  }
  bool take = !from_device && !IsPinned(from, bytes), give = !to_device && !IsPinned(to, bytes);
  if (stream->capture && (take || give)) {
    Refuse(cudaErrorInvalidValue, "a copy of pageable memory is captured");
    return CheckNotCaptured(stream);
  }
  Submit(stream, std::make_shared<CopyWork>(to, from, bytes, take));
  ++(to_device ? from_device ? g_counters.copies_within : g_counters.copies_to_device
               : g_counters.copies_to_host);
  if (give || (take && bytes > kHeld && !g_settings.late)) Finish(stream, stream->added);
  return cudaSuccess;
}

cudaError_t NewStream(cudaStream_t* stream) {
  auto s = std::make_unique<CUstream_st>();
  s->device = t_device;
  *stream = s.get();
  g_alive.insert(*stream);
  g_streams.push_back(std::move(s));
  return cudaSuccess;
}

cudaError_t NewEvent(cudaEvent_t* event, unsigned flags) {
  *event = new CUevent_st;
  (*event)->device = t_device;
  (*event)->timing = !(flags & cudaEventDisableTiming);
  g_events.insert(*event);
  return cudaSuccess;
}

}  // namespace

void Die(const std::string& text) {
  fprintf(stderr, "pretended CUDA: %s\n", text.c_str());
  fflush(stderr);
  abort();
}

std::string NameOf(const void* kernel) {
  Dl_info info;
  if (!dladdr(kernel, &info)) return "without a name";
  if (!info.dli_sname) {
    char text[64];
    snprintf(text, sizeof text, "+0x%zx",
             static_cast<size_t>(static_cast<const char*>(kernel) -
                                 static_cast<const char*>(info.dli_fbase)));
    return std::string(info.dli_fname) + text;
  }
  int status = 0;
  char* readable = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
  std::string name = readable ? readable : info.dli_sname;
  free(readable);
  return name;
}

cudaError_t CheckLaunch(const void* kernel, dim3 grid, dim3 block, size_t shared,
                        cudaStream_t stream) {
  PRETEND_ENTER();
  if (cudaError_t error = CheckWork(stream); error != cudaSuccess) return error;
  if (stream->device != t_device) {
    return Refuse(cudaErrorInvalidResourceHandle,
                  "a launch on a stream of another device than the current one");
  }
  uint64_t threads = uint64_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > 1024 || block.x > 1024 || block.y > 1024 || block.z > 64 ||
      grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffff || grid.y > 65535 ||
      grid.z > 65535) {
    return Set(cudaErrorInvalidConfiguration);
  }
  if (shared > kDefaultShared) {
    auto it = g_shared_limits.find(kernel);
    if (it == g_shared_limits.end() || shared > static_cast<size_t>(it->second)) {
      return Set(cudaErrorInvalidValue);
    }
  }
  ++g_counters.launches;
  return cudaSuccess;
}

void Enqueue(cudaStream_t stream, std::shared_ptr<Launched> launched) {
  Lock lock(g_mutex);
  if (g_settings.pointers) {
    size_t bytes = 0;
    const char* arguments = static_cast<const char*>(launched->Arguments(&bytes));
    for (size_t at = 0; at + sizeof(uint64_t) <= bytes; at += sizeof(uint64_t)) {
      uint64_t word;
      std::memcpy(&word, arguments + at, sizeof word);
      if (!LooksLikeHostPointer(word)) continue;
      ++g_counters.host_pointers;
      fprintf(stderr, "pretended CUDA: byte %zu of the arguments points to the host, kernel %s\n",
              at, NameOf(launched->kernel()).c_str());
    }
  }
  Submit(stream, std::move(launched));
}

cudaError_t EnqueueFunction(cudaStream_t stream, std::function<void()> work) {
  PRETEND_ENTER();
  if (cudaError_t error = CheckWork(stream); error != cudaSuccess) return error;
  Submit(stream, std::make_shared<FunctionWork>(std::move(work)));
  return cudaSuccess;
}

}  // namespace pretend

using namespace pretend;

extern "C" {

// Errors ------------------------------------------------------------------------------------------

cudaError_t cudaGetLastError() {
  cudaError_t error = g_sticky != cudaSuccess ? g_sticky : t_last;
  t_last = cudaSuccess;
  return error;
}
cudaError_t cudaPeekAtLastError() { return g_sticky != cudaSuccess ? g_sticky : t_last; }

// Devices -----------------------------------------------------------------------------------------

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  PRETEND_ENTER();
  *count = static_cast<int>(g_settings.devices);
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  if (g_settings.devices == 0) return Set(cudaErrorNoDevice);
  *device = t_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  PRETEND_ENTER();
  if (!IsDevice(device)) return Set(cudaErrorInvalidDevice);
  t_device = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  PRETEND_ENTER();
  if (!IsDevice(device)) return Set(cudaErrorInvalidDevice);
  *p = {};
  snprintf(p->name, sizeof p->name, "pretended device %d", device);
  p->totalGlobalMem = static_cast<size_t>(g_settings.memory);
  p->sharedMemPerBlock = kDefaultShared;
  p->sharedMemPerBlockOptin = kMostShared;
  p->sharedMemPerMultiprocessor = kMostShared + 1024;
  p->major = 9;
  p->minor = 0;
  p->multiProcessorCount = 132;
  p->warpSize = 32;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsPerMultiProcessor = 2048;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 0x7fffffff;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->regsPerBlock = 65536;
  p->l2CacheSize = 50 << 20;
  p->memoryBusWidth = 5120;
  p->pciBusID = device + 1;
  p->unifiedAddressing = p->canMapHostMemory = p->concurrentKernels = 1;
  p->asyncEngineCount = 3;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  PRETEND_ENTER();
  if (!IsDevice(device)) return Set(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = 1024; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = kDefaultShared; break;
    case cudaDevAttrWarpSize: *value = 32; break;
    case cudaDevAttrMultiProcessorCount: *value = 132; break;
    case cudaDevAttrL2CacheSize: *value = 50 << 20; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
    case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = kMostShared; break;
    default: return Set(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  PRETEND_ENTER();
  *attributes = {1024, 32};
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  PRETEND_ENTER();
  if (!IsDevice(device)) return Set(cudaErrorInvalidDevice);
  snprintf(text, static_cast<size_t>(length), "0000:%02x:00.0", device + 1);
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  PRETEND_ENTER();
  if (!IsDevice(device) || !IsDevice(peer)) return Set(cudaErrorInvalidDevice);
  *can = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  PRETEND_ENTER();
  if (cudaError_t error = CheckNoCapture(); error != cudaSuccess) return error;
  ++g_counters.waits;
  Access access;
  for (const auto& s : g_streams) {
    if (s->device == t_device) Drain(s.get(), s->added);
  }
  return cudaSuccess;
}

// Memory ------------------------------------------------------------------------------------------

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  PRETEND_ENTER();
  if (cudaError_t error = CheckNoCapture(); error != cudaSuccess) return error;
  *memory = nullptr;
  if (bytes == 0) return cudaSuccess;
  *memory = Allocate(t_device, bytes);
  if (!*memory) return Set(cudaErrorMemoryAllocation);
  ++g_counters.mallocs;
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  PRETEND_ENTER();
  if (!memory) return cudaSuccess;
  if (cudaError_t error = CheckNoCapture(); error != cudaSuccess) return error;
  FinishAll();  // as the real one waits
  if (!Free(memory)) {
    return Refuse(cudaErrorInvalidValue, "memory is freed that no block of a device starts at");
  }
  ++g_counters.frees;
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  PRETEND_ENTER();
  *total = static_cast<size_t>(g_settings.memory);
  size_t used = Used(t_device);
  *free = used < *total ? *total - used : 0;
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  PRETEND_ENTER();
  if (cudaError_t error = CheckNoCapture(); error != cudaSuccess) return error;
  *memory = nullptr;
  if (bytes == 0) return cudaSuccess;
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return Set(cudaErrorMemoryAllocation);
  AddPinned(p, bytes, false);
  *memory = p;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
  PRETEND_ENTER();
  if (!memory) return cudaSuccess;
  if (cudaError_t error = CheckNoCapture(); error != cudaSuccess) return error;
  FinishAll();
  size_t bytes = RemovePinned(memory, false);
  if (bytes == 0) return Refuse(cudaErrorInvalidValue, "memory is freed that is not pinned");
  munmap(memory, bytes);
  return cudaSuccess;
}
cudaError_t cudaHostRegister(void* memory, size_t bytes, unsigned) {
  PRETEND_ENTER();
  if (!memory || bytes == 0) return Set(cudaErrorInvalidValue);
  if (!AddPinned(memory, bytes, true)) return Set(cudaErrorHostMemoryAlreadyRegistered);
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* memory) {
  PRETEND_ENTER();
  FinishAll();
  if (RemovePinned(memory, true) == 0) return Set(cudaErrorHostMemoryNotRegistered);
  return cudaSuccess;
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  PRETEND_ENTER();
  if (!IsPinned(host, 1)) return Set(cudaErrorInvalidValue);
  *device = host;
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  PRETEND_ENTER();
  void* p = const_cast<void*>(pointer);
  if (OnDevice(pointer, 1)) {
    *attributes = {cudaMemoryTypeDevice, DeviceOf(pointer), p, nullptr};
  } else if (IsPinned(pointer, 1)) {
    *attributes = {cudaMemoryTypeHost, t_device, p, p};
  } else {
    *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, p};
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  PRETEND_ENTER();
  return Copy(to, from, bytes, kind, stream);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                size_t bytes, cudaStream_t stream) {
  PRETEND_ENTER();
  if (!IsDevice(to_device) || !IsDevice(from_device)) return Set(cudaErrorInvalidDevice);
  if (bytes > 0 && (DeviceOf(to) != to_device || DeviceOf(from) != from_device)) {
    return Refuse(cudaErrorInvalidValue, "a copy between devices names the wrong ones");
  }
  return Copy(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  PRETEND_ENTER();
  if (cudaError_t error = CheckWork(stream); error != cudaSuccess) return error;
  if (bytes == 0) return cudaSuccess;
  if (!OnDevice(to, bytes) && !IsPinned(to, bytes)) {
    return Refuse(cudaErrorInvalidValue, "a device is to fill memory that it has not");
  }
  ++g_counters.sets;
  Submit(stream, std::make_shared<SetWork>(to, value, bytes));
  return cudaSuccess;
}

// Streams and events ------------------------------------------------------------------------------

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  PRETEND_ENTER();
  return NewStream(stream);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  PRETEND_ENTER();
  return flags > cudaStreamNonBlocking ? Set(cudaErrorInvalidValue) : NewStream(stream);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  PRETEND_ENTER();
  return flags > cudaStreamNonBlocking ? Set(cudaErrorInvalidValue) : NewStream(stream);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  PRETEND_ENTER();
  if (cudaError_t error = CheckStream(stream); error != cudaSuccess) return error;
  if (cudaError_t error = CheckNotCaptured(stream); error != cudaSuccess) return error;
  Finish(stream, stream->added);
  g_alive.erase(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  PRETEND_ENTER();
  if (cudaError_t error = CheckStream(stream); error != cudaSuccess) return error;
  if (cudaError_t error = CheckNotCaptured(stream); error != cudaSuccess) return error;
  ++g_counters.waits;
  Finish(stream, stream->added);
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  PRETEND_ENTER();
  if (cudaError_t error = CheckStream(stream); error != cudaSuccess) return error;
  if (cudaError_t error = CheckNotCaptured(stream); error != cudaSuccess) return error;
  if (stream->done == stream->added) return cudaSuccess;
  if (!QueryRuns(&stream->queries)) return Set(cudaErrorNotReady);
  Finish(stream, stream->added);
  return cudaSuccess;
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  PRETEND_ENTER();
  if (cudaError_t error = CheckStream(stream); error != cudaSuccess) return error;
  *device = stream->device;
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  PRETEND_ENTER();
  if (IsDefault(stream) && IsEvent(event))
    return ++g_counters.default_waits[stream == cudaStreamPerThread], cudaSuccess;
  if (cudaError_t error = CheckWork(stream); error != cudaSuccess) return error;
  if (!IsEvent(event)) return Set(cudaErrorInvalidResourceHandle);
  if (event->capture) {
    if (!g_captures.count(event->capture)) return Set(cudaErrorCapturedEvent);
    if (stream->capture && stream->capture != event->capture) {
      return Set(cudaErrorStreamCaptureMerge);
    }
    if (event->stream == stream) return cudaSuccess;
    if (!stream->capture) {  // the stream joins the capture
      stream->capture = event->capture;
      stream->captured = stream->joined = 0;
      stream->capture->streams.insert(stream);
    }
    ++stream->captured;
    if (event->stream->joined < event->ticket) event->stream->joined = event->ticket;
    return cudaSuccess;
  }
  if (stream->capture) {
    if (!event->stream) return cudaSuccess;
    stream->capture->invalid = true;
    return Set(cudaErrorStreamCaptureIsolation);
  }
  if (event->stream && event->stream != stream && event->stream->done < event->ticket) {
    Add(stream, {nullptr, event->stream, event->ticket});
  }
  return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  PRETEND_ENTER();
  if (cudaError_t error = CheckWork(stream); error != cudaSuccess) return error;
  ++g_counters.host_functions;
  Submit(stream, std::make_shared<HostWork>(function, data));
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  PRETEND_ENTER();
  return NewEvent(event, cudaEventDefault);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  PRETEND_ENTER();
  return NewEvent(event, flags);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  PRETEND_ENTER();
  if (g_events.erase(event) == 0) return Set(cudaErrorInvalidResourceHandle);
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  PRETEND_ENTER();
  if (IsDefault(stream) && IsEvent(event)) {
    ++g_counters.default_records;
    event->stream = nullptr;
    event->capture = nullptr;
    return cudaSuccess;
  }
  if (cudaError_t error = CheckWork(stream); error != cudaSuccess) return error;
  if (!IsEvent(event)) return Set(cudaErrorInvalidResourceHandle);
  if (event->device != stream->device) {
    return Refuse(cudaErrorInvalidResourceHandle, "an event is recorded on another device");
  }
  event->stream = stream;
  event->capture = stream->capture;
  event->queries = 0;
  event->stamp.reset();
  if (stream->capture) {
    event->ticket = stream->captured;
    return cudaSuccess;
  }
  if (event->timing) {
    event->stamp = std::make_shared<Stamp>();
    Submit(stream, std::make_shared<FunctionWork>(
                       [stamp = event->stamp] { stamp->time = std::chrono::steady_clock::now(); }));
  }
  event->ticket = stream->added;
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  PRETEND_ENTER();
  if (!IsEvent(event)) return Set(cudaErrorInvalidResourceHandle);
  if (event->capture) return Set(cudaErrorCapturedEvent);
  if (cudaError_t error = CheckNoCapture(); error != cudaSuccess) return error;
  if (!event->stream || event->stream->done >= event->ticket) return cudaSuccess;
  if (!QueryRuns(&event->queries)) return Set(cudaErrorNotReady);
  Finish(event->stream, event->ticket);
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  PRETEND_ENTER();
  if (!IsEvent(event)) return Set(cudaErrorInvalidResourceHandle);
  if (event->capture) return Set(cudaErrorCapturedEvent);
  if (cudaError_t error = CheckNoCapture(); error != cudaSuccess) return error;
  ++g_counters.waits;
  if (event->stream) Finish(event->stream, event->ticket);
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  PRETEND_ENTER();
  if (!IsEvent(start) || !IsEvent(end) || !start->stamp || !end->stamp) {
    return Set(cudaErrorInvalidResourceHandle);
  }
  if (start->stream->done < start->ticket || end->stream->done < end->ticket) {
    return Set(cudaErrorNotReady);
  }
  *milliseconds =
      std::chrono::duration<float, std::milli>(end->stamp->time - start->stamp->time).count();
  return cudaSuccess;
}

// Graphs ------------------------------------------------------------------------------------------

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  PRETEND_ENTER();
  if (cudaError_t error = CheckStream(stream); error != cudaSuccess) return error;
  if (stream->capture) return Set(cudaErrorIllegalState);
  auto* capture = new Capture;
  capture->origin = stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->streams.insert(stream);
  stream->capture = capture;
  stream->captured = stream->joined = 0;
  g_captures.insert(capture);
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  PRETEND_ENTER();
  if (cudaError_t error = CheckStream(stream); error != cudaSuccess) return error;
  *graph = nullptr;
  Capture* capture = stream->capture;
  if (!capture) return Set(cudaErrorIllegalState);
  if (capture->origin != stream) return Set(cudaErrorStreamCaptureUnmatched);
  if (capture->mode != cudaStreamCaptureModeRelaxed &&
      capture->thread != std::this_thread::get_id()) {
    return Set(cudaErrorStreamCaptureWrongThread);
  }
  cudaError_t error = capture->invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
  for (cudaStream_t s : capture->streams) {
    bool joined = s == stream || s->joined == s->captured;
    if (!joined && error == cudaSuccess) error = cudaErrorStreamCaptureUnjoined;
    s->capture = nullptr;
  }
  if (error == cudaSuccess) {
    *graph = new CUgraph_st(std::move(capture->graph));
    g_graphs.insert(*graph);
  }
  for (cudaEvent_t event : g_events) {
    if (event->capture == capture) event->capture = &g_ended;
  }
  g_captures.erase(capture);
  delete capture;
  return Set(error);
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(t_capture_mode, *mode);
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  PRETEND_ENTER();
  if (cudaError_t error = CheckStream(stream); error != cudaSuccess) return error;
  *status = !stream->capture           ? cudaStreamCaptureStatusNone
            : stream->capture->invalid ? cudaStreamCaptureStatusInvalidated
                                       : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  PRETEND_ENTER();
  if (!g_graphs.count(graph)) return Set(cudaErrorInvalidValue);
  *exec = new CUgraphExec_st{std::make_shared<GraphWork>(graph->nodes)};
  g_execs.insert(*exec);
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  PRETEND_ENTER();
  if (cudaError_t error = CheckWork(stream); error != cudaSuccess) return error;
  return g_execs.count(exec) ? cudaSuccess : Set(cudaErrorInvalidValue);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  PRETEND_ENTER();
  if (cudaError_t error = CheckWork(stream); error != cudaSuccess) return error;
  if (!g_execs.count(exec)) return Set(cudaErrorInvalidValue);
  ++g_counters.graph_launches;
  Submit(stream, exec->work);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  PRETEND_ENTER();
  if (g_graphs.erase(graph) == 0) return Set(cudaErrorInvalidValue);
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  PRETEND_ENTER();
  if (g_execs.erase(exec) == 0) return Set(cudaErrorInvalidValue);
  delete exec;
  return cudaSuccess;
}

// Kernels, settings -------------------------------------------------------------------------------

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  PRETEND_ENTER();
  if (!kernel) return Set(cudaErrorInvalidDeviceFunction);
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    if (value < 0 || static_cast<size_t>(value) > kMostShared) return Set(cudaErrorInvalidValue);
    g_shared_limits[kernel] = value;
  }
  return cudaSuccess;
}

void pretend_cuda_set(const char* name, long value) {
  Lock lock(g_mutex);
  std::string key = name;
  FinishAll();
  if (key == "FAIL") return SetFailure(value / 1000, value % 1000);
  if (key == "NOOP") noop = value != 0;
  if (key == "TOUCHES") Touches(true);
  for (const Name& s : kSettings) {
    if (key == s.name) *s.value = value;
  }
  for (const Name& c : kCounters) {
    if (key == c.name || key == "COUNTERS") *c.value = 0;
  }
  if (g_settings.devices > kMostDevices) g_settings.devices = kMostDevices;
}

long pretend_cuda_get(const char* name) {
  Lock lock(g_mutex);
  std::string key = name;
  if (key == "NOOP") return noop;
  if (key == "FAIL") return g_fail_in;
  if (key == "TOUCHES") return Touches(false);
  if (key == "QUEUED") return g_queued;
  if (key == "USED") return static_cast<long>(Used(t_device));
  for (const Name& s : kSettings) {
    if (key == s.name) return *s.value;
  }
  for (const Name& c : kCounters) {
    if (key == c.name) return *c.value;
  }
  return -1;
}
}
