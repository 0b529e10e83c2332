// The pretended CUDA does what the real one is documented to do, and refuses what it should.
// More than 600 lines because naive products and convolutions with all their descriptors are in it.
#include <cublasLt.h>
#include <cudnn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../cpp/check.h"
#include "sample_kernels.cu"

namespace {

using dygraph::cuda::Launch;
using Clock = std::chrono::steady_clock;

cudaStream_t NewStream() {
  cudaStream_t stream = nullptr;
  CHECK_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  return stream;
}

// An array of a device; Get and the constructor copy and wait.
template <class T>
class Array {
 public:
  explicit Array(const std::vector<T>& values) : n_(values.size()) {
    stream_ = NewStream();
    CHECK_EQ(cudaMalloc(&p_, n_ * sizeof(T)), cudaSuccess);
    CHECK_EQ(cudaMemcpyAsync(p_, values.data(), n_ * sizeof(T), cudaMemcpyHostToDevice, stream_),
             cudaSuccess);
    CHECK_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  }
  ~Array() {
    cudaFree(p_);
    cudaStreamDestroy(stream_);
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  T* get() const { return p_; }
  std::vector<T> Get(cudaStream_t stream) const {
    std::vector<T> values(n_);
    CHECK_EQ(cudaMemcpyAsync(values.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost, stream),
             cudaSuccess);
    return values;
  }

 private:
  size_t n_;
  T* p_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

// Runs `body` in another process; what it wrote to the standard error, and whether it was killed.
template <class F>
std::string LastWords(F body, bool* killed) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    body();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char part[256];
  for (ssize_t n; (n = read(ends[0], part, sizeof part)) > 0;)
    text.append(part, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  *killed = WIFSIGNALED(status);
  return text;
}

template <class F>
void CheckDies(F body, const std::string& words, int line) {
  bool killed = false;
  std::string text = LastWords(body, &killed);
  dygraph::testing::Report(killed && text.find(words) != std::string::npos, __FILE__, line,
                           "must die with '" + words + "', said '" + text + "'");
}

// Deaths come first: a process that has used CUDA must not fork and go on.
void TestDeaths() {
  CheckDies(
      [] {
        Array<float> x(std::vector<float>(4, 1.0f));
        volatile float* p = x.get();
        p[1] = p[0];
      },
      "the host touched memory of a device outside of kernels", __LINE__);
  CheckDies(
      [] {
        pretend_cuda_set("STRICT", 1);
        cudaStream_t s = NewStream();
        Launch(sample::HalfBarrier, 1, 64, 0, s);
        cudaStreamSynchronize(s);
      },
      "not reached by all threads", __LINE__);
  CheckDies(
      [] {
        int* p = nullptr;
        cudaMalloc(&p, 64);
        cudaStream_t s = NewStream();
        cudaFree(p);
        Launch(sample::Store, 1, 1, 0, s, p, 1);
        cudaStreamSynchronize(s);
      },
      "touched freed memory", __LINE__);
  CheckDies(
      [] {
        cudaStream_t s = NewStream();
        Launch(sample::Store, 1, 1, 0, s, static_cast<int*>(nullptr), 1);
        cudaStreamSynchronize(s);
      },
      "touched memory that is not there", __LINE__);
  CheckDies(
      [] {
        pretend_cuda_set("DEVICES", 2);
        int* p = nullptr;
        cudaMalloc(&p, 64);
        cudaSetDevice(1);
        cudaStream_t s = NewStream();
        Launch(sample::Store, 1, 1, 0, s, p, 1);
        cudaStreamSynchronize(s);
      },
      "memory of another device", __LINE__);
  CheckDies(
      [] {
        Array<int> x(std::vector<int>(4, 1));
        cudaStream_t s = NewStream();
        cudaLaunchHostFunc(s, [](void* p) { *static_cast<int*>(p) = 1; }, x.get());
        cudaStreamSynchronize(s);
      },
      "the host touched memory", __LINE__);
  bool killed = false;
  std::string text = LastWords(
      [] {
        int n = 0;
        cudaGetDeviceCount(&n);
        if (fork() != 0) {
          wait(nullptr);
          return;
        }
        cudaError_t error = cudaGetDeviceCount(&n);
        std::cerr << (error == cudaErrorInitializationError ? "a child is refused" : "it works");
      },
      &killed);
  CHECK_EQ(text, "a child is refused");
}

void TestKernels() {
  cudaStream_t s = NewStream();
  std::vector<float> ones(1000, 1.0f);
  Array<float> x(ones), y(ones);
  Launch(sample::AddTo, 4, 256, 0, s, x.get(), y.get(), 1000);
  CHECK_EQ(y.Get(s)[999], 2.0f);
  Launch(sample::Sum, 1, 256, 0, s, x.get(), y.get(), 1000);
  CHECK_EQ(y.Get(s)[0], 1000.0f);

  std::vector<int> numbers(3 * 256);
  for (int i = 0; i < 3 * 256; ++i) numbers[static_cast<size_t>(i)] = i;
  Array<int> turned(numbers);
  Launch(sample::Turn, 3, 256, 256 * sizeof(int), s, turned.get(), true);
  std::vector<int> got = turned.Get(s);
  bool right = true;
  for (size_t i = 0; i < got.size(); ++i) {
    right &= got[i] == static_cast<int>(i / 256 * 256 + 255 - i % 256);
  }
  CHECK(right);

  Array<int64_t> lanes(std::vector<int64_t>(12 * 64));
  Launch(sample::Exchanges, 1, 64, 0, s, lanes.get());
  std::vector<int64_t> l = lanes.Get(s);
  for (int i = 0; i < 64; ++i) {
    const int64_t* v = l.data() + 12 * i;
    int lane = i % 32;
    CHECK_EQ(v[0], 70);
    CHECK_EQ(v[1], static_cast<int64_t>((lane + 1) % 32) << 40);
    CHECK_EQ(v[2], lane < 3 ? lane : lane - 3);
    CHECK_EQ(v[3], lane > 28 ? lane : lane + 3);
    CHECK_EQ(v[4], lane ^ 5);
    CHECK_EQ(v[5], lane ^ 4);
    CHECK_EQ(v[6], lane % 8 == 7 ? lane : lane + 1);
    CHECK_EQ(v[7], 0x49249249);
    CHECK_EQ(v[8], 1);
    CHECK_EQ(v[9], 0);
    CHECK_EQ(v[10], lane < 16 ? lane ^ 1 : -1);
  }
  CHECK_EQ(l[12 * 6 + 11], 2 + 100 * 29 + 10000 * 2);

  std::vector<sample::Pair> pairs(32);
  for (int i = 0; i < 32; ++i) pairs[static_cast<size_t>(i)] = {std::sin(i), i};
  Array<sample::Pair> device_pairs(pairs);
  Launch(sample::LargestPair, 1, 32, 0, s, device_pairs.get());
  CHECK_EQ(device_pairs.Get(s)[0].at, 14);  // sin 14 = 0.9906

  Array<int> i({0, 0, 0, 0});
  Array<unsigned> u({0, 0, 0xffffffffu, 0});
  Array<unsigned long long> ll({0, 0, 0});
  Array<float> f({0});
  Array<double> d({0});
  Launch(sample::Atomics, 2, 96, 0, s, i.get(), u.get(), ll.get(), f.get(), d.get());
  CHECK(i.Get(s) == std::vector<int>({192, 95, -95, 5}));
  CHECK(u.Get(s) == std::vector<unsigned>({384, 0xffffffffu, 0, 1}));
  CHECK(ll.Get(s) == std::vector<unsigned long long>({192, 95, 9}));
  CHECK_EQ(f.Get(s)[0], 96.0f);
  CHECK_EQ(d.Get(s)[0], 48.0);

  Array<float> results(std::vector<float>(5));
  Launch(sample::Functions, 1, 1, 0, s, results.get());
  CHECK(results.Get(s) == std::vector<float>({0.5f, 5.0f, 3.0f, 3.0f, 10.0f}));
}

// The order of threads: a kernel without its barrier is found in one of the two orders.
void TestReverse() {
  cudaStream_t s = NewStream();
  bool right[2];
  for (long reverse : {0, 1}) {
    pretend_cuda_set("REVERSE", reverse);
    Array<int> x({1, 2, 3, 4});
    Launch(sample::Turn, 1, 4, 4 * sizeof(int), s, x.get(), false);
    right[reverse] = x.Get(s) == std::vector<int>({4, 3, 2, 1});
    Array<int> y({1, 2, 3, 4});
    Launch(sample::Turn, 1, 4, 4 * sizeof(int), s, y.get(), true);
    CHECK(y.Get(s) == std::vector<int>({4, 3, 2, 1}));
    Array<int> z({0});
    Launch(sample::Store, 1, 1, 0, s, z.get(), 7);
    CHECK_EQ(z.Get(s)[0], 7);
    std::vector<float> ones(512, 1.0f);
    Array<float> sum(ones);
    Launch(sample::Sum, 1, 128, 0, s, sum.get(), sum.get(), 512);
    CHECK_EQ(sum.Get(s)[0], 512.0f);
  }
  pretend_cuda_set("REVERSE", 0);
  CHECK(!right[0] || !right[1]);
}

void TestLate() {
  pretend_cuda_set("LATE", 1);
  cudaStream_t s = NewStream(), other = NewStream();
  Array<int> x({1});
  int* host = nullptr;
  CHECK_EQ(cudaHostAlloc(&host, sizeof(int), cudaHostAllocMapped), cudaSuccess);
  *host = 0;
  Launch(sample::Store, 1, 1, 0, s, x.get(), 2);
  // Without an event the other stream sees the old value.
  cudaMemcpyAsync(host, x.get(), sizeof(int), cudaMemcpyDeviceToHost, other);
  CHECK_EQ(*host, 0);
  cudaStreamSynchronize(other);
  CHECK_EQ(*host, 1);
  CHECK_EQ(cudaStreamQuery(s), cudaErrorNotReady);
  cudaEvent_t event;
  CHECK_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  CHECK_EQ(cudaEventQuery(event), cudaSuccess);
  CHECK_EQ(cudaEventRecord(event, s), cudaSuccess);
  CHECK_EQ(cudaEventQuery(event), cudaErrorNotReady);
  CHECK_EQ(cudaStreamWaitEvent(other, event, 0), cudaSuccess);
  cudaMemcpyAsync(host, x.get(), sizeof(int), cudaMemcpyDeviceToHost, other);
  cudaStreamSynchronize(other);
  CHECK_EQ(*host, 2);
  CHECK_EQ(cudaEventQuery(event), cudaSuccess);
  // A loop that polls ends.
  Launch(sample::Store, 1, 1, 0, s, x.get(), 3);
  while (cudaStreamQuery(s) == cudaErrorNotReady) {
  }
  // A kernel writes to mapped memory.
  void* mapped = nullptr;
  CHECK_EQ(cudaHostGetDevicePointer(&mapped, host, 0), cudaSuccess);
  Launch(sample::Store, 1, 1, 0, s, static_cast<int*>(mapped), 4);
  CHECK_EQ(*host, 2);
  cudaStreamSynchronize(s);
  CHECK_EQ(*host, 4);
  pretend_cuda_set("LATE", 0);
  CHECK_EQ(cudaEventDestroy(event), cudaSuccess);
  CHECK_EQ(cudaEventDestroy(event), cudaErrorInvalidResourceHandle);
  CHECK_EQ(cudaFreeHost(host), cudaSuccess);
  CHECK_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
}

void TestEvents() {
  cudaStream_t s = NewStream();
  cudaEvent_t start, end;
  cudaEventCreate(&start);
  cudaEventCreate(&end);
  std::vector<float> many(1 << 20, 1.0f);
  Array<float> x(many);
  cudaEventRecord(start, s);
  Launch(sample::AddTo, 4096, 256, 0, s, x.get(), x.get(), 1 << 20);
  cudaEventRecord(end, s);
  float ms = -1;
  CHECK_EQ(cudaEventElapsedTime(&ms, start, end), cudaErrorNotReady);
  cudaEventSynchronize(end);
  CHECK_EQ(cudaEventElapsedTime(&ms, start, end), cudaSuccess);
  CHECK(ms > 0.1f && ms < 10000.0f);
  static std::vector<int> order;
  cudaLaunchHostFunc(s, [](void*) { order.push_back(1); }, nullptr);
  cudaLaunchHostFunc(
      s,
      [](void*) {
        int n;
        order.push_back(cudaGetDeviceCount(&n) == cudaErrorNotPermitted ? 2 : 0);
      },
      nullptr);
  cudaStreamSynchronize(s);
  CHECK(order == std::vector<int>({1, 2}));
  cudaGetLastError();
}

void TestFailures() {
  cudaStream_t s = NewStream();
  Array<int> x({1, 2, 3, 4});
  pretend_cuda_set("FAIL", 2 * 1000 + cudaErrorMemoryAllocation);
  void* p = nullptr;
  CHECK_EQ(cudaMalloc(&p, 64), cudaSuccess);
  void* q = nullptr;
  CHECK_EQ(cudaMalloc(&q, 64), cudaErrorMemoryAllocation);
  CHECK_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  CHECK_EQ(cudaPeekAtLastError(), cudaSuccess);
  CHECK_EQ(cudaMalloc(&q, 64), cudaSuccess);
  cudaFree(q);
  pretend_cuda_set("FAIL", 1 * 1000 + cudaErrorIllegalAddress);
  CHECK_EQ(Launch(sample::Nothing, 1, 1, 0, s, 0), cudaErrorIllegalAddress);
  CHECK_EQ(cudaStreamSynchronize(s), cudaErrorIllegalAddress);
  CHECK_EQ(cudaFree(p), cudaErrorIllegalAddress);
  CHECK_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  CHECK_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  pretend_cuda_set("FAIL", 0);
  CHECK_EQ(cudaFree(p), cudaSuccess);
  CHECK_EQ(cudaFree(p), cudaErrorInvalidValue);

  CHECK_EQ(Launch(sample::Nothing, 1, 1, 0, nullptr, 0), cudaErrorInvalidResourceHandle);
  CHECK_EQ(Launch(sample::Nothing, 0, 1, 0, s, 0), cudaErrorInvalidConfiguration);
  CHECK_EQ(Launch(sample::Nothing, 1, 1025, 0, s, 0), cudaErrorInvalidConfiguration);
  CHECK_EQ(Launch(sample::Nothing, dim3(1, 65536), 1, 0, s, 0), cudaErrorInvalidConfiguration);
  CHECK_EQ(Launch(sample::Nothing, 1, 1, 64 << 10, s, 0), cudaErrorInvalidValue);
  CHECK_EQ(
      cudaFuncSetAttribute(sample::Nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10),
      cudaSuccess);
  CHECK_EQ(Launch(sample::Nothing, 1, 1, 64 << 10, s, 0), cudaSuccess);
  int host[4];
  CHECK_EQ(cudaMemcpyAsync(host, x.get(), 16, cudaMemcpyHostToDevice, s), cudaErrorInvalidValue);
  CHECK_EQ(cudaMemcpyAsync(host, x.get(), 16, cudaMemcpyDeviceToDevice, s), cudaErrorInvalidValue);
  CHECK_EQ(cudaMemcpyAsync(host, x.get(), 8192, cudaMemcpyDeviceToHost, s), cudaErrorInvalidValue);
  CHECK_EQ(cudaMemcpyAsync(host, x.get(), 16, cudaMemcpyDefault, s), cudaSuccess);
  CHECK_EQ(host[3], 4);
  CHECK_EQ(std::string(cudaGetErrorName(cudaErrorNotReady)), "cudaErrorNotReady");
  CHECK_EQ(std::string(cudaGetErrorString(cudaErrorInvalidValue)), "invalid argument");
  cudaGetLastError();
}

void TestDevices() {
  int n = -1;
  pretend_cuda_set("DEVICES", 0);
  CHECK_EQ(cudaGetDeviceCount(&n), cudaErrorNoDevice);
  CHECK_EQ(n, 0);
  pretend_cuda_set("DEVICES", 2);
  CHECK_EQ(cudaGetDeviceCount(&n), cudaSuccess);
  CHECK_EQ(n, 2);
  CHECK_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
  cudaStream_t first = NewStream();
  Array<int> x({1, 2});
  CHECK_EQ(cudaSetDevice(1), cudaSuccess);
  CHECK_EQ(Launch(sample::Nothing, 1, 1, 0, first, 0), cudaErrorInvalidResourceHandle);
  Array<int> y({3, 4});
  cudaStream_t second = NewStream();
  CHECK_EQ(cudaMemcpyPeerAsync(y.get(), 1, x.get(), 0, 8, second), cudaSuccess);
  CHECK(y.Get(second) == std::vector<int>({1, 2}));
  CHECK_EQ(cudaMemcpyPeerAsync(y.get(), 0, x.get(), 1, 8, second), cudaErrorInvalidValue);
  cudaPointerAttributes attributes;
  cudaPointerGetAttributes(&attributes, y.get());
  CHECK(attributes.type == cudaMemoryTypeDevice && attributes.device == 1);
  cudaPointerGetAttributes(&attributes, &n);
  CHECK(attributes.type == cudaMemoryTypeUnregistered);
  pretend_cuda_set("MEMORY", 1 << 20);
  void* p = nullptr;
  CHECK_EQ(cudaMalloc(&p, 2 << 20), cudaErrorMemoryAllocation);
  size_t free = 0, total = 0;
  CHECK_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  CHECK(total == 1 << 20 && free == (1 << 20) - 4096);
  pretend_cuda_set("MEMORY", 2L << 30);
  cudaSetDevice(0);
  pretend_cuda_set("DEVICES", 1);
  cudaGetLastError();
}

void TestCapture() {
  cudaStream_t s = NewStream(), side = NewStream();
  Array<int> x({0, 0});
  cudaEvent_t fork, join, outside;
  for (cudaEvent_t* e : {&fork, &join, &outside}) {
    cudaEventCreateWithFlags(e, cudaEventDisableTiming);
  }
  cudaEventRecord(outside, s);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
  cudaStreamCaptureStatus status;
  CHECK_EQ(cudaStreamIsCapturing(s, &status), cudaSuccess);
  CHECK(status == cudaStreamCaptureStatusActive);
  Launch(sample::Store, 1, 1, 0, s, x.get(), 5);
  cudaEventRecord(fork, s);
  CHECK_EQ(cudaStreamWaitEvent(side, fork, 0), cudaSuccess);
  cudaStreamIsCapturing(side, &status);
  CHECK(status == cudaStreamCaptureStatusActive);
  Launch(sample::Store, 1, 1, 0, side, x.get() + 1, 6);
  CHECK_EQ(cudaEventQuery(fork), cudaErrorCapturedEvent);
  cudaEventRecord(join, side);
  CHECK_EQ(cudaStreamWaitEvent(s, join, 0), cudaSuccess);
  CHECK_EQ(cudaStreamEndCapture(s, &graph), cudaSuccess);
  CHECK_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  CHECK_EQ(cudaGraphUpload(exec, s), cudaSuccess);
  CHECK_EQ(cudaEventSynchronize(join), cudaErrorCapturedEvent);
  CHECK_EQ(cudaStreamWaitEvent(s, join, 0), cudaErrorCapturedEvent);
  CHECK(x.Get(s) == std::vector<int>({0, 0}));
  CHECK_EQ(cudaGraphDestroy(graph), cudaSuccess);
  for (int i = 0; i < 2; ++i) {
    CHECK_EQ(cudaMemsetAsync(x.get(), 0, 8, s), cudaSuccess);
    CHECK_EQ(cudaGraphLaunch(exec, s), cudaSuccess);
    CHECK(x.Get(s) == std::vector<int>({5, 6}));
  }
  CHECK_EQ(cudaGraphExecDestroy(exec), cudaSuccess);

  // What spoils a capture.
  void* p = nullptr;
  int host = 0;
  auto spoiled = [&](cudaError_t error, cudaError_t by) {
    CHECK_EQ(error, by);
    CHECK_EQ(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureInvalidated);
    CHECK(graph == nullptr);
    CHECK_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  };
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  spoiled(cudaMalloc(&p, 64), cudaErrorStreamCaptureUnsupported);
  spoiled(cudaStreamSynchronize(s), cudaErrorStreamCaptureUnsupported);
  spoiled(cudaMemcpyAsync(&host, x.get(), 4, cudaMemcpyDeviceToHost, s),
          cudaErrorStreamCaptureUnsupported);
  spoiled(cudaStreamWaitEvent(s, outside, 0), cudaErrorStreamCaptureIsolation);
  std::thread([&] { CHECK_EQ(cudaMalloc(&p, 64), cudaSuccess); }).join();
  Launch(sample::Nothing, 1, 1, 0, s, 0);
  cudaEventRecord(fork, s);
  cudaStreamWaitEvent(side, fork, 0);
  CHECK_EQ(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureUnjoined);
  CHECK_EQ(cudaFree(p), cudaSuccess);
  cudaGetLastError();
}

void TestCounters() {
  cudaStream_t s = NewStream();
  Array<float> x(std::vector<float>(8, 1.0f));
  pretend_cuda_set("COUNTERS", 0);
  for (int i = 0; i < 3; ++i) Launch(sample::AddTo, 1, 8, 0, s, x.get(), x.get(), 8);
  CHECK_EQ(pretend_cuda_get("LAUNCHES"), 3);
  CHECK_EQ(pretend_cuda_get("QUEUED"), 3);
  CHECK_EQ(x.Get(s)[0], 8.0f);
  CHECK_EQ(pretend_cuda_get("COPIES_TO_HOST"), 1);
  CHECK_EQ(pretend_cuda_get("WAITS"), 0);
  CHECK_EQ(pretend_cuda_get("QUEUED"), 0);
  CHECK_EQ(pretend_cuda_get("no such name"), -1);
  pretend_cuda_set("NOOP", 1);
  Launch(sample::AddTo, 1, 8, 0, s, x.get(), x.get(), 8);
  pretend_cuda_set("NOOP", 0);
  CHECK_EQ(x.Get(s)[0], 8.0f);
  // Counted touches go on.
  pretend_cuda_set("COUNT", 1);
  pretend_cuda_set("TOUCHES", 0);
  volatile float* p = x.get();
  p[0] = p[1] + 1;
  CHECK_EQ(pretend_cuda_get("TOUCHES"), 1);
  CHECK_EQ(p[0], 9.0f);
  CHECK_EQ(pretend_cuda_get("TOUCHES"), 2);
  pretend_cuda_set("COUNT", 0);
  // A kernel that is given a pointer of the host, which would work here.
  pretend_cuda_set("POINTERS", 1);
  float host[8] = {};
  Launch(sample::AddTo, 1, 8, 0, s, x.get(), &host[0], 8);
  Launch(sample::AddTo, 1, 8, 0, s, x.get(), x.get(), 8);
  cudaStreamSynchronize(s);
  pretend_cuda_set("POINTERS", 0);
  CHECK_EQ(pretend_cuda_get("HOST_POINTERS"), 1);
  // Many threads of the host.
  Array<int> sums({0, 0, 0, 0});
  Array<unsigned> u({0, 0, 0, 0});
  Array<unsigned long long> l({0, 0, 0});
  Array<float> f({0});
  Array<double> d({0});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      cudaStream_t mine = NewStream();
      for (int k = 0; k < 200; ++k) {
        Launch(sample::Atomics, 1, 32, 0, mine, sums.get(), u.get(), l.get(), f.get(), d.get());
        if (k % 7 == 0) cudaStreamSynchronize(mine);
      }
      cudaStreamSynchronize(mine);
      cudaStreamDestroy(mine);
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK_EQ(sums.Get(s)[0], 4 * 200 * 32);
}

// Matrices ----------------------------------------------------------------------------------------

std::vector<float> Random(size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(n);
  for (float& v : values) v = uniform(engine);
  return values;
}

template <class T>
double Farthest(const std::vector<T>& a, const std::vector<double>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(a[i]) - b[i]));
  }
  return most;
}

