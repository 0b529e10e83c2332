#include "cuda/context_cuda.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>

#include "op/op_registry.h"
#include "platform/backend.h"
#include "platform/device_flags.h"

namespace dygraph::cuda {

namespace {

constexpr size_t kStageBytes = 4 << 20;
constexpr size_t kSmallCopy = 64 << 10;  // the driver's own staging is as good

thread_local Context* t_current = nullptr;
thread_local const Context* t_captures = nullptr;  // of which the thread records the work

int CountDevices(std::string* why) {
  int n = 0;
  cudaError_t status = cudaGetDeviceCount(&n);
  if (status == cudaSuccess) return n;
  cudaGetLastError();
  if (why) *why = cudaGetErrorString(status);
  return 0;
}

__global__ void AnyKernel() {}

// Raises where the backend has no kernels for the device.
void CheckKernels(Place place) {
  cudaFuncAttributes facts;
  const cudaError_t status =
      cudaFuncGetAttributes(&facts, reinterpret_cast<const void*>(&AnyKernel));
  if (status != cudaErrorNoKernelImageForDevice && status != cudaErrorInvalidDeviceFunction)
    return Check(status, "a question about kernels");
  cudaGetLastError();
  int major = 0, minor = 0;
  Check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, place.id),
        "a question about the device");
  Check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, place.id),
        "a question about the device");
  THROW(Unimplemented, place,
        " must have a compute capability that the backend was built for, got ", major, ".", minor,
        ". Build it with DYGRAPH_CUDA_ARCHITECTURES=", major, minor);
}

std::string VersionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

class Event : public DeviceEvent {
 public:
  explicit Event(cudaStream_t stream) {
    Check(cudaEventCreateWithFlags(&event_, cudaEventDefault), "an event");
    Check(cudaEventRecord(event_, stream), "an event");
  }
  ~Event() override { cudaEventDestroy(event_); }
  bool Done() override {
    const WhileCapturing allowed;
    const cudaError_t status = cudaEventQuery(event_);
    if (status == cudaErrorNotReady) {
      cudaGetLastError();
      return false;
    }
    Check(status, "an event");
    return true;
  }
  void Wait() override { Check(cudaEventSynchronize(event_), "a wait"); }
  double Since(const DeviceEvent& earlier) override {
    float milliseconds = 0;
    Check(cudaEventElapsedTime(&milliseconds, static_cast<const Event&>(earlier).event_, event_),
          "a measured time");
    return static_cast<double>(milliseconds);
  }
  cudaEvent_t handle() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// One that another stream waits for; the driver keeps what it needs after its end.
void MakeWait(cudaStream_t waits, cudaStream_t for_this) {
  cudaEvent_t event;
  Check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event");
  cudaError_t status = cudaEventRecord(event, for_this);
  if (status == cudaSuccess) status = cudaStreamWaitEvent(waits, event, 0);
  cudaEventDestroy(event);
  Check(status, "a wait between streams");
}

// At its end, the device that the thread has entered is CUDA's current one again.
struct BackToCurrent {
  ~BackToCurrent() {
    if (t_current) cudaSetDevice(t_current->place().id);
  }
};

// The driver reads other host memory before a small copy returns, and such memory later.
bool IsPinned(const void* host) {
  cudaPointerAttributes facts;
  if (cudaPointerGetAttributes(&facts, host) == cudaSuccess)
    return facts.type != cudaMemoryTypeUnregistered;
  cudaGetLastError();
  return false;
}

}  // namespace

class RecordedGraph : public DeviceGraph {
 public:
  RecordedGraph(Context* context, cudaGraphExec_t graph, std::vector<PinnedBlock> kept)
      : context_(context), graph_(graph), kept_(std::move(kept)) {}
  ~RecordedGraph() override {
    const WhileCapturing allowed;  // another graph
    if (!kept_.empty()) cudaStreamSynchronize(context_->stream_);
    cudaGraphExecDestroy(graph_);
  }
  void Launch() override {
    context_->Enter();
    context_->RefuseInCapture("another graph");
    Check(cudaGraphLaunch(graph_, context_->stream_), "the launch of a graph");
    ++context_->graph_launches_;
  }

 private:
  Context* context_;
  cudaGraphExec_t graph_;
  std::vector<PinnedBlock> kept_;  // read by its copies
};

Context::Context(Place place) : Accelerator(place) {
  RefuseAfterFork(place);
  std::string why;
  const int n = CountDevices(&why);
  ENFORCE(n > 0, PreconditionNotMet, place, ": this machine must have a CUDA device, got none",
          why.empty() ? "" : " (" + why + ")", ". Use dygraph.CPUPlace()");
  ENFORCE(place.id < n, OutOfRange, "the number of a CUDAPlace must be below that of the devices, ",
          n, ", got ", place);
  NoteDeviceUse();
  // A child must not pass as one that has entered the device.
  static const int once = pthread_atfork(nullptr, nullptr, [] { t_current = nullptr; });
  (void)once;
  const BackToCurrent back;
  Check(cudaSetDevice(place.id), "the choice of a device");
  CheckKernels(place);
  Check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
  Check(cudaStreamCreateWithFlags(&copy_stream_, cudaStreamNonBlocking), "a stream");
  void* word = nullptr;
  Check(cudaHostAlloc(&word, sizeof(ErrorWord), cudaHostAllocMapped), "mapped memory");
  errors_ = new (word) ErrorWord();
}

void Context::UseDevice() {
  // With several devices, other libraries may have chosen another one for the thread.
  static const bool alone = CountDevices(nullptr) == 1;
  int now = 0;
  if (__builtin_expect(t_current == this, 1) &&
      (alone || (cudaGetDevice(&now) == cudaSuccess && now == place().id)))
    return;
  RefuseAfterFork(place());
  Check(cudaSetDevice(place().id), "the choice of a device");
  t_current = this;
}

void Context::Enter() {
  UseDevice();
  if (__builtin_expect(static_cast<volatile ErrorWord*>(errors_)->set != 0, 0) && !Capturing())
    RaiseReported();
}

void Context::RaiseReported() {
  const ErrorWord report = *errors_;
  *errors_ = ErrorWord();
  const Reporter reporter = ReporterOf(report.op);
  if (!reporter.slot) {
    double value;
    std::memcpy(&value, &report.value, sizeof value);
    const std::string text = reporter.op;
    const size_t at = text.find('%');
    THROW(InvalidArgument, text.substr(0, at), value, text.substr(at + 1),
          " (in an earlier call on ", ToString(place()), ")");
  }
  Error error(ErrorKind::OutOfRange,
              std::string(reporter.slot) + " must lie in [" + std::to_string(report.least) + ", " +
                  std::to_string(report.bound) + "), got " + std::to_string(report.value) +
                  ", in an earlier call on " + ToString(place()));
  error.AddOperator(reporter.op);
  throw error;
}

void Context::Prepare(Stage* stage) {
  if (stage->memory) {
    Check(cudaEventSynchronize(stage->free), "a copy");
    return;
  }
  void* memory = nullptr;
  Check(cudaHostAlloc(&memory, kStageBytes, cudaHostAllocDefault), "pinned memory");
  stage->memory = static_cast<char*>(memory);
  Check(cudaEventCreateWithFlags(&stage->free, cudaEventDisableTiming), "an event");
}

void Context::CopyFromHost(void* to, const void* host, size_t bytes) {
  if (bytes == 0) return;
  UseDevice();
  ++copies_in_;
  bytes_in_ += static_cast<int64_t>(bytes);
  if (__builtin_expect(Capturing(), 0)) {
    return Check(
        cudaMemcpyAsync(to, KeepForCapture(host, bytes), bytes, cudaMemcpyHostToDevice, stream()),
        "a copy to the device");
  }
  if (bytes <= kSmallCopy && !IsPinned(host)) {
    return Check(cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice, stream_),
                 "a copy to the device");
  }
  std::lock_guard<std::mutex> lock(staging_);
  size_t turn = 0;
  for (size_t done = 0; done < bytes; done += kStageBytes, ++turn) {
    Stage& stage = stages_[turn % 2];
    Prepare(&stage);
    const size_t n = std::min(kStageBytes, bytes - done);
    std::memcpy(stage.memory, static_cast<const char*>(host) + done, n);
    Check(cudaMemcpyAsync(static_cast<char*>(to) + done, stage.memory, n, cudaMemcpyHostToDevice,
                          stream_),
          "a copy to the device");
    Check(cudaEventRecord(stage.free, stream_), "an event");
  }
}