void TestProducts() {
  cudaStream_t s = NewStream();
  cublasLtHandle_t handle;
  CHECK_EQ(cublasLtCreate(&handle), CUBLAS_STATUS_SUCCESS);
  constexpr int m = 5, n = 7, k = 6, batch = 2;
  std::vector<float> a = Random(m * k * batch, 1), b = Random(k * n * batch, 2);
  std::vector<float> c = Random(m * n * batch, 3), bias = Random(m, 4);
  Array<float> da(a), db(b), dc(c), dbias(bias);
  Array<char> workspace(std::vector<char>(4096));
  float alpha = 0.5f, beta = 2.0f;
  for (int turn = 0; turn < 8; ++turn) {
    bool ta = turn & 1, tb = turn & 2, relu = turn & 4;
    cublasLtMatmulDesc_t desc;
    cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasOperation_t op_a = ta ? CUBLAS_OP_T : CUBLAS_OP_N, op_b = tb ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &op_a, sizeof op_a);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSB, &op_b, sizeof op_b);
    cublasLtEpilogue_t epilogue = relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    const void* bias_pointer = dbias.get();
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias_pointer,
                                   sizeof bias_pointer);
    cublasLtMatrixLayout_t la, lb, lc;
    cublasLtMatrixLayoutCreate(&la, CUDA_R_32F, ta ? k : m, ta ? m : k, ta ? k : m);
    cublasLtMatrixLayoutCreate(&lb, CUDA_R_32F, tb ? n : k, tb ? k : n, tb ? n : k);
    cublasLtMatrixLayoutCreate(&lc, CUDA_R_32F, m, n, m);
    int32_t count = batch;
    int64_t strides[] = {m * k, k * n, m * n};
    cublasLtMatrixLayout_t layouts[] = {la, lb, lc};
    for (int i = 0; i < 3; ++i) {
      cublasLtMatrixLayoutSetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, 4);
      cublasLtMatrixLayoutSetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                       &strides[i], 8);
    }
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulPreferenceCreate(&preference);
    uint64_t most = 1 << 20;
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                         &most, sizeof most);
    cublasLtMatmulHeuristicResult_t result;
    int found = 0;
    CHECK_EQ(cublasLtMatmulAlgoGetHeuristic(handle, desc, la, lb, lc, lc, preference, 1, &result,
                                            &found),
             CUBLAS_STATUS_SUCCESS);
    CHECK_EQ(found, 1);
    Array<float> out(c);
    CHECK_EQ(cublasLtMatmul(handle, desc, &alpha, da.get(), la, db.get(), lb, &beta, dc.get(), lc,
                            out.get(), lc, &result.algo, workspace.get(), result.workspaceSize, s),
             CUBLAS_STATUS_SUCCESS);
    std::vector<double> expected(c.size());
    for (int q = 0; q < batch; ++q)
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < m; ++i) {
          double sum = 0;
          for (int p = 0; p < k; ++p) {
            sum += double(a[size_t(q * m * k + (ta ? p + i * k : i + p * m))]) *
                   b[size_t(q * k * n + (tb ? j + p * n : p + j * k))];
          }
          size_t at = size_t(q * m * n + i + j * m);
          double v = alpha * sum + beta * c[at] + bias[size_t(i)];
          expected[at] = relu && v < 0 ? 0 : v;
        }
    CHECK(Farthest(out.Get(s), expected) < 1e-5);
    // A pointer of the host, too little workspace.
    CHECK_EQ(cublasLtMatmul(handle, desc, &alpha, a.data(), la, db.get(), lb, &beta, dc.get(), lc,
                            out.get(), lc, nullptr, nullptr, 0, s),
             CUBLAS_STATUS_INVALID_VALUE);
    CHECK_EQ(cublasLtMatmul(handle, desc, &alpha, da.get(), la, db.get(), lb, &beta, dc.get(), lc,
                            out.get(), lc, &result.algo, nullptr, 0, s),
             CUBLAS_STATUS_INVALID_VALUE);
    for (cublasLtMatrixLayout_t l : layouts) cublasLtMatrixLayoutDestroy(l);
    cublasLtMatmulPreferenceDestroy(preference);
    cublasLtMatmulDescDestroy(desc);
  }
  // Half and bfloat16: 1.5 * 2 - 0.25 = 2.75 in both.
  struct Narrow {
    cudaDataType_t type;
    uint16_t x, y, z, minus_quarter, expected;
  };
  for (Narrow t : {Narrow{CUDA_R_16F, 0x3e00, 0x4000, 0x3c00, 0xb400, 0x4180},
                   Narrow{CUDA_R_16BF, 0x3fc0, 0x4000, 0x3f80, 0xbe80, 0x4030}}) {
    Array<uint16_t> left({t.x, t.z}), right({t.y, t.minus_quarter}), out({0});
    cublasLtMatmulDesc_t desc;
    cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatrixLayout_t la, lb, lc;
    cublasLtMatrixLayoutCreate(&la, t.type, 1, 2, 1);
    cublasLtMatrixLayoutCreate(&lb, t.type, 2, 1, 2);
    cublasLtMatrixLayoutCreate(&lc, t.type, 1, 1, 1);
    float one = 1, zero = 0;
    CHECK_EQ(cublasLtMatmul(handle, desc, &one, left.get(), la, right.get(), lb, &zero, out.get(),
                            lc, out.get(), lc, nullptr, nullptr, 0, s),
             CUBLAS_STATUS_SUCCESS);
    CHECK_EQ(out.Get(s)[0], t.expected);
    for (cublasLtMatrixLayout_t l : {la, lb, lc}) cublasLtMatrixLayoutDestroy(l);
    cublasLtMatmulDescDestroy(desc);
  }
  // Complex numbers, the first operand conjugated: (1 + 2i)* (3 - i) = 1 - 7i.
  struct Number {
    double re, im;
  };
  Array<Number> left({{1, 2}}), right({{3, -1}}), out({{0, 0}});
  cublasLtMatmulDesc_t desc;
  cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_64F, CUDA_C_64F);
  cublasOperation_t conjugate = CUBLAS_OP_C;
  cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &conjugate, sizeof conjugate);
  cublasLtMatrixLayout_t one_by_one;
  cublasLtMatrixLayoutCreate(&one_by_one, CUDA_C_64F, 1, 1, 1);
  Number one{1, 0}, zero{0, 0};
  CHECK_EQ(
      cublasLtMatmul(handle, desc, &one, left.get(), one_by_one, right.get(), one_by_one, &zero,
                     out.get(), one_by_one, out.get(), one_by_one, nullptr, nullptr, 0, s),
      CUBLAS_STATUS_SUCCESS);
  CHECK(out.Get(s)[0].re == 1 && out.Get(s)[0].im == -7);
  cublasLtMatrixLayoutDestroy(one_by_one);
  cublasLtMatmulDescDestroy(desc);
  cublasLtDestroy(handle);
}