void Context::CopyToHost(void* host, const void* from, size_t bytes) {
  if (bytes == 0) return;
  UseDevice();
  RefuseInCapture("a copy to the host");
  ++copies_out_;
  bytes_out_ += static_cast<int64_t>(bytes);
  if (bytes <= kSmallCopy) {
    Check(cudaMemcpyAsync(host, from, bytes, cudaMemcpyDeviceToHost, stream_),
          "a copy to the host");
    return Wait();
  }
  ++waits_;
  std::lock_guard<std::mutex> lock(staging_);
  // One piece travels while the one before it is copied out of its buffer.
  auto take = [&](size_t piece) {
    const size_t begin = piece * kStageBytes, n = std::min(kStageBytes, bytes - begin);
    Stage& stage = stages_[piece % 2];
    Check(cudaEventSynchronize(stage.free), "a copy to the host");
    std::memcpy(static_cast<char*>(host) + begin, stage.memory, n);
  };
  const size_t pieces = (bytes + kStageBytes - 1) / kStageBytes;
  for (size_t piece = 0; piece < pieces; ++piece) {
    Stage& stage = stages_[piece % 2];
    Prepare(&stage);
    const size_t begin = piece * kStageBytes, n = std::min(kStageBytes, bytes - begin);
    Check(cudaMemcpyAsync(stage.memory, static_cast<const char*>(from) + begin, n,
                          cudaMemcpyDeviceToHost, stream_),
          "a copy to the host");
    Check(cudaEventRecord(stage.free, stream_), "an event");
    if (piece > 0) take(piece - 1);
  }
  take(pieces - 1);
  Enter();  // what kernels reported
}

void Context::CopyWithin(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  UseDevice();
  Check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream()), "a copy");
}

bool Context::CopyFromPeer(void* to, DeviceContext& peer, const void* from, size_t bytes) {
  auto& other = static_cast<Context&>(peer);
  RefuseInCapture("a copy between devices");
  other.RefuseInCapture("a copy between devices");
  other.UseDevice();  // an event belongs to the device of the stream that it is recorded on
  MakeWait(stream_, other.stream_);
  UseDevice();
  Check(cudaMemcpyPeerAsync(to, place().id, from, peer.place().id, bytes, stream_),
        "a copy between devices");
  MakeWait(other.stream_, stream_);  // before the source is used again
  return true;
}

void Context::Wait() {
  UseDevice();
  RefuseInCapture("a wait");
  ++waits_;
  Check(cudaStreamSynchronize(stream_), "a wait");
  Enter();
}

DeviceFacts Context::Facts() {
  UseDevice();
  cudaDeviceProp p;
  Check(cudaGetDeviceProperties(&p, place().id), "a question about the device");
  DeviceFacts facts;
  facts.name = p.name;
  facts.major = p.major;
  facts.minor = p.minor;
  facts.processors = p.multiProcessorCount;
  Check(cudaMemGetInfo(&facts.free_bytes, &facts.total_bytes), "a question about the device");
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  facts.driver = VersionText(driver);
  facts.runtime = VersionText(runtime);
  return facts;
}

DeviceCounts Context::Counts() {
  return {waits_, copies_in_, copies_out_, bytes_in_, bytes_out_, graph_launches_};
}

void Context::LetWait(void* other) {
  UseDevice();
  RefuseInCapture("a wait for a stream");
  MakeWait(static_cast<cudaStream_t>(other), stream_);
}

void Context::WaitFor(void* other) {
  UseDevice();
  RefuseInCapture("a wait for a stream");
  MakeWait(stream_, static_cast<cudaStream_t>(other));
}

std::unique_ptr<DeviceEvent> Context::CopyAhead(void* to, const void* pinned, size_t bytes) {
  UseDevice();
  RefuseInCapture("a copy of a loader");
  ++copies_in_;
  bytes_in_ += static_cast<int64_t>(bytes);
  Check(cudaMemcpyAsync(to, pinned, bytes, cudaMemcpyHostToDevice, copy_stream_),
        "a copy to the device");
  return std::make_unique<Event>(copy_stream_);
}

void Context::WaitFor(const DeviceEvent& event) {
  UseDevice();
  Check(cudaStreamWaitEvent(stream_, static_cast<const Event&>(event).handle(), 0),
        "a wait for an event");
}