// Convolutions ------------------------------------------------------------------------------------

void TestConvolutions() {
  cudaStream_t s = NewStream();
  cudnnHandle_t handle;
  CHECK_EQ(cudnnCreate(&handle), CUDNN_STATUS_SUCCESS);
  CHECK_EQ(cudnnSetStream(handle, s), CUDNN_STATUS_SUCCESS);
  constexpr int N = 2, C = 4, H = 7, W = 6, K = 6, R = 3, S = 2, G = 2;
  constexpr int pad_h = 1, pad_w = 2, stride_h = 2, stride_w = 1, dil_h = 1, dil_w = 2;
  constexpr int P = (H + 2 * pad_h - (R - 1) * dil_h - 1) / stride_h + 1;
  constexpr int Q = (W + 2 * pad_w - (S - 1) * dil_w - 1) / stride_w + 1;
  constexpr int CG = C / G, KG = K / G;
  std::vector<float> x = Random(N * C * H * W, 5), w = Random(K * CG * R * S, 6);
  std::vector<float> dy = Random(N * K * P * Q, 7);
  Array<char> workspace(std::vector<char>(1024));
  for (cudnnTensorFormat_t format : {CUDNN_TENSOR_NCHW, CUDNN_TENSOR_NHWC}) {
    bool last = format == CUDNN_TENSOR_NHWC;
    auto at = [&](int n, int c, int h, int w, int channels, int height, int width) {
      return size_t(last ? ((n * height + h) * width + w) * channels + c
                         : ((n * channels + c) * height + h) * width + w);
    };
    std::vector<double> y_expected(dy.size()), dx_expected(x.size()), dw_expected(w.size());
    for (int n = 0; n < N; ++n)
      for (int k = 0; k < K; ++k)
        for (int p = 0; p < P; ++p)
          for (int q = 0; q < Q; ++q)
            for (int c = 0; c < CG; ++c)
              for (int r = 0; r < R; ++r)
                for (int t = 0; t < S; ++t) {
                  int h = p * stride_h + r * dil_h - pad_h, v = q * stride_w + t * dil_w - pad_w;
                  if (h < 0 || h >= H || v < 0 || v >= W) continue;
                  size_t xi = at(n, k / KG * CG + c, h, v, C, H, W), wi = at(k, c, r, t, CG, R, S);
                  size_t yi = at(n, k, p, q, K, P, Q);
                  y_expected[yi] += double(x[xi]) * w[wi];
                  dx_expected[xi] += double(dy[yi]) * w[wi];
                  dw_expected[wi] += double(dy[yi]) * x[xi];
                }
    cudnnTensorDescriptor_t x_desc, y_desc;
    cudnnFilterDescriptor_t w_desc;
    cudnnConvolutionDescriptor_t conv;
    cudnnCreateTensorDescriptor(&x_desc);
    cudnnCreateTensorDescriptor(&y_desc);
    cudnnCreateFilterDescriptor(&w_desc);
    cudnnCreateConvolutionDescriptor(&conv);
    cudnnSetTensor4dDescriptor(x_desc, format, CUDNN_DATA_FLOAT, N, C, H, W);
    cudnnSetTensor4dDescriptor(y_desc, format, CUDNN_DATA_FLOAT, N, K, P, Q);
    cudnnSetFilter4dDescriptor(w_desc, CUDNN_DATA_FLOAT, format, K, CG, R, S);
    cudnnSetConvolution2dDescriptor(conv, pad_h, pad_w, stride_h, stride_w, dil_h, dil_w,
                                    CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
    cudnnSetConvolutionGroupCount(conv, G);
    int dims[4];
    CHECK_EQ(cudnnGetConvolutionNdForwardOutputDim(conv, x_desc, w_desc, 4, dims),
             CUDNN_STATUS_SUCCESS);
    CHECK(dims[0] == N && dims[1] == K && dims[2] == P && dims[3] == Q);
    cudnnConvolutionFwdAlgoPerf_t forward[2];
    int found = 0;
    CHECK_EQ(cudnnGetConvolutionForwardAlgorithm_v7(handle, x_desc, w_desc, conv, y_desc, 2, &found,
                                                    forward),
             CUDNN_STATUS_SUCCESS);
    CHECK_EQ(found, 2);
    Array<float> dx_(x), dw_(w), dy_(dy), xd(x), wd(w), yd(std::vector<float>(dy.size(), NAN));
    float one = 1, zero = 0;
    size_t bytes = 0;
    cudnnGetConvolutionForwardWorkspaceSize(handle, x_desc, w_desc, conv, y_desc, forward[0].algo,
                                            &bytes);
    CHECK_EQ(bytes, forward[0].memory);
    CHECK_EQ(
        cudnnConvolutionForward(handle, &one, x_desc, xd.get(), w_desc, wd.get(), conv,
                                forward[0].algo, workspace.get(), bytes, &zero, y_desc, yd.get()),
        CUDNN_STATUS_SUCCESS);
    CHECK(Farthest(yd.Get(s), y_expected) < 1e-5);
    CHECK_EQ(cudnnConvolutionBackwardData(handle, &one, w_desc, wd.get(), y_desc, dy_.get(), conv,
                                          CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, workspace.get(), 1024,
                                          &zero, x_desc, dx_.get()),
             CUDNN_STATUS_SUCCESS);
    CHECK(Farthest(dx_.Get(s), dx_expected) < 1e-5);
    CHECK_EQ(cudnnConvolutionBackwardFilter(handle, &one, x_desc, xd.get(), y_desc, dy_.get(), conv,
                                            CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, workspace.get(),
                                            1024, &one, w_desc, dw_.get()),
             CUDNN_STATUS_SUCCESS);
    for (size_t i = 0; i < w.size(); ++i) dw_expected[i] += w[i];  // beta = 1
    CHECK(Farthest(dw_.Get(s), dw_expected) < 1e-5);
    CHECK_EQ(cudnnConvolutionForward(handle, &one, x_desc, x.data(), w_desc, wd.get(), conv,
                                     CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, nullptr, 0, &zero,
                                     y_desc, yd.get()),
             CUDNN_STATUS_BAD_PARAM);
    cudnnDestroyTensorDescriptor(x_desc);
    cudnnDestroyTensorDescriptor(y_desc);
    cudnnDestroyFilterDescriptor(w_desc);
    cudnnDestroyConvolutionDescriptor(conv);
  }
  cudnnDestroy(handle);
}

// What a launch costs; printed, not judged.
void Measure() {
  cudaStream_t s = NewStream();
  char* arena = nullptr;
  cudaMalloc(&arena, size_t{64} << 20);
  auto* x = reinterpret_cast<float*>(arena);
  auto time = [](const char* what, int n, auto body) {
    auto start = Clock::now();
    for (int i = 0; i < n; ++i) body();
    std::chrono::duration<double, std::micro> passed = Clock::now() - start;
    std::cout << what << ": " << passed.count() / n << " us\n";
  };
  auto launch = [&] { Launch(sample::AddTo, 1, 256, 0, s, x, x + 1024, 256); };
  time("launch of 256 threads", 20000, launch);
  time("launch of 256 threads and a wait", 2000, [&] {
    launch();
    cudaStreamSynchronize(s);
  });
  time("block sum of 256 threads", 1000,
       [&] { Launch(sample::Sum, 1, 256, 0, s, x, x + 1024, 256); });
  pretend_cuda_set("NOOP", 1);
  time("launch that does nothing", 1000000, launch);
  pretend_cuda_set("NOOP", 0);
  cudaFree(arena);
}

}  // namespace

int main() {
  TestDeaths();
  TestKernels();
  TestReverse();
  TestLate();
  TestEvents();
  TestFailures();
  TestDevices();
  TestCapture();
  TestCounters();
  TestProducts();
  TestConvolutions();
  Measure();
  return dygraph::testing::Finish();
}