std::unique_ptr<DeviceEvent> Context::Record() {
  UseDevice();
  RefuseInCapture("an event");
  return std::make_unique<Event>(stream_);
}

void Context::BeginCapture() {
  Enter();
  ENFORCE(!captured_.exchange(true), PreconditionNotMet, "a recording on ", place(),
          " must end before the next");
  try {
    if (!capture_stream_)
      Check(cudaStreamCreateWithFlags(&capture_stream_, cudaStreamNonBlocking), "a stream");
    Check(cudaStreamBeginCapture(capture_stream_, cudaStreamCaptureModeThreadLocal), "a recording");
  } catch (...) {
    captured_ = false;
    throw;
  }
  t_captures = this;
}

bool Context::Capturing() const { return __builtin_expect(t_captures == this, 0); }

void Context::RefuseInCapture(const char* what) const {
  ENFORCE(!Capturing(), PreconditionNotMet, what, " cannot be part of a graph of ", place(),
          ", whose work is only recorded now: no value can be read before it has run");
}

// A copy of what the host has, which the graph will read in each of its runs.
const void* Context::KeepForCapture(const void* host, size_t bytes) {
  const WhileCapturing allowed;
  void* block = nullptr;
  Check(cudaHostAlloc(&block, bytes, cudaHostAllocDefault), "pinned memory");
  kept_.emplace_back(block);
  std::memcpy(block, host, bytes);
  return block;
}

std::unique_ptr<DeviceGraph> Context::EndCapture() {
  ENFORCE(Capturing(), PreconditionNotMet, "a recording on ", place(), " must have begun");
  t_captures = nullptr;
  std::vector<PinnedBlock> kept = std::move(kept_);
  kept_.clear();
  cudaGraph_t graph = nullptr;
  cudaError_t status = cudaStreamEndCapture(capture_stream_, &graph);
  if (status != cudaSuccess) {  // that call itself may have failed
    cudaStreamCaptureStatus left = cudaStreamCaptureStatusNone;
    cudaStreamIsCapturing(capture_stream_, &left);
    if (left != cudaStreamCaptureStatusNone) cudaStreamEndCapture(capture_stream_, &graph);
    if (graph) cudaGraphDestroy(graph);
    graph = nullptr;
  }
  captured_ = false;
  if (status != cudaSuccess || !graph) {
    cudaGetLastError();
    return nullptr;
  }
  cudaGraphExec_t made = nullptr;
  status = cudaGraphInstantiate(&made, graph, 0);
  cudaGraphDestroy(graph);
  if (status != cudaSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  return std::make_unique<RecordedGraph>(this, made, std::move(kept));
}

cudaStream_t CurrentStream() { return t_current->stream(); }
Place CurrentPlace() { return t_current->place(); }
ErrorWord* CurrentErrors() { return t_current->errors(); }

namespace {

// Pinned memory is the host's; copies from it are plain ones.
class PinnedContext : public DeviceContext {
 public:
  using DeviceContext::DeviceContext;
  void CopyFromHost(void* to, const void* host, size_t bytes) override { Copy(to, host, bytes); }
  void CopyToHost(void* host, const void* from, size_t bytes) override { Copy(host, from, bytes); }
  void CopyWithin(void* to, const void* from, size_t bytes) override { Copy(to, from, bytes); }

 private:
  static void Copy(void* to, const void* from, size_t bytes) {
    if (bytes) std::memmove(to, from, bytes);
  }
};

bool RegisterContexts() {
  RegisterDeviceContext(DeviceKind::kCUDA, [](Place place) -> std::unique_ptr<DeviceContext> {
    return std::make_unique<Context>(place);
  });
  RegisterDeviceContext(DeviceKind::kCUDAPinned, [](Place place) -> std::unique_ptr<DeviceContext> {
    std::string why;
    ENFORCE(CountDevices(&why) > 0, PreconditionNotMet, place,
            ": this machine must have a CUDA device, got none",
            why.empty() ? "" : " (" + why + ")");
    return std::make_unique<PinnedContext>(place);
  });
  return true;
}

const bool registered = RegisterContexts();

}  // namespace
}  // namespace dygraph::cuda

// Called by the core once it has opened this library.
extern "C" __attribute__((visibility("default"))) void dygraph_cuda_start() {
  dygraph::FreezeRegistry();
}
